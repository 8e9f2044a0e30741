import Machine
import Payments
import Terminal

extension HealthFacts {
    /// For the page, for programs, and for the support bundle.
    var json: JSON {
        .object([
            "at": .time(at), "startedAt": .time(startedAt),
            "weight": .string(wholeWeight.rawValue),
            "checks": .array(checks.map(\.json)),
            "radio": radioJSON, "storage": storageJSON, "clock": clockJSON, "machine": machineJSON,
            "certificate": .object(["fingerprint": .string(fingerprint), "endsAt": .time(certificateEnds)]),
            "addresses": .array(addresses.map(JSON.string)),
            "versions": .object(versions.mapValues(JSON.string)),
        ])
    }

    private var radioJSON: JSON {
        .object([
            "adapters": .array(
                machine.radios.map { radio in
                    .object([
                        "name": .string(radio.name), "driver": .optional(radio.driver),
                        "blocked": .flag(radio.isBlocked),
                    ])
                }
            ),
            "inUse": .bool(tap?.isEnabled == true),
            "powered": tap?.isEnabled == true ? .bool(tap?.radio == .ready) : .null,
            "phoneHeardAt": .moment(tap?.phoneHeardAt),
            "acquirerHeardAt": .moment(tap?.acquirerHeardAt),
            "waitingPayments": .integer(Int64(tap?.waiting ?? 0)),
        ])
    }

    private var storageJSON: JSON {
        .object([
            "freeBytes": .optional(machine.storage?.freeBytes), "totalBytes": .optional(machine.storage?.totalBytes),
            "readOnly": .flag(machine.storage?.isReadOnly), "journalBytes": .integer(Int64(journalBytes)),
            "canRecord": .bool(journalFault == nil),
            "wear": .array(
                machine.wear.map { wear in
                    .object([
                        "device": .string(wear.device), "usedPercent": .optional(wear.usedPercent),
                        "nearItsEnd": .flag(wear.isNearItsEnd),
                    ])
                }
            ),
        ])
    }

    private var clockJSON: JSON {
        .object([
            "set": .bool(clock.isSet), "synchronised": .bool(clock.isSynchronised),
            "gatewayAheadMilliseconds": offset.map { .integer($0.milliseconds) } ?? .null,
            "comparedAt": .moment(offset?.at),
        ])
    }

    private var machineJSON: JSON {
        .object([
            "model": .optional(machine.model), "kernel": .optional(machine.kernel),
            "uptimeSeconds": .optional(machine.uptimeSeconds),
            "memoryBytes": .optional(machine.memory?.totalBytes),
            "memoryFreeBytes": .optional(machine.memory?.availableBytes),
            "programBytes": .optional(processBytes), "openFiles": .optional(openFiles),
            "temperatures": .array(
                machine.temperatures.map { one in
                    .object(["place": .string(one.place), "milliCelsius": .integer(Int64(one.milliCelsius))])
                }
            ),
            "slowedDown": .flag(machine.slowdown.isNow), "slowedDownBefore": .flag(machine.slowdown.wasEver),
            "underVoltage": .flag(machine.slowdown.isUnderVoltage),
        ])
    }
}

extension JSON {
    fileprivate static func flag(_ flag: Bool?) -> JSON { flag.map(JSON.bool) ?? .null }
    fileprivate static func moment(_ time: WallTime?) -> JSON { time.map(JSON.time) ?? .null }
}
