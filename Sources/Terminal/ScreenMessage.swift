import Screen

/// What the shop's till puts on the screen while nobody pays. It was checked: nothing in it can be paid.
public struct ScreenMessage: Sendable, Equatable {
    public let id: String
    public let title: String
    public let text: String
    /// What its QR code carries; nil without one.
    public let code: String?
    /// What the customer chooses from; empty where nothing is asked.
    public let options: [String]

    public init(id: String, title: String, text: String, code: String? = nil, options: [String] = []) {
        (self.id, self.title, self.text, self.code, self.options) = (id, title, text, code, options)
    }

    var scene: Scene.Message { Scene.Message(title: title, text: text, code: code, options: options) }
}

extension ChargeDesk {
    /// Puts a message on the screen, or takes it off. Charges, the owner's codes and trouble come before it.
    public func setMessage(_ message: ScreenMessage?) {
        guard self.message != message else { return }
        self.message = message
        publish()
    }
}
