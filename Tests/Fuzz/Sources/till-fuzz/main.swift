// Throws bytes at everything that reads what a stranger sent. A decoder may refuse; it must not trap, run for long or take
// memory by a claimed size, and what it accepts it must write back as it was.
//
//   TILL_FUZZ=DECODER till-fuzz [libFuzzer's options and corpus folders]     DECODER=list names them
import CFuzzer
import Glibc

guard Decoder.chosen != nil else {
    print(Decoder.allCases.map(\.rawValue).joined(separator: " "))
    exit(64)
}

var count = CommandLine.argc
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
exit(
    LLVMFuzzerRunDriver(&count, &arguments) { bytes, size in
        Decoder.chosen?.read(Array(UnsafeBufferPointer(start: bytes, count: size)))
        return 0
    }
)
