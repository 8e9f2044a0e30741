import Avahi
import BusTestSupport
import Locks
import Testing

/// The terminal's name in the shop's network, with a real bus and an Avahi that does what a test says.
@Suite(.timeLimit(.minutes(2)))
struct NamePublisherTests {
    private static let name = LocalName(identity: [0x12, 0x34, 0x56, 0x78])
    private static let home = LocalAddress(interface: 2, text: "192.168.1.7")

    /// What changes while a publisher runs, and what it was told to remember.
    private final class World: Sendable {
        let addresses = Mutex([NamePublisherTests.home])
        let remembered = Mutex<[Int]>([])
    }

    /// A minute passes in half a second.
    private static func publisher(on bus: String, _ world: World, number: Int = 1) -> NamePublisher {
        NamePublisher(
            name: name,
            number: number,
            addresses: { world.addresses.withLock { $0 } },
            remember: { number in world.remembered.withLock { $0.append(number) } },
            busAddress: bus,
            sleep: { try await Task.sleep(for: $0 / 120) }
        )
    }

    private static func with(
        number: Int = 1,
        starts: Bool = true,
        _ prepare: (FakeAvahi) -> Void = { _ in },
        _ body: (FakeAvahi, NamePublisher, World, PrivateBus) async throws -> Void
    ) async throws {
        try await withPrivateBus { address, bus in
            let (avahi, world) = (FakeAvahi(address: address), World())
            prepare(avahi)
            if starts { try await avahi.start() }
            let publisher = publisher(on: address, world, number: number)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await publisher.run(port: 8443) }
                try await body(avahi, publisher, world, bus)
                group.cancelAll()
            }
        }
    }

    private static func wait(_ publisher: NamePublisher, until isSo: (NameStanding) -> Bool) async {
        for await standing in publisher.standings() where isSo(standing) { return }
    }

    // MARK: - The name

    @Test func theNameIsTheDevicesOwnAndStaysTheSame() {
        #expect(Self.name == LocalName(identity: [0x12, 0x34, 0x56, 0x78, 0xFF]), "four bytes are used")
        let names = Set((0..<2000).map { LocalName(identity: [UInt8($0 & 255), UInt8($0 >> 8), 9, 1]).code })
        #expect(names.count > 1990, "other devices have other names: \(names.count)")
        #expect(names.allSatisfy { $0.count == 4 && $0.allSatisfy { "23456789abcdefghjkmnpqrstuvwxyz".contains($0) } })
        #expect(Self.name.host(1) == "till-\(Self.name.code).local")
        #expect(Self.name.host(2) == "till-\(Self.name.code)-2.local")
        // Written down: a later version must not give a device in a shop another name.
        #expect(Self.name.code == "rp4r", "\(Self.name.code)")
    }

    // MARK: - Publishing

    @Test func theTerminalIsFoundByItsNameAndItsPageAsAService() async throws {
        try await Self.with { avahi, publisher, world, _ in
            await Self.wait(publisher) { $0.host != nil }
            let host = Self.name.host(1)
            #expect(publisher.standing == .published(host: host))
            let group = try #require(avahi.published.first)
            #expect(group.addresses.first == "2 192.168.1.7 \(host)")
            let service = "2 Till \(Self.name.code) _https._tcp \(host) 8443 path=/ api=/api/v1"
            #expect(group.services == [service])
            #expect(world.remembered.withLock { $0 } == [1])
        }
    }

    @Test func aNameThatAnotherHasIsLeftToItAndTheNextIsTaken() async throws {
        let host = Self.name.host(1)
        try await Self.with {
            $0.state.withLock { $0.taken = [host] }
        } _: { avahi, publisher, world, _ in
            await Self.wait(publisher) { $0.host != nil }
            #expect(publisher.standing == .published(host: Self.name.host(2)))
            #expect(avahi.published.count == 1, "nothing stays of the name that is another's")
            #expect(avahi.published.first?.services.first?.contains("Till \(Self.name.code) (2)") == true)
            #expect(world.remembered.withLock { $0 } == [2])
        }
    }

    @Test func aNameThatAProgramOfThisMachineHasIsLeftToItToo() async throws {
        let host = Self.name.host(1)
        try await Self.with {
            $0.state.withLock { $0.takenHere = [host] }
        } _: { _, publisher, _, _ in
            await Self.wait(publisher) { $0.host != nil }
            #expect(publisher.standing == .published(host: Self.name.host(2)))
        }
    }

    @Test func aNameThatIsLostLaterIsReplaced() async throws {
        try await Self.with { avahi, publisher, _, _ in
            await Self.wait(publisher) { $0.host == Self.name.host(1) }
            try avahi.loseName(Self.name.host(1))
            await Self.wait(publisher) { $0.host == Self.name.host(2) }
            #expect(avahi.published.count == 1)
        }
    }

    @Test func theNameOfLastTimeIsAskedForFirst() async throws {
        try await Self.with(number: 3) { _, publisher, _, _ in
            await Self.wait(publisher) { $0.host != nil }
            #expect(publisher.standing.host == Self.name.host(3))
        }
    }

    @Test func whereOthersHaveEveryNameItIsSaidAndTriedAgain() async throws {
        let hosts = Set((1...LocalName.most).map(Self.name.host))
        try await Self.with {
            $0.state.withLock { $0.taken = hosts }
        } _: { avahi, publisher, _, _ in
            await Self.wait(publisher) { $0 == .taken }
            #expect(avahi.published == [])
            avahi.state.withLock { $0.taken = [] }
            await Self.wait(publisher) { $0.host == Self.name.host(1) }
        }
    }

    // MARK: - What comes and goes

    @Test func anAvahiThatComesLaterGoesAndIsRestartedIsNoticed() async throws {
        try await Self.with(starts: false) { avahi, publisher, _, _ in
            await Self.wait(publisher) { $0 == .noDaemon }
            try await avahi.start()
            await Self.wait(publisher) { $0.host != nil }
            avahi.stop()
            await Self.wait(publisher) { $0 == .noDaemon }
            try await avahi.start()
            await Self.wait(publisher) { $0.host != nil }
            #expect(avahi.published.count == 1)
        }
    }

    @Test func anAvahiThatIsStillStartingIsWaitedFor() async throws {
        try await Self.with {
            $0.state.withLock { $0.serverState = 1 }
        } _: { avahi, publisher, _, _ in
            #expect(avahi.published == [] && publisher.standing.host == nil)
            try avahi.becomeReady()
            await Self.wait(publisher) { $0.host != nil }
        }
    }

    @Test(arguments: ["EntryGroupNew", "AddAddress", "AddService", "Commit"])
    func whatAvahiRefusesIsSaidAndTriedAgain(member: String) async throws {
        try await Self.with {
            $0.state.withLock { $0.refusals = [member: 1] }
        } _: { avahi, publisher, _, _ in
            await Self.wait(publisher) {
                if case .refused(let text) = $0 { text.contains("TooManyObjects") } else { false }
            }
            await Self.wait(publisher) { $0.host != nil }
            #expect(avahi.state.withLock { $0.groups.count } == 1, "nothing half made is left")
        }
    }

    @Test func aGroupThatFailsIsSaidWithItsReason() async throws {
        try await Self.with {
            $0.state.withLock { $0.fails = true }
        } _: { avahi, publisher, _, _ in
            await Self.wait(publisher) { $0 == .refused("org.freedesktop.Avahi.TooManyEntriesError") }
            avahi.state.withLock { $0.fails = false }
            await Self.wait(publisher) { $0.host != nil }
        }
    }

    @Test func theNameFollowsTheMachinesAddresses() async throws {
        try await Self.with { avahi, publisher, world, _ in
            await Self.wait(publisher) { $0.host != nil }
            world.addresses.withLock { $0 = [] }
            await Self.wait(publisher) { $0 == .noNetwork }
            #expect(avahi.published == [])
            world.addresses.withLock {
                // Two of one kind on one interface: one of them is the name's.
                $0 = [LocalAddress(interface: 3, text: "10.0.0.9"), LocalAddress(interface: 3, text: "10.0.0.10")]
            }
            await Self.wait(publisher) { $0.host != nil }
            #expect(avahi.published.map(\.addresses) == [["3 10.0.0.9 \(Self.name.host(1))"]])
        }
    }

    @Test func aBusThatGoesAwayIsSaid() async throws {
        try await Self.with { _, publisher, _, bus in
            await Self.wait(publisher) { $0.host != nil }
            try bus.kill()
            await Self.wait(publisher) { if case .noBus = $0 { true } else { false } }
        }
    }
}
