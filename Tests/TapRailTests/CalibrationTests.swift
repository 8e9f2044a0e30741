import Journal
import Payments
import Sandbox
import TapProtocol
import Testing

@testable import Terminal

/// An owner finds out how near phones must be, with one phone in their hand.
extension TapDeskTests {
    private static func peripheral(_ bed: TapTestBed) throws {
        try bed.phone("anna", user: PhoneUser(answer: .never))
    }

    /// Measures a phone that arrives this strong.
    private func measure(
        _ place: CalibrationPlace,
        at rssi: Int?,
        mode: TapMode = .near,
        _ shift: Shift,
        _ taps: TapDesk
    ) async throws {
        shift.bed.radio.move("anna", rssi: rssi)
        try await taps.calibrate(place, mode: mode)
        try await shift.until("it is measured", within: .seconds(90)) { await taps.calibrator.state().measuring == nil }
    }

    @Test func whatWasMeasuredHereAndThereIsInForceAndNamesWhoDidIt() async throws {
        let parts = try parts()
        try Self.peripheral(parts.bed)
        try await parts.bed.play {
            try await open(parts) { shift, taps in
                _ = try await taps.save(Self.form, replacing: 0, by: .staff(name: "test"))
                parts.bed.radio.move("anna", rssi: -47)
                try await taps.calibrate(.inside, mode: .near)
                try await shift.until("its signal is live") { await taps.calibrator.state().signal == -47 }
                #expect(await taps.calibrator.state().phones == 1)
                try await shift.until("enough is heard") { await taps.calibrator.state().inside != nil }
                #expect(await taps.calibrator.state().threshold == -50)
                try await measure(.outside, at: -49, shift, taps)
                let state = await taps.calibrator.state()
                #expect(state.outside?.median == -49 && state.threshold == -48)
                let (mode, kept) = try await taps.keepCalibration(by: .staff(name: "Ada"))
                #expect(mode == .near && kept.threshold == -48 && kept.by == "Ada")
                #expect(await taps.current?.settings.thresholds.near == -48)
                #expect(await taps.calibrator.state() == CalibrationState())
            }
            try await open(parts) { _, taps in
                #expect(await taps.calibrations["near"]?.by == "Ada")
                #expect(await taps.current?.settings.thresholds.near == -48)
            }
        }
    }

    @Test func besideAnotherPhoneTheOneThatIsClearlyNearestIsMeasuredAndSoItIsSaid() async throws {
        let parts = try parts()
        try Self.peripheral(parts.bed)
        try parts.bed.phone("ben", user: PhoneUser(answer: .never), rssi: -70)
        try await parts.bed.play {
            try await open(parts) { shift, taps in
                try await measure(.inside, at: -47, shift, taps)
                var state = await taps.calibrator.state()
                #expect(state.inside?.median == -47 && state.threshold == -50 && state.problem == nil)
                #expect(state.remark?.code == "nearest_of_several")
                // The same phone further away, weaker than the stranger's: it is known from before.
                parts.bed.radio.move("ben", rssi: -49)
                try await measure(.outside, at: -60, shift, taps)
                state = await taps.calibrator.state()
                #expect(state.outside?.median == -60 && state.remark?.code == "same_phone")
            }
        }
    }

    @Test(arguments: [CalibrationPlace.inside, .outside])
    func twoPhonesThatCannotBeToldApartAreNotMeasured(place: CalibrationPlace) async throws {
        let parts = try parts()
        try Self.peripheral(parts.bed)
        try parts.bed.phone("ben", user: PhoneUser(answer: .never), rssi: -50)
        try await parts.bed.play {
            try await open(parts) { shift, taps in
                try await measure(place, at: -47, shift, taps)
                let state = await taps.calibrator.state()
                #expect(state.inside == nil && state.outside == nil && state.threshold == nil)
                #expect(state.problem?.code == "several_phones")
                // Once the other one has gone it goes.
                parts.bed.radio.remove("ben")
                try await measure(.inside, at: -47, shift, taps)
                #expect(await taps.calibrator.state().threshold == -50)
                #expect(await taps.calibrator.state().remark == nil)
            }
        }
    }

    @Test func whatWasMeasuredIsNotKeptOverSettingsThatNobodyUnderstands() async throws {
        let parts = try parts()
        try Self.peripheral(parts.bed)
        try await parts.bed.play {
            try await open(parts) { shift, taps in
                _ = try await taps.save(Self.form, replacing: 0, by: .staff(name: "test"))
                let stored = try #require(try await shift.journal.document("tap"))
                let text = String(decoding: stored.bytes, as: UTF8.self)
                let changed = text.replacing(#""mode":"open""#, with: #""mode":"orbit""#)
                _ = try await shift.journal.setDocument(
                    "tap",
                    Array(changed.utf8),
                    expecting: .any,
                    by: .terminal,
                    at: stored.changedAt
                )
            }
            try await open(parts) { shift, taps in
                try await measure(.inside, at: -47, shift, taps)
                await #expect(throws: CalibrationRefusal.settingsNotUnderstood) {
                    try await taps.keepCalibration(by: .staff(name: "Ada"))
                }
                #expect(await taps.current?.settings.notUnderstood == ["mode"])
                // What was measured stays until the settings are saved.
                let version = try #require(await taps.current?.version)
                _ = try await taps.save(Self.form, replacing: version, by: .staff(name: "Ada"))
                #expect(try await taps.keepCalibration(by: .staff(name: "Ada")).kept.threshold == -50)
            }
        }
    }

