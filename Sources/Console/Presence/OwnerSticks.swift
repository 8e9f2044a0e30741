import Foundation

/// Sticks that stand for a hand on the terminal: those with the label `TILL-OWNER`, as the machine shows them, each a folder of
/// its name. Nothing on them is read.
public struct OwnerSticks: Sendable {
    private let folder: String
    private let mustBeMounted: Bool

    /// - Parameters:
    ///   - folder: The machine alone makes folders there.
    ///   - mustBeMounted: False only where a plain folder stands for a stick.
    public init(folder: String = "/run/till/owner", mustBeMounted: Bool = true) {
        (self.folder, self.mustBeMounted) = (folder, mustBeMounted)
    }

    /// The names of those that are in now.
    func present() -> Set<String> {
        Set(StickFolders.folders(of: folder, mustBeMounted: mustBeMounted).map(\.name))
    }
}

/// Folders in which the machine shows sticks.
enum StickFolders {
    /// Sticks that are there now, eight at most; a folder whose stick has gone is none.
    static func folders(of place: String, mustBeMounted: Bool) -> [(name: String, path: String)] {
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []).sorted().prefix(8)
        return names.map { ($0, "\(place)/\($0)") }.filter { _, path in
            // Of a link its own facts: what it leads to is no stick.
            guard let own = try? FileManager.default.attributesOfItem(atPath: path),
                own[.type] as? FileAttributeType == .typeDirectory
            else { return false }
            guard mustBeMounted else { return true }
            let around = try? FileManager.default.attributesOfItem(atPath: place)
            guard let device = own[.systemNumber] as? NSNumber, let below = around?[.systemNumber] as? NSNumber else {
                return false
            }
            return device != below
        }
    }
}
