public import DBus

/// The service that writes updates into the root slot that is not running: RAUC, over the system bus.
///
/// It checks a bundle's signature and whether it fits this machine; nothing here decides about that. It sleeps until it is asked
/// for something, and is started then.
/// Source: RAUC 1.8, "D-Bus API", `de.pengutronix.rauc.Installer`.
public struct Installer: Sendable {
    static let name = "de.pengutronix.rauc"
    static let interface = "de.pengutronix.rauc.Installer"
    /// A bundle's signature is checked before the answer comes, which reads all of a plain one.
    private static let checking = Duration.seconds(300)

    private let bus: BusConnection

    public init(bus: BusConnection) { self.bus = bus }

    /// What a bundle says of itself; its signature was checked.
    public struct Bundle: Sendable, Equatable {
        /// Which machines it is for.
        public let compatible: String
        public let version: String
    }

    /// Checks a bundle without installing it.
    /// - Parameter path: Absolute, readable by the service.
    /// - Throws: ``UpdateError``: the signature is wrong, half a bundle, or no bundle.
    public func inspect(_ path: String) async throws(UpdateError) -> Bundle {
        let answer = try await call("Info", [.string(path)], timeout: Self.checking)
        guard answer.count == 2, let compatible = answer[0].text, let version = answer[1].text else {
            throw .unclear(detail: "Info answered something else")
        }
        return Bundle(compatible: Self.clean(compatible), version: Self.clean(version))
    }

    /// Which machine this is, in a bundle's words.
    public func compatible() async throws(UpdateError) -> String {
        do throws(BusError) {
            try await bus.start(Self.name)
            let answer = try await bus.call(
                BusCall(
                    to: Self.name,
                    at: .root,
                    "org.freedesktop.DBus.Properties",
                    "Get",
                    [.string(Self.interface), .string("Compatible")]
                )
            )
            return Self.clean(answer.first?.opened.text ?? "")
        } catch { throw UpdateError(error) }
    }

    /// Installs a bundle into the slot that is not running. Returns once it is written and will be started next.
    ///
    /// Where the caller is cancelled the service goes on: it has no way to stop.
    /// - Parameter progress: Told of each step, in order.
    /// - Throws: ``UpdateError``: what runs now goes on running, and is what the next start takes.
    public func install(
        _ path: String,
        progress: @escaping @Sendable (UpdateProgress) async -> Void
    ) async throws(UpdateError) {
        let signals: SignalStream
        do throws(BusError) {
            // Before the bus tells of owners: this one's coming would pass for another's.
            try await bus.start(Self.name)
            // Before the call: the service may be done before the answer is read.
            signals = try await bus.signals(Self.rules)
        } catch { throw UpdateError(error) }
        try await ask("InstallBundle", [.string(path), .properties([:])], timeout: .seconds(30))
        do {
            for try await signal in signals {
                switch signal.member {
                case "Completed":
                    guard signal.arguments.first?.integer == 0 else { throw await failure() }
                    return
                case "PropertiesChanged":
                    guard signal.arguments.first?.text == Self.interface, signal.arguments.count > 1,
                        let value = signal.arguments[1].properties?["Progress"],
                        let step = UpdateProgress(value.opened)
                    else { continue }
                    await progress(step)
                default:
                    // Another owner, or none: whoever installed is gone.
                    throw UpdateError.unclear(detail: "the update service ended while it installed")
                }
            }
            throw UpdateError.unclear(detail: "the bus said nothing more")
        } catch let error as UpdateError {
            throw error
        } catch let error as BusError {
            throw UpdateError(error)
        } catch { throw .unclear(detail: "\(error)") }
    }

    /// What becomes of an installation, whoever asked for it.
    public enum News: Sendable, Equatable {
        case begun
        case progress(UpdateProgress)
        /// It is written and will be started next.
        case done
        /// What runs now goes on running.
        case failed(UpdateError)
    }

