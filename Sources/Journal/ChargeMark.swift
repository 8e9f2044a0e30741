import Crypto
import Foundation
public import Payments

/// What tells the charges of this terminal from a neighbour's where only their names are left: eight digits of each name are made
/// with a key from the others.
///
/// The key goes with backups that hold secrets, so that charges that a restored record lacks are known as its own. Prints as
/// "redacted".
public struct ChargeMark: Sendable, CustomStringConvertible, CustomReflectable {
    private let key: SymmetricKey

    public var description: String { "redacted" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// - Parameter bytes: 32 of them.
    public init(_ bytes: [UInt8]) { key = SymmetricKey(data: bytes) }

    /// A new name for a charge made at `time`. Beside the time it has 42 random bits; that many charges are never made in one
    /// millisecond.
    public func chargeID(at time: WallTime, using generator: inout some RandomNumberGenerator) -> ChargeID {
        let plain = ChargeID(at: time, using: &generator)
        // Always one: only the last eight digits, which may be any, are others.
        return ChargeID(plain.rawValue.dropLast(8) + digits(of: plain.compact)) ?? plain
    }

    /// Whether a charge of this name was made with this key.
    /// - Parameter compact: A charge's name without dashes, as gateways have it in references.
    public func made(_ compact: String) -> Bool {
        guard compact.utf8.count == 32 else { return false }
        return compact.hasSuffix(digits(of: compact))
    }

    private func digits(of compact: String) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Array("till charge \(compact.dropLast(8))".utf8), using: key)
        return EndMarkFile.hexadecimal(Array(code.prefix(4)))
    }
}

extension Journal {
    private static let markName = "charge-mark"

    /// The terminal's mark, made where there is none yet, or none that this device can open.
    public func chargeMark(at time: WallTime) async throws(JournalError) -> ChargeMark {
        var kept: [UInt8]?
        do throws(JournalError) { kept = try await secret(Self.markName) } catch {
            guard case .corrupt = error else { throw error }
        }
        if let kept, kept.count == 32 { return ChargeMark(kept) }
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        try await setSecret(Self.markName, bytes, by: .terminal, at: time)
        return ChargeMark(bytes)
    }
}
