import Foundation
import Testing

@testable import Sound

/// What is heard of each tone: its pitches in their order, how long it is, how loud, and that it does not click.
struct ToneTests {
    private static let rate = Double(Tone.samplesPerSecond)

    @Test(arguments: [
        (Tone.paid, [659.26, 987.77]), (.notPaid, [392.00, 261.63]), (.unknown, [587.33, 587.33, 587.33]),
    ])
    func everyToneHasItsPitchesInTheirOrder(tone: Tone, pitches: [Double]) throws {
        let notes = Recording(tone.samples(loudness: 100)).notes
        #expect(notes.count == pitches.count)
        for (note, pitch) in zip(notes, pitches) {
            #expect(Recording(note).strongest(of: Self.scale) == Self.scale.nearest(to: pitch))
        }
    }

    @Test func paidRisesAndNotPaidFallsAndNobodyTakesOneForTheOther() {
        func heard(_ tone: Tone) -> [Double] {
            Recording(tone.samples(loudness: 70)).notes.map { Recording($0).strongest(of: Self.scale) }
        }
        let (paid, notPaid, unknown) = (heard(.paid), heard(.notPaid), heard(.unknown))
        #expect(paid == paid.sorted() && Set(paid).count == 2)
        #expect(notPaid == notPaid.sorted(by: >) && Set(notPaid).count == 2)
        #expect(Set(unknown).count == 1 && unknown.count == 3)
        #expect(notPaid.allSatisfy { low in paid.allSatisfy { low < $0 } })
    }

    @Test(arguments: Tone.allCases) func noToneIsLongerThanACustomerWaits(tone: Tone) {
        let seconds = Double(tone.samples(loudness: 100).count) / Self.rate
        #expect(seconds > 0.3 && seconds < (tone == .paid ? 0.5 : 0.8))
    }

    @Test(arguments: Tone.allCases) func loudnessIsWhatWasSetAndNothingIsCut(tone: Tone) {
        func peak(_ loudness: Int) -> Int { tone.samples(loudness: loudness).map { abs(Int($0)) }.max() ?? 0 }
        #expect(abs(peak(100) - 29_490) <= 1, "a tenth is left, so that no card cuts it")
        #expect(abs(peak(70) - 14_450) <= 1)
        #expect(peak(0) == 0 && peak(-5) == 0 && peak(1000) == peak(100))
        let peaks = (0...100).map(peak)
        #expect(zip(peaks, peaks.dropFirst()).allSatisfy { $0 <= $1 })
    }

    /// A step that is larger than the wave's own steepest one is heard as a click.
    @Test(arguments: Tone.allCases) func itBeginsAndEndsInSilenceAndNowhereClicks(tone: Tone) {
        let samples = tone.samples(loudness: 100).map(Int.init)
        #expect(samples.prefix(Tone.samplesPerSecond * 50 / 1000).allSatisfy { $0 == 0 })
        #expect(samples.suffix(Tone.samplesPerSecond * 60 / 1000).allSatisfy { $0 == 0 })
        let highest = tone.notes.map(\.hertz).max() ?? 0
        let steepest = 2 * Double.pi * highest / Self.rate * 32_767 * 1.5
        let steps = zip(samples, samples.dropFirst()).map { abs($1 - $0) }
        #expect(Double(steps.max() ?? 0) < steepest)
        // Where a note begins or ends, it does so from nothing.
        for index in 3..<samples.count - 3 {
            if samples[index - 3..<index] == [0, 0, 0] { #expect(abs(samples[index]) < 400) }
            if samples[index + 1...index + 3] == [0, 0, 0] { #expect(abs(samples[index]) < 400) }
        }
    }

    /// The notes of two octaves, as a piano has them.
    private static let scale = (-14...16).map { 440 * pow(2, Double($0) / 12) }
}

/// Samples, listened to.
struct Recording {
    private let samples: [Double]

    init(_ samples: some Sequence<Int16>) { self.samples = samples.map(Double.init) }

    /// What stands between silences of five milliseconds or more.
    var notes: [[Int16]] {
        let pause = Tone.samplesPerSecond / 200
        var (found, note, quiet): ([[Int16]], [Int16], Int) = ([], [], 0)
        for sample in samples {
            quiet = abs(sample) < 3 ? quiet + 1 : 0
            if quiet < pause {
                note.append(Int16(sample))
            } else if note.count > 2 * pause {
                found.append(note)
                note = []
            } else {
                note = []
            }
        }
        return found + (note.count > 2 * pause ? [note] : [])
    }

    /// How much there is of a pitch. Source: G. Goertzel, "An Algorithm for the Evaluation of Finite Trigonometric Series", 1958.
    func power(_ hertz: Double) -> Double {
        let factor = 2 * cos(2 * Double.pi * hertz / Double(Tone.samplesPerSecond))
        var (last, before) = (0.0, 0.0)
        for sample in samples { (last, before) = (sample + factor * last - before, last) }
        return last * last + before * before - factor * last * before
    }

    func strongest(of pitches: [Double]) -> Double { pitches.max { power($0) < power($1) } ?? 0 }
}

extension [Double] {
    func nearest(to value: Double) -> Double { self.min { abs($0 - value) < abs($1 - value) } ?? 0 }
}
