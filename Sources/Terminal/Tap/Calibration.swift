import Logging
public import Payments
import TapProtocol

/// What was measured of one phone in one place, dBm.
public struct SignalReading: Sendable, Hashable, Codable {
    public let median: Int
    /// All but the weakest tenth are as strong.
    public let weakest: Int
    /// All but the strongest tenth are as weak.
    public let strongest: Int

    /// Nil where there are too few samples to say anything.
    init?(_ samples: [Int]) {
        guard samples.count >= TapCalibration.samplesNeeded else { return nil }
        let sorted = samples.sorted()
        (weakest, median) = (sorted[(sorted.count - 1) / 10], sorted[(sorted.count - 1) / 2])
        strongest = sorted[sorted.count - 1 - (sorted.count - 1) / 10]
    }
}

/// The threshold of one mode as it was measured, and who did it.
public struct KeptCalibration: Sendable, Hashable, Codable {
    public let threshold: Int
    public let inside: SignalReading
    /// Nil where only the accepted place was measured.
    public let outside: SignalReading?
    /// In words for people.
    public let by: String
    public let atMilliseconds: Int64
}

/// Where a phone is held while it is measured.
public enum CalibrationPlace: String, Sendable, CaseIterable {
    /// Where it is to be accepted.
    case inside
    /// Where it is not to be.
    case outside
}

/// A measurement as it stands.
public struct CalibrationState: Sendable, Equatable {
    public var mode: TapMode?
    /// Where is measured now; nil where nothing is.
    public var measuring: CalibrationPlace?
    /// The signal heard last, dBm; nil where no phone is heard.
    public var signal: Int?
    /// Of the phone that is measured.
    public var samples = 0
    public var samplesNeeded: Int { TapCalibration.samplesNeeded }
    /// Phones heard in the last seconds. More than one may mix up the measurement.
    public var phones = 0
    public var inside: SignalReading?
    public var outside: SignalReading?
    /// What the measurement comes to; nil before, and where the two places cannot be told apart.
    public var threshold: Int?
    /// Why a measurement came to nothing.
    public var problem: Reason?
    /// What the owner should know of a measurement that came to something: whose phone it was, where others were heard.
    public var remark: Reason?
}

/// Takes sightings and decides what they come to. No clock, no radio.
struct CalibrationMeasurement: Sendable {
    let mode: TapMode
    private(set) var inside: SignalReading?
    private(set) var outside: SignalReading?
    private var phones: [TapSighting.PhoneAddress: (samples: [Int], seenAt: Duration, last: Int?)] = [:]
    /// The phone that was measured where it is to be accepted.
    private var measured: TapSighting.PhoneAddress?
    /// Why the reading that was taken last is this phone's, where others were heard beside it.
    private(set) var choice: Choice?
    /// Somebody who makes up addresses costs no more than this.
    private static let maximumPhones = 32
    private static let heardFor = Duration.seconds(2)

    enum Choice: Sendable {
        /// It arrives clearly stronger than every other one.
        case nearest
        /// It is the one that was measured in the other place.
        case same
    }

    /// What a sighting made of the measurement.
    enum Step: Sendable, Equatable {
        case goesOn, isMeasured
        /// Several phones, and nobody can say which of them the owner holds.
        case isUndecided
    }

    init(mode: TapMode) { self.mode = mode }

    /// A place is measured anew.
    mutating func begin(_ place: CalibrationPlace) {
        (phones, choice) = ([:], nil)
        if place == .inside { (inside, measured) = (nil, nil) } else { outside = nil }
    }

    mutating func see(_ sighting: TapSighting, at place: CalibrationPlace) -> Step {
        guard phones[sighting.address] != nil || phones.count < Self.maximumPhones else { return .goesOn }
        var phone = phones[sighting.address] ?? ([], sighting.at, nil)
        phone.seenAt = sighting.at
        // 127 is the radio's word for "not available". Source: Bluetooth Core, LE Advertising Report.
        phone.last = sighting.rssi.flatMap { $0 == 127 ? nil : $0 }
        if let rssi = phone.last { phone.samples.append(rssi) }
        phones[sighting.address] = phone
        guard phone.samples.count >= TapCalibration.samplesNeeded else { return .goesOn }
        return decide(place)
    }

