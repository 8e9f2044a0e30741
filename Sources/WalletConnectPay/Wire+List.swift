/// A list of payments as it travels.
///
/// Source: WalletConnect Pay API 2026-02-19.preview, `MerchantPaymentsResponse`.
struct WireList: WireType {
    /// One that cannot be read must not hide the others; it is counted.
    var data: [Lenient<Item>]
    var nextCursor: String?
    var stats: Lenient<Stats>?

    struct Item: WireType {
        var paymentId: String
        var merchant: Lenient<WireMerchant>?
        var referenceId: Lenient<String>?
        var status: String
        var isTerminal: Lenient<Bool>?
        var fiatAmount: Lenient<WireAmount>?
        var tokenAmount: Lenient<WireAmount>?
        var buyer: Lenient<Buyer>?
        var transaction: Lenient<Transaction>?
        var fees: Lenient<Fees>?
        var settlement: Lenient<Settlement>?
        var createdAt: Lenient<String>?
        var lastUpdatedAt: Lenient<String>?
        var settledAt: Lenient<String>?
    }

    struct Buyer: WireType {
        var accountCaip10: String
        var accountProviderName: String?
    }

    struct Transaction: WireType {
        var networkId: Lenient<String>?
        var hash: String?
    }

    struct Fees: WireType {
        var total: WireAmount
        var fixed: Lenient<WireAmount>?
        var percentage: Lenient<String>?
    }

    struct Settlement: WireType {
        var settled: Bool
        var amount: Lenient<WireAmount>?
        var txHash: String?
    }

    struct Stats: WireType {
        var totalRevenue: [Revenue]
        var totalTransactions: Int
        var totalCustomers: Int

        /// Its amount is a number of any size; it is cut out of the answer as it was written.
        struct Revenue: WireType { var currency: String }
    }
}

extension WireList.Item {
    /// Nil where its ID has another form than payments have.
    var payment: ListedPayment? {
        guard let id = PaymentID(paymentId) else { return nil }
        let status = PaymentStatus(word: status)
        return ListedPayment(
            paymentID: id,
            merchantID: merchant?.value?.id,
            merchantName: merchant?.value?.name,
            reference: referenceId?.value,
            status: status,
            isFinal: isTerminal?.value ?? status.isFinal,
            amount: fiatAmount?.value?.amount,
            paid: tokenAmount?.value?.amount,
            payer: buyer?.value?.accountCaip10,
            payerWallet: buyer?.value?.accountProviderName,
            transactionID: transaction?.value?.hash,
            chain: transaction?.value?.networkId?.value,
            fees: fees?.value.map { fees in
                ListedPayment.Fees(
                    total: fees.total.amount,
                    fixed: fees.fixed?.value?.amount,
                    percentage: fees.percentage?.value
                )
            },
            settlement: settlement?.value.map { settlement in
                ListedPayment.Settlement(
                    isSettled: settlement.settled,
                    amount: settlement.amount?.value?.amount,
                    transactionID: settlement.txHash
                )
            },
            createdAt: createdAt?.value,
            updatedAt: lastUpdatedAt?.value,
            settledAt: settledAt?.value
        )
    }
}

extension WireList.Stats {
    /// - Parameter body: The whole answer, in which the amounts stand as they were written.
    func statistics(from body: [UInt8]) -> PaymentStatistics {
        PaymentStatistics(
            revenue: totalRevenue.indices.map { index in
                let path: [any CodingKey] = [
                    Step("stats"), Step("totalRevenue"), Step(index), Step("amount"),
                ]
                return PaymentStatistics.Revenue(
                    currency: totalRevenue[index].currency,
                    amount: RawJSON.text(in: body, at: path)
                )
            },
            payments: totalTransactions,
            customers: totalCustomers
        )
    }

    private struct Step: CodingKey {
        var stringValue: String
        var intValue: Int?

        init(_ name: String) { (stringValue, intValue) = (name, nil) }
        init(_ index: Int) { (stringValue, intValue) = (String(index), index) }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { self.init(intValue) }
    }
}
