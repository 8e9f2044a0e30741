import Foundation
import Journal
import Logging
import Packing
import Payments
import Terminal

/// The merchant's logo: taken in as plain pixels and nothing else, kept, and given to everything that shows it.
///
/// What comes from outside is read here by few lines that know the picture's size before they unpack anything, and written
/// anew: no library of the screen, the printer or a customer's phone ever sees the bytes that were sent.
actor LogoDesk {
    private let journal: any Keeping
    private let desk: ChargeDesk
    private let clock: TerminalClock
    private let logger: Logger

    /// As it was written anew; nil for none.
    private(set) var image: [UInt8]?
    /// 0 before anything was saved.
    private(set) var version = 0

    private static let document = "logo"
    /// Pixels per side. The page makes larger pictures smaller before it sends them.
    static let sides = 8...512
    /// Of the picture, sent and written anew: customers' phones load it with their page.
    static let mostBytes = 96 * 1024
    /// Of a request: the picture in Base64, and some words around it.
    static let bodyBytes = 160 * 1024

    init(journal: any Keeping, desk: ChargeDesk, clock: TerminalClock, logger: Logger) {
        (self.journal, self.desk, self.clock, self.logger) = (journal, desk, clock, logger)
    }

    /// Reads what was kept. What cannot be read is not shown, and stops nothing.
    func load() async throws(JournalError) {
        guard let stored = try await journal.document(Self.document) else { return }
        version = stored.version
        guard !stored.bytes.isEmpty else { return }
        do throws(PNG.Fault) {
            await desk.setLogo(try PNG.decode(stored.bytes, sides: Self.sides))
            image = stored.bytes
        } catch {
            logger.error("the logo cannot be read and is not shown", metadata: ["error": "\(error)"])
        }
    }

    /// Takes a picture as a `data:` address, or none.
    /// - Throws: ``Problem``: what was shown before still is.
    func save(_ address: String?, replacing version: Int, by actor: Payments.Actor) async throws(Problem) {
        guard version == self.version else { throw Console.problem(.conflict) }
        let picture = try Self.picture(of: address)
        let bytes = picture.map(PNG.encode) ?? []
        guard bytes.count <= Self.mostBytes else { throw Self.tooLarge }
        let change: DocumentChange
        do throws(JournalError) {
            change = try await journal.setDocument(
                Self.document,
                bytes,
                expecting: .version(version == 0 ? nil : version),
                by: actor,
                at: clock.wallTime()
            )
        } catch { throw Problem(503, error.reason) }
        guard case .stored(let stored) = change else { throw Console.problem(.conflict) }
        (image, self.version) = (picture == nil ? nil : bytes, stored)
        await desk.setLogo(picture)
    }

    /// The logo for pages: `data:image/png;base64,…`.
    var address: String? { image.map { Self.scheme + Data($0).base64EncodedString() } }

    private static let scheme = "data:image/png;base64,"

    /// The picture of a `data:` address, and nil for none.
    /// - Throws: ``Problem`` where it is none that can be shown.
    static func picture(of address: String?) throws(Problem) -> Picture? {
        guard let address else { return nil }
        guard address.hasPrefix(scheme), let data = Data(base64Encoded: String(address.dropFirst(scheme.utf8.count)))
        else {
            throw fault("no_picture", "This is no PNG picture.", "Choose a PNG or JPEG file on the terminal's page.")
        }
        guard data.count <= mostBytes else { throw tooLarge }
        do throws(PNG.Fault) { return try PNG.decode(Array(data), sides: sides) } catch {
            switch error {
            case .damaged:
                throw fault("picture_damaged", "This picture is damaged.", "Save it once more, or choose another file.")
            case .unsupported:
                throw fault(
                    "picture_unsupported",
                    "This kind of PNG is not taken.",
                    "Choose the file on the terminal's page, which writes it as it is needed."
                )
            case .size:
                throw fault(
                    "picture_size",
                    "The picture must be \(sides.lowerBound) to \(sides.upperBound) pixels wide and high.",
                    "Choose the file on the terminal's page, which makes it smaller."
                )
            }
        }
    }

    private static let tooLarge = fault(
        "picture_too_large",
        "The picture has more than \(mostBytes / 1024) KB, which every customer's phone would load.",
        "Choose one with fewer details."
    )

    private static func fault(_ code: String, _ message: String, _ action: String) -> Problem {
        .field("image", Reason(code: code, message: message, action: action))
    }
}
