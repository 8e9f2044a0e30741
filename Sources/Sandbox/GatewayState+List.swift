import Ethereum
import Payments
import StrictJSON

/// A merchant's history.
extension GatewayState {
    /// Which payments, in which order, how many. Source: WalletConnect Pay API, list payments, query parameters.
    private struct ListQuery {
        var from: WallTime?
        var until: WallTime?
        var words: Set<PaymentWord> = []
        var symbols: Set<String> = []
        var chains: Set<String> = []
        var merchants: Set<String> = []
        var reference: String?
        var byAmount = false
        var ascending = false
        var limit = 50
        var after: Position?

        /// - Parameter merchant: Whose payments; nil: all of the partner's, or those that the query names.
        init(_ request: GatewayRequest, merchant: String?) throws(APIError) {
            from = try Self.time(request, "startTs")
            until = try Self.time(request, "endTs")
            for text in request.values("status") {
                guard let word = PaymentWord(rawValue: text) else { throw Self.invalid("status") }
                words.insert(word)
            }
            symbols = Set(request.values("token_symbol") + request.values("asset"))
            chains = Set(request.values("network").flatMap { $0.split(separator: ",").map(String.init) })
            merchants = merchant.map { [$0] } ?? Set(request.values("merchantId") + request.values("merchantId[]"))
            if let text = request.values("referenceId").first {
                guard (3...35).contains(text.utf8.count), text.utf8.allSatisfy(Reference.allows) else {
                    throw Self.invalid("referenceId")
                }
                reference = text
            }
            byAmount = try Self.choice(request, "sortBy", ["date", "amount"]) == "amount"
            ascending = try Self.choice(request, "sortDir", ["desc", "asc"]) == "asc"
            if let text = request.values("limit").first {
                guard let limit = Int(text), (1...200).contains(limit) else { throw Self.invalid("limit") }
                self.limit = limit
            }
            if let text = request.values("cursor").first {
                guard let position = Position(cursor: text) else { throw Self.invalid("cursor") }
                after = position
            }
        }

        static func invalid(_ field: String) -> APIError { .invalid("Validation failed: \(field)") }

        /// - Throws: Where the query asks for it by name.
        mutating func leaveOutCancelled() throws(APIError) {
            guard !words.contains(.cancelled) else { throw Self.invalid("status") }
            if words.isEmpty { words = Set(PaymentWord.allCases).subtracting([.cancelled]) }
        }

        private static func choice(
            _ request: GatewayRequest,
            _ name: String,
            _ words: [String]
        ) throws(APIError) -> String {
            guard let word = request.values(name).first else { return words[0] }
            guard words.contains(word) else { throw invalid(name) }
            return word
        }

        private static func time(_ request: GatewayRequest, _ name: String) throws(APIError) -> WallTime? {
            guard let text = request.values(name).first else { return nil }
            guard let time = parsedTimestamp(text) else { throw invalid(name) }
            return time
        }

        func includes(_ payment: SandboxPayment) -> Bool {
            let token = payment.confirmation?.option.order.token
            return (from.map { payment.createdAt >= $0 } ?? true) && (until.map { payment.createdAt < $0 } ?? true)
                && (words.isEmpty || words.contains(payment.word))
                && (symbols.isEmpty || token.map { symbols.contains($0.symbol) } ?? false)
                && (chains.isEmpty || token.map { chains.contains($0.chain) } ?? false)
                && (merchants.isEmpty || merchants.contains(payment.merchantID))
                && (reference.map { payment.reference.contains($0) } ?? true)
        }

        func position(_ payment: SandboxPayment) -> Position {
            Position(key: byAmount ? payment.amount.minorUnits : 0, sequence: payment.sequence)
        }
    }

    /// A payment's place in a list. A cursor names the last one that was handed out, so that payments which come or
    /// change between two pages neither repeat others nor hide them.
    private struct Position: Comparable {
        let key: UInt64
        let sequence: Int

        init(key: UInt64, sequence: Int) { (self.key, self.sequence) = (key, sequence) }

        init?(cursor: String) {
            guard let bytes = bytes(hex: cursor) else { return nil }
            let parts = String(decoding: bytes, as: UTF8.self).split(separator: ".")
            guard parts.count == 2, let key = UInt64(parts[0]), let sequence = Int(parts[1]) else { return nil }
            self.init(key: key, sequence: sequence)
        }

        var cursor: String { hex("\(key).\(sequence)".utf8) }

        static func < (lhs: Self, rhs: Self) -> Bool { (lhs.key, lhs.sequence) < (rhs.key, rhs.sequence) }
    }

