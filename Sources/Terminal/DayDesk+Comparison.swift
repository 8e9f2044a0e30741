import Journal
import Payments
import WalletConnectPay

/// One comparison, step by step: the list, the journal, the questions about what differs.
extension DayDesk {
    func compare(
        _ bounds: Range<WallTime>,
        _ merchant: MerchantClient,
        _ settings: MerchantSettings,
        _ report: inout DayReport
    ) async throws(JournalError) {
        let comparison = DayComparison(
            day: bounds,
            listedUntil: report.comparedAt.advanced(by: .zero - Self.listingTime),
            merchantID: settings.merchantID,
            isOwn: { [mark] name in mark?.made(name) ?? false }
        )
        let listed = await list(bounds, merchant, settings, &report)
        report.listed = listed.count
        let isWhole = report.gaps.isEmpty
        let (before, elsewhere) = try await read(bounds, settings)
        if elsewhere > 0 { report.gaps.append(.elsewhere(elsewhere)) }
        var found = comparison.find(journal: before, listed: listed)
        report.charges = found.compared
        // Without its end a list says nothing about what is not in it.
        if !isWhole { found.differences.removeAll { $0.kind == .notListed } }

        var questions = DayQuestions(left: Self.mostQuestions)
        let asked = await askAboutCharges(in: found.differences, &questions)
        if !asked.isEmpty {
            let (after, _) = try await read(bounds, settings)
            let paidBefore = Set(before.filter { $0.standing == .paid }.map(\.id))
            report.booked =
                after.filter { $0.standing == .paid && asked.contains($0.id) && !paidBefore.contains($0.id) }.map(\.id)
            found = comparison.find(journal: after, listed: listed)
            if !isWhole { found.differences.removeAll { $0.kind == .notListed } }
            found.differences = await whatStatusesConfirm(found.differences, after, merchant, settings, &questions)
        } else {
            found.differences = await whatStatusesConfirm(found.differences, before, merchant, settings, &questions)
        }
        if questions.unasked > 0 { report.gaps.append(.notAsked(questions.unasked)) }
        if questions.unanswered > 0 { report.gaps.append(.noAnswer(questions.unanswered)) }
        if found.open > 0 { report.gaps.append(.stillOpen(found.open)) }
        if report.comparedAt < bounds.upperBound { report.gaps.append(.dayNotOver) }
        keep(try await withoutKnown(found.differences), in: &report)
    }

    /// Without payments whose charge stands in the journal on another day: the terminal's clock was wrong then, and nothing is lost.
    private func withoutKnown(_ differences: [DayDifference]) async throws(JournalError) -> [DayDifference] {
        var kept: [DayDifference] = []
        for difference in differences {
            if difference.kind == .lost,
                let id = difference.listedReference.map(ChargeTerms.charge(ofReference:)).flatMap(
                    ChargeID.of(compact:)
                ),
                try await journal.charge(id) != nil
            {
                continue
            }
            kept.append(difference)
        }
        return kept
    }

    private func keep(_ differences: [DayDifference], in report: inout DayReport) {
        let ours = differences.filter { $0.kind != .notOurs }
        let others = differences.filter { $0.kind == .notOurs }
        report.differences = Array(ours.prefix(DayReport.mostDifferences))
        report.notOurs = Array(others.prefix(DayReport.mostDifferences))
        report.more = ours.count - report.differences.count
        report.moreNotOurs = others.count - report.notOurs.count
    }

    // MARK: - The gateway's side

    /// The gateway's list from before the day to behind it. What is missing of it is named in the report.
    private func list(
        _ bounds: Range<WallTime>,
        _ merchant: MerchantClient,
        _ settings: MerchantSettings,
        _ report: inout DayReport
    ) async -> [ListedEntry] {
        let query = PaymentQuery(
            from: bounds.lowerBound.advanced(by: .zero - Self.margin).internetText,
            until: bounds.upperBound.advanced(by: Self.margin).internetText,
            isAscending: true,
            limit: 200
        )
        let gateway = settings.gatewayURL
        var pages = PaymentPages(query, mostPages: Self.mostPages) { [self] query async throws(MerchantError) in
            try await paced(gateway) { () async throws(MerchantError) in try await merchant.payments(query) }
        }.makeAsyncIterator()
        // By ID: a list that changes while it is walked may show a payment twice.
        var entries: [String: ListedEntry] = [:]
        var unreadable = 0
        do throws(MerchantError) {
            while let page = try await pages.next() {
                unreadable += page.unreadable
                for payment in page.payments { entries[payment.paymentID.rawValue] = ListedEntry(payment) }
                guard entries.count <= Self.mostListed else {
                    report.gaps.append(.tooMany)
                    break
                }
            }
        } catch { report.gaps.append(.listBroken(error.summary)) }
        if unreadable > 0 { report.gaps.append(.unreadable(unreadable)) }
        return Array(entries.values)
    }

    // MARK: - The journal's side

    /// Charges from before the day to behind it, and how many of the day were made at another gateway or merchant.
    private func read(
        _ bounds: Range<WallTime>,
        _ settings: MerchantSettings
    ) async throws(JournalError) -> ([JournalPayment], elsewhere: Int) {
        var payments: [JournalPayment] = []
        var elsewhere = 0
        var last: ChargeID?
        repeat {
            let page = try await journal.charges(
                from: bounds.lowerBound.advanced(by: .zero - Self.margin),
                until: bounds.upperBound.advanced(by: Self.margin),
                after: last,
                limit: 500
            )
            for charge in page {
                let terms = charge.terms
                if let place = terms.place, place == settings.place {
                    payments.append(JournalPayment(charge))
                } else if bounds.contains(terms.openedAt) {
                    elsewhere += 1
                }
            }
            last = page.last?.id
        } while last != nil
        return (payments, elsewhere)
    }
}
