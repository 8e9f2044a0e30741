public import Logging
import Payments
public import Screen

/// Puts the desk's snapshots on the screen, and counts the customer's seconds down while one is waiting.
///
/// Wakes only for news and, while a charge waits for its customer, once a second.
public struct ScreenDirector: Sendable {
    private let desk: ChargeDesk
    private let display: Display
    private let clock: TerminalClock
    private let webAddress: String?
    private let logger: Logger

    /// - Parameter webAddress: Where staff reach the page, as text on the idle screen.
    public init(desk: ChargeDesk, display: Display, clock: TerminalClock, webAddress: String?, logger: Logger) {
        self.desk = desk
        self.display = display
        self.clock = clock
        self.webAddress = webAddress
        self.logger = logger
    }

    private enum News {
        case snapshot(TerminalSnapshot)
        /// A second has passed for the snapshot of that number.
        case tick(Int)
    }

    /// Shows what the desk says until cancelled.
    public func run() async {
        let (news, continuation) = AsyncStream.makeStream(of: News.self)
        let snapshots = await desk.snapshots()
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await snapshot in snapshots { continuation.yield(.snapshot(snapshot)) }
                continuation.finish()
            }
            var latest: TerminalSnapshot?
            var number = 0
            for await item in news {
                switch item {
                case .snapshot(let snapshot):
                    latest = snapshot
                    number += 1
                case .tick(let ticked):
                    guard ticked == number else { continue }  // Of a snapshot that is not on the screen any more.
                }
                guard let latest else { continue }
                await show(latest)
                guard let wait = untilNextSecond(latest) else { continue }
                let current = number
                group.addTask {
                    do { try await clock.sleep(wait) } catch { return }  // The terminal stops.
                    continuation.yield(.tick(current))
                }
            }
            group.cancelAll()
        }
    }

    private func show(_ snapshot: TerminalSnapshot) async {
        let scene = scene(of: snapshot)
        do throws(ScreenError) {
            let shown = try await display.show(scene)
            if case .charge = scene, case .charging(let charge) = snapshot.phase {
                await desk.screenShows(charge.id, isReadable: shown.qrVerified || shown.linkIsText)
            }
        } catch {
            logger.error("the screen does not show what it should", metadata: ["error": "\(error)"])
            if case .charge = scene, case .charging(let charge) = snapshot.phase {
                await desk.screenShows(charge.id, isReadable: false)
            }
        }
    }

    /// Time until the shown number of seconds changes; nil where none is shown or it has reached zero.
    private func untilNextSecond(_ snapshot: TerminalSnapshot) -> Duration? {
        guard case .charging(let charge) = snapshot.phase, let deadline = charge.deadline, charge.link != nil else {
            return nil
        }
        let left = deadline - clock.elapsed()
        guard left > .zero else { return nil }
        let fraction = left - .seconds(left.components.seconds)
        return fraction + .milliseconds(1)
    }

    // MARK: - What a snapshot looks like

    func scene(of snapshot: TerminalSnapshot) -> Scene {
        switch snapshot.phase {
        case .starting(let checking): .starting(checkingPayments: checking)
        case .unclaimed(let invitation):
            .setup(
                Scene.Setup(
                    claimAddress: invitation.url,
                    addressText: invitation.address,
                    claimCode: invitation.code,
                    fingerprintText: invitation.fingerprint
                )
            )
        case .setup: .idle(Scene.Idle(merchantName: "Till", webAddressText: webAddress))
        case .idle: idle(snapshot)
        case .charging(let charge): scene(of: charge, in: snapshot)
        }
    }

    private func idle(_ snapshot: TerminalSnapshot) -> Scene {
        let name = snapshot.merchantName ?? ""
        if let trouble = snapshot.trouble {
            return .offline(Scene.Offline(merchantName: name, detail: trouble.message))
        }
        let readiness: Scene.Light.Readiness
        switch snapshot.gateway {
        case .ready: readiness = .ready
        case .unknown: readiness = .connecting
        case .unreachable, .refused: return .offline(Scene.Offline(merchantName: name))
        }
        return .idle(
            Scene.Idle(
                merchantName: name,
                lights: [Scene.Light(.scan, readiness)],
                webAddressText: webAddress,
                notices: snapshot.notices.map { notice in
                    Scene.Notice(
                        notice.kind == .paidTwice ? .paidTwice : .late,
                        amountText: notice.amountText,
                        chargeCode: notice.code.rawValue
                    )
                }
            )
        )
    }

    private func scene(of snapshot: ChargeSnapshot, in terminal: TerminalSnapshot) -> Scene {
        let charge = snapshot.charge
        let (name, amount, code) = (charge.terms.merchantName, snapshot.amountText, charge.terms.code.rawValue)
        switch charge.state {
        case .created:
            // No link yet. Nothing of an earlier charge may stay; what is wrong, if anything, is said.
            return charge.isUnresolved
                ? .offline(Scene.Offline(merchantName: name, detail: charge.reason?.message))
                : .idle(Scene.Idle(merchantName: name))
        case .requiresAction:
            guard let link = snapshot.link else {
                // Being taken back, or found without a link: nothing that could be paid is shown.
                return .processing(Scene.Processing(merchantName: name, amountText: amount, chargeCode: code))
            }
            let left = snapshot.deadline.map { Int(max(.zero, $0 - clock.elapsed()).components.seconds) }
            return .charge(
                Scene.ChargeView(
                    merchantName: name,
                    amountText: amount,
                    link: link,
                    secondsLeft: left,
                    chargeCode: code,
                    note: charge.isUnresolved ? .gatewaySilent : nil
                )
            )
        case .processing:
            return .processing(Scene.Processing(merchantName: name, amountText: amount, chargeCode: code))
        case .succeeded:
            return .paid(
                Scene.Paid(
                    merchantName: name,
                    amountText: amount,
                    tipText: snapshot.tipText,
                    chargeCode: code,
                    arrivedLate: charge.isLate
                )
            )
        case .failed, .expired, .cancelled:
            return .notPaid(notPaid(charge, amount, code))
        case .unknown:
            return .unknown(Scene.Unknown(amountText: amount, chargeCode: code))
        }
    }

    private func notPaid(_ charge: Charge, _ amount: String, _ code: String) -> Scene.NotPaid {
        let wasRefused = charge.attempts.contains { if case .refused = $0.ending { true } else { false } }
        let kind: Scene.NotPaid.Kind =
            switch charge.state {
            case .expired: .expired
            case .cancelled: .cancelled
            default: wasRefused ? .refused : .failed
            }
        return Scene.NotPaid(
            kind: kind,
            amountText: amount,
            chargeCode: code,
            whatHappened: charge.reason?.message,
            whatToDo: charge.reason?.action
        )
    }
}
