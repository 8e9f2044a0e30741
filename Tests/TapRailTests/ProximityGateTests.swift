import TapProtocol
import Terminal
import Testing

struct ProximityGateTests {
    private static let a = TapSighting.PhoneAddress("a")
    private static let b = TapSighting.PhoneAddress("b")

    private func gate(_ mode: TapMode, unknown: Bool = false) -> ProximityGate {
        ProximityGate(
            mode: mode,
            service: .standard,
            tag: ServiceUUID("40d5f8fa-499b-421c-98ff-de44f2ad37ce"),
            acceptsUnknownSignal: unknown
        )
    }

    private func sighting(
        _ address: TapSighting.PhoneAddress,
        _ rssi: Int?,
        at milliseconds: Int,
        txPower: Int? = nil,
        service: ServiceUUID = .standard
    ) -> TapSighting {
        TapSighting(
            address: address,
            services: [service],
            rssi: rssi,
            txPower: txPower,
            at: .milliseconds(milliseconds)
        )
    }

    private func chosen(_ gate: inout ProximityGate, at milliseconds: Int) -> [TapSighting.PhoneAddress] {
        gate.candidates(at: .milliseconds(milliseconds)).map(\.address)
    }

    @Test(arguments: [(TapMode.tap, -45, 3), (.near, -65, 2), (.open, -80, 1)])
    func aPhoneIsAskedFromItsModesStrengthAndSamplesOn(mode: TapMode, limit: Int, samples: Int) {
        for strength in [limit, limit - 1] {
            var gate = gate(mode)
            for sample in 1...samples {
                #expect(chosen(&gate, at: sample * 100) == [])
                gate.see(sighting(Self.a, strength, at: sample * 100))
            }
            #expect(chosen(&gate, at: samples * 100) == (strength == limit ? [Self.a] : []))
        }
    }

    @Test func taggedLooksForTheTagAndNothingElse() throws {
        let tag = try #require(ServiceUUID("40d5f8fa-499b-421c-98ff-de44f2ad37ce"))
        var gate = gate(.tagged)
        #expect(gate.services == [tag])
        gate.see(sighting(Self.a, -40, at: 0))
        #expect(chosen(&gate, at: 0) == [])
        gate.see(sighting(Self.a, -86, at: 10, service: tag))
        #expect(chosen(&gate, at: 10) == [])
        gate.see(sighting(Self.a, -85, at: 20, service: tag))
        #expect(chosen(&gate, at: 20) == [Self.a])
    }

    @Test(arguments: [nil, 127])
    func aPhoneOfUnknownStrengthIsNotNearUnlessTheOwnerSaysSo(rssi: Int?) {
        for mode in [TapMode.tap, .near, .open] {
            for isAccepted in [false, true] {
                var gate = gate(mode, unknown: isAccepted)
                for sample in 0..<3 { gate.see(sighting(Self.a, rssi, at: sample * 50)) }
                #expect(chosen(&gate, at: 100) == (isAccepted ? [Self.a] : []))
            }
        }
    }

    @Test func aSmallLossOnTheWayIsNearEnoughForATap() {
        for (power, isNear) in [(-14, true), (-13, false)] {
            var gate = gate(.tap)
            for sample in 0..<3 { gate.see(sighting(Self.a, -52, at: sample * 50, txPower: power)) }
            #expect(chosen(&gate, at: 100) == (isNear ? [Self.a] : []))
        }
    }

    @Test func samplesOfMoreThanASecondAgoDoNotCount() {
        var gate = gate(.near)
        gate.see(sighting(Self.a, -50, at: 0))
        gate.see(sighting(Self.a, -50, at: 1100))
        #expect(chosen(&gate, at: 1100) == [])
        gate.see(sighting(Self.a, -50, at: 1200))
        #expect(chosen(&gate, at: 1200) == [Self.a])
    }

