/// Why a message from outside was dropped. None is told to the sender: an answer would tell an attacker what is known.
enum MessageFault: Error, Sendable, Equatable {
    case tooLarge, notBase64, envelope(String), notAuthentic, plainText, notJSON, notJSONRPC
}
