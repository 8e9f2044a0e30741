extension WebServer {
    /// What the head of a request says about its body.
    public enum AnnouncedBody: Sendable, Equatable {
        case none
        case bytes(Int)
        /// In chunks: it ends when it ends.
        case chunked
    }

    /// What the head of a request decides, before a byte of its body is kept.
    public struct Admission: Sendable {
        public enum Verdict: Sendable {
            /// The body is kept and the handler asked. A longer body is answered 413; so is one that is longer than the server's
            /// limit for the path.
            case take(bodyBytes: Int)
            /// Nothing of the body is kept. One of at most ``WebServer/Limits/droppedBytes`` is read and dropped, then the handler
            /// is asked with an empty body, and the connection goes on. A longer one, and one that waits for `100 Continue`, is
            /// answered at once with `answer`, and the connection is closed.
            ///
            /// `whenAnswered` is called on the server's thread where the handler is not asked; it must not wait.
            case refuse(answer: WebResponse, whenAnswered: @Sendable () -> Void)
        }

        /// Whether the handler's owner knows who sends it. A connection whose last request came from somebody known is never
        /// closed to make room, and such bodies and event streams have room that nobody else can take.
        public var isKnown: Bool
        public var verdict: Verdict

        public init(isKnown: Bool, _ verdict: Verdict) { (self.isKnown, self.verdict) = (isKnown, verdict) }
    }
}
