/// What the person with the phone does, said beforehand.
public struct PhoneUser: Sendable, Equatable {
    public enum Answer: Sendable, Equatable {
        case accept(after: Duration)
        case decline(after: Duration)
        /// Looks at the screen and does nothing.
        case never
    }

    public enum Tip: Sendable, Equatable {
        case none
        case minorUnits(Int)
        /// Of the amount: 1000 is ten percent.
        case basisPoints(Int)
        /// One of the terminal's own choices, from 0.
        case preset(Int)
    }

    /// How they pay.
    public enum Means: Sendable, Equatable {
        /// The first instrument; after a decline the next, the last one for ever.
        case instruments
        /// The wallet's account signs, where the terminal offers it; the first instrument else.
        case wallet
        /// The wallet pays the terminal's payment link itself, where that is offered; the first instrument else.
        case link
    }

    public var answer: Answer
    /// What they do when the terminal asks again because their payment, or another phone's, was declined; nil: as at first.
    public var secondAnswer: Answer?
    /// After the accept they change their mind.
    public var regretAfter: Duration?
    public var tip: Tip
    public var means: Means
    /// Names that the gateway gave to the instruments, best first. None: all that the gateway names.
    public var instruments: [String]
    /// Pay with the voucher even where the gateway can be reached.
    public var prefersVoucher: Bool

    public init(
        answer: Answer = .accept(after: .zero),
        secondAnswer: Answer? = nil,
        regretAfter: Duration? = nil,
        tip: Tip = .none,
        means: Means = .instruments,
        instruments: [String] = [],
        prefersVoucher: Bool = false
    ) {
        (self.answer, self.secondAnswer, self.regretAfter) = (answer, secondAnswer, regretAfter)
        (self.tip, self.means, self.instruments) = (tip, means, instruments)
        self.prefersVoucher = prefersVoucher
    }
}
