import Foundation
import Payments
import Terminal
import WebServer

/// News as they come: of the terminal for its page, of charges for programs.
extension Console {
    func events(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        guard let program = pass.program else {
            guard let session = pass.session else { throw .notSignedIn }
            return news.answer(session)
        }
        return try await chargeEvents(program, pass)
    }

    /// Each change of each charge that the program may see, with a number by which a program goes on after a pause, and a heartbeat every 15 seconds.
    /// Ends when the token is revoked, and where the program reads too slowly.
    private func chargeEvents(_ program: AccessToken, _ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        guard let (use, ending) = await tokens.begin(.events, program) else { throw Self.tooManyOpen }
        let following = await desk.follow(after: pass.request.header("Last-Event-ID").flatMap(position))
        let own = pass.hasOwnChargesOnly ? pass.who : nil
        let (stream, continuation) = AsyncStream.makeStream(
            of: ServerSentEvent.self,
            bufferingPolicy: .bufferingOldest(256)
        )
        let (tokens, clock, run) = (tokens, clock, run)
        // The stream owns it: it ends with the reader, with the token, or with the terminal.
        let work = Task {
            if let missed = following.missed {
                for change in missed where own == nil || own == change.openedBy {
                    continuation.yield(Self.event(change, run))
                }
            } else {
                let id = "\(run)-\(following.last)"
                continuation.yield(ServerSentEvent(event: "resync", data: "{}", id: id, retry: .seconds(2)))
            }
            await withTaskGroup { group in
                group.addTask {
                    for await change in following.next where own == nil || own == change.openedBy {
                        guard case .enqueued = continuation.yield(Self.event(change, run)) else { return }
                    }
                }
                group.addTask {
                    while !Task.isCancelled {
                        do { try await clock.sleep(.seconds(15)) } catch { return }  // The reader has left.
                        guard case .enqueued = continuation.yield(.comment("ping")) else { return }
                    }
                }
                group.addTask { for await _ in ending {} }
                await group.next()
                group.cancelAll()
            }
            await tokens.end(use)
            continuation.finish()
        }
        continuation.onTermination = { _ in work.cancel() }
        return .events(stream)
    }

    static let tooManyOpen: Problem = {
        var problem = Problem(
            429,
            "too_many_waiting",
            "Programs hold as many connections open as the terminal has for them.",
            "End one that is not needed, or try again in a moment."
        )
        problem.retryAfter = .seconds(1)
        return problem
    }()

    /// Names this run in the numbers of events: after a restart they begin anew.
    private var run: String { String(startedAt.millisecondsSince1970, radix: 36) }

    /// The number of a change, where it is of this run.
    private func position(_ id: String) -> Int? {
        let parts = id.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == run, parts[1].utf8.count < 18, let number = Int(parts[1]) else {
            return nil
        }
        return number
    }

    private static func event(_ change: ChargeChange, _ run: String) -> ServerSentEvent {
        ServerSentEvent(event: "charge", data: JSON.change(change).text, id: "\(run)-\(change.number)")
    }
}
