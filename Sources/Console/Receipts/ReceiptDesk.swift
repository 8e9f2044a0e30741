import Foundation
import Journal
import Logging
import Packing
import Paper
import Payments
import Receipts
import Terminal
import WebServer

/// Receipts: what the owner set about them, which were printed, and the printer.
///
/// It reads charges and changes none: whatever happens to paper, a payment stays as it is.
actor ReceiptDesk {
    /// The last job for the printer, for the page of the settings.
    struct LastJob: Sendable, Equatable {
        var at: WallTime
        var outcome: PrintOutcome?
        var trouble: Reason?
    }

    private let journal: any Keeping
    private let desk: ChargeDesk
    private let merchant: SettingsDesk
    private let printer: ReceiptPrinter
    private let press = PDFPress()
    private let clock: TerminalClock
    private let logger: Logger

    private(set) var settings = ReceiptSettings()
    /// 0 before anything was saved.
    private(set) var version = 0
    private(set) var last: LastJob?
    private var memory = PrintedReceipts()
    /// Charges whose receipt was to be printed by itself and is not known to be on paper, the newest last.
    private var failed: [(id: ChargeID, reason: Reason)] = []
    /// Jobs that the printer has not done with.
    private var underWay = 0

    private static let document = "receipts"
    private static let memoryDocument = "receipts-printed"
    /// More than these wait only where a printer hangs.
    private static let mostUnderWay = 4
    private static let mostFailed = 100

    init(
        journal: any Keeping,
        desk: ChargeDesk,
        settings: SettingsDesk,
        clock: TerminalClock,
        logger: Logger,
        printer: ReceiptPrinter
    ) {
        (self.journal, self.desk, merchant, self.printer) = (journal, desk, settings, printer)
        (self.clock, self.logger) = (clock, logger)
    }

    /// Reads what was set and printed earlier. What cannot be read leaves the printer alone.
    func load() async throws(JournalError) {
        if let stored = try await journal.document(Self.document) {
            version = stored.version
            do { settings = try JSONDecoder().decode(ReceiptSettings.self, from: Data(stored.bytes)) } catch {
                logger.error(
                    "nothing is printed: the receipts' settings cannot be read",
                    metadata: ["error": "\(error)"]
                )
            }
        }
        guard let stored = try await journal.document(Self.memoryDocument) else { return }
        do { memory = try JSONDecoder().decode(PrintedReceipts.self, from: Data(stored.bytes)) } catch {
            logger.error("earlier receipts are forgotten", metadata: ["error": "\(error)"])
        }
    }

    /// Whether a printer's address, as typed, is another than the one in force.
    func isElsewhere(_ printer: String) -> Bool { PrinterAddress(printer) != settings.address }

    /// - Throws: ``Problem``: what was in force before still is.
    func save(_ form: ReceiptForm, replacing version: Int, by actor: Payments.Actor) async throws(Problem) {
        guard version == self.version else { throw Console.problem(.conflict) }
        let new = try form.checked(over: settings)
        let change: DocumentChange
        do throws(JournalError) {
            change = try await journal.setDocument(
                Self.document,
                try Self.bytes(new),
                expecting: .version(version == 0 ? nil : version),
                by: actor,
                at: clock.wallTime()
            )
        } catch { throw Console.problem(.journal(error)) }
        guard case .stored(let stored) = change else { throw Console.problem(.conflict) }
        (settings, self.version) = (new, stored)
    }

    private static func bytes(_ value: some Encodable) throws(JournalError) -> [UInt8] {
        do { return Array(try JSONEncoder().encode(value)) } catch {
            throw .unavailable(detail: "the settings cannot be written: \(error)")
        }
    }

    // MARK: - Receipts

    /// The receipt of a charge as it stands now.
    func receipt(of snapshot: ChargeSnapshot) async -> Receipt {
        await receipt(of: snapshot, isCopy: memory.contains(snapshot.id))
    }

    private func receipt(of snapshot: ChargeSnapshot, isCopy: Bool) async -> Receipt {
        Receipt(
            of: snapshot.charge,
            shop: await shop(snapshot.format),
            now: clock.wallTime(),
            isCopy: isCopy,
            isKnown: !snapshot.isAnswerMissing
        )
    }

    private func shop(_ format: AmountFormat) async -> Receipt.Shop {
        let set = await merchant.current?.settings
        let zone = set?.timeZone.flatMap(TimeZone.init(identifier:)) ?? .current
        return Receipt.Shop(
            terminal: settings.terminal,
            header: settings.header,
            footer: settings.footer,
            language: set?.language ?? "en",
            format: format,
            secondsAheadOfUTC: {
                zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double($0.secondsSince1970)))
            }
        )
    }

    /// The merchant's logo on paper; nil for none.
    func picture() async -> SlipPicture? {
        await desk.snapshot.logo.flatMap { SlipPicture(width: $0.width, height: $0.height, pixels: $0.pixels) }
    }

    /// The receipt as a PDF document.
    func document(_ receipt: Receipt) async throws(Problem) -> WebResponse {
        let seconds = receipt.issuedAt.moment.secondsSince1970
        let made = Date(timeIntervalSince1970: Double(seconds)).formatted(Date.ISO8601FormatStyle())
        do throws(PDFPress.Failure) {
            let bytes = try await press.pdf(
                of: receipt.slip(picture: await picture()),
                title: receipt.documentTitle,
                made: made
            )
            return .file(
                bytes,
                contentType: "application/pdf",
                headers: ["Content-Disposition": "inline; filename=\"receipt-\(receipt.chargeID).pdf\""]
            )
        } catch {
            logger.error("a receipt could not be drawn", metadata: ["error": "\(error)"])
            throw Problem(
                503,
                "no_document",
                "The receipt cannot be drawn as a document. The payment is as it was.",
                "Open it as a page instead, and print that."
            )
        }
    }

    // MARK: - Printing

    /// Prints the receipt of a charge; after the first one, a copy.
    /// - Throws: ``Problem``: 409 where nothing was printed, 503 where something may have been.
    func print(_ id: ChargeID) async throws(Problem) -> PrintOutcome {
        guard underWay == 0 else { throw Self.busy }
        let snapshot: ChargeSnapshot
        do throws(ChargeRefusal) { snapshot = try await desk.charge(id) } catch {
            throw Console.problem(error, await desk.format)
        }
        return try await print(snapshot)
    }

    /// Prints a slip that is no receipt.
    /// - Throws: ``Problem`` as ``print(_:)`` does.
    func test() async throws(Problem) -> PrintOutcome {
        guard underWay == 0 else { throw Self.busy }
        let name = await merchant.current?.settings.merchantName ?? ""
        let now = clock.wallTime()
        let ahead = await shop(.english).secondsAheadOfUTC(now)
        let options = settings.options
        let slip = Slip.test(
            options,
            merchantName: name,
            now: LocalTime(now, secondsAheadOfUTC: ahead),
            picture: await picture()
        )
        return try await hand(slip.escPos(options))
    }

    private func print(_ snapshot: ChargeSnapshot) async throws(Problem) -> PrintOutcome {
        guard settings.address != nil else { throw Self.noPrinter }
        let isCopy = memory.contains(snapshot.id)
        // Before the first byte leaves: of two receipts at once, or after a power cut, one is a copy.
        memory.insert(snapshot.id)
        do throws(Problem) {
            if !isCopy { try await keepMemory() }
            let options = settings.options
            let slip = await receipt(of: snapshot, isCopy: isCopy)
                .slip(withCode: options.showsCode, for: options, picture: await picture())
            let outcome = try await hand(slip.escPos(options))
            failed.removeAll { $0.id == snapshot.id }
            return outcome
        } catch {
            if !isCopy, error.reason.code != Self.unknownCode {
                memory.remove(snapshot.id)
                do throws(Problem) { try await keepMemory() } catch {
                    logger.warning(
                        "the next receipt of this charge is called a copy",
                        metadata: ["charge": "\(snapshot.id)"]
                    )
                }
            }
            throw error
        }
    }

    private static let unknownCode = PrintFailure.unclear(sentBytes: 0, of: 0, "").reason.code

    private func keepMemory() async throws(Problem) {
        do throws(JournalError) {
            let bytes = try Self.bytes(memory)
            _ = try await journal.setDocument(
                Self.memoryDocument,
                bytes,
                expecting: .any,
                by: .terminal,
                at: clock.wallTime()
            )
        } catch {
            throw Problem(
                503,
                "print_not_recorded",
                "The terminal cannot write down that a receipt is printed. Nothing was printed; the payment is as it was.",
                "Show the receipt on the page instead, and free the terminal’s storage."
            )
        }
    }

    private func hand(_ job: [UInt8]) async throws(Problem) -> PrintOutcome {
        guard let address = settings.address else { throw Self.noPrinter }
        guard underWay < Self.mostUnderWay else { throw Self.busy }
        underWay += 1
        defer { underWay -= 1 }
        do throws(PrintFailure) {
            let outcome = try await printer.print(job, at: address)
            last = LastJob(at: clock.wallTime(), outcome: outcome)
            return outcome
        } catch {
            let reason = error.reason
            last = LastJob(at: clock.wallTime(), trouble: reason)
            logger.warning("a receipt is not known to be printed", metadata: ["code": "\(reason.code)"])
            throw Problem(error.mayHavePrinted ? 503 : 409, reason)
        }
    }

    private static let noPrinter = Problem(
        409,
        "no_printer",
        "This terminal has no receipt printer.",
        "Open the receipt and print it from the browser, or have the owner enter a printer in the settings."
    )
    private static let busy = Problem(
        409,
        "printer_busy",
        "The printer is still at another receipt. Nothing more was sent to it.",
        "Wait for the paper, then print again if it is needed."
    )

    // MARK: - By itself

    /// Why the receipt that was to be printed by itself is not known to be on paper; nil where it is, or none was to be.
    func trouble(of id: ChargeID) -> Reason? { failed.last { $0.id == id }?.reason }

    private func note(_ reason: Reason, of id: ChargeID) {
        failed = failed.filter { $0.id != id }.suffix(Self.mostFailed - 1) + [(id, reason)]
    }

    /// Prints a receipt of each charge as it is paid, where the owner wants it, until cancelled.
    func printWhenPaid() async {
        await withDiscardingTaskGroup { group in
            var begun: [ChargeID] = []
            for await snapshot in await desk.snapshots() {
                guard case .charging(let charge) = snapshot.phase, settings.printsWhenPaid, settings.address != nil,
                    Receipt.isWorthPrinting(charge.charge), !begun.contains(charge.id), !memory.contains(charge.id)
                else { continue }
                begun = begun.suffix(15) + [charge.id]
                // Not awaited here: a printer that hangs must not hide the next customer's payment.
                group.addTask {
                    do throws(Problem) { _ = try await self.print(charge) } catch {
                        await self.note(error.reason, of: charge.id)
                        self.logger.warning(
                            "no receipt was printed by itself",
                            metadata: ["charge": "\(charge.id)", "code": "\(error.reason.code)"]
                        )
                    }
                }
            }
        }
    }
}

extension Receipt {
    /// Whether customers expect a receipt now: they paid, or their promise was taken.
    static func isWorthPrinting(_ charge: Charge) -> Bool {
        charge.state == .succeeded && !charge.isGivenBack || charge.isPromised
    }
}
