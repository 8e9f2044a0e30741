import BusTestSupport
import DBus
import Glibc
import Testing

struct ValueTests {
    static let values: [BusValue] = [
        .byte(0), .byte(255), .boolean(true), .boolean(false), .int16(.min), .uint16(.max), .int32(.min),
        .uint32(.max), .int64(.min), .uint64(.max), .double(-0.5), .double(.infinity), .string(""),
        .string("Café ☕ 你好"), .objectPath(.root), .objectPath(testPath), .signature([]),
        .signature([.string, .dictionary(key: .string, value: .variant)]), .bytes([]), .bytes([0, 1, 255]),
        .bytes(Array(repeating: 7, count: 100_000)), .strings([]), .strings(["a", ""]),
        .array(of: .structure([.byte, .string]), []),
        .array(of: .array(.byte), [.bytes([1]), .bytes([])]),
        .array(of: .int32, (0..<5_000).map { .int32($0) }),
        .structure([.byte(1), .structure([.string("in"), .boolean(true)])]),
        .dictionary(key: .uint16, value: .array(.byte), [.init(.uint16(65_535), .bytes([1, 2]))]),
        .dictionary(key: .string, value: .variant, []),
        .properties(["a": .int16(-1), "b": .strings(["x"]), "c": .variant(.double(1))]),
        .variant(.variant(.variant(.properties([:])))),
    ]

    @Test(arguments: values)
    func everyKindOfValueComesBackAsItWent(value: BusValue) async throws {
        try await withPrivateBus { address, _ in
            let (here, there) = try await (BusConnection.open(address: address), BusConnection.open(address: address))
            let echo = ExportedMethod(takes: value.type.code, returns: value.type.code) { $0.answer($0.arguments) }
            try there.export([ExportedInterface("org.till.Test", methods: ["Echo": echo])], at: testPath)
            #expect(try await here.ask(there, "Echo", [value]) == [value])
        }
    }

    @Test func aFileDescriptorGoesOverAndIsOwnedOnce() async throws {
        try await withPrivateBus { address, _ in
            let (here, there) = try await (BusConnection.open(address: address), BusConnection.open(address: address))
            let give = ExportedMethod(returns: "h") { call in
                var ends: [Int32] = [-1, -1]
                guard unsafe pipe(&ends) == 0 else { return call.refuse("org.till.Failed") }
                unsafe write(ends[1], "hello", 5)
                close(ends[1])
                call.answer([.fileDescriptor(BusDescriptor(owning: ends[0]))])
            }
            try there.export([ExportedInterface("org.till.Test", methods: ["Give": give])], at: testPath)
            let answer = try await here.ask(there, "Give")
            let descriptor = try #require(answer.first?.descriptor)
            let number = try #require(descriptor.take())
            var bytes = [UInt8](repeating: 0, count: 8)
            #expect(unsafe read(number, &bytes, 8) == 5)
            #expect(bytes.prefix(5) == ArraySlice("hello".utf8))
            #expect(descriptor.take() == nil)
            close(number)
        }
    }

    @Test(arguments: [
        BusValue.string("zero\0byte"),
        .structure([]),
        .array(of: .byte, [.byte(1)]),
        .array(of: .string, [.int32(1)]),
        .array(of: .structure([]), []),
        .dictionary(key: .variant, value: .string, []),
        .bytes(Array(repeating: 0, count: BusLimits.messageBytes + 1)),
        (0..<40).reduce(BusValue.byte(1)) { inner, _ in .variant(inner) },
        .array(of: .int16, Array(repeating: .int16(0), count: BusLimits.values + 1)),
    ])
    func whatNoMessageCanHoldIsRefusedBeforeItIsSent(value: BusValue) async throws {
        try await withPrivateBus { address, _ in
            let bus = try await BusConnection.open(address: address)
            let error = await #expect(throws: BusError.self) { try await bus.ask(bus, "Echo", [value]) }
            guard case .notSent = error else {
                Issue.record("sent, or failed otherwise: \(String(describing: error))")
                return
            }
            #expect(try await bus.owner(of: bus.uniqueName) == bus.uniqueName)
        }
    }

    @Test(arguments: [("", "/a", "a.b", "c"), ("a.b", "/a", "nodot", "c"), ("a.b", "/a", "a.b", "has space")])
    func aMalformedNameIsRefusedBeforeItIsSent(to: String, at: String, interface: String, member: String) async throws {
        try await withPrivateBus { address, _ in
            let bus = try await BusConnection.open(address: address)
            let path = try #require(ObjectPath(at))
            let error = await #expect(throws: BusError.self) {
                try await bus.call(BusCall(to: to, at: path, interface, member))
            }
            guard case .notSent = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test(arguments: ["", "a", "/a/", "//", "/a//b", "/ä", "/a-b", "/a\0"])
    func whatIsNoObjectPathIsNone(text: String) { #expect(ObjectPath(text) == nil) }

    @Test(arguments: ["(", "()", "a", "a{vs}", "a{s}", "z", "a{sv", String(repeating: "a", count: 40) + "y"])
    func whatIsNoSignatureIsNone(text: String) { #expect(BusType.parse(text) == nil) }
}
