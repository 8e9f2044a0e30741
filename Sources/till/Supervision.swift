import Logging
import Supervision
import Terminal

extension ServiceManager {
    /// Tells the manager what the terminal does, and that it still does, until cancelled.
    func watch(_ desk: ChargeDesk, _ clock: TerminalClock, _ logger: Logger) async {
        // Once: a manager that went away is not news every few seconds, and the terminal goes on without it.
        let complaint = Complaint(logger)
        await complaint.tell { try tell(.ready) }
        await withDiscardingTaskGroup { group in
            group.addTask {
                var last = ""
                for await snapshot in await desk.snapshots() where snapshot.summary != last {
                    last = snapshot.summary
                    await complaint.tell { try tell(.status(last)) }
                }
            }
            guard let watchdog else { return }
            group.addTask {
                await Heartbeat(desk, watchdog: watchdog, clock: clock).run {
                    await complaint.tell { try tell(.alive) }
                }
            }
        }
        await complaint.tell { try tell(.stopping) }
    }

    private actor Complaint {
        private let logger: Logger
        private var isSaid = false

        init(_ logger: Logger) { self.logger = logger }

        func tell(_ body: () throws -> Void) {
            do { try body() } catch {
                logger.log(level: isSaid ? .debug : .warning, "\(error)")
                isSaid = true
            }
        }
    }
}