    /// Whose phone it is that was heard often enough: a stranger's must not set the merchant's limit.
    private mutating func decide(_ place: CalibrationPlace) -> Step {
        // Whoever was heard a few times only has passed by.
        let heard = phones.filter { $0.value.samples.count >= TapCalibration.samplesNeeded / 10 }
            .mapValues { ProximityGate.median($0.samples) ?? .min }
            .sorted { $0.value > $1.value }
        guard let first = heard.first else { return .goesOn }
        var (address, choice) = (first.key, Choice?.none)
        if heard.count > 1 {
            if place == .outside, let measured, phones[measured] != nil {
                (address, choice) = (measured, .same)
            } else if place == .inside, first.value - heard[1].value >= ProximityGate.lead {
                choice = .nearest
            } else {
                return .isUndecided
            }
        }
        // The one that counts may be heard more seldom than the others.
        guard let reading = phones[address].flatMap({ SignalReading($0.samples) }) else { return .goesOn }
        self.choice = choice
        if place == .inside { (inside, measured) = (reading, address) } else { outside = reading }
        return .isMeasured
    }

    /// Samples of the phone that was heard most.
    var samples: Int { phones.values.map(\.samples.count).max() ?? 0 }
    /// Whether phones were heard and none of them with its strength.
    var hasNoStrengths: Bool { !phones.isEmpty && samples == 0 }

    func heard(at now: Duration) -> [Int?] {
        phones.values.filter { now - $0.seenAt <= Self.heardFor }.map(\.last)
    }

    /// From which strength on a phone is accepted: the weakest tenth of the accepted place less a margin, and above what comes
    /// from the other place. Source: BPP/1, section 4.3, `calibrate`.
    var threshold: Int? {
        guard let inside else { return nil }
        var value = inside.weakest - TapCalibration.margin
        if let outside {
            guard outside.strongest < inside.weakest else { return nil }
            value = max(value, outside.strongest + 1)
        }
        return min(max(value, TapThresholds.range.lowerBound), TapThresholds.range.upperBound)
    }

    var isAmbiguous: Bool { inside != nil && outside != nil && threshold == nil }
}

/// Why a measurement is not begun or not kept. Nothing has changed.
public enum CalibrationRefusal: Error, Sendable, Equatable {
    /// A charge waits for phones: its customer would be measured.
    case chargeIsOpen
    case isMeasuring
    /// Nothing was measured that could be kept.
    case nothingMeasured
    /// Stored settings are not understood: keeping a limit would save the rest of them as if somebody had looked at it.
    case settingsNotUnderstood
    case settings(SettingsError)

    public var reason: Reason {
        switch self {
        case .chargeIsOpen:
            Reason(
                code: "charge_open",
                message: "A charge is waiting for a phone. Its customer’s phone would be measured.",
                action: "Measure once the charge has ended."
            )
        case .isMeasuring:
            Reason(code: "measuring", message: "The terminal is measuring already.", action: "Wait, or stop it first.")
        case .nothingMeasured:
            Reason(
                code: "nothing_measured",
                message: "There is no measurement that a limit follows from. Nothing was saved.",
                action: "Measure a phone where it should be accepted."
            )
        case .settingsNotUnderstood:
            Reason(
                code: "settings_not_understood",
                message:
                    "Stored settings of Tap are not understood. The measured limit was not saved; it is still here.",
                action: "Look through the Tap settings and save them, then keep the limit."
            )
        case .settings(.journal(let error)): error.reason
        case .settings:
            Reason(
                code: "settings_changed",
                message: "The settings were changed meanwhile. Nothing was saved.",
                action: "Load the page again."
            )
        }
    }
}

