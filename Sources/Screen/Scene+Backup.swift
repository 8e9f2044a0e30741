extension Scene {
    /// A backup on its way onto a USB stick, or from one, or taken up.
    public struct Backup: Sendable, Equatable {
        /// What stands there.
        public enum Kind: Sendable, Equatable, CaseIterable {
            /// It is being written onto the stick.
            case writing
            /// It is on the stick, which may go.
            case written
            /// It is not on the stick.
            case notWritten
            /// It is being read from the stick and checked.
            case reading
            /// It was read, and can be restored.
            case whole
            /// It was read, and cannot be used.
            case notUsable
            /// The terminal starts again with it.
            case restoring
            /// The terminal has started with it.
            case restored
            /// The terminal has started with what it had before.
            case notRestored
        }

        public var kind: Kind
        /// Of `writing`, 0 to 100.
        public var percent: Int?
        /// The file's name on the stick.
        public var file: String?

        public init(_ kind: Kind, percent: Int? = nil, file: String? = nil) {
            (self.kind, self.percent, self.file) = (kind, percent, file)
        }
    }
}
