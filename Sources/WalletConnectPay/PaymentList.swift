/// Which payments to list, and in which order.
///
/// Source: WalletConnect Pay API 2026-02-19.preview, `GET /v1/merchants/payments`.
public struct PaymentQuery: Sendable, Equatable {
    /// By what a list is ordered.
    public enum Order: String, Sendable, CaseIterable {
        case date, amount
    }

    /// Part of a reference, 3 to 35 letters, digits, spaces and `/ - : . , +`.
    public var reference: String?
    /// Only payments of these; empty for all.
    public var statuses: [PaymentStatus]
    /// RFC 3339, inclusive.
    public var from: String?
    /// RFC 3339, exclusive.
    public var until: String?
    /// Symbols such as `USDC`; empty for all. Names of tokens by CAIP-19 are not taken.
    public var tokenSymbols: [String]
    /// One token, in the parameter that the gateway had before ``tokenSymbols`` and will take away.
    /// Source: WalletConnect Pay API 2026-02-19.preview, `asset`.
    @available(*, deprecated, message: "The gateway will take this filter away; use tokenSymbols.")
    public var asset: String? {
        get { oldAsset }
        set { oldAsset = newValue }
    }
    private var oldAsset: String?
    /// Chains by CAIP-2, such as `eip155:8453`; empty for all.
    public var networks: [String]
    public var order: Order
    /// Oldest or smallest first.
    public var isAscending: Bool
    /// Payments on one page, 1 to 200; others are brought into range.
    public var limit: Int
    /// From the page before; nil for the first.
    public var cursor: String?

    public init(
        reference: String? = nil,
        statuses: [PaymentStatus] = [],
        from: String? = nil,
        until: String? = nil,
        tokenSymbols: [String] = [],
        networks: [String] = [],
        order: Order = .date,
        isAscending: Bool = false,
        limit: Int = 50,
        cursor: String? = nil
    ) {
        self.reference = reference
        self.statuses = statuses
        self.from = from
        self.until = until
        self.tokenSymbols = tokenSymbols
        self.networks = networks
        self.order = order
        self.isAscending = isAscending
        self.limit = limit
        self.cursor = cursor
    }

    /// The query with its question mark.
    /// - Throws: `MerchantError.invalid` where the gateway would refuse a filter. Nothing is asked then.
    func text() throws(MerchantError) -> String {
        var items: [(String, String)] = [
            ("sortBy", order.rawValue), ("sortDir", isAscending ? "asc" : "desc"),
            ("limit", String(min(max(limit, 1), 200))),
        ]
        if let reference {
            guard (3...35).contains(reference.utf8.count), reference.utf8.allSatisfy(\.mayStandInAReference) else {
                throw .invalid(
                    field: "reference",
                    message: "it must have 3 to 35 characters of those a reference may have"
                )
            }
            items.append(("referenceId", reference))
        }
        for status in statuses {
            // A word that the gateway does not list by would be refused, and the whole list with it.
            if case .unrecognised(let word) = status {
                throw .invalid(
                    field: "statuses",
                    message: "“\(word.prefix(40))” is no status that payments are listed by"
                )
            }
            items.append(("status", status.word))
        }
        if let from { items.append(("startTs", from)) }
        if let until { items.append(("endTs", until)) }
        for symbol in tokenSymbols {
            guard !symbol.isEmpty else { throw .invalid(field: "tokenSymbols", message: "an empty symbol") }
            items.append(("token_symbol", symbol))
        }
        if let oldAsset {
            guard !oldAsset.isEmpty else { throw .invalid(field: "asset", message: "an empty name") }
            items.append(("asset", oldAsset))
        }
        guard networks.allSatisfy({ !$0.isEmpty && !$0.contains(",") }) else {
            throw .invalid(field: "networks", message: "a chain is named like eip155:8453")
        }
        if !networks.isEmpty { items.append(("network", networks.joined(separator: ","))) }
        if let cursor { items.append(("cursor", cursor)) }
        return "?" + items.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
    }
}

/// One page of a list.
public struct PaymentPage: Sendable, Equatable {
    public let payments: [ListedPayment]
    /// How many entries of the page say nothing that can be read. Above zero the list is not the whole truth.
    public let unreadable: Int
    /// Pass it on for the next page; nil on the last.
    public let nextCursor: String?
    /// Of all payments that match the query, not of this page. Nil where the gateway gave none.
    public let statistics: PaymentStatistics?
    /// The version of the API that the gateway used for this answer, where it says so. Source: answer header `WCP-Version`.
    public let apiVersion: String?
}

