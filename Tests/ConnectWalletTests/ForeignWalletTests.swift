import Ethereum
import FoundationEssentials
import StrictJSON
import Testing
import WalletConnect

@Suite(
    "A wallet of others over our relay",
    .enabled("needs pyWalletConnect (TILL_TEST_PYTHON); make test installs it") { await ForeignWallet.isInstalled() },
    .serialized,
    .timeLimit(.minutes(3))
)
struct ForeignWalletTests {
    @Test func `It pairs over wss, agrees to the session and signs what the dapp asks for`() async throws {
        try await DappTestBed.running(overTLS: true) { bed in
            #expect(bed.url.hasPrefix("wss://"))
            let code = try await bed.code()
            let steps = try await together {
                try await ForeignWallet.pay(code.absoluteString, at: bed.url)
            } _: {
                let session = try await bed.dapp.session(pairing: code.topic)
                #expect(session.accounts.map(\.blockchain) == [DappTestBed.base])
                #expect(try await bed.isSigned(in: session))
                try await bed.dapp.disconnect(topic: session.topic)
            }.wallet
            #expect(steps.map(\.step) == ["asked", "settled", "requested", "signed", "over"], "\(steps)")
            #expect(steps.first?.chains == ["8453", "137"])
            #expect(steps.last?.reason == "User disconnected.")
        }
    }

    @Test func `Its no to the session is a customer's no`() async throws {
        try await DappTestBed.running(overTLS: true) { bed in
            let code = try await bed.code()
            let steps = try await together {
                try await ForeignWallet.pay(code.absoluteString, at: bed.url, mode: "reject")
            } _: {
                await #expect {
                    _ = try await bed.dapp.session(pairing: code.topic)
                } throws: { error in
                    guard case .rejected(let reason)? = (error as? ProposalFailure)?.cause else { return false }
                    return reason.isDecline
                }
            }.wallet
            #expect(steps.map(\.step) == ["asked", "rejected"])
        }
    }

    @Test func `Its no to the request is a customer's no`() async throws {
        try await DappTestBed.running(overTLS: true) { bed in
            let code = try await bed.code()
            let steps = try await together {
                try await ForeignWallet.pay(code.absoluteString, at: bed.url, mode: "decline")
            } _: {
                let session = try await bed.dapp.session(pairing: code.topic)
                let (id, _, _) = try await bed.ask(session)
                let answer = try await bed.dapp.response(to: id, topic: session.topic)
                if case .error(let error) = answer.result {
                    #expect(error.isDecline)
                } else {
                    Issue.record("signed after a no")
                }
                try await bed.dapp.disconnect(topic: session.topic)
            }.wallet
            #expect(steps.map(\.step) == ["asked", "settled", "requested", "declined", "over"])
        }
    }
}
