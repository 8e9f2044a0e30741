import Console
import Foundation
import Logging

/// The wallets that came with the terminal, for customers' own pages.
enum WalletList {
    private struct File: Decodable {
        var wallets: [CustomerWallet]
    }

    /// The list of a file. A file that cannot be read, and a wallet that cannot be offered, are said in the log and left
    /// out: payments do not depend on them.
    static func load(_ path: String, _ logger: Logger) -> [CustomerWallet] {
        guard !path.isEmpty else { return [] }
        let file: File
        do { file = try JSONDecoder().decode(File.self, from: Data(contentsOf: URL(fileURLWithPath: path))) } catch {
            logger.warning(
                "customers are offered no wallets: web.wallets cannot be read",
                metadata: ["error": "\(error)"]
            )
            return []
        }
        return file.wallets.compactMap { wallet in
            let faults = wallet.faults
            if faults.isEmpty { return wallet }
            let name: Logger.Metadata = ["wallet": "\(wallet.name.prefix(40))"]
            guard Set(faults.keys) == ["icon"] else {
                logger.warning("web.wallets: a wallet is left out", metadata: name)
                return nil
            }
            logger.warning("web.wallets: a wallet's picture is left out", metadata: name)
            var plain = wallet
            plain.icon = nil
            return plain
        }
    }
}
