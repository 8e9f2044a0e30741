import Payments
import Testing

/// Times come from gateways, files and clocks that are wrong: any number may be one.
struct WallTimeTests {
    private static let edges: [Int64] = [
        .min, .min + 1, -1, 0, 1, 1_790_000_000_000, .max - 1, .max,
    ]

    @Test func timesBetweenAnyTwoMomentsCanBeCounted() {
        for one in Self.edges {
            for other in Self.edges {
                let (from, to) = (WallTime(millisecondsSince1970: one), WallTime(millisecondsSince1970: other))
                let time = from.duration(to: to)
                #expect((time > .zero) == (other > one) && (time < .zero) == (other < one), "\(one) to \(other)")
            }
        }
        let now = WallTime(millisecondsSince1970: 1_790_000_000_000)
        #expect(now.duration(to: WallTime(millisecondsSince1970: 1_790_000_000_250)) == .milliseconds(250))
    }

    @Test func secondsPastTheLastMomentAreThatMoment() {
        #expect(WallTime(secondsSince1970: 1_790_000_000).millisecondsSince1970 == 1_790_000_000_000)
        #expect(WallTime(secondsSince1970: .max).millisecondsSince1970 == .max)
        #expect(WallTime(secondsSince1970: .min).millisecondsSince1970 == .min)
    }

    @Test func aTimeThatIsTooLongEndsAtTheLastMoment() {
        let now = WallTime(millisecondsSince1970: 1_790_000_000_000)
        #expect(now.advanced(by: .seconds(Int64.max)).millisecondsSince1970 == .max)
        #expect(now.advanced(by: .seconds(Int64.min)).millisecondsSince1970 == .min)
        #expect(now.advanced(by: .milliseconds(Int64.max)).millisecondsSince1970 == .max)
        #expect(now.advanced(by: .milliseconds(-1)).millisecondsSince1970 == 1_789_999_999_999)
        #expect(WallTime(millisecondsSince1970: .min).advanced(by: .seconds(-1)).millisecondsSince1970 == .min)
    }
}
