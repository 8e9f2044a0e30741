import Payments
import Testing

@testable import Terminal

/// What a form of settings may say.
struct SettingsFormTests {
    private func limits(charge: Int64?, hour: Int64?) -> Result<ChargeLimits, FormErrors> {
        let form = SettingsForm(
            operatorID: "op-1",
            merchantID: "mrch_1",
            merchantName: "Kiosk",
            gatewayURL: "https://gateway.test",
            gatewayKey: "wcp_key",
            currency: "EUR",
            chargeLimitMinor: charge,
            hourlyLimitMinor: hour
        )
        return Result { () throws(FormErrors) in
            try form.checked(hasKey: false, gateways: GatewayPolicy(allowsLoopbackHTTP: false)).limits
        }
    }

    @Test(
        arguments: [(nil, nil), (5000, nil), (nil, 6000), (5000, 6000), (5000, 5000), (nil, 1)] as [(Int64?, Int64?)]
    )
    func bothLimitsAreKept(charge: Int64?, hour: Int64?) throws {
        #expect(
            try limits(charge: charge, hour: hour).get()
                == ChargeLimits(maximumMinorUnits: charge, maximumPerHourMinorUnits: hour)
        )
    }

    @Test(
        arguments: [
            (nil, 0, "limit_out_of_range"), (nil, -1, "limit_out_of_range"), (nil, Int64.max, "limit_out_of_range"),
            (5000, 4999, "limit_below_charge_limit"),
        ] as [(Int64?, Int64, String)]
    )
    func anHourlyLimitThatMeansNothingIsRefusedAtItsField(charge: Int64?, hour: Int64, code: String) {
        guard case .failure(let errors) = limits(charge: charge, hour: hour) else {
            Issue.record("it was taken")
            return
        }
        #expect(errors.fields.mapValues(\.code) == ["hourlyLimitMinor": code])
    }
}
