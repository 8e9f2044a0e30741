public import WiFi

/// The machine's Wi-Fi as the network desk needs it. Every call ends by itself.
public protocol Wireless: Sendable {
    /// Whether it can be used, and what it does.
    var state: WiFiState { get async }
    /// Networks that are joined by themselves.
    var known: [KnownWiFiNetwork] { get async }
    /// Begins to listen for networks.
    func scan() async throws(WiFiError)
    /// Those heard last.
    func networks() async throws(WiFiError) -> [WiFiNetwork]
    func join(_ id: WiFiNetwork.ID, passphrase: Passphrase?) async throws(WiFiError)
    func joinHidden(_ name: WiFiName, passphrase: Passphrase?) async throws(WiFiError)
    func leave() async throws(WiFiError)
    func forget(_ id: WiFiNetwork.ID) async throws(WiFiError)
}

extension WirelessStation: Wireless {}