/// Measures how strong phones arrive, for the owner who sets how near they must be.
///
/// Takes no payment and connects to nobody: it only listens.
public actor TapCalibrator {
    /// How long one place is measured at most.
    static let limit = Duration.seconds(60)

    private let station: TapStation
    private var measurement: CalibrationMeasurement?
    private var place: CalibrationPlace?
    private var problem: Reason?
    private var services: [ServiceUUID] = []
    /// Counts measurements: a stopped one must not end the next.
    private var number = 0

    init(station: TapStation) { self.station = station }

    /// Begins to measure a place, for at most a minute. Another mode than before forgets what was measured.
    func begin(
        _ place: CalibrationPlace,
        mode: TapMode,
        services: [ServiceUUID]
    ) async throws(CalibrationRefusal) {
        guard self.place == nil else { throw .isMeasuring }
        guard await !station.isAsking else { throw .chargeIsOpen }
        // Again: the station was asked meanwhile.
        guard self.place == nil else { throw .isMeasuring }
        if measurement?.mode != mode { measurement = CalibrationMeasurement(mode: mode) }
        measurement?.begin(place)
        (self.place, self.services, problem) = (place, services, nil)
        number += 1
        station.jobs.continuation.yield(.measure(self, number))
    }

    /// Stops, and forgets what was measured.
    public func stop() async {
        (measurement, place, problem) = (nil, nil, nil)
        number += 1
        await station.changed()
    }

    /// How it stands now.
    public func state() -> CalibrationState {
        var state = CalibrationState()
        guard let measurement else { return state }
        (state.mode, state.measuring, state.problem) = (measurement.mode, place, problem)
        (state.inside, state.outside, state.threshold) = (
            measurement.inside, measurement.outside, measurement.threshold
        )
        state.samples = measurement.samples
        state.remark = measurement.choice.map(Self.remark)
        if place != nil {
            let heard = measurement.heard(at: station.clock.elapsed())
            state.phones = heard.count
            state.signal = heard.compactMap(\.self).max()
        } else if measurement.isAmbiguous {
            state.problem = Self.ambiguous
        }
        return state
    }

    /// What there is to keep.
    func result() throws(CalibrationRefusal) -> CalibrationMeasurement {
        guard place == nil, let measurement, measurement.threshold != nil else { throw .nothingMeasured }
        return measurement
    }

    /// Runs as a job of the station.
    func measure(_ number: Int) async {
        guard self.number == number, let place else { return }
        let end = await withTaskGroup(of: Ending.self) { group in
            group.addTask { await self.listen(number, place) }
            group.addTask {
                do { try await self.station.clock.sleep(Self.limit) } catch { return .stopped }
                return .overdue
            }
            group.addTask {
                for await _ in await self.station.changesFromNow() {
                    if await self.station.isAsking { return .charge }
                    if await self.number != number { return .stopped }
                }
                return .stopped
            }
            defer { group.cancelAll() }
            return await group.next() ?? .stopped
        }
        guard self.number == number else { return }
        self.place = nil
        problem = await reason(for: end)
    }

    private enum Ending: Sendable {
        case enough, several, overdue, charge, stopped
        case radio(String)
    }

    private func listen(_ number: Int, _ place: CalibrationPlace) async -> Ending {
        while !Task.isCancelled {
            do {
                for try await sighting in station.radio.sightings(of: services) {
                    guard self.number == number else { return .stopped }
                    switch measurement?.see(sighting, at: place) {
                    case .isMeasured: return .enough
                    case .isUndecided: return .several
                    case .goesOn, nil: break
                    }
                }
                // A scan that ends by itself is begun again, after a moment.
                try await station.clock.sleep(.milliseconds(500))
            } catch is CancellationError { return .stopped } catch { return .radio(Reason.clean("\(error)")) }
        }
        return .stopped
    }

    private func reason(for ending: Ending) async -> Reason? {
        switch ending {
        case .enough, .stopped: return nil
        case .charge: return CalibrationRefusal.chargeIsOpen.reason
        case .several:
            return Reason(
                code: "several_phones",
                message: "Several phones are heard here, and the terminal cannot tell which of them is yours. "
                    + "Nothing was measured.",
                action: "Close the pay screens of the other phones, or take them away, and measure again."
            )
        case .radio(let detail):
            station.logger.info("phones cannot be measured", metadata: ["error": "\(detail)"])
            // The owner reads it: the radio's own words for staff, where it has any.
            let why =
                switch await station.radioHealth {
                case .ready: "the adapter does not scan now"
                case .off(let reason), .gone(let reason): reason
                }
            return Reason(
                code: "radio_missing",
                message: "Bluetooth cannot be used: \(why).",
                action: "Switch Bluetooth on, or check the adapter, and measure again."
            )
        case .overdue where measurement?.hasNoStrengths == true:
            return Reason(
                code: "no_strengths",
                message: "This Bluetooth adapter tells no signal strengths: there is nothing to measure.",
                action: "Use another adapter, or let phones without a signal strength pay."
            )
        case .overdue:
            return Reason(
                code: "too_few_samples",
                message: "The phone was heard \(measurement?.samples ?? 0) times in a minute; "
                    + "\(TapCalibration.samplesNeeded) are needed.",
                action: "Open the payment app’s pay screen, keep it in front, and measure again."
            )
        }
    }

    private static func remark(_ choice: CalibrationMeasurement.Choice) -> Reason {
        switch choice {
        case .nearest:
            Reason(
                code: "nearest_of_several",
                message: "Several phones were heard. The one that is clearly nearest was measured.",
                action: "If that was not yours, take the others away and measure again."
            )
        case .same:
            Reason(
                code: "same_phone",
                message: "Several phones were heard. The one from the accepted place was measured.",
                action: "If you hold another one now, take the others away and measure again."
            )
        }
    }

    private static let ambiguous = Reason(
        code: "places_alike",
        message: "The phone arrives as strong from where it should not be accepted as from where it should.",
        action: "Move the two places further apart, or the antenna closer to the spot, and measure again."
    )
}

extension TapStation {
    /// Whether a phone that comes near now would be asked for money.
    var isAsking: Bool {
        get async {
            for sale in sales.values where await sale.isOpen { return true }
            return false
        }
    }
}
