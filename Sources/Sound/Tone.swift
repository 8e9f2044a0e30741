import Glibc

/// What the terminal lets people hear, as notes. Three that nobody confuses, also on a small loudspeaker and across a room.
public enum Tone: String, Sendable, Equatable, CaseIterable {
    /// Two rising notes: the authority says that it is paid.
    case paid
    /// Two falling low notes: not paid.
    case notPaid
    /// Three equal notes: staff must look at the screen.
    case unknown

    /// Samples a second, of one channel. Cards play this without conversion.
    public static let samplesPerSecond = 48_000

    /// One note, and how long it is heard.
    struct Note: Equatable {
        var hertz: Double
        var milliseconds: Int
    }

    var notes: [Note] {
        switch self {
        case .paid: [Note(hertz: 659.26, milliseconds: 130), Note(hertz: 987.77, milliseconds: 220)]
        case .notPaid: [Note(hertz: 392.00, milliseconds: 190), Note(hertz: 261.63, milliseconds: 290)]
        case .unknown: Array(repeating: Note(hertz: 587.33, milliseconds: 130), count: 3)
        }
    }

    /// Silence between two notes, in milliseconds: equal ones would else be one.
    private var gap: Int { self == .unknown ? 90 : 10 }

    // Silence at the beginning, while an amplifier wakes, and at the end, so that no card plays what lay in its memory before.
    static let lead = 50
    static let tail = 60
    // A note that began or ended at once would click.
    private static let attack = 8
    private static let release = 60
    /// A small loudspeaker plays a low note's octave better than the note.
    private static let octave = 0.25
    /// At full loudness, of what a sample can hold.
    private static let most = 0.9

    /// Signed 16-bit samples of one channel.
    /// - Parameter loudness: 0 to 100. Half of it sounds about half as loud.
    public func samples(loudness: Int) -> [Int16] {
        let share = Double(min(max(loudness, 0), 100)) / 100
        let wave = wave()
        let highest = wave.lazy.map(abs).max() ?? 0
        guard highest > 0 else { return [] }
        // Ears hear by ratios: a square is near enough to that.
        let factor = share * share * Self.most * Double(Int16.max) / highest
        return wave.map { Int16(($0 * factor).rounded()) }
    }

    private func wave() -> [Double] {
        var wave = Self.silence(Self.lead)
        for (index, note) in notes.enumerated() {
            if index > 0 { wave += Self.silence(gap) }
            wave += Self.sound(of: note)
        }
        return wave + Self.silence(Self.tail)
    }

    private static func count(_ milliseconds: Int) -> Int { samplesPerSecond * milliseconds / 1000 }

    private static func silence(_ milliseconds: Int) -> [Double] { Array(repeating: 0, count: count(milliseconds)) }

    private static func sound(of note: Note) -> [Double] {
        let (length, attack, release) = (count(note.milliseconds), count(attack), count(release))
        return (0..<length).map { index in
            let turns = 2 * Double.pi * note.hertz * Double(index) / Double(samplesPerSecond)
            let ramp = min(
                1,
                Double(index) / Double(attack),
                Double(length - 1 - index) / Double(release)
            )
            // From level to level without a corner.
            let envelope = (1 - cos(Double.pi * ramp)) / 2
            return envelope * (sin(turns) + octave * sin(2 * turns))
        }
    }
}
