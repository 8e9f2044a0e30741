import Payments
import Screen

/// A new version of the whole system, for the screen.
public enum SystemUpdate: Sendable, Equatable {
    /// It is being written; `percent` from 0 to 100.
    case installing(version: String, percent: Int)
    /// It is written, and the machine starts anew.
    case restarting(version: String)
    /// The machine has started with it, and it has to show that it works: what is charged before that keeps the version
    /// before from going on with its own record, where this one is left.
    case trying(version: String)
    /// The machine has started with it, and it works.
    case updated(version: String)
    /// It was not installed, or left: `version` runs.
    case notUpdated(version: String)
    /// What was to be installed is not: what runs goes on running.
    case refused(Refusal)

    /// Why an update was not installed.
    public enum Refusal: Sendable, Equatable, CaseIterable {
        /// Not signed by anybody this machine knows, or changed since.
        case signature
        /// Half an update, or none.
        case notWhole
        case otherMachine
        /// This machine was made without anybody who may sign.
        case nobodyMaySign
        /// Not newer than what was good here.
        case notNewer
        /// It could not be written, or nobody can say.
        case failed
    }

    /// Whether nothing can be charged meanwhile.
    public var holdsTerminal: Bool {
        switch self {
        case .installing, .restarting, .trying: true
        case .updated, .notUpdated, .refused: false
        }
    }

    var page: Scene {
        switch self {
        case .installing(let version, let percent):
            .update(Scene.Update(.installing, percent: percent, version: version))
        case .restarting(let version): .update(Scene.Update(.restarting, version: version))
        case .trying(let version): .update(Scene.Update(.trying, version: version))
        case .updated(let version): .update(Scene.Update(.updated, version: version))
        case .notUpdated(let version): .update(Scene.Update(.notUpdated, version: version))
        case .refused(let why): .update(Scene.Update(why.kind))
        }
    }
}

extension SystemUpdate.Refusal {
    fileprivate var kind: Scene.Update.Kind {
        switch self {
        case .signature: .signature
        case .notWhole: .notWhole
        case .otherMachine: .otherMachine
        case .nobodyMaySign: .nobodyMaySign
        case .notNewer: .notNewer
        case .failed: .notInstalled
        }
    }
}

extension ChargeDesk {
    /// Takes no more charges from here on, for the machine is about to start anew. The screen says so.
    /// - Throws: ``ChargeRefusal/busy(_:)``: a charge holds the terminal. Nothing was changed.
    public func beginUpdate(_ update: SystemUpdate) async throws(ChargeRefusal) {
        // Not between the checks of a charge and its entry.
        await turn.enter()
        defer { turn.leave() }
        if let holder = charges.values.first(where: \.holdsTerminal) { throw .busy(holder.id) }
        showUpdate(update)
    }

    /// Shows how an update stands; nil once it is over, or seen. Charges are taken again where nothing is installed.
    public func showUpdate(_ update: SystemUpdate?) {
        guard self.update != update else { return }
        self.update = update
        publish()
    }

    /// Takes it from the screen again, unless something newer stands there.
    public func hideUpdate(_ update: SystemUpdate) {
        if self.update == update { showUpdate(nil) }
    }

    /// Whether a charge is in the way of an update.
    public var holdsCharge: Bool { charges.values.contains(where: \.holdsTerminal) }
}
