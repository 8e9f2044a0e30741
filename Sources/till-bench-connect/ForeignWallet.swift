import Foundation
import StrictJSON
import Subprocess
import SystemPackage
import WalletConnect
import WebSocket

/// A wallet of others, as a program: the script says one line of JSON for each step and reads the code from its input.
struct ForeignWallet: Sendable {
    let python: String
    let script: String
    let certificate: String
    let key: String

    init(_ arguments: [String]) {
        (python, script, certificate, key) = (arguments[0], arguments[1], arguments[2], arguments[3])
    }
}

extension ExchangeBench {
    /// The same exchange with a wallet that speaks TLS only. Its start counts from where it has connected and asks for its
    /// proposal, as ours does: what it says first is taken for that.
    static func run(foreign count: Int, _ wallet: ForeignWallet) async throws {
        let options = ["--certificate", wallet.certificate, "--key", wallet.key]
        try await withRelay(options) { url in
            try await withTerminal(url, .file(wallet.certificate)) { dapp in
                var settles: [Duration] = []
                var signatures: [Duration] = []
                for _ in 0..<count {
                    let (settle, signature) = try await exchange(dapp, url, wallet)
                    settles.append(settle)
                    signatures.append(signature)
                }
                report("foreign, proposal shown to settled session", settles)
                report("foreign, request to signature", signatures)
                report("foreign, pair to signed", zip(settles, signatures).map(+))
            }
        }
    }

    private static func exchange(
        _ dapp: SignClient,
        _ url: String,
        _ wallet: ForeignWallet
    ) async throws -> (settle: Duration, signature: Duration) {
        let code = try await code(of: dapp)
        let clock = ContinuousClock()
        let result = try await Subprocess.run(
            .path(FilePath(wallet.python)),
            arguments: [wallet.script, String(url.dropFirst("wss://".count)), "approve"],
            environment: .inherit.updating(["SSL_CERT_FILE": wallet.certificate, "PYTHONDONTWRITEBYTECODE": "1"]),
            input: .string(code.absoluteString + "\n"),
            output: .sequence,
            error: .discarded
        ) { execution -> (Duration, Duration) in
            var lines = execution.standardOutput.strings().makeAsyncIterator()
            guard try await lines.next() != nil else { throw BenchError.notReady }
            let shown = clock.now
            let session = try await dapp.session(pairing: code.topic)
            let settled = clock.now
            let (id, _) = try await ask(dapp, session)
            let answer = try await dapp.response(to: id, topic: session.topic)
            guard case .response = answer.result else { throw BenchError.refused }
            let signed = clock.now
            try await dapp.disconnect(topic: session.topic)
            while try await lines.next() != nil {}
            return (settled - shown, signed - settled)
        }
        return result.closureResult
    }
}
