import Paper
import Payments
import Receipts
import Terminal
import WebServer

/// How a receipt can be had.
enum ReceiptFormat: String, Sendable, Equatable, CaseIterable {
    case text, html, pdf, escpos

    /// The first of a client's wishes that there is; plain text where there is none.
    init(accept: String?) {
        let kinds: [(String, ReceiptFormat)] = [
            ("text/html", .html), ("text/plain", .text), ("application/pdf", .pdf), ("application/vnd.escpos", .escpos),
        ]
        let wishes = (accept ?? "").prefix(1000).split(separator: ",").map { wish in
            wish.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
        }
        self = wishes.lazy.compactMap { wish in kinds.first { $0.0 == wish }?.1 }.first ?? .text
    }
}

/// Receipts of charges, and what the owner may see and change about them.
extension Console {
    func receipt(_ id: ChargeID, _ format: ReceiptFormat?, _ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        let snapshot: ChargeSnapshot
        do throws(ChargeRefusal) { snapshot = try await desk.charge(id) } catch {
            throw Self.problem(error, await desk.format)
        }
        let receipt = await receipts.receipt(of: snapshot)
        let options = await receipts.settings.options
        var response: WebResponse
        switch format ?? ReceiptFormat(accept: pass.request.header("Accept")) {
        case .text: response = .text(receipt.slip().text(columns: options.columns))
        case .html:
            response =
                ReceiptPage(
                    slip: receipt.slip(),
                    title: receipt.documentTitle,
                    words: .inLanguage(receipt.language),
                    logo: await logo.address
                ).response
        case .pdf: response = try await receipts.document(receipt)
        case .escpos:
            let picture = await receipts.picture()
            let bytes = receipt.slip(withCode: options.showsCode, for: options, picture: picture).escPos(options)
            response = .file(bytes, contentType: "application/vnd.escpos")
            response.headers["Content-Disposition"] = "attachment; filename=\"receipt-\(snapshot.id).bin\""
        }
        response.headers.add("Vary", "Accept")
        return response
    }

    func printReceipt(_ id: ChargeID, _ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        try await printed("receipt.print", id.rawValue, pass) { () throws(Problem) in try await receipts.print(id) }
    }

    func testReceipt(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        try await printed("receipt.test", "", pass) { () throws(Problem) in try await receipts.test() }
    }

    private func printed(
        _ what: String,
        _ about: String,
        _ pass: Gate.Pass,
        _ work: () async throws(Problem) -> PrintOutcome
    ) async throws(Problem) -> WebResponse {
        do throws(Problem) {
            let outcome = try await work()
            await entrance.audit(what, "ok", about, by: pass.who, from: pass.request.peerAddress)
            return .json(JSON.object(["outcome": .string(outcome.rawValue)]).text)
        } catch {
            await entrance.audit(
                what,
                "refused",
                about.isEmpty ? error.reason.code : "\(about): \(error.reason.code)",
                by: pass.who,
                from: pass.request.peerAddress
            )
            throw error
        }
    }

    // MARK: - Settings

    func receiptsResponse() async -> WebResponse {
        let (set, version, last) = (await receipts.settings, await receipts.version, await receipts.last)
        return .json(
            JSON.object(
                [
                    "printer": .string(set.printer ?? ""), "columns": .integer(Int64(set.options.columns.rawValue)),
                    "codePage": .string(set.options.codePage.rawValue), "cut": .bool(set.options.cuts),
                    "drawer": .bool(set.options.opensDrawer), "code": .bool(set.options.showsCode),
                    "logo": .bool(set.options.showsLogo),
                    "automatic": .bool(set.printsWhenPaid), "terminal": .string(set.terminal ?? ""),
                    "header": .array(set.header.map(JSON.string)), "footer": .array(set.footer.map(JSON.string)),
                    "last": last.map(Self.job) ?? .null, "version": .integer(Int64(version)),
                ].merging(await changed("receipts")) { own, _ in own }
            ).text
        )
    }

    private static func job(_ job: ReceiptDesk.LastJob) -> JSON {
        .object([
            "at": .time(job.at), "outcome": .optional(job.outcome?.rawValue), "trouble": .reason(job.trouble),
        ])
    }

    func saveReceipts(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        let (form, version) = try Self.receiptForm(pass)
        // Every receipt from then on goes there. Whoever brings a settings file in has shown the password.
        if pass.part == nil, let printer = form.printer, !printer.isEmpty, await receipts.isElsewhere(printer) {
            try requireProof(pass)
        }
        do throws(Problem) {
            let current = await receipts.version
            try await receipts.save(form, replacing: version.map { Int(clamping: $0) } ?? current, by: pass.who)
        } catch {
            await entrance.audit("receipts", "refused", error.reason.code, by: pass.who, from: pass.request.peerAddress)
            throw error
        }
        await entrance.audit("receipts", "ok", "", by: pass.who, from: pass.request.peerAddress)
        return await receiptsResponse()
    }

    static func receiptForm(_ pass: Gate.Pass) throws(Problem) -> (ReceiptForm, version: Int64?) {
        var fields = try Form(pass.body)
        var form = ReceiptForm()
        form.printer = fields.optionalText("printer", limit: 260)
        form.columns = fields.integer("columns")
        form.codePage = fields.optionalText("codePage", limit: 20)
        form.cuts = fields.bool("cut")
        form.opensDrawer = fields.bool("drawer")
        form.showsCode = fields.bool("code")
        form.showsLogo = fields.bool("logo")
        form.printsWhenPaid = fields.bool("automatic")
        form.terminal = fields.optionalText("terminal", limit: 40)
        form.header = fields.texts("header", limit: Receipt.mostLines, each: Receipt.longestLine)
        form.footer = fields.texts("footer", limit: Receipt.mostLines, each: Receipt.longestLine)
        let version = fields.integer("version")
        try fields.finish()
        return (form, version)
    }
}
