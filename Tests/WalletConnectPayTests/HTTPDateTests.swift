import Testing
import WalletConnectPay

/// Moments and pauses as HTTP writes them.
struct HTTPDateTests {
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
    func eachFormThatARecipientMustReadIsRead(text: String) { #expect(HTTPDate(text)?.seconds == 784_111_777) }

    @Test(arguments: [
        "", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun Nov  6 08:49:37 94", "Sun, 06 Nov 94 08:49:37 GMT", "06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1901 08:49:37 GMT", "784111777",
    ])
    func whatIsNoDateIsNotRead(text: String) { #expect(HTTPDate(text) == nil) }

    private func pause(_ text: String?, date: String? = nil) -> Duration? {
        let headers = [("retry-after", text), ("date", date)].compactMap { name, value in
            value.map { (name: name, value: $0) }
        }
        return HTTPResponse(status: 429, headers: headers, body: []).retryAfter()
    }

    @Test func aPauseIsReadAsSecondsAndAsADateByTheOtherSidesClock() {
        let now = "Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(pause("7") == .seconds(7))
        #expect(pause("86400") == .seconds(3600), "an hour at most")
        #expect(pause("99999999999999999999999") == .seconds(3600))
        #expect(pause("Sun, 06 Nov 1994 08:50:07 GMT", date: now) == .seconds(30))
        #expect(pause("Sunday, 06-Nov-94 08:50:07 GMT", date: now) == .seconds(30))
        #expect(pause("Sun, 06 Nov 1994 08:49:00 GMT", date: now) == .zero, "it has passed")
        #expect(pause("Sun, 06 Nov 9994 08:49:00 GMT", date: now) == .seconds(3600))
        #expect(pause("Sun, 06 Nov 1994 08:50:07 GMT") == nil, "from when is not said")
    }

    @Test(arguments: [nil, "", "-7", "+7", "7.5", "soon"])
    func whatIsNoPauseIsNone(text: String?) { #expect(pause(text) == nil) }
}