    @Test func oneOutlierDoesNotMakeAPhoneNear() {
        var gate = gate(.tap)
        for (index, rssi) in [-60, -60, -30].enumerated() { gate.see(sighting(Self.a, rssi, at: index * 50)) }
        #expect(chosen(&gate, at: 150) == [])
    }

    @Test func theStrongestIsAskedFirst() {
        var gate = gate(.open)
        gate.see(sighting(Self.b, -70, at: 0))
        gate.see(sighting(Self.a, -60, at: 10))
        #expect(chosen(&gate, at: 20) == [Self.a, Self.b])
        #expect(gate.maximumLinks(at: .zero) == 4)
    }

    @Test func ofTwoPhonesOnTheSpotTheOneClearlyNearerIsAsked() {
        var gate = gate(.tap)
        for sample in 0..<3 {
            gate.see(sighting(Self.a, -30, at: sample * 50))
            gate.see(sighting(Self.b, -38, at: sample * 50 + 10))
        }
        #expect(chosen(&gate, at: 150) == [Self.a])
        #expect(gate.maximumLinks(at: .milliseconds(150)) == 1)
    }

    @Test func twoPhonesThatCannotBeToldApartAreBothAskedAfterAMoment() {
        var gate = gate(.tap)
        for sample in 0..<20 {
            gate.see(sighting(Self.a, -30, at: sample * 50))
            gate.see(sighting(Self.b, -35, at: sample * 50 + 10))
            if sample < 14 { #expect(chosen(&gate, at: sample * 50 + 10).count < 2) }
        }
        #expect(chosen(&gate, at: 1000) == [Self.a, Self.b])
        #expect(gate.maximumLinks(at: .milliseconds(1000)) == 2)
    }

    @Test func aPhoneThatIsNotSeenAnyMoreIsForgotten() {
        var gate = gate(.open)
        gate.see(sighting(Self.a, -60, at: 0))
        #expect(chosen(&gate, at: 3000) == [Self.a])
        #expect(chosen(&gate, at: 3001) == [])
    }

    @Test func aPhoneThatMovesAwayIsForgottenAndOneThatWaversIsNot() {
        for (weak, isLeft) in [(-91, false), (-90, true)] {
            var gate = gate(.open)
            gate.see(sighting(Self.a, -60, at: 0))
            _ = chosen(&gate, at: 0)
            for time in stride(from: 500, through: 2500, by: 500) { gate.see(sighting(Self.a, weak, at: time)) }
            #expect(chosen(&gate, at: 2500) == (isLeft ? [Self.a] : []))
        }
    }

    @Test func aCrowdDoesNotFillTheMemory() {
        var gate = gate(.open)
        for number in 0..<1000 { gate.see(sighting(TapSighting.PhoneAddress("\(number)"), -60, at: number)) }
        #expect(chosen(&gate, at: 1000).count == 64)
    }

    @Test func aNearPhoneIsSeenThroughACrowdOfFarOnes() {
        var gate = gate(.near)
        for round in 0..<4 {
            for number in 0..<200 {
                gate.see(sighting(TapSighting.PhoneAddress("far \(number)"), -90, at: round * 200 + number))
            }
            gate.see(sighting(TapSighting.PhoneAddress("near"), -50, at: round * 200 + 199))
        }
        #expect(chosen(&gate, at: 800) == [TapSighting.PhoneAddress("near")])
    }

    @Test func calibratingTakesTheTenthWeakestOfAHundredAndAMargin() {
        var calibration = TapCalibration()
        for sample in 0..<50 {
            #expect(calibration.threshold == nil)
            #expect(calibration.add(rssi: -40 - sample % 10) == (sample == 49))
        }
        // Sorted: five each of -49 to -40; the tenth percentile is the fifth value.
        #expect(calibration.threshold == -52)
        var strong = TapCalibration()
        for _ in 0..<50 { _ = strong.add(rssi: -1) }
        #expect(strong.threshold == -20)
    }
}