    /// Tells of every installation, also of one that others ask for or asked for before. A service that sleeps is left asleep.
    ///
    /// Returns when the caller is cancelled. An installation that was told of comes to an end in what is told, too.
    /// - Parameter tell: Told in order. Nothing is lost while it takes its time.
    /// - Throws: ``UpdateError/unclear(detail:)``: the bus is gone.
    public func follow(_ tell: @escaping @Sendable (News) async -> Void) async throws(UpdateError) {
        var isInstalling = false
        do {
            // Before the question: what begins after it is heard.
            let signals = try await bus.signals(Self.rules)
            if try await bus.owner(of: Self.name) != nil, await property("Operation")?.text == Self.installing {
                isInstalling = true
                await tell(.begun)
            }
            for try await signal in signals {
                switch signal.member {
                case "Completed":
                    guard isInstalling else { continue }
                    isInstalling = false
                    await tell(signal.arguments.first?.integer == 0 ? .done : .failed(await failure()))
                case "PropertiesChanged":
                    guard signal.arguments.first?.text == Self.interface, signal.arguments.count > 1,
                        let changed = signal.arguments[1].properties
                    else { continue }
                    if let operation = changed["Operation"]?.opened.text, (operation == Self.installing) != isInstalling
                    {
                        isInstalling = operation == Self.installing
                        await tell(isInstalling ? .begun : .failed(await failure()))
                    }
                    if isInstalling, let step = changed["Progress"].flatMap({ UpdateProgress($0.opened) }) {
                        await tell(.progress(step))
                    }
                default:
                    // Whoever had the name lost it, and installs no more. One that has just come lost nothing.
                    guard isInstalling, signal.arguments.dropFirst().first?.text?.isEmpty == false else { continue }
                    isInstalling = false
                    await tell(.failed(.unclear(detail: "the update service ended while it installed")))
                }
            }
            guard !Task.isCancelled else { return }
            throw UpdateError.unclear(detail: "the bus said nothing more")
        } catch {
            let fault: UpdateError =
                switch error {
                case let error as UpdateError: error
                case let error as BusError: UpdateError(error)
                default: .unclear(detail: "\(error)")
                }
            if isInstalling { await tell(.failed(fault)) }
            throw fault
        }
    }

    private static let installing = "installing"
    private static let rules = [
        SignalRule(sender: name, interface: interface, member: "Completed", path: .root),
        SignalRule(
            sender: name,
            interface: "org.freedesktop.DBus.Properties",
            member: "PropertiesChanged",
            path: .root
        ),
        BusConnection.ownerRule(of: name),
    ]

    /// Why the last installation failed, in the service's own words.
    private func failure() async -> UpdateError {
        let text = await property("LastError")?.text ?? ""
        return .refused(UpdateError.Cause(text), detail: text.isEmpty ? "it said nothing more" : Self.clean(text))
    }

    /// Nil where the service does not say.
    private func property(_ name: String) async -> BusValue? {
        let answer = try? await bus.call(
            BusCall(
                to: Self.name,
                at: .root,
                "org.freedesktop.DBus.Properties",
                "Get",
                [.string(Self.interface), .string(name)]
            )
        )
        return answer?.first?.opened
    }

    /// Both root slots, and which one runs.
    public func slots() async throws(UpdateError) -> [UpdateSlot] {
        guard case .array(_, let rows)? = try await call("GetSlotStatus", []).first else {
            throw .unclear(detail: "GetSlotStatus answered something else")
        }
        return rows.prefix(16).compactMap(UpdateSlot.init)
    }

    /// Starts the service where it sleeps, and asks.
    private func call(
        _ member: String,
        _ arguments: [BusValue],
        timeout: Duration = .seconds(25)
    ) async throws(UpdateError) -> [BusValue] {
        do throws(BusError) { try await bus.start(Self.name) } catch { throw UpdateError(error) }
        return try await ask(member, arguments, timeout: timeout)
    }

    @discardableResult
    private func ask(
        _ member: String,
        _ arguments: [BusValue],
        timeout: Duration = .seconds(25)
    ) async throws(UpdateError) -> [BusValue] {
        do throws(BusError) {
            return try await bus.call(
                BusCall(to: Self.name, at: .root, Self.interface, member, arguments),
                timeout: timeout
            )
        } catch { throw UpdateError(error) }
    }

    /// Words from outside: one line, no control characters, 200 characters at most.
    static func clean(_ text: String) -> String {
        let printable = text.unicodeScalars.prefix(400).map { scalar -> Character in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: " "
            default: Character(scalar)
            }
        }
        return String(String(printable).split(separator: " ").joined(separator: " ").prefix(200))
    }
}
