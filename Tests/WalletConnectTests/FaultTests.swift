import StrictJSON
import Testing

@testable import WalletConnect

/// A relay that loses, repeats, delays and reorders, by schedules that come again with their seed.
struct FaultTests {
    static let schedules: [(UInt64, RelayHub.Faults)] = [
        (1, .init(lost: 30)), (2, .init(unconfirmed: 40)), (3, .init(doubled: 60)), (4, .init(delayed: 60)),
        (5, .init(lost: 20, unconfirmed: 20, doubled: 20, delayed: 30)),
        (6, .init(lost: 40, unconfirmed: 10, doubled: 40, delayed: 50)),
        (7, .init(lost: 10, unconfirmed: 60, doubled: 10, delayed: 20)),
        (8, .init(lost: 25, unconfirmed: 25, doubled: 25, delayed: 25)),
    ]

    /// Whatever the relay does, each request is shown once, answered once, and the answer is its own.
    @Test(arguments: schedules.flatMap { schedule in (0..<4).map { ($0 &* 100 &+ schedule.0, schedule.1) } })
    func everyRequestIsShownOnceAndAnsweredOnce(seed: UInt64, faults: RelayHub.Faults) async throws {
        try await Duo.run(seed: seed, faults: faults) { duo in
            let session = try await Self.session(duo)
            var ids: [RPCID] = []
            for _ in 0..<4 { ids.append(try await duo.dapp.begin(duo.sign(session.topic))) }
            var shown: [RPCID] = []
            var beats = 0
            while shown.count < ids.count, beats < 200 {
                for request in await duo.wallet.getPendingRequests() {
                    shown.append(request.id)
                    try? await duo.wallet.respond(
                        topic: session.topic,
                        requestId: request.id,
                        response: .response(.string("0x\(request.id)"))
                    )
                }
                await duo.beat()
                beats += 1
            }
            #expect(Set(shown) == Set(ids) && shown.count == ids.count)
            while await !duo.dapp.openRequests(topic: session.topic).isEmpty, beats < 280 {
                await duo.beat()
                beats += 1
            }
            for id in ids {
                let response = try await duo.dapp.response(to: id, topic: session.topic)
                #expect(response.result == .response(.string("0x\(id)")) && response.timing == .inTime)
            }
            // However often something was sent again, it was the same text: the relay and the peer see one message.
            let requests = duo.hub.publications.filter { $0.publication.tag == 1108 }
            #expect(Set(requests.map(\.publication.message)).count == ids.count)
        }
    }

    private static func session(_ duo: Duo) async throws -> Session {
        for _ in 0..<40 {
            guard let uri = try? await duo.dapp.connect(namespaces: Example.wish()) else { continue }
            try? await duo.wallet.pair(uri: uri)
            for _ in 0..<200 {
                if let proposal = await duo.wallet.getPendingProposals(topic: uri.topic).first {
                    _ = try? await duo.wallet.approve(proposalId: proposal.id, namespaces: Example.grant())
                }
                if let session = await duo.dapp.getSessions().first { return session }
                await duo.beat()
            }
        }
        throw SignError.noAnswer
    }
}
