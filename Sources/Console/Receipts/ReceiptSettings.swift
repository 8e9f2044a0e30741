import Paper
import Payments
import Receipts

/// What the owner set about receipts.
struct ReceiptSettings: Sendable, Equatable, Codable {
    /// As ``PrinterAddress`` takes it; nil: there is no printer.
    var printer: String?
    var options = PrinterOptions()
    /// Whether a receipt is printed as soon as a charge is paid.
    var printsWhenPaid = false
    var terminal: String?
    var header: [String] = []
    var footer: [String] = []

    init() {}

    private enum CodingKeys: CodingKey { case printer, options, printsWhenPaid, terminal, header, footer }

    /// What an older version did not write yet is as it was then.
    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        printer = try values.decodeIfPresent(String.self, forKey: .printer)
        options = try values.decodeIfPresent(PrinterOptions.self, forKey: .options) ?? PrinterOptions()
        printsWhenPaid = try values.decodeIfPresent(Bool.self, forKey: .printsWhenPaid) ?? false
        terminal = try values.decodeIfPresent(String.self, forKey: .terminal)
        header = try values.decodeIfPresent([String].self, forKey: .header) ?? []
        footer = try values.decodeIfPresent([String].self, forKey: .footer) ?? []
    }

    var address: PrinterAddress? { printer.flatMap(PrinterAddress.init) }
}

/// Settings as a form sends them, not yet trusted. Nil keeps what is stored.
struct ReceiptForm: Sendable {
    /// Empty for none.
    var printer: String?
    var columns: Int64?
    var codePage: String?
    var cuts: Bool?
    var opensDrawer: Bool?
    var showsCode: Bool?
    var showsLogo: Bool?
    var printsWhenPaid: Bool?
    /// Empty for none.
    var terminal: String?
    var header: [String]?
    var footer: [String]?

    func checked(over stored: ReceiptSettings) throws(Problem) -> ReceiptSettings {
        var settings = stored
        var errors: [String: Reason] = [:]
        if let printer {
            let address = PrinterAddress(printer)
            settings.printer = address?.text
            if address == nil, !printer.isEmpty { errors["printer"] = Self.noPrinter }
        }
        if let columns {
            if let known = PrinterOptions.Columns(rawValue: Int(clamping: columns)) {
                settings.options.columns = known
            } else {
                errors["columns"] = Self.noChoice("32, 42 or 48")
            }
        }
        if let codePage {
            if let known = CodePage(rawValue: codePage) {
                settings.options.codePage = known
            } else {
                errors["codePage"] = Self.noChoice(CodePage.allCases.map(\.rawValue).joined(separator: ", "))
            }
        }
        if let cuts { settings.options.cuts = cuts }
        if let opensDrawer { settings.options.opensDrawer = opensDrawer }
        if let showsCode { settings.options.showsCode = showsCode }
        if let showsLogo { settings.options.showsLogo = showsLogo }
        if let printsWhenPaid { settings.printsWhenPaid = printsWhenPaid }
        if let terminal { settings.terminal = terminal.isEmpty ? nil : terminal }
        if let header { settings.header = Self.lines(header) }
        if let footer { settings.footer = Self.lines(footer) }
        if settings.printsWhenPaid, settings.printer == nil, errors["printer"] == nil {
            errors["printer"] = Reason(
                code: "printer_needed",
                message: "There is no printer that could print by itself.",
                action: "Enter the printer’s address, or switch this off."
            )
        }
        guard errors.isEmpty else {
            var problem = Problem(
                422,
                "invalid_settings",
                "Some of the settings cannot be used. Nothing was changed.",
                "Correct the fields that are marked."
            )
            problem.fields = errors
            throw problem
        }
        return settings
    }

    private static func lines(_ texts: [String]) -> [String] {
        texts.map { Receipt.clean($0, limit: Receipt.longestLine) }.filter { !$0.isEmpty }
    }

    private static let noPrinter = Reason(
        code: "invalid_printer",
        message: "This is no printer’s address.",
        action: "Enter an address such as 192.168.1.50:9100, or /dev/usb/lp0 for a printer that is plugged in."
    )

    private static func noChoice(_ choices: String) -> Reason {
        Reason(code: "invalid_choice", message: "There is no such choice.", action: "Use one of: \(choices).")
    }
}