    /// Version 2026-02-18 has no state `cancelled` in its lists: a client of it would meet a word that it does not know.
    /// Source: WalletConnect Pay API, `MerchantPaymentsResponse` of each version.
    func list(
        _ request: GatewayRequest,
        merchant: String?,
        _ version: APIVersion
    ) throws(APIError) -> GatewayAnswer {
        var query = try ListQuery(request, merchant: merchant)
        if version == .general { try query.leaveOutCancelled() }
        let (page, cursor, matching) = page(query)
        return GatewayAnswer(
            200,
            .members([
                "data": .array(page.map(listed)), "nextCursor": .text(cursor), "stats": Self.statistics(matching),
            ])
        )
    }

    /// One page, the cursor of the next one, and everything that the query matches.
    private func page(_ query: ListQuery) -> (page: [SandboxPayment], cursor: String?, matching: [SandboxPayment]) {
        let matching = names.compactMap { payments[$0] }.filter(query.includes)
        let sorted = matching.sorted { one, other in
            query.ascending
                ? query.position(one) < query.position(other) : query.position(other) < query.position(one)
        }
        let rest = sorted.filter { payment in
            guard let after = query.after else { return true }
            let position = query.position(payment)
            return query.ascending ? position > after : position < after
        }
        let page = Array(rest.prefix(query.limit))
        return (page, page.count == rest.count ? nil : page.last.map { query.position($0).cursor }, matching)
    }

    /// The list as it was before, in snake case and without the state `cancelled`, which it does not know.
    /// Source: WalletConnect Pay API, `MerchantLegacyPaymentsResponse`.
    func legacyList(_ request: GatewayRequest, merchant: String) throws(APIError) -> GatewayAnswer {
        let current = request.renaming([
            "start_ts": "startTs", "end_ts": "endTs", "sort_by": "sortBy", "sort_dir": "sortDir",
        ])
        var query = try ListQuery(current, merchant: merchant)
        try query.leaveOutCancelled()
        let (page, cursor, matching) = page(query)
        let succeeded = matching.filter { $0.word == .succeeded }
        let currency = succeeded.first?.amount.currency ?? .usDollar
        let customers = Set(matching.compactMap { $0.confirmation?.buyer.account.address })
        return GatewayAnswer(
            200,
            .members([
                "data": .array(page.map(legacyListed)), "next_cursor": .text(cursor),
                "stats": .members([
                    "total_customers": .integer(customers.count),
                    "total_revenue": .members([
                        "amount": Self.total(succeeded, currency), "currency": .string(currency.rawValue),
                    ]),
                    "total_transactions": .integer(matching.count),
                ]),
            ])
        )
    }

    private func legacyListed(_ payment: SandboxPayment) -> ExactJSON {
        let order = payment.confirmation?.option.order
        let display = order?.token.amount(.zero)["display"]
        let isPaid = payment.word == .succeeded
        let transaction = ExactJSON.text(isPaid ? payment.confirmation?.transactionID : nil)
        return .members([
            "payment_id": .string(payment.id), "merchant_id": .string(payment.merchantID),
            "reference_id": .string(payment.reference), "status": .string(payment.word.rawValue),
            "is_terminal": .bool(payment.word.isFinal),
            "wallet_name": .string(payment.confirmation?.buyer.wallet ?? ""),
            "chain_id": .text(order?.token.chain),
            "buyer_caip10": .text(payment.confirmation?.buyer.account.text),
            "token_caip19": .text(order?.token.assetID), "tx_hash": transaction,
            "token_amount": .text(order?.value.decimal),
            "fiat_amount": Int32(exactly: payment.amount.minorUnits).map { .integer($0) } ?? .null,
            "fiat_currency": .string(payment.amount.currency.rawValue),
            "created_at": .string(timestamp(payment.createdAt)),
            "last_updated_at": .string(timestamp(payment.changedAt)),
            "settled_at": .text(isPaid ? timestamp(payment.changedAt) : nil),
            "settlement_status": .text(isPaid ? "settled" : nil), "settlement_tx_hash": transaction,
            "token_symbol": .text(order?.token.symbol),
            "token_decimals": order.map { .integer($0.token.decimals) } ?? .null,
            "token_logo": display?["iconUrl"] ?? .null, "chain_logo": display?["networkIconUrl"] ?? .null,
            "wallet_logo": .null,
        ])
    }

