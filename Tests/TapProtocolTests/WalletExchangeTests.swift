import TapProtocol
import Testing

struct WalletExchangeTests {
    let id: PaymentID
    let option = MessageTests.option

    init() throws { id = try #require(PaymentID("019ab697-e800-791a-b5fd-49dd46939c7d")) }

    private func sign(_ index: Int, of count: Int = 2, option: String = "opt_1") -> TapBody {
        .sign(
            SigningOrder(
                paymentID: id,
                optionID: option,
                index: index,
                count: count,
                chainID: "eip155:8453",
                method: "eth_signTypedData_v4",
                parameters: "[]"
            )
        )
    }

    private var steps: [TapBody] {
        [
            .accounts(id, [option.account]), .options(id, [option], expiresAtSeconds: 1),
            .choose(id, optionID: "opt_1"),
            sign(0), sign(1), .signatures(id, optionID: "opt_1", ["0x01", "0x02"]),
        ]
    }

    @Test func theStepsFollowEachOther() {
        var exchange = WalletExchange()
        for step in steps {
            let isTaken = exchange.takes(step)
            #expect(isTaken)
        }
        #expect(exchange.state == .signed(option, signatures: ["0x01", "0x02"]))
    }

    /// Every message after each number of steps.
    @Test func everyMessageOutOfTurnIsRefusedAndChangesNothing() {
        let others: [TapBody] = [
            sign(2, of: 3), sign(0, of: 1, option: "other"), sign(1, of: 3), .choose(id, optionID: "other"),
            .signatures(id, optionID: "opt_1", ["0x01"]), .signatures(id, optionID: "other", ["0x01", "0x02"]),
        ]
        // By step: which of `steps` may come. Accounts and options may be named again, a choice undone by new options.
        let allowed: [[Int]] = [[0], [1], [0, 1, 2], [1, 3], [4], [5], []]
        for count in 0...steps.count {
            var exchange = WalletExchange()
            for step in steps.prefix(count) { _ = exchange.takes(step) }
            for (place, body) in (steps + others).enumerated() {
                var next = exchange
                let isTaken = next.takes(body)
                #expect(isTaken == allowed[count].contains(place), "\(count) \(place)")
                if !isTaken { #expect(next == exchange) }
            }
            var next = exchange
            let isOther = next.takes(.keepAlive(id, .waitingForUser))
            #expect(isOther)
            #expect(next == exchange)
        }
    }

    @Test func withoutAnOptionNothingCanBeChosen() {
        var exchange = WalletExchange()
        let none = TapBody.options(id, [], expiresAtSeconds: 1)
        let taken = [steps[0], none, steps[2], steps[0]].map { exchange.takes($0) }
        #expect(taken == [true, true, false, true])
    }
}
