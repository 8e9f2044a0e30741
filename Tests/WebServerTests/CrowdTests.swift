import Testing

@testable import WebServer

/// Who has to leave where connections become too many.
struct CrowdTests {
    private let crowd = Crowd(most: 320, mostOfSource: 32, mostBeforeRequest: 96)

    /// Comes, and whoever has to leave has left.
    private func come(_ guest: Crowd.Guest, to guests: inout [Crowd.Guest]) {
        guests.append(guest)
        if let leaver = crowd.leaver(among: guests, newcomer: guest.number) {
            guests.removeAll { $0.number == leaver }
        }
    }

    @Test func whoIsKnownNeverLeavesAndWhoComesAloneIsLetIn() {
        var guests: [Crowd.Guest] = []
        for number in 0..<40 {
            come(.init(number: number, source: "till", isKnown: true, hasAsked: true), to: &guests)
        }
        for number in 40..<2040 {
            var guest = Crowd.Guest(number: number, source: "stranger \(number % 12)")
            // Some shake hands only, some ask and wait, some listen.
            guest.hasAsked = number % 3 != 0
            guest.stage = number % 5 == 0 ? .listening : .quiet
            come(guest, to: &guests)
            guard number % 100 == 0 else { continue }
            let newcomer = Crowd.Guest(number: 10_000 + number, source: "phone \(number)")
            come(newcomer, to: &guests)
            #expect(guests.contains(newcomer))
            for later in 0..<200 { come(.init(number: 20_000 + later, source: "stranger 3"), to: &guests) }
            #expect(guests.contains(newcomer), "who comes after it takes a stranger's place and not its own")
            guests.removeAll { $0.number >= 10_000 }
        }
        #expect(guests.count(where: \.isKnown) == 40)
        #expect(guests.count <= 320)
        let strangers = guests.filter { !$0.isKnown }
        #expect(strangers.count { !$0.hasAsked } <= 96)
        for source in 0..<12 { #expect(strangers.count { $0.source == "stranger \(source)" } <= 32) }
    }

    /// One machine with all the addresses it wants: who was known at an address before is not counted with it.
    @Test func aKnownAddressGoesAfterUnknownOnes() {
        var guests: [Crowd.Guest] = []
        let till = Crowd.Guest(number: 0, source: "till", isFromKnownAddress: true)
        come(till, to: &guests)
        for number in 1..<1000 { come(.init(number: number, source: "address \(number)"), to: &guests) }
        #expect(guests.contains(till))
        #expect(guests.count == 96)
    }

    @Test func whoIsBeingAnsweredGoesLast() {
        var guests = (0..<32).map { Crowd.Guest(number: $0, source: "a", hasAsked: true, stage: .answering) }
        guests[7].stage = .listening
        let newcomer = Crowd.Guest(number: 99, source: "a", hasAsked: true, stage: .answering)
        #expect(crowd.leaver(among: guests + [newcomer], newcomer: 99) == 7)
        guests[20].stage = .quiet
        #expect(crowd.leaver(among: guests + [newcomer], newcomer: 99) == 20)
    }

    @Test func nobodyLeavesWhereAllArePresentWithRight() {
        let known = (0..<400).map { Crowd.Guest(number: $0, source: "till", isKnown: true, hasAsked: true) }
        #expect(crowd.leaver(among: known, newcomer: 399) == nil)
        let newcomer = Crowd.Guest(number: 400, source: "phone")
        #expect(crowd.leaver(among: known + [newcomer], newcomer: 400) == 400)
    }

    @Test(arguments: [
        ("192.168.1.20", "192.168.1.20"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"), ("fe80::1:2:3:4", "fe80:0:0:0::/64"), ("::1", "0:0:0:0::/64"),
    ])
    func anIPv6NetworkCountsAsOneAddress(address: String, source: String) {
        #expect(WebServer.source(of: address) == source)
    }

    /// Real sockets: a known one, then strangers from two addresses who hold all they can, then the next who is let in.
    @Test func aNewcomerIsServedAndAStrangerGoesForIt() async throws {
        let judge: @Sendable (WebRequest, WebServer.AnnouncedBody) -> WebServer.Admission = { request, _ in
            .init(isKnown: request.header("X-Known") != nil, .take(bodyBytes: 1000))
        }
        let change = { (configuration: inout WebServer.Configuration) in
            configuration.admission = judge
            (configuration.limits.connections, configuration.limits.connectionsPerAddress) = (8, 4)
            configuration.limits.connectionsBeforeRequest = 6
        }
        try await withServer(change, handler: { .now(.text($0.path)) }) { server in
            let till = try RawClient(server, from: "127.0.4.1")
            #expect(try await till.get("/a", headers: "X-Known: 1\r\n").text == "/a")
            var held: [RawClient] = []
            for number in 0..<40 {
                let stranger = try RawClient(server, from: "127.0.4.\(2 + number % 2)")
                try await stranger.send("GET / HT")
                held.append(stranger)
                let phone = try RawClient(server, from: "127.0.4.9")
                #expect(try await phone.get("/\(number)").text == "/\(number)")
            }
            #expect(try await till.get("/b", headers: "X-Known: 1\r\n").text == "/b")
            // Of the strangers those who came first had to go.
            for stranger in held[..<30] { #expect(try await stranger.untilClosed().isEmpty) }
            try await held[39].send("TP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await held[39].answer().status == 200)
        }
    }

    @Test func whoComesTooFastWaitsAndNobodyElseDoes() {
        var arrivals = Arrivals(perSecond: 8)
        let second: Int64 = 1_000_000_000
        func come(_ count: Int, _ source: (Int) -> String, at now: Int64) -> Int {
            (0..<count).count { arrivals.take(source($0), at: now) }
        }
        #expect(come(1000, { _ in "a" }, at: 0) == 64, "eight seconds' worth at once")
        #expect(come(1000, { _ in "a" }, at: second / 100) == 0)
        #expect(come(1, { _ in "b" }, at: second / 100) == 1)
        #expect(come(20, { _ in "a" }, at: 2 * second) == 16)
        #expect(come(5000, { "source \($0)" }, at: 3 * second) == 5000, "more sources than are remembered")
        var unlimited = Arrivals(perSecond: .max)
        let all = (0..<10_000).count { _ in unlimited.take("a", at: 0) }
        #expect(all == 10_000)
    }

    /// A dozen addresses that come again and again shake no hands; whoever is known comes as often as it wants.
    @Test func whoIsKnownComesAsOftenAsItWants() async throws {
        let change = { (configuration: inout WebServer.Configuration) in
            configuration.admission = { request, _ in
                .init(isKnown: request.header("X-Known") != nil, .take(bodyBytes: 1000))
            }
            configuration.limits.newConnectionsPerSecond = 1
        }
        try await withServer(change, handler: { .now(.text($0.path)) }) { server in
            for number in 0..<40 {
                let till = try RawClient(server, from: "127.0.3.1")
                #expect(try await till.get("/\(number)", headers: "X-Known: 1\r\n").status == 200)
            }
            var answered = 0
            for _ in 0..<40 {
                let stranger = try RawClient(server, from: "127.0.3.2")
                if let answer = try? await stranger.get("/"), answer.status == 200 { answered += 1 }
            }
            #expect((8..<40).contains(answered))
        }
    }

    @Test func aHandshakeHasItsTime() async throws {
        try await withServer({ $0.limits.opening = .seconds(100) }, handler: { .now(.text($0.path)) }) { server in
            let (silent, late) = (try RawClient(server), try RawClient(server))
            try await late.send("GET /late HTTP/1.1\r\n")
            let other = try RawClient(server)
            #expect(try await other.get("/").status == 200)
            server.sweep(after: .seconds(101))
            #expect(try await silent.untilClosed().isEmpty)
            try await late.send("Host: a\r\n\r\n")
            #expect(try await late.answer().text == "/late", "whose request has begun has the time of a request")
        }
    }
}