    @Test func placesThatSoundAlikeComeToNothing() async throws {
        let parts = try parts()
        try Self.peripheral(parts.bed)
        try await parts.bed.play {
            try await open(parts) { shift, taps in
                try await measure(.inside, at: -60, shift, taps)
                try await measure(.outside, at: -60, shift, taps)
                let state = await taps.calibrator.state()
                #expect(state.threshold == nil && state.problem?.code == "places_alike")
                await #expect(throws: CalibrationRefusal.nothingMeasured) {
                    try await taps.keepCalibration(by: .staff(name: "Ada"))
                }
                // Another try at the place further away mends it.
                try await measure(.outside, at: -75, shift, taps)
                #expect(await taps.calibrator.state().threshold == -63)
            }
        }
    }

    @Test(arguments: [(rssi: Int?.none, code: "no_strengths"), (127, "no_strengths")])
    func anAdapterThatTellsNoStrengthsIsSaidSo(rssi: Int?, code: String) async throws {
        let parts = try parts()
        try Self.peripheral(parts.bed)
        try await parts.bed.play {
            try await open(parts) { shift, taps in
                try await measure(.inside, at: rssi, shift, taps)
                #expect(await taps.calibrator.state().problem?.code == code)
                #expect(await taps.calibrator.state().threshold == nil)
            }
        }
    }

    @Test func withoutAPhoneTheMeasurementEndsAndSaysWhy() async throws {
        let parts = try parts()
        try await open(parts) { shift, taps in
            try await taps.calibrate(.inside, mode: .tap)
            await #expect(throws: CalibrationRefusal.isMeasuring) { try await taps.calibrate(.outside, mode: .tap) }
            try await shift.until("it ends", within: .seconds(70)) { await taps.calibrator.state().measuring == nil }
            let problem = await taps.calibrator.state().problem
            #expect(problem?.code == "too_few_samples" && problem?.message.contains("heard 0 times") == true)
            parts.bed.radio.failScans(true)
            try await taps.calibrate(.inside, mode: .tap)
            try await shift.until("it ends") { await taps.calibrator.state().measuring == nil }
            #expect(await taps.calibrator.state().problem?.code == "radio_missing")
        }
    }

    /// A customer's phone is not measured, and no measurement holds up a charge.
    @Test func aChargeComesFirst() async throws {
        let parts = try parts()
        try await parts.bed.play {
            try await open(parts) { shift, taps in
                _ = try await taps.save(Self.form, replacing: 0, by: .staff(name: "test"))
                try await shift.until("the certificate is there") { await shift.station.status.light == .ready }
                try await taps.calibrate(.inside, mode: .open)
                try await shift.passes(.seconds(1))
                let id = try await shift.charge()
                try await shift.until("the measurement ends") { await taps.calibrator.state().measuring == nil }
                #expect(await taps.calibrator.state().problem?.code == "charge_open")
                await #expect(throws: CalibrationRefusal.chargeIsOpen) {
                    try await taps.calibrate(.inside, mode: .open)
                }
                _ = try await shift.desk.cancel(id, by: .staff(name: "test"))
                try await shift.until(id, is: .cancelled)
                try await shift.until("it can be measured again") {
                    (try? await taps.calibrate(.inside, mode: .open)) != nil
                }
                await taps.calibrator.stop()
                #expect(await taps.calibrator.state() == CalibrationState())
            }
        }
    }

    @Test func inTaggedModeTheTagIsThereForStickersAndAsACode() async throws {
        let parts = try parts()
        try await open(parts) { shift, taps in
            #expect(await taps.shownTag == nil)
            var form = Self.form
            form.mode = "tagged"
            _ = try await taps.save(form, replacing: 0, by: .staff(name: "test"))
            try await shift.until("the certificate is there") { await shift.station.status.light == .ready }
            let tag = try #require(await taps.shownTag)
            #expect(tag.uri == (await shift.station.status.tagURI) && tag.uri.hasPrefix("bpp:1?t="))
            #expect(tag.code.count >= 21 && tag.code.allSatisfy { $0.count == tag.code.count })
            form.mode = "near"
            _ = try await taps.save(form, replacing: 1, by: .staff(name: "test"))
            #expect(await taps.shownTag == nil)
        }
    }
}

struct SignalReadingTests {
    @Test func theWeakestAndStrongestTenthAreLeftOut() throws {
        #expect(SignalReading(Array(repeating: -50, count: 49)) == nil)
        let reading = try #require(SignalReading((0..<100).map { -100 + $0 }))
        #expect(reading.weakest == -91 && reading.median == -51 && reading.strongest == -10)
    }

    /// Whoever makes up addresses costs no memory and gives no reading.
    @Test func manyMadeUpPhonesMeasureNothing() {
        var measurement = CalibrationMeasurement(mode: .near)
        measurement.begin(.inside)
        for number in 0..<10_000 {
            let sighting = TapSighting(address: .init("\(number)"), services: [], rssi: -40, at: .zero)
            let step = measurement.see(sighting, at: .inside)
            #expect(step == .goesOn)
        }
        #expect(measurement.threshold == nil && measurement.heard(at: .zero).count == 32)
    }
}
