import Ethereum
import Payments
public import TapProtocol
import TapSigning

/// The WalletConnect Pay gateway as a phone may ask it what became of a payment that its wallet has signed.
public protocol PhoneGateway: Sendable {
    /// Nil where the gateway does not answer, or does not know yet.
    func status(of gatewayPaymentID: String, host: String) async -> PaymentStatus?
}

/// Rail 3: the terminal asks the gateway, the phone's account signs. Source: extension W.
extension TapPhone {
    /// Names the accounts; false where this is no way to pay here.
    func startWallet(_ dossier: PaymentDossier) -> Bool {
        guard let wallet = configuration.wallet, let owner, var session = sessions[owner],
            dossier.request.payload.offeredRails.contains(where: { $0.type == 3 })
        else { return false }
        // An accept that may still be executed must not have a second payment beside it.
        guard dossier.attempts.isEmpty || dossier.isWallet || dossier.receipt?.payload.status == .failed else {
            return false
        }
        let chains = Set(TokenCatalog.all.map(\.chainID)).sorted().prefix(16)
        let accounts = chains.map { chain in "eip155:\(chain):\(wallet.address.checksummed)" }
        let body = TapBody.accounts(dossier.paymentID, accounts)
        guard session.exchange.takes(body) else { return false }
        sessions[owner] = session
        send(body, to: owner)
        return true
    }

    /// OPTIONS and SIGN.
    func heardWallet(_ body: TapBody, _ source: Source) {
        guard var session = sessions[source.central], source.central == owner,
            case .prompting(let offer) = memory.payment.state, let dossier = memory.dossiers[offer.paymentID],
            session.exchange.takes(body)
        else { return unexpected(source) }
        if case .sign(let order) = body {
            if order.index == 0 { session.orders = [] }
            session.orders.append(order)
            session.lastOrderNumber = source.number ?? 0
        }
        if case .options(_, _, let expiresAt) = body { session.optionsExpireAtSeconds = expiresAt }
        sessions[source.central] = session
        switch (body, session.exchange.state) {
        case (.options, .offered(let options)): choose(options, dossier, source.central)
        case (.sign, .signing(let option, let next, let count)) where next == count:
            sign(session.orders, for: option, dossier, source)
        default: break
        }
    }

    private func choose(_ options: [WalletOption], _ dossier: PaymentDossier, _ central: String) {
        let affordable = options.filter { isFair($0, dossier.request.payload) }
        guard let option = affordable.first(where: { $0.collectDataURL == nil }) ?? affordable.first else {
            // The account cannot pay this: another way, or none.
            return dossier.isWallet ? feed(.userCancelled(.policy)) : payWithInstrument(dossier)
        }
        let body = TapBody.choose(dossier.paymentID, optionID: option.id)
        guard sessions[central]?.exchange.takes(body) == true else { return }
        // The terminal's screen shows the form; once it is filled in, the options come again.
        if let form = option.collectDataURL { log(.dataAsked(form)) }
        send(body, to: central)
    }

    /// The wallet's own account, a token that it knows, and no other price than what the merchant asks for.
    private func isFair(_ option: WalletOption, _ request: PaymentRequest) -> Bool {
        guard let wallet = configuration.wallet, let value = try? UInt256(parsing: option.value) else { return false }
        let parts = option.account.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "eip155", let chain = UInt64(parts[1]),
            parts[2].lowercased() == wallet.address.lowercased,
            let token = TokenCatalog.token(chainID: chain, symbol: option.symbol), token.decimals == option.decimals,
            let amount = UInt64(exactly: request.amount)
        else { return false }
        guard let currency = FiatCurrency(rawValue: request.currency), request.exponent == 2 else {
            // The merchant asks for the token itself.
            guard request.currency == token.symbol, request.exponent <= token.decimals,
                let asked = Self.scaled(amount, by: token.decimals - request.exponent)
            else { return false }
            return value <= asked
        }
        let asked = FiatAmount(currency: currency, minorUnits: amount).smallestUnits(of: token)
        // A third more is no exchange rate but another price; money of the same kind has none.
        guard Offering.peg(of: token) != currency else { return value <= asked }
        guard let most = try? asked.multiplied(by: 4).quotientAndRemainder(dividingBy: 3).quotient else { return false }
        return value <= most
    }

    private static func scaled(_ amount: UInt64, by digits: Int) -> UInt256? {
        var result = UInt256(amount)
        for _ in 0..<digits {
            guard let next = try? result.multiplied(by: 10) else { return nil }
            result = next
        }
        return result
    }

    /// Checks every order, and that all of them together are the one payment; signs none where one fails.
    private func sign(
        _ orders: [SigningOrder],
        for option: WalletOption,
        _ dossier: PaymentDossier,
        _ source: Source
    ) {
        guard let wallet = configuration.wallet else { return unexpected(source) }
        let check = SigningOrderCheck(
            option: option,
            expiresAtSeconds: sessions[source.central]?.optionsExpireAtSeconds ?? 0
        )
        do throws(SigningOrderRefusal) {
            // Each order may move all that was agreed, so a second one would be a second payment.
            guard orders.count == 1, let order = orders.first else { return refuseSigning("more than one transfer") }
            let transfer = try check.check(order)
            let digest = transfer.typedData.digest
            if case .wallet(_, _, let former)? = dossier.attempts.last?.means, former != digest.bytes {
                return refuseSigning("another transfer than the one that was signed for this payment")
            }
            log(
                .signing(
                    token: "\(transfer.token.symbol) on \(transfer.token.network)",
                    value: PhoneMoney.tokens(transfer.value, decimals: transfer.token.decimals),
                    to: transfer.to.checksummed
                )
            )
            agree(dossier, option, [wallet.sign(digest).hexadecimal], digest.bytes, source)
        } catch {
            refuseSigning("check W\(error.check.rawValue): \(error.detail)")
        }
    }

    private func refuseSigning(_ detail: String) {
        log(.signingRefused(detail))
        feed(.userCancelled(.policy))
    }

    private func agree(
        _ dossier: PaymentDossier,
        _ option: WalletOption,
        _ signatures: [String],
        _ digest: [UInt8],
        _ source: Source
    ) {
        let id = dossier.paymentID
        let body = TapBody.signatures(id, optionID: option.id, signatures)
        guard sessions[source.central]?.exchange.takes(body) == true else { return unexpected(source) }
        let hash = WalletClaim.hash(paymentID: id, optionID: option.id, signatures: signatures)
        let means = PaymentDossier.Attempt.Means.wallet(optionID: option.id, signatures: signatures, digest: digest)
        memory.dossiers[id]?.attempts.append(PaymentDossier.Attempt(means: means, hash: hash))
        let request = dossier.request.payload
        log(
            .accepted(
                id,
                total: PhoneMoney.text(request.amount, request.currency, exponent: request.exponent),
                with: option.account
            )
        )
        feed(.userAccepted(hash, isVoucher: false))
    }
}

extension PhoneMoney {
    /// `25.5`: a token's smallest units with `decimals` digits behind the point, without the last zeros.
    static func tokens(_ value: UInt256, decimals: Int) -> String {
        var digits = value.decimal
        guard decimals > 0 else { return digits }
        if digits.count <= decimals { digits = String(repeating: "0", count: decimals + 1 - digits.count) + digits }
        var fraction = digits.suffix(decimals)
        while fraction.last == "0" { fraction.removeLast() }
        return fraction.isEmpty ? String(digits.dropLast(decimals)) : "\(digits.dropLast(decimals)).\(fraction)"
    }
}
