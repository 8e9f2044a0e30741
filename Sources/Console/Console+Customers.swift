import Payments
import Terminal
import WebServer

/// What the owner may see and change about customers' own pages.
extension Console {
    func customersResponse() async -> WebResponse {
        let (set, version) = (await customers.settings, await customers.version)
        return .json(
            JSON.object(
                [
                    "enabled": .bool(set.isEnabled), "onScreen": .bool(set.isOnScreen),
                    "address": .string(set.address ?? ""),
                    "ownAddress": .string(customers.ownAddress() ?? ""),
                    "wallets": .array((set.wallets ?? customers.supplied).map(Self.wallet)),
                    "suppliedWallets": .bool(set.wallets == nil), "version": .integer(Int64(version)),
                ].merging(await changed("customers")) { own, _ in own }
            ).text
        )
    }

    private static func wallet(_ wallet: CustomerWallet) -> JSON {
        .object([
            "name": .string(wallet.name), "native": .string(wallet.native ?? ""),
            "universal": .string(wallet.universal ?? ""), "paymentLinks": .bool(wallet.takesPaymentLinks),
            "icon": .string(wallet.icon ?? ""),
        ])
    }

    func saveCustomers(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        let (form, password, version) = try Self.customerForm(pass)
        let led: [String]
        do throws(Problem) {
            led = try await keepCustomers(form, replacing: version, password: password, of: pass)
        } catch {
            await entrance.audit(
                "customers",
                "refused",
                error.reason.code,
                by: pass.who,
                from: pass.request.peerAddress
            )
            throw error
        }
        let changed = led.joined(separator: ", ")
        await entrance.audit("customers", "ok", changed, by: pass.who, from: pass.request.peerAddress)
        return await customersResponse()
    }

    /// What customers are led to is as good as a gateway's address: whoever can change it could send them elsewhere.
    /// - Returns: The names of what was changed about that.
    private func keepCustomers(
        _ form: CustomerForm,
        replacing version: Int?,
        password: String?,
        of pass: Gate.Pass
    ) async throws(Problem) -> [String] {
        let current = await customers.version
        // What the form is compared with is what it replaces.
        if let version, version != current { throw Self.problem(SettingsError.conflict) }
        let led = try await customers.leads(form)
        if !led.isEmpty {
            try await requirePassword(
                password,
                because: "Changing where customers are led needs the password again.",
                of: pass
            )
        }
        try await customers.save(form, replacing: current, by: pass.who)
        return led
    }

    static func customerForm(_ pass: Gate.Pass) throws(Problem) -> (
        CustomerForm, password: String?, version: Int?
    ) {
        var fields = try Form(pass.body, bytes: CustomerForm.bodyBytes)
        var form = CustomerForm()
        form.isEnabled = fields.bool("enabled")
        form.isOnScreen = fields.bool("onScreen")
        form.address = fields.optionalText("address", limit: 200)
        form.usesSuppliedWallets = fields.bool("suppliedWallets")
        form.wallets = fields.list("wallets", limit: CustomerForm.mostWallets) { item in
            func text(_ name: String, limit: Int) -> String? {
                item.optionalText(name, limit: limit).flatMap { $0.isEmpty ? nil : $0 }
            }
            return CustomerWallet(
                name: item.text("name", limit: 40),
                native: text("native", limit: 100),
                universal: text("universal", limit: 200),
                takesPaymentLinks: item.bool("paymentLinks") ?? false,
                // What is too long is said with the picture's wallet.
                icon: text("icon", limit: CustomerForm.bodyBytes)
            )
        }
        let password = fields.optionalText("password", limit: 1000)
        let version = fields.integer("version")
        try fields.finish()
        return (form, password, version.map { Int(clamping: $0) })
    }
}
