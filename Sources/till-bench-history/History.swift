import Foundation
import Glibc
import Journal
import Payments

/// How long lists, searches, sums and files of everything take at two numbers of charges, and how much longer at the larger one.
func history(in folder: String?, counts: [Int]) async throws {
    var figures: [[(name: String, middle: Double, worst: Double)]] = []
    var reads: [(alone: [Double], reads: [LongRead])] = []
    for count in counts {
        let place = "\(folder ?? NSTemporaryDirectory())/till-bench-history-\(UInt32.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: place) }  // Of a benchmark: a rest does no harm.
        let key = try DeviceKey.loadOrCreate(at: place + "/device.key")
        let journal = try Journal.open(directory: place + "/journal", deviceKey: key)
        let clock = ContinuousClock()
        let began = clock.now
        let sales = Sales(count: count)
        try journal.fillProjections(count: count, chargesOfShift: Sales.chargesOfShift, charge: sales.charge)
        print(String(format: "history, %d charges written in %.1f s", count, (clock.now - began) / .seconds(1)))
        figures.append(try await measure(journal, sales))
        reads.append(try await longReads(journal, count: count))
        try journal.close()
    }
    guard let few = figures.first, let many = figures.last else { return }
    for (one, other) in zip(few, many) {
        print(
            String(
                format: "history, %@: %d p50 %.2f ms, worst %.2f ms; %d p50 %.2f ms, worst %.2f ms; growth %.1f",
                one.name,
                counts[0],
                one.middle,
                one.worst,
                counts[counts.count - 1],
                other.middle,
                other.worst,
                other.middle / one.middle
            )
        )
    }
    printLongReads(counts, reads)
}

private func measure(
    _ journal: Journal,
    _ sales: Sales
) async throws -> [(name: String, middle: Double, worst: Double)] {
    func filter(_ change: (inout ChargeFilter) -> Void) -> ChargeFilter {
        var filter = ChargeFilter()
        change(&filter)
        return filter
    }
    func search(_ text: String, _ total: Int64? = nil) -> ChargeFilter {
        filter { $0.search = ChargeSearch(text: text, total: total.map { Money(minorUnits: $0, currency: .euro) }) }
    }
    let middle = ChargePlace.before(sales.charge(sales.count / 2).id)
    let lists: [(String, ChargeFilter, ChargePlace)] = [
        ("newest page", ChargeFilter(), .newest), ("page in the middle", ChargeFilter(), middle),
        ("not known yet", filter { $0.state = .unknown }, .newest),
        ("failed, scanned, in the middle", filter { ($0.state, $0.rail) = (.failed, .scan) }, middle),
        ("one day", filter { ($0.from, $0.until) = sales.day }, .newest),
        ("amounts, rare", filter { $0.total = 1_000_000...2_000_000 }, .newest),
        ("amounts, common", filter { $0.total = 1000...1500 }, middle),
        ("nobody's, among all", filter { ($0.total, $0.currency) = (1000...1500, .usDollar) }, .newest),
        ("search, whole reference", search("sale-\(sales.count / 3)-x"), .newest),
        ("search, beginning of all references", search("sale"), middle),
        ("search, one payment", search("pay_\(sales.count / 2)z"), .newest),
        ("search, an amount", search("12.50", 1250), .newest),
    ]
    var figures: [(String, Double, Double)] = []
    for (name, filter, place) in lists {
        figures.append(
            try await timed(name) { _ = try await journal.charges(filter, from: place, limit: 25) }
        )
    }
    for (name, span, count) in [("days", 1, 31), ("days", 1, 92), ("months", 30, 12), ("months", 30, 36)] {
        let ranges = sales.ranges(days: Int64(span), count: count)
        figures.append(try await timed("totals, \(count) \(name)") { _ = try await journal.takings(in: ranges) })
    }
    let shift = Int64(sales.count / Sales.chargesOfShift / 2 + 1)
    figures.append(try await timed("one shift") { _ = try await journal.shift(shift) })
    let month = sales.ranges(days: 30, count: 1)[0]
    figures.append(
        try await timed("shifts of a month") { _ = try await journal.shifts(openedIn: month, person: nil, limit: 200) }
    )
    figures.append(try await timed("who charged") { _ = try await journal.openers(limit: 200) })
    return figures
}

private func timed(_ name: String, _ body: () async throws -> Void) async throws -> (String, Double, Double) {
    let clock = ContinuousClock()
    var times: [Double] = []
    for turn in 0...21 {
        let start = clock.now
        try await body()
        if turn > 0 { times.append((clock.now - start) / .milliseconds(1)) }  // The first turn warms up.
    }
    times.sort()
    return (name, times[times.count / 2], times[times.count - 1])
}

/// The charges of a busy shop: one every 95 seconds, most of them paid.
private struct Sales {
    let count: Int

    private static let begin: Int64 = 1_700_000_000_000
    private static let spacing: Int64 = 95_000
    static let chargesOfShift = 200

    func time(_ number: Int) -> WallTime {
        WallTime(millisecondsSince1970: Self.begin + Int64(number) * Self.spacing)
    }

    /// A day in the middle.
    var day: (WallTime, WallTime) {
        let start = time(count / 2)
        return (start, start.advanced(by: .seconds(86_400)))
    }

    /// The last days or months, beginning at half past the hour as in India.
    func ranges(days: Int64, count: Int) -> [Range<WallTime>] {
        let end = (time(self.count).millisecondsSince1970 / 86_400_000) * 86_400_000 + 19_800_000
        return (0..<Int64(count)).reversed().map { back in
            let until = end - back * days * 86_400_000
            return WallTime(millisecondsSince1970: until - days * 86_400_000)..<WallTime(millisecondsSince1970: until)
        }
    }

    func charge(_ number: Int) -> Charge {
        var generator = Numbers(state: UInt64(number))
        let rail = Rail.allCases[number % 3]
        let terms = ChargeTerms(
            id: ChargeID(at: time(number), using: &generator),
            code: ChargeCode(using: &generator),
            amount: Money(minorUnits: number % 5000 == 7 ? 1_500_000 : Int64(200 + number % 97 * 75), currency: .euro),
            reference: "Sale-\(number)-x",
            merchantID: "merchant-42",
            merchantName: "Kiosk am Markt",
            operatorID: "operator-7",
            gatewayURL: "https://gateway.example.com",
            openedBy: .staff(name: number % 2 == 0 ? "Ada" : "Grace"),
            openedAt: time(number),
            timeLimitSeconds: 300
        )
        var charge = Charge(terms: terms)
        let payment = "pay_\(number)z"
        _ = charge.handle(.attemptStarted(attempt: 1, rail: rail))
        _ = charge.handle(.offered(attempt: 1, offer: Offer(paymentID: payment, link: nil, expiresAt: nil)))
        let report: Report =
            switch number % 100 {
            case 0...2: .failed(code: "declined")
            case 3...5: .expired
            case 6: .cancelled
            case 7: number % 2000 == 7 ? .unrecognised(word: "held") : .expired
            default:
                .succeeded(Evidence(paymentID: payment, transactionID: "0x\(generator.next())", paid: nil))
            }
        _ = charge.handle(.reported(attempt: 1, report: report))
        return charge
    }
}

/// The same numbers at each run.
private struct Numbers: RandomNumberGenerator {
    var state: UInt64

    /// Source: Vigna, SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
