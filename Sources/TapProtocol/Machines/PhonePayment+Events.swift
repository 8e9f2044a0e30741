extension PhonePayment {
    /// A request that has passed every check.
    public struct Offer: Sendable, Hashable {
        public let paymentID: PaymentID
        public let requestHash: ObjectHash
        public let expiresAtMilliseconds: Int

        public init(paymentID: PaymentID, requestHash: ObjectHash, expiresAtMilliseconds: Int) {
            (self.paymentID, self.requestHash) = (paymentID, requestHash)
            self.expiresAtMilliseconds = expiresAtMilliseconds
        }

        public init(_ request: Signed<PaymentRequest>) {
            self.init(
                paymentID: request.payload.paymentID,
                requestHash: request.hash,
                expiresAtMilliseconds: request.payload.expiresAtMilliseconds
            )
        }
    }

    /// How a payment that this phone took part in ended, as far as it knows.
    public enum Closing: Sendable, Hashable {
        case declined
        /// Lost to another wallet, withdrawn or expired before this phone held a claim.
        case withdrawn
        case final(PaymentStatus)
    }

    /// What came with a RESULT.
    public enum ReceiptVerdict: Sendable, Hashable {
        case valid, missing, refused
        /// On rails 2 and 3, where no receipt exists: the terminal's word, to be shown as that.
        case reported
    }

    public enum Event: Sendable, Hashable {
        case payScreenOpened
        /// The customer has put the phone away.
        case payScreenClosed
        /// Nobody came in time.
        case advertisingOver
        /// A terminal reads READ from its start.
        case read
        /// A request that has passed, in the handshake's answer or after it.
        case request(Offer)
        case requestRefused(TapErrorCode)
        case handshakeFailed
        case userAccepted(ObjectHash, isVoucher: Bool)
        case userCancelled(PayerCancelReason)
        case claim(PaymentID, ObjectHash, PaymentClaim.Mode, isPhoneOnline: Bool)
        case hold(PaymentID)
        case reopen(PaymentID)
        case otherPaid(PaymentID)
        case cancelledByTerminal(PaymentID)
        case result(PaymentID, PaymentStatus, ReceiptVerdict)
        /// The gateway's own word.
        case gatewayResult(PaymentID, PaymentStatus)
        /// The gateway has no claim for this payment.
        case gatewayKnowsNoClaim(PaymentID, nowMilliseconds: Int)
        case error(TapErrorCode)
        case acknowledged
        /// Five seconds after the end.
        case closingOver
        case linkLost
        case clock(nowMilliseconds: Int)
        /// The app has started again, and this value was read back.
        case restarted
    }

    public enum Action: Sendable, Hashable {
        /// In storage before the actions that follow.
        case store
        /// In protected storage before the accept is signed.
        case commitVoucher
        /// With a new session's name, or with the one that terminals know already.
        case advertise(newSession: Bool)
        case stopAdvertising
        /// A fresh key, and counters at 0.
        case startSession
        case received(ReceivedNotice.State)
        case prompt(PaymentID)
        case closePrompt
        case disableAccept
        case enableAccept
        /// The accept in storage, the same bytes each time.
        case sendAccept
        case cancel(PaymentID, PayerCancelReason)
        case acknowledge(PaymentID)
        /// Send the bundle to the gateway.
        case submit
        /// The gateway is asked until the request's end and ten minutes.
        case askGateway(PaymentID)
        case result(PaymentID, PaymentStatus)
        case refuse(TapErrorCode)
        case control(ControlCode)
        /// To the terminal that is paid.
        case bye
        /// Ends every session: BYE, or control 05 before the handshake's answer.
        case hangUp
        case tell(Notice)
    }

    /// What the app's screen or its host hears.
    public enum Notice: Sendable, Hashable {
        case receivedPayment
        case finishedPayment(PaymentStatus)
        case cancelled
        case failed
        case otherPaid
        case disconnected
        /// The claim has come: it is too late to cancel.
        case tooLateToCancel
        case waitingForTerminal
        /// The payment may have been made, and nobody knows yet.
        case mayBeCharged
        case error(TapErrorCode)
    }
}
