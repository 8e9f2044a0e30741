import Glibc

/// The origin of a guess: an address, a session, or a person at a browser.
struct GuessSource: Sendable, Equatable {
    /// Has a count of its own.
    let name: String
    /// The network around it, where one machine has the whole of it: 64 bits of an IPv6 address. Source: RFC 4291, 2.5.4.
    let network: String?
    /// Whether a right guess there makes it one that others' guesses never stop. False for a session, whose guesses are
    /// bounded by its own count alone.
    let becomesFamiliar: Bool
    /// Guesses before the first pause.
    let freeTries: Int

    /// - Parameter address: A numeric address, as the web server gives it.
    init(address: String) {
        (becomesFamiliar, freeTries) = (true, Throttle.freeTries)
        guard let bytes = Self.bytes(ofIPv6: address) else {
            (name, network) = (address, nil)
            return
        }
        // One machine in both writings is one machine.
        if bytes.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff] {
            (name, network) = (bytes.suffix(4).map(String.init).joined(separator: "."), nil)
            return
        }
        let digits = bytes.map(Sessions.hexadecimal)
        (name, network) = (digits.joined(), digits.prefix(8).joined())
    }

    /// Somebody who is signed in: no stranger shares the count, and they have shown once already who they are.
    init(of session: Session) {
        (name, network, becomesFamiliar) = ("session/" + session.id, nil, false)
        freeTries = Throttle.freeTriesOfSession
    }

    /// One person's PIN at one browser that was let in.
    init(browser: String, person: String) {
        (name, network, becomesFamiliar) = ("\(browser)/\(person)", nil, true)
        freeTries = Throttle.freeTries
    }

    private static func bytes(ofIPv6 text: String) -> [UInt8]? {
        // A link's own address names its interface behind a percent sign.
        let number = String(text.prefix { $0 != "%" })
        var bytes = [UInt8](repeating: 0, count: 16)
        let result = unsafe bytes.withUnsafeMutableBytes { unsafe inet_pton(AF_INET6, number, $0.baseAddress) }
        return result == 1 ? bytes : nil
    }
}
