import Dispatch
import Executors

/// Which characters the fonts of this machine can draw, as the screen uses them.
///
/// Looking fonts up blocks, so the actor runs on a queue of its own. Nothing is loaded before the first question.
public actor ScreenFonts {
    private let executor = QueueExecutor(label: "fonts", qos: .utility)
    private var typesetter: Typesetter?

    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    public init() {}

    /// The characters of `text` that the screen shows as boxes, each once, in their order; empty where it can draw all of it.
    /// Looks at the first 200 characters.
    public func missing(in text: String) -> [Character] {
        let typesetter = self.typesetter ?? Typesetter(languageTag: "en", readsRightToLeft: false)
        self.typesetter = typesetter
        defer { typesetter.forgetUnused() }
        var seen = Set<Character>()
        return text.prefix(200).filter { character in
            guard seen.insert(character).inserted, !character.isWhitespace else { return false }
            let spec = TextSpec(text: String(character), largest: 20, smallest: 20, width: 400)
            return typesetter.set(spec).unknownGlyphs > 0
        }
    }
}
