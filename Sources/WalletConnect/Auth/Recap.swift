internal import StrictJSON

/// Permissions within a signed message. Source: ERC-5573.
struct Recap: Sendable, Equatable {
    /// Resource, then `ability/action`, then the chains it is limited to; an empty list for no limit.
    private(set) var permissions: [String: [String: [String]]]

    private static let prefix = "urn:recap:"
    private static let claim = "I further authorize the stated URI to perform the following actions on my behalf: "

    var isEmpty: Bool { permissions.allSatisfy(\.value.isEmpty) }

    init(resource: String, ability: String, actions: [String], chains: [String] = []) {
        permissions = [resource: [:]]
        for action in actions { permissions[resource]?["\(ability)/\(action)"] = chains }
    }

    /// The last resource, where it is one.
    init?(resources: [String]?) {
        guard let last = resources?.last else { return nil }
        self.init(encoded: last)
    }

    init?(encoded: String) {
        guard encoded.hasPrefix(Self.prefix),
            let bytes = Base64.decode(String(encoded.dropFirst(Self.prefix.utf8.count))),
            let json = try? ExactJSON(parsing: bytes)
        else { return nil }
        self.init(json: json)
    }

    init?(json: ExactJSON) {
        guard let resources = json.value(named: "att")?.members, !resources.isEmpty else { return nil }
        permissions = [:]
        for resource in resources {
            guard let actions = resource.value.members, !actions.isEmpty else { return nil }
            var chains: [String: [String]] = [:]
            for action in actions {
                guard action.name.split(separator: "/", omittingEmptySubsequences: false).count == 2,
                    let limits = action.value.elements, !limits.isEmpty
                else { return nil }
                chains[action.name] = limits.flatMap { $0.value(named: "chains")?.texts ?? [] }
            }
            permissions[resource.name] = chains
        }
    }

    var json: ExactJSON {
        .of([
            "att": .map(permissions) { actions in
                .map(actions) { chains in
                    .array([chains.isEmpty ? .object([]) : .of(["chains": .strings(chains)])])
                }
            }
        ])
    }

    var encoded: String { Self.prefix + Base64.unpadded(Array(json.text.utf8)) }

    func merging(_ other: Recap) -> Recap {
        var merged = self
        for (resource, actions) in other.permissions {
            merged.permissions[resource, default: [:]].merge(actions) { first, second in
                first.isEmpty || second.isEmpty ? [] : (first + second).uniqued()
            }
        }
        return merged
    }

    /// The actions on chains, without their abilities, in order.
    var methods: [String] {
        (permissions["eip155"] ?? [:]).keys.compactMap { $0.split(separator: "/").last.map(String.init) }.uniqued()
            .sorted()
    }

    /// The chains any action is limited to, in order of the actions.
    var chains: [String] {
        (permissions["eip155"] ?? [:]).sorted { $0.key < $1.key }.flatMap(\.value).uniqued()
    }

    func limited(toMethods methods: [String], chains: [String]) -> Recap {
        var limited = self
        limited.permissions["eip155"] = (permissions["eip155"] ?? [:]).filter { name, _ in
            methods.contains { name == "request/\($0)" }
        }.mapValues { _ in chains }
        if limited.permissions["eip155"]?.isEmpty == true { limited.permissions["eip155"] = nil }
        return limited
    }

    /// Whether it gives nothing that `other` did not ask for.
    func isWithin(_ other: Recap) -> Bool {
        permissions.allSatisfy { resource, actions in
            actions.allSatisfy { action, chains in
                guard let asked = other.permissions[resource]?[action] else { return false }
                return asked.isEmpty || (!chains.isEmpty && chains.allSatisfy(asked.contains))
            }
        }
    }

    /// The permissions as a sentence for the signer, behind what the dapp said itself.
    func statement(after statement: String?) -> String {
        var count = 0
        var sentences: [String] = []
        for (resource, actions) in permissions.sorted(by: { $0.key < $1.key }) where !actions.isEmpty {
            var abilities: [(name: String, actions: [String])] = []
            let pairs = actions.keys.map { name in
                let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
                return (ability: parts[0], action: parts[1])
            }
            for pair in pairs.sorted(by: { ($0.action, $0.ability) < ($1.action, $1.ability) }) {
                if let index = abilities.firstIndex(where: { $0.name == pair.ability }) {
                    abilities[index].actions.append(pair.action)
                } else {
                    abilities.append((pair.ability, [pair.action]))
                }
            }
            let texts = abilities.map { ability in
                count += 1
                let actions = ability.actions.map { "'\($0)'" }.joined(separator: ", ")
                return "(\(count)) '\(ability.name)': \(actions) for '\(resource)'"
            }
            sentences.append(texts.joined(separator: ", ") + ".")
        }
        return (statement.map { "\($0) " } ?? "") + Self.claim + sentences.joined(separator: " ")
    }

    /// The same, or nil where the dapp wrote permissions into its statement that differ from the real ones.
    func statementIfTrue(after statement: String?) -> String? {
        guard let statement, statement.contains(Self.claim) else { return self.statement(after: statement) }
        return statement.hasSuffix(self.statement(after: nil)) ? statement : nil
    }
}
