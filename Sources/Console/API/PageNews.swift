import Payments
import Terminal
import WebServer

/// The terminal's state as its pages hear it: one who follows the desk, one timer, and a hub for all pages. They may be
/// hundreds, on two cores, and a charge waits for none of them.
struct PageNews: Sendable {
    /// So many hear each change as it comes. More of them cost a charge more than it costs itself, so they hear of it a moment
    /// later, and of what comes in one go as one.
    private static let few = 16
    private static let pause = Duration.milliseconds(25)
    /// Between two heartbeats. A page that hears none for two of them and a bit takes the terminal for gone.
    private static let heartbeat = Duration.seconds(5)

    private let hub: EventHub
    private let comings: AsyncStream<Void>
    private let timers: AsyncStream<Void>
    private let desk: ChargeDesk
    private let sessions: Sessions
    private let clock: TerminalClock

    init(desk: ChargeDesk, sessions: Sessions, clock: TerminalClock) {
        (self.desk, self.sessions, self.clock) = (desk, sessions, clock)
        let (comings, coming) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (timers, timer) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (self.comings, self.timers) = (comings, timers)
        hub = EventHub(came: {
            coming.yield()
            timer.yield()
        })
    }

    /// Each change of the terminal, the state now first, and a heartbeat every 5 seconds. Ends with the session.
    func answer(_ session: Session) -> WebResponse {
        let (sessions, clock) = (sessions, clock)
        return .events(of: hub) { sessions.isAlive(session, at: clock.wallTime()) }
    }

    /// Tells until cancelled. Once only.
    func run() async {
        let (viewer, snapshots) = await desk.view()
        await withTaskGroup { group in
            // Ahead of whoever draws or computes: it is one short step for all pages.
            group.addTask(priority: .high) { await tell(snapshots, to: viewer) }
            group.addTask { for await _ in comings { await desk.tellAgain(viewer) } }
            group.addTask {
                for await _ in timers {
                    // Where nobody listens it sleeps.
                    while hub.count > 0 {
                        do { try await clock.sleep(Self.heartbeat) } catch { return }  // The terminal stops.
                        hub.keepAlive(ServerSentEvent(event: "ping", data: "{}"))
                    }
                }
            }
            group.addTask { for await _ in sessions.changes { hub.endUnwelcome() } }
            await group.waitForAll()
        }
    }

    private func tell(_ snapshots: AsyncStream<TerminalSnapshot>, to viewer: Int) async {
        var last: TerminalSnapshot?
        var reader = snapshots.makeAsyncIterator()
        while var snapshot = await reader.next() {
            if hub.count > Self.few {
                do { try await clock.sleep(Self.pause) } catch { return }  // The terminal stops.
                await desk.tellAgain(viewer)
                guard let newest = await reader.next() else { return }
                snapshot = newest
            }
            defer { last = snapshot }
            guard hub.count > 0 else { continue }
            let event = ServerSentEvent(event: "terminal", data: JSON.terminal(snapshot).text)
            // What only the time has changed in is nothing new, but for those who know nothing yet.
            var before = last
            before?.at = snapshot.at
            hub.publish(event, to: before == snapshot ? .newcomers : .everybody)
        }
    }
}