/// What all payments of a query come to, by the gateway's own count.
public struct PaymentStatistics: Sendable, Equatable {
    /// Taken in one currency.
    public struct Revenue: Sendable, Equatable {
        /// ISO 4217.
        public let currency: String
        /// A decimal number in the currency's usual unit, digit for digit as the gateway wrote it; nil where it wrote none.
        public let amount: String?
    }

    public let revenue: [Revenue]
    public let payments: Int
    public let customers: Int
}

/// A payment as a list shows it. A list is a hint: the payment's status is the authority's word.
public struct ListedPayment: Sendable, Equatable {
    /// What the gateway keeps of a payment.
    public struct Fees: Sendable, Equatable {
        public let total: PayAmount
        public let fixed: PayAmount?
        /// Percent as decimal text: `0.4` is 0.4 %.
        public let percentage: String?
    }

    /// The transfer to the merchant.
    public struct Settlement: Sendable, Equatable {
        public let isSettled: Bool
        /// After fees.
        public let amount: PayAmount?
        public let transactionID: String?
    }

    public let paymentID: PaymentID
    public let merchantID: String?
    public let merchantName: String?
    public let reference: String?
    public let status: PaymentStatus
    /// The gateway's own flag.
    public let isFinal: Bool
    /// What was asked for.
    public let amount: PayAmount?
    /// What the customer paid with.
    public let paid: PayAmount?
    /// CAIP-10.
    public let payer: String?
    public let payerWallet: String?
    public let transactionID: String?
    /// The bare number of the chain as text, such as `8453`.
    public let chain: String?
    public let fees: Fees?
    public let settlement: Settlement?
    /// RFC 3339, as are the next two.
    public let createdAt: String?
    public let updatedAt: String?
    public let settledAt: String?
}

/// The pages of a list, in order. Each is fetched when it is asked for, so a long list never stands in memory whole.
///
/// A list may change while it is walked: a payment can come twice, with another status. Count payments by their ID.
public struct PaymentPages: AsyncSequence, Sendable {
    public typealias Element = PaymentPage
    public typealias Failure = MerchantError
    /// Fetches one page.
    public typealias Fetch = @Sendable (PaymentQuery) async throws(MerchantError) -> PaymentPage

    private let query: PaymentQuery
    private let mostPages: Int
    private let fetch: Fetch

    /// - Parameters:
    ///   - mostPages: A list that goes on behind so many pages is an error: a gateway that always names one more page
    ///     would never let the walk end.
    ///   - fetch: One exchange for one page; put whatever repeats it after silence here.
    public init(_ query: PaymentQuery, mostPages: Int = 10_000, fetch: @escaping Fetch) {
        (self.query, self.mostPages, self.fetch) = (query, mostPages, fetch)
    }

    public func makeAsyncIterator() -> Iterator { Iterator(next: query, pagesLeft: mostPages, fetch: fetch) }

    public struct Iterator: AsyncIteratorProtocol {
        var next: PaymentQuery?
        private var pagesLeft: Int
        let fetch: Fetch
        private var cursors: Set<String> = []

        init(next: PaymentQuery, pagesLeft: Int, fetch: @escaping Fetch) {
            (self.next, self.pagesLeft, self.fetch) = (next, pagesLeft, fetch)
        }

        /// - Throws: ``MerchantError``: the list ends here, and what came before is not the whole.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(MerchantError) -> PaymentPage? {
            guard let query = next else { return nil }
            next = nil  // A page that fails is the last one.
            guard pagesLeft > 0 else { throw .unclear(detail: "the list does not end") }
            pagesLeft -= 1
            let page = try await fetch(query)
            if let cursor = page.nextCursor {
                // Else a gateway that leads in a circle would never let the walk end.
                guard cursors.insert(cursor).inserted else { throw .unclear(detail: "the list leads back to itself") }
                next = query
                next?.cursor = cursor
            }
            return page
        }

        public mutating func next() async throws(MerchantError) -> PaymentPage? { try await next(isolation: nil) }
    }
}
