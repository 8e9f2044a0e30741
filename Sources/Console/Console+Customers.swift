import Payments
import Terminal
import WebServer

/// What the owner may see and change about customers' own pages.
extension Console {
    func customersResponse() async -> WebResponse {
        let (set, version) = (await customers.settings, await customers.version)
        return .json(
            JSON.object([
                "enabled": .bool(set.isEnabled), "onScreen": .bool(set.isOnScreen),
                "address": .string(set.address ?? ""),
                "ownAddress": .string(customers.ownAddress),
                "wallets": .array((set.wallets ?? customers.supplied).map(Self.wallet)),
                "suppliedWallets": .bool(set.wallets == nil), "version": .integer(Int64(version)),
            ]).text
        )
    }

    private static func wallet(_ wallet: CustomerWallet) -> JSON {
        .object([
            "name": .string(wallet.name), "native": .string(wallet.native ?? ""),
            "universal": .string(wallet.universal ?? ""), "paymentLinks": .bool(wallet.takesPaymentLinks),
            "icon": .string(wallet.icon ?? ""),
        ])
    }

    func saveCustomers(_ request: WebRequest) async throws(Problem) -> WebResponse {
        var fields = try Form(request.body)
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
                icon: text("icon", limit: 11_000)
            )
        }
        let version = fields.integer("version")
        try fields.finish()
        do throws(Problem) {
            let current = await customers.version
            try await customers.save(form, replacing: version.map { Int(clamping: $0) } ?? current, by: Self.staff)
        } catch {
            await entrance.audit("customers", "refused", error.reason.code, by: Self.staff, from: request.peerAddress)
            throw error
        }
        await entrance.audit("customers", "ok", "", by: Self.staff, from: request.peerAddress)
        return await customersResponse()
    }
}
