import BusTestSupport
import DBus
import Glibc
import Locks
import Testing

struct CallTests {
    @Test func aRefusalCarriesItsNameAndWords() async throws {
        try await withPrivateBus { address, _ in
            let (here, there) = try await (BusConnection.open(address: address), BusConnection.open(address: address))
            let no = ExportedMethod { $0.refuse("org.bluez.Error.InProgress", "Operation already in progress") }
            try there.export([ExportedInterface("org.till.Test", methods: ["No": no])], at: testPath)
            await #expect(
                throws: BusError.refused(name: "org.bluez.Error.InProgress", text: "Operation already in progress")
            ) {
                try await here.ask(there, "No")
            }
        }
    }

    @Test func anAbsentServiceIsRefusedAtOnce() async throws {
        try await withPrivateBus { address, _ in
            let bus = try await BusConnection.open(address: address)
            let error = await #expect(throws: BusError.self) {
                try await bus.call(BusCall(to: "org.bluez", at: .root, "org.till.Test", "Echo"))
            }
            #expect(
                error?.refusal?.hasSuffix("NameHasNoOwner") == true
                    || error?.refusal?.hasSuffix("ServiceUnknown") == true
            )
        }
    }

    @Test func silenceEndsAtTheTimeout() async throws {
        try await withPrivateBus { address, _ in
            let (here, there) = try await (BusConnection.open(address: address), BusConnection.open(address: address))
            let kept = Kept()
            try there.export(
                [ExportedInterface("org.till.Test", methods: ["Wait": ExportedMethod { kept.keep($0) }])],
                at: testPath
            )
            await #expect(throws: BusError.noAnswer(after: .milliseconds(50))) {
                try await here.ask(there, "Wait", timeout: .milliseconds(50))
            }
            kept.calls.withLock { $0 = [] }
        }
    }

    @Test func aCallThatNobodyAnswersIsAnErrorForItsCaller() async throws {
        try await withPrivateBus { address, _ in
            let (here, there) = try await (BusConnection.open(address: address), BusConnection.open(address: address))
            try there.export(
                [ExportedInterface("org.till.Test", methods: ["Forget": ExportedMethod { _ in }])],
                at: testPath
            )
            let error = await #expect(throws: BusError.self) { try await here.ask(there, "Forget") }
            #expect(error?.refusal == "org.freedesktop.DBus.Error.NoReply")
        }
    }

    @Test func cancellingEndsTheWaitAndNotTheConnection() async throws {
        try await withPrivateBus { address, _ in
            let (here, there) = try await (BusConnection.open(address: address), BusConnection.open(address: address))
            let kept = Kept()
            let (arrived, arrival) = AsyncStream.makeStream(of: Void.self)
            let wait = ExportedMethod { call in
                kept.keep(call)
                arrival.yield()
            }
            try there.export([ExportedInterface("org.till.Test", methods: ["Wait": wait])], at: testPath)
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: BusError.cancelled) { try await here.ask(there, "Wait") }
                }
                for await _ in arrived { break }
                group.cancelAll()
            }
            #expect(try await here.owner(of: there.uniqueName) == there.uniqueName)
        }
    }

    @Test func aThousandCallsAtOnceEachGetTheirOwnAnswer() async throws {
        try await withPrivateBus { address, _ in
            let (here, there) = try await (BusConnection.open(address: address), BusConnection.open(address: address))
            let echo = ExportedMethod(takes: "u", returns: "u") { $0.answer($0.arguments) }
            try there.export([ExportedInterface("org.till.Test", methods: ["Echo": echo])], at: testPath)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<1_000 {
                    group.addTask {
                        try await here.ask(there, "Echo", [.uint32(UInt32(number))]) == [.uint32(UInt32(number))]
                    }
                }
                for try await isOwn in group { #expect(isOwn) }
            }
        }
    }

    @Test func callsThatBelongTogetherArriveInTheirOrderBeforeAnyIsAnswered() async throws {
        try await withPrivateBus { address, _ in
            let (here, there) = try await (BusConnection.open(address: address), BusConnection.open(address: address))
            let heard = Mutex<[MethodCall]>([])
            // The last one is answered first, and the second one is refused.
            let late = ExportedMethod(takes: "u", returns: "u") { call in
                let all = heard.withLock { heard in
                    heard.append(call)
                    return heard
                }
                guard all.count == 3 else { return }
                for call in all.reversed() {
                    if call.arguments == [.uint32(1)] {
                        call.refuse("org.till.No", "")
                    } else {
                        call.answer(call.arguments)
                    }
                }
            }
            try there.export([ExportedInterface("org.till.Test", methods: ["Late": late])], at: testPath)
            let answers = await here.calls(
                (0..<3).map {
                    BusCall(to: there.uniqueName, at: testPath, "org.till.Test", "Late", [.uint32(UInt32($0))])
                }
            )
            #expect(heard.withLock { $0.map(\.arguments) } == [[.uint32(0)], [.uint32(1)], [.uint32(2)]])
            #expect(answers[0] == .success([.uint32(0)]) && answers[2] == .success([.uint32(2)]))
            #expect(throws: BusError.refused(name: "org.till.No", text: "")) { try answers[1].get() }
        }
    }

    @Test func aMissingBusIsAnErrorInTheSystemsWords() async {
        let error = await #expect(throws: BusError.self) {
            _ = try await BusConnection.open(address: "unix:path=/nonexistent")
        }
        #expect(error?.description.contains("No such file") == true)
    }

    @Test func theBusDyingInTheMiddleOfACallEndsTheCallAndTheStreamsAndNotTheProcess() async throws {
        try await withPrivateBus { address, daemon in
            let (here, there) = try await (BusConnection.open(address: address), BusConnection.open(address: address))
            let kept = Kept()
            let (arrived, arrival) = AsyncStream.makeStream(of: Void.self)
            let wait = ExportedMethod { call in
                kept.keep(call)
                arrival.yield()
            }
            try there.export([ExportedInterface("org.till.Test", methods: ["Wait": wait])], at: testPath)
            let signals = try await here.signals([SignalRule(member: "Anything")])
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    let error = await #expect(throws: BusError.self) { try await here.ask(there, "Wait") }
                    guard case .disconnected = error else {
                        Issue.record("\(String(describing: error))")
                        return
                    }
                }
                group.addTask {
                    await #expect(throws: BusError.self) { for try await _ in signals {} }
                }
                for await _ in arrived { break }
                #expect(throws: Never.self) { try daemon.kill() }
            }
            let error = await #expect(throws: BusError.self) { try await here.owner(of: "org.bluez") }
            guard case .disconnected = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test func aSecondOwnerOfANameIsRefused() async throws {
        try await withPrivateBus { address, _ in
            let (here, there) = try await (BusConnection.open(address: address), BusConnection.open(address: address))
            try await here.own("org.till.Name")
            await #expect(throws: BusError.self) { try await there.own("org.till.Name") }
            try await here.release("org.till.Name")
            try await there.own("org.till.Name")
            #expect(try await here.owner(of: "org.till.Name") == there.uniqueName)
        }
    }
}

/// Calls that a test leaves without an answer.
final class Kept: Sendable {
    let calls = Mutex<[MethodCall]>([])

    func keep(_ call: MethodCall) { calls.withLock { $0.append(call) } }
}
