/// What a claim on rail 3 names instead of an accept: there is none. Source: extension W, "Flow".
public enum WalletClaim {
    /// The SHA-256 over the payment, the chosen option and the account's signatures in their order.
    public static func hash(paymentID: PaymentID, optionID: String, signatures: [String]) -> ObjectHash {
        ObjectHash(
            of: CBOR.array([
                .bytes(paymentID.bytes), .text(optionID), .array(signatures.map(CBOR.text)),
            ]).encoded
        )
    }
}
