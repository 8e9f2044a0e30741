import Testing

@testable import DBus

struct SignalChannelTests {
    private func signal(_ number: Int) -> BusSignal {
        let arguments: [BusValue] = [.int64(Int64(number))]
        return BusSignal(sender: ":1.1", path: .root, interface: "org.till.Test", member: "Count", arguments: arguments)
    }

    /// As a storm of advertisements, while the reader waits for an answer of the bus.
    @Test(arguments: [1, 10, 1024])
    func aStormThatNobodyReadsHoldsNoMoreMemoryThanAFewTimesItsLimit(limit: Int) async throws {
        let channel = SignalChannel(limit: limit)
        let count = 20_000
        var most = 0
        for number in 0..<count {
            channel.yield(signal(number))
            most = max(most, channel.held)
        }
        #expect(most <= 2 * limit + 65)
        for number in count - limit..<count {
            let signal = try #require(try await channel.next(isolation: nil))
            #expect(signal.arguments == [.int64(Int64(number))])
            #expect(signal.droppedBefore == (number == count - limit ? count - limit : 0))
        }
        channel.finish(nil)
        #expect(try await channel.next(isolation: nil) == nil)
    }
}
