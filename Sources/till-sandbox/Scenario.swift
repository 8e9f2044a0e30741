import ArgumentParser
import Foundation
import Sandbox
import StrictJSON
import Yams

/// A list of faults with a name, in a file: what an integrator wants to see their software live through.
///
/// It says nothing that `--fault` could not say; it says it once and in order.
struct Scenario<Place: FaultPlace> {
    let faults: [PlacedFault<Place>]

    /// - Throws: `ValidationError` that names the file, and the fault by its number.
    init(readingFrom path: String) throws {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ValidationError("--scenario \(path): there is no such file, or it cannot be read")
        }
        let node: Node?
        do {
            node = try Yams.compose(yaml: String(decoding: data, as: UTF8.self))
        } catch {
            throw ValidationError("--scenario \(path): this is not YAML: \(error)")
        }
        guard let mapping = node?.mapping, let list = mapping["faults"]?.sequence else {
            throw ValidationError("--scenario \(path): a scenario has a list of 'faults'")
        }
        for key in mapping.keys where !["about", "faults"].contains(key.string ?? "") {
            throw ValidationError("--scenario \(path): '\(key.string ?? "?")' is nothing that a scenario has")
        }
        var faults: [PlacedFault<Place>] = []
        for (index, entry) in list.enumerated() {
            do throws(FaultError) {
                faults.append(try PlacedFault(Self.json(entry)))
            } catch {
                throw ValidationError("--scenario \(path): fault \(index + 1): \(error)")
            }
        }
        self.faults = faults
    }

    /// Scalars as texts: a fault reads numbers from either.
    private static func json(_ node: Node) -> ExactJSON {
        switch node {
        case .scalar(let scalar): .string(scalar.string)
        case .sequence(let nodes): .array(nodes.map(json))
        case .mapping(let mapping): .object(mapping.map { .init($0.key.string ?? "", json($0.value)) })
        case .alias: .null
        }
    }
}
