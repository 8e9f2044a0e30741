import Foundation
import Payments
import Terminal

/// What the process itself takes. Source: proc_pid_statm(5); Prometheus, "Writing client libraries", process metrics.
struct ProcessMeasures: Sendable {
    /// Nil where the system does not say.
    let residentBytes: Int?
    let openFiles: Int?

    init() {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
        residentBytes = fields.count > 1 ? Int(fields[1]).map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) } : nil
        openFiles = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count
    }
}

extension MetricsText {
    /// - Parameter startedAt: When the terminal started.
    init(_ measures: Measures, process: ProcessMeasures, startedAt: WallTime) {
        self.init()
        addCounts(measures.meter)
        addHistograms(
            "till_stage_seconds",
            "How long each stage of a charge took, by the rail where it happened.",
            bounds: ChargeMeter.Histogram.bounds,
            ChargeMeter.Stage.allCases.flatMap { stage in
                Rail.allCases.map { rail in
                    let histogram = measures.meter.histogram(stage, rail)
                    return (
                        [("stage", stage.rawValue), ("rail", rail.rawValue)], histogram.counts, histogram.sumSeconds
                    )
                }
            }
        )
        addLights(measures)
        addRelay(measures.connect.counts)
        add(
            "till_charges_open",
            .gauge,
            "Charges with a payment that no authority has ended.",
            Double(measures.openCharges)
        )
        add("till_notices", .gauge, "Payments that staff have still to see.", Double(measures.notices))
        add("till_trouble", .gauge, "1 while the terminal cannot record.", measures.isInTrouble ? 1 : 0)
        add(
            "process_start_time_seconds",
            .gauge,
            "When the terminal started, in seconds since 1970.",
            Double(startedAt.millisecondsSince1970) / 1000
        )
        if let bytes = process.residentBytes {
            add("process_resident_memory_bytes", .gauge, "Memory in use.", Double(bytes))
        }
        if let files = process.openFiles { add("process_open_fds", .gauge, "Open files and sockets.", Double(files)) }
    }

    private mutating func addCounts(_ meter: ChargeMeter) {
        add("till_charges_opened_total", .counter, "Charges opened.", Double(meter.opened))
        let ends: [Charge.State] = [.succeeded, .failed, .expired, .cancelled, .unknown]
        add(
            "till_charges_ended_total",
            .counter,
            "Charges that came to this outcome; unknown may still become another.",
            ends.map { ([("outcome", $0.rawValue)], Double(meter.states[$0] ?? 0)) }
        )
        add("till_payments_late_total", .counter, "Payments that came when nobody waited for them.", Double(meter.late))
        add(
            "till_payments_twice_total",
            .counter,
            "Payments beyond the one that a charge asked for.",
            Double(meter.paidTwice)
        )
        let rails = Rail.allCases
        add(
            "till_attempts_started_total",
            .counter,
            "Tries at a charge, by rail.",
            rails.map { ([("rail", $0.rawValue)], Double(meter.attempts[$0] ?? 0)) }
        )
        add(
            "till_attempts_ended_total",
            .counter,
            "How tries at a charge ended, by rail.",
            rails.flatMap { rail in
                ChargeMeter.EndingKind.allCases.map {
                    ([("rail", rail.rawValue), ("ending", $0.rawValue)], Double(meter.endings[rail]?[$0] ?? 0))
                }
            }
        )
        add(
            "till_silences_total",
            .counter,
            "Questions and requests to an authority without a usable answer.",
            rails.map { ([("rail", $0.rawValue)], Double(meter.silences[$0] ?? 0)) }
        )
        add(
            "till_codes_unreadable_total",
            .counter,
            "Codes that the screen could not read back.",
            Double(meter.unreadableCodes)
        )
        add(
            "till_journal_faults_total",
            .counter,
            "Times the journal did not take what happened.",
            Double(meter.journalFaults)
        )
    }

    /// One line for each state a part can be in, 1 for the one it is in.
    private mutating func addLights(_ measures: Measures) {
        let tap: String =
            switch measures.tap.light {
            case .off: "off"
            case .ready: "ready"
            case .hindered: "hindered"
            }
        let connect: String =
            switch measures.connect.light {
            case .off: "off"
            case .connecting: "connecting"
            case .ready: "ready"
            case .hindered: "hindered"
            }
        let lights: [(part: String, states: [String], now: String)] = [
            ("gateway", GatewayLight.words, measures.gateway.word),
            ("tap", ["off", "ready", "hindered"], tap),
            ("connect", ["off", "connecting", "ready", "hindered"], connect),
        ]
        add(
            "till_light",
            .gauge,
            "How the ways to pay stand: 1 for the state each is in.",
            lights.flatMap { light in
                light.states.map { ([("part", light.part), ("state", $0)], $0 == light.now ? 1 : 0) }
            }
        )
    }

    private mutating func addRelay(_ counts: ConnectStatus.Counts) {
        let all: [(String, Int)] = [
            ("connections", counts.connections), ("failed_connections", counts.failedConnections),
            ("published", counts.published), ("received", counts.received), ("pairings", counts.pairings),
            ("sessions", counts.sessions), ("refusals", counts.refusals), ("signatures", counts.signatures),
            ("late_answers", counts.lateAnswers),
        ]
        add(
            "till_relay_events_total",
            .counter,
            "What went over the relay.",
            all.map { ([("event", $0.0)], Double($0.1)) }
        )
    }
}
