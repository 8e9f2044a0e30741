import Ethereum
import FoundationEssentials
import StrictJSON
import Testing
import TestSupport
import WalletConnect

@Suite("The sandbox's WalletConnect wallet", .serialized, .timeLimit(.minutes(3)))
struct WalletProgramTests {
    @Test func `It agrees to a session, signs with its key and ends with the session`() async throws {
        try await DappTestBed.running { bed in
            let code = try await bed.code()
            let run = try await together {
                try await WalletProgram.run(bed.url, code.absoluteString)
            } _: {
                let session = try await bed.dapp.session(pairing: code.topic)
                #expect(Set(session.accounts.map(\.blockchain)) == [DappTestBed.base, ConnectFixture.polygon])
                #expect(try await bed.isSigned(in: session))
                try await bed.dapp.disconnect(topic: session.topic)
            }.wallet
            #expect(run.exitCode == 0, "\(run)")
            let steps = run.lines.compactMap { $0.split(separator: " ").first.map(String.init) }
            #expect(run.has("Relay     connected") && run.has("Paired"))
            #expect(
                steps.filter { !["Relay", "Paired"].contains($0) } == [
                    "Wallet", "Asked", "Approved", "Settled", "Request", "Signing", "Signed", "Over", "Ended",
                ]
            )
            #expect(run.has("Signing   13.5 USDC on Base to 0x"))
            #expect(run.has("Over      the terminal ended the session"))
            let key = code.absoluteString.split(separator: "symKey=")[1].prefix(64)
            #expect(!run.lines.joined().contains(key) && !run.errors.contains(key))
        }
    }

    @Test func `Its no reaches the terminal as a customer's no`() async throws {
        try await DappTestBed.running { bed in
            let code = try await bed.code()
            let run = try await together {
                try await WalletProgram.run(bed.url, code.absoluteString, "--reject")
            } _: {
                await #expect {
                    _ = try await bed.dapp.session(pairing: code.topic)
                } throws: { error in
                    guard case .rejected(let reason)? = (error as? ProposalFailure)?.cause else { return false }
                    return reason.isDecline && reason.code == 5000
                }
            }.wallet
            #expect(run.exitCode == 3 && run.has("Rejected  5000"), "\(run)")
        }
    }

    @Test func `It turns a request down and nothing is signed`() async throws {
        try await DappTestBed.running { bed in
            let code = try await bed.code()
            let run = try await together {
                try await WalletProgram.run(bed.url, code.absoluteString, "--reject-requests")
            } _: {
                let session = try await bed.dapp.session(pairing: code.topic)
                let (id, _, _) = try await bed.ask(session)
                let answer = try await bed.dapp.response(to: id, topic: session.topic)
                #expect(answer.result == .error(.userRejectedRequest))
                try await bed.dapp.disconnect(topic: session.topic)
            }.wallet
            #expect(run.exitCode == 3 && run.has("Declined  4001") && !run.has("Signed"), "\(run)")
        }
    }

    @Test func `A slow customer's signature arrives all the same`() async throws {
        try await DappTestBed.running { bed in
            let code = try await bed.code()
            let run = try await together {
                try await WalletProgram.run(bed.url, code.absoluteString, "--slow", "0.3", "--slow-sign", "0.3")
            } _: {
                let session = try await bed.dapp.session(pairing: code.topic)
                let (id, _, _) = try await bed.ask(session)
                try await bed.dapp.stopWaiting(for: id, topic: session.topic)
                for await response in bed.dapp.streams.sessionResponses {
                    #expect(response.id == id && response.timing == .afterGivingUp)
                    break
                }
                try await bed.dapp.disconnect(topic: session.topic)
            }.wallet
            #expect(run.exitCode == 0 && run.has("Signed"), "\(run)")
        }
    }

    @Test(arguments: ["asked", "approved", "settled", "requested"])
    func `A phone that is offline in the middle goes on when it is back`(step: String) async throws {
        try await DappTestBed.running { bed in
            let code = try await bed.code()
            let run = try await together {
                try await WalletProgram.run(bed.url, code.absoluteString, "--offline-at", "\(step):0.5")
            } _: {
                let session = try await bed.dapp.session(pairing: code.topic)
                #expect(try await bed.isSigned(in: session))
                try await bed.dapp.disconnect(topic: session.topic)
            }.wallet
            #expect(run.exitCode == 0 && run.has("Offline") && run.has("Online"), "\(run)")
            #expect(run.count("Signing") == 1 && run.count("Approved") == 1, "\(run)")
        }
    }

    @Test func `A wallet on another chain is a session that the terminal can judge`() async throws {
        try await DappTestBed.running { bed in
            let code = try await bed.code()
            let run = try await together {
                try await WalletProgram.run(bed.url, code.absoluteString, "--chain", "100")
            } _: {
                let session = try await bed.dapp.session(pairing: code.topic)
                #expect(throws: NamespaceError.self) {
                    try session.check(chain: DappTestBed.base, method: DappTestBed.methods[0])
                }
                try await bed.dapp.disconnect(topic: session.topic, reason: .unsupportedChains)
            }.wallet
            #expect(run.exitCode == 1 && run.has("Over") && run.lines.joined().contains("5100"), "\(run)")
        }
    }

    @Test func `Of two wallets on one code one gets the session and the other signs nothing`() async throws {
        try await DappTestBed.running { bed in
            let code = try await bed.code()
            let run = try await together {
                try await WalletProgram.run(bed.url, code.absoluteString, "--wallets", "2", "--timeout", "8")
            } _: {
                let session = try await bed.dapp.session(pairing: code.topic)
                #expect(try await bed.isSigned(in: session))
                try await bed.dapp.disconnect(topic: session.topic)
            }.wallet
            #expect(run.exitCode == 0, "\(run)")
            #expect(run.lines.count { $0.contains(" Signed ") } == 1)
            #expect(run.lines.count { $0.contains("Ended     signed") } == 1)
            #expect(run.lines.count { $0.contains("Ended     not signed") } == 1, "\(run)")
        }
    }

    @Test(arguments: ["paired", "asked", "approved", "settled", "requested", "answered"])
    func `A phone that loses its power goes on when it is switched on again`(step: String) async throws {
        try await DappTestBed.running { bed in
            let scratch = try TemporaryFolder()
            let state = scratch.file("wallet.state")
            let code = try await bed.code()
            let ((dead, again), isSigned) = try await together {
                let dead = try await WalletProgram.run(
                    bed.url,
                    code.absoluteString,
                    "--state",
                    state,
                    "--die-at",
                    step
                )
                // The code is scanned again, as a customer would.
                return (
                    dead,
                    try await WalletProgram.run(bed.url, code.absoluteString, "--state", state, "--verbose")
                )
            } _: {
                let session = try await bed.dapp.session(pairing: code.topic)
                let isSigned = try await bed.isSigned(in: session)
                try await bed.dapp.disconnect(topic: session.topic)
                return isSigned
            }
            #expect(dead.exitCode == nil && dead.has("Died"), "\(dead)")
            #expect(isSigned)
            #expect(again.exitCode == 0 || (step == "answered" && again.exitCode == 1), "\(again)")
            let both = dead.count("Signed") + again.count("Signed")
            #expect(both <= 1, "\(dead) \(again)")
            #expect(Set([dead, again].compactMap { $0.lines.first { $0.hasPrefix("Wallet") } }).count == 1)
        }
    }

    @Test func `What cannot be is said, and nothing is asked for`() async throws {
        try await DappTestBed.running { bed in
            let code = try await bed.code().absoluteString
            for wrong in ["", "hello", code.replacing("symKey", with: "key")] {
                let run = try await WalletProgram.run(bed.url, wrong)
                #expect(run.exitCode == 1 && run.has("Refused"), "\(run)")
            }
            let old = code.split(separator: "&").filter { !$0.hasPrefix("expiry") }.joined(separator: "&")
            let expired = try await WalletProgram.run(bed.url, old + "&expiryTimestamp=1000")
            #expect(expired.exitCode == 1 && expired.has("Refused   This WalletConnect code has expired"))
            let wrongUse = [
                ["--offline-at", "lunch:3"], ["--die-at", "home"], ["--reject", "--never"], ["--key", "12"],
            ]
            for options in wrongUse {
                #expect(try await WalletProgram.run(bed.url, code, options).exitCode == 64, "\(options)")
            }
            #expect(try await WalletProgram.run("http://x", code).exitCode == 64)
            let scratch = try TemporaryFolder()
            let state = scratch.file("damaged.state")
            try Data("{}".utf8).write(to: URL(filePath: state))
            let damaged = try await WalletProgram.run(bed.url, code, "--state", state)
            #expect(damaged.exitCode == 66 && damaged.errors.contains("damaged"), "\(damaged)")
        }
    }
}
