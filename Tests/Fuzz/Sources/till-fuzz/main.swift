// Throws bytes at everything that reads what a stranger sent. A decoder may refuse; it must not trap, run for long or take
// memory by a claimed size, and what it accepts it must write back as it was.
//
//   till-fuzz DECODER [libFuzzer's options and corpus folders]
import CFuzzer
import Glibc

guard Decoder.chosen != nil else {
    let name = CommandLine.arguments.dropFirst().first
    let names = Decoder.allCases.map(\.rawValue).joined(separator: " ")
    print(name == "--list" ? names : "till-fuzz: which decoder? \(names)")
    exit(name == "--list" ? 0 : 64)
}

// The decoder's name is ours; the rest is libFuzzer's.
var arguments = [CommandLine.unsafeArgv[0]] + (2..<Int(CommandLine.argc)).map { CommandLine.unsafeArgv[$0] } + [nil]
var count = CommandLine.argc - 1
arguments.withUnsafeMutableBufferPointer { buffer in
    var pointer = buffer.baseAddress
    exit(
        LLVMFuzzerRunDriver(&count, &pointer) { bytes, size in
            Decoder.chosen?.read(Array(UnsafeBufferPointer(start: bytes, count: size)))
            return 0
        }
    )
}
