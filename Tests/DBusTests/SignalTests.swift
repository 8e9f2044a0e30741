import BusTestSupport
import DBus
import Testing

struct SignalTests {
    @Test func signalsComeInOrderAndOnlyThoseAskedFor() async throws {
        try await withPrivateBus { address, _ in
            let (here, there) = try await (BusConnection.open(address: address), BusConnection.open(address: address))
            let signals = try await here.signals([SignalRule(sender: there.uniqueName, member: "Count")])
            for number in 0..<100 {
                try there.emit(path: testPath, interface: "org.till.Test", member: "Other")
                try there.emit(path: testPath, interface: "org.till.Test", member: "Count", [.int32(Int32(number))])
            }
            var expected = 0
            for try await signal in signals {
                #expect(signal.arguments == [.int32(Int32(expected))])
                #expect(signal.droppedBefore == 0)
                expected += 1
                if expected == 100 { break }
            }
        }
    }

    @Test func aSlowReaderIsToldHowManySignalsItLost() async throws {
        try await withPrivateBus { address, _ in
            let (here, there) = try await (BusConnection.open(address: address), BusConnection.open(address: address))
            let rule = SignalRule(sender: there.uniqueName, member: "Count")
            let signals = try await here.signals([rule], limit: 10)
            for number in 0..<100 {
                try there.emit(path: testPath, interface: "org.till.Test", member: "Count", [.int32(Int32(number))])
            }
            // The second stream has all of them when the first has: the bus keeps the order of one sender.
            _ = try await there.owner(of: here.uniqueName)
            let echo = ExportedMethod { $0.answer() }
            try here.export([ExportedInterface("org.till.Test", methods: ["Ping": echo])], at: testPath)
            _ = try await there.ask(here, "Ping")
            var iterator = signals.makeAsyncIterator()
            let first = try #require(try await iterator.next())
            #expect(first.droppedBefore == 90)
            #expect(first.arguments == [.int32(90)])
            #expect(try await iterator.next()?.droppedBefore == 0)
        }
    }

    @Test func whoDoesNotHaveTheNameIsNotHeardInItsPlace() async throws {
        try await withPrivateBus { address, _ in
            let here = try await BusConnection.open(address: address)
            let (owner, liar) = try await (BusConnection.open(address: address), BusConnection.open(address: address))
            let signals = try await here.signals([SignalRule(sender: "org.till.Owner", member: "Count")])
            // A second listener to everything makes the bus deliver the liar's signals too.
            let all = try await here.signals([SignalRule(member: "Count")])
            try await owner.own("org.till.Owner")
            try liar.emit(path: testPath, interface: "org.till.Test", member: "Count", [.int32(666)])
            _ = try await liar.owner(of: "org.till.Owner")
            try owner.emit(path: testPath, interface: "org.till.Test", member: "Count", [.int32(1)])
            var iterator = signals.makeAsyncIterator()
            #expect(try await iterator.next()?.arguments == [.int32(1)])
            var everything = all.makeAsyncIterator()
            #expect(try await everything.next()?.arguments == [.int32(666)])
        }
    }

    @Test func aNameChangingHandsIsTold() async throws {
        try await withPrivateBus { address, _ in
            let (here, there) = try await (BusConnection.open(address: address), BusConnection.open(address: address))
            let changes = try await here.signals([BusConnection.ownerRule(of: "org.till.Name")])
            try await there.own("org.till.Name")
            there.close()
            var iterator = changes.makeAsyncIterator()
            #expect(try await iterator.next()?.arguments.last == .string(there.uniqueName))
            #expect(try await iterator.next()?.arguments.last == .string(""))
        }
    }

    @Test func aDroppedStreamIsNoLongerListenedFor() async throws {
        try await withPrivateBus { address, _ in
            let (here, there) = try await (BusConnection.open(address: address), BusConnection.open(address: address))
            let stats = "org.freedesktop.DBus.Debug.Stats"
            let bus = try #require(ObjectPath("/org/freedesktop/DBus"))
            let ask = BusCall(to: "org.freedesktop.DBus", at: bus, stats, "GetAllMatchRules")
            let before = try await there.call(ask)
            for _ in 0..<10 { _ = try await here.signals([SignalRule(sender: "org.till.Name", member: "Count")]) }
            // The answer to a later call comes after what was sent before it.
            _ = try await here.owner(of: "org.till.Name")
            #expect(try await there.call(ask) == before)
        }
    }

    @Test func aMalformedRuleIsRefusedBeforeItIsSent() async throws {
        try await withPrivateBus { address, _ in
            let bus = try await BusConnection.open(address: address)
            await #expect(throws: BusError.self) { try await bus.signals([SignalRule(argument0: "',sender='x")]) }
            await #expect(throws: BusError.self) { try await bus.signals([SignalRule(member: "a',b='c")]) }
        }
    }
}
