import Testing

@testable import Terminal

/// A wallet that was invited over a relay is not turned away because somebody saved its address with a slash.
struct RelayAddressTests {
    @Test(arguments: [
        ("wss://relay.test/", true), ("WSS://Relay.Test", true), ("wss://relay.test:443", true),
        ("wss://relay.test:444", false), ("wss://relay.test/v2", false), ("ws://relay.test", false),
        ("wss://other.test", false),
    ])
    func oneRelayIsOneValue(text: String, isSame: Bool) {
        #expect((RelayAddress(text) == RelayAddress("wss://relay.test")) == isSame)
        #expect(RelayAddress(RelayAddress(text).text) == RelayAddress(text))
    }
}