    /// Source: as above; members that are not known yet are left out.
    private func listed(_ payment: SandboxPayment) -> ExactJSON {
        var members: [ExactJSON.Member] = [
            .init("paymentId", .string(payment.id)),
            .init(
                "merchant",
                .members([
                    "id": .string(payment.merchantID),
                    "name": .string(merchant(payment.merchantID)?.name ?? payment.merchantID),
                    "iconUrl": .text(merchant(payment.merchantID)?.iconURL),
                ])
            ),
            .init("referenceId", .string(payment.reference)), .init("status", .string(payment.word.rawValue)),
            .init("isTerminal", .bool(payment.word.isFinal)), .init("fiatAmount", payment.amount.json),
        ]
        if let confirmation = payment.confirmation {
            let order = confirmation.option.order
            members.append(.init("tokenAmount", order.token.amount(order.value)))
            members.append(
                .init(
                    "buyer",
                    .members([
                        "accountCaip10": .string(confirmation.buyer.account.text),
                        "accountProviderName": .string(confirmation.buyer.wallet),
                    ])
                )
            )
            var transaction = [ExactJSON.Member("networkId", .string(String(order.token.chainID)))]
            if payment.word == .succeeded { transaction.append(.init("hash", .string(confirmation.transactionID))) }
            members.append(.init("transaction", .object(transaction)))
            if payment.word == .succeeded {
                members.append(
                    .init(
                        "settlement",
                        .members([
                            "settled": .bool(true), "amount": order.token.amount(order.value),
                            "txHash": .string(confirmation.transactionID),
                        ])
                    )
                )
                members.append(.init("settledAt", .string(timestamp(payment.changedAt))))
            }
        }
        members.append(.init("createdAt", .string(timestamp(payment.createdAt))))
        members.append(.init("lastUpdatedAt", .string(timestamp(payment.changedAt))))
        return .object(members)
    }

    /// In whole units of the currency, as the API has it: a number with two decimals.
    private static func total(_ payments: [SandboxPayment], _ currency: FiatCurrency) -> ExactJSON {
        let cents = payments.filter { $0.amount.currency == currency }.reduce(0) { $0 + $1.amount.minorUnits }
        return .number("\(cents / 100).\(String(cents % 100 + 100).dropFirst())")
    }

    private static func statistics(_ payments: [SandboxPayment]) -> ExactJSON {
        let succeeded = payments.filter { $0.word == .succeeded }
        let revenue = FiatCurrency.allCases.filter { currency in succeeded.contains { $0.amount.currency == currency } }
            .map { currency in
                ExactJSON.members([
                    "amount": total(succeeded, currency), "currency": .string(currency.rawValue),
                ])
            }
        let customers = Set(payments.compactMap { $0.confirmation?.buyer.account.address })
        return .members([
            "totalRevenue": .array(revenue), "totalTransactions": .integer(payments.count),
            "totalCustomers": .integer(customers.count),
        ])
    }
}

/// Reads `2026-09-16T19:30:33.44+02:00`. Source: WalletConnect Pay API, the pattern of `startTs`, which is RFC 3339 with seconds
/// that may be missing and a zone that may not.
func parsedTimestamp(_ text: String) -> WallTime? {
    let pattern = /(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:\d{2})/
    guard let match = text.wholeMatch(of: pattern)?.output, let year = Int64(match.1), let month = Int64(match.2),
        let day = Int64(match.3), let hour = Int64(match.4), let minute = Int64(match.5),
        (1...12).contains(month), hour < 24, minute < 60
    else { return nil }
    let second = match.6.flatMap { Int64($0) } ?? 0
    let fraction = Int64((match.7.map(String.init) ?? "").padded(to: 3)) ?? 0
    guard second < 60 else { return nil }
    // Source: H. Hinnant, chrono-compatible low-level date algorithms, `days_from_civil`.
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = shiftedYear / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    let time = WallTime(
        millisecondsSince1970: ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + fraction
    )
    // A day that the month does not have comes out as one of the next month.
    guard timestamp(time).hasPrefix(text.prefix(10)) else { return nil }
    guard match.8 != "Z" else { return time }
    let zone = match.8.dropFirst().split(separator: ":").compactMap { Int64($0) }
    let minutes = (zone[0] * 60 + zone[1]) * (match.8.hasPrefix("-") ? -1 : 1)
    return time.advanced(by: .seconds(-60 * minutes))
}

extension String {
    /// The first digits of a fraction, filled up with zeros.
    fileprivate func padded(to width: Int) -> String {
        String((self + String(repeating: "0", count: width)).prefix(width))
    }
}
