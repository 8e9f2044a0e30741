import Testing

@testable import Terminal

/// Whoever watches the terminal and goes away leaves nothing behind, and whoever is slow holds nobody up.
struct ListenersTests {
    @Test
    func whoeverStopsReadingIsForgottenAtOnce() async {
        let listeners = Listeners<Int>(.newestOnly)
        var streams = (0..<1000).map { _ in listeners.join() }
        #expect(listeners.count == 1000)
        streams.removeLast(999)
        #expect(listeners.count == 1)
        let reader = Task { [stream = streams[0]] in for await _ in stream {} }
        streams = []
        reader.cancel()
        await reader.value
        #expect(listeners.count == 0)
    }

    @Test
    func aSlowReaderGetsTheNewestOnly() async {
        let listeners = Listeners<Int>(.newestOnly)
        var reader = listeners.join(beginningWith: 1).makeAsyncIterator()
        #expect(await reader.next() == 1)
        for value in 2...9 { listeners.tell(value) }
        #expect(await reader.next() == 9)
        #expect(listeners.count == 1)
    }

    @Test
    func whoeverIsTooFarBehindIsLetGoAfterWhatTheyHave() async {
        let listeners = Listeners<Int>(.upTo(2))
        let slow = listeners.join()
        for value in 1...4 { listeners.tell(value) }
        #expect(listeners.count == 0)
        var got: [Int] = []
        for await value in slow { got.append(value) }
        #expect(got == [1, 2])
    }
}
