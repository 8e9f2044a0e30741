/// The objects of this process that others can call, and what every object answers: properties, children, itself.
///
/// Source: D-Bus specification 0.42, "Standard interfaces".
struct Exports {
    private struct Object {
        var interfaces: [String: ExportedInterface] = [:]
        var values: [String: [String: BusValue]] = [:]
        var isManager = false
    }

    private var objects: [ObjectPath: Object] = [:]

    private static let properties = "org.freedesktop.DBus.Properties"
    private static let manager = "org.freedesktop.DBus.ObjectManager"
    private static let peer = "org.freedesktop.DBus.Peer"
    private static let introspectable = "org.freedesktop.DBus.Introspectable"

    // MARK: Changing what is there

    mutating func add(_ interfaces: [ExportedInterface], at path: ObjectPath, in loop: BusLoop) {
        var object = objects[path] ?? Object()
        for interface in interfaces {
            object.interfaces[interface.name] = interface
            object.values[interface.name] = interface.properties
        }
        objects[path] = object
        guard let manager = managerAbove(path) else { return }
        let added = interfaces.map { BusValue.Entry(.string($0.name), .properties($0.properties)) }
        let value = BusValue.dictionary(key: .string, value: Self.propertiesType, added)
        try? loop.emit(
            path: manager,
            interface: Self.manager,
            member: "InterfacesAdded",
            arguments: [.objectPath(path), value]
        )
    }

    mutating func manage(at path: ObjectPath) { objects[path, default: Object()].isManager = true }

    mutating func remove(at path: ObjectPath, in loop: BusLoop) {
        guard let object = objects.removeValue(forKey: path), let manager = managerAbove(path) else { return }
        let names = BusValue.strings(object.interfaces.keys.sorted())
        try? loop.emit(
            path: manager,
            interface: Self.manager,
            member: "InterfacesRemoved",
            arguments: [.objectPath(path), names]
        )
    }

    /// Sets properties and tells everybody. `nil` takes a property away.
    mutating func set(_ changes: [String: BusValue?], of interface: String, at path: ObjectPath, in loop: BusLoop) {
        guard objects[path]?.interfaces[interface] != nil else { return }
        var changed: [String: BusValue] = [:]
        var gone: [String] = []
        for (name, value) in changes {
            if let value { changed[name] = value } else { gone.append(name) }
            objects[path]?.values[interface]?[name] = value
        }
        try? loop.emit(
            path: path,
            interface: Self.properties,
            member: "PropertiesChanged",
            arguments: [.string(interface), .properties(changed), .strings(gone.sorted())]
        )
    }

    private static let propertiesType = BusType.dictionary(key: .string, value: .variant)

    private func managerAbove(_ path: ObjectPath) -> ObjectPath? {
        objects.filter { $0.value.isManager && path != $0.key && path.isWithin($0.key) }
            .keys.max { $0.text.utf8.count < $1.text.utf8.count }
    }

    // MARK: Answering

    mutating func receive(_ message: borrowing MessageHandle, in loop: BusLoop, mailbox: Mailbox) {
        let wantsReply = message.wantsReply
        guard let path = message.path, let member = message.member, let sender = message.sender else { return }
        let head = MethodHead(
            sender: sender,
            path: path,
            interface: message.interface ?? "",
            member: member,
            serial: message.serial,
            wantsReply: wantsReply
        )
        let answer: MethodAnswer?
        if let arguments = try? message.arguments() {
            answer = self.answer(head, arguments, signature: message.signature, in: loop, mailbox: mailbox)
        } else {
            answer = Self.no("LimitsExceeded", "the message is deeper or larger than this process reads")
        }
        guard let answer, wantsReply else { return }
        loop.answer(serial: head.serial, sender: sender, with: answer)
    }

    /// - Returns: `nil` if the method answers by itself.
    private mutating func answer(
        _ head: MethodHead,
        _ arguments: [BusValue],
        signature: String,
        in loop: BusLoop,
        mailbox: Mailbox
    ) -> MethodAnswer? {
        if head.interface == Self.peer, head.member == "Ping", arguments.isEmpty { return .values([]) }
        guard let object = objects[head.path] else {
            return Self.no("UnknownObject", "no object at \(head.path)")
        }
        switch head.interface {
        case Self.properties: return property(head, arguments, object, in: loop)
        case Self.manager where object.isManager && head.member == "GetManagedObjects":
            return .values([managed(by: head.path)])
        case Self.introspectable where head.member == "Introspect":
            return .values([.string(description(of: object))])
        default: break
        }
        guard let method = object.interfaces[head.interface]?.methods[head.member] else {
            return Self.no("UnknownMethod", "no method \(head.interface).\(head.member)")
        }
        guard method.takes == signature, let returns = BusType.parse(method.returns) else {
            return Self.no("InvalidArgs", "\(head.member) takes (\(method.takes))")
        }
        method.body(MethodCall(head: head, arguments: arguments, returns: returns, mailbox: mailbox))
        return nil
    }

    private mutating func property(
        _ head: MethodHead,
        _ arguments: [BusValue],
        _ object: Object,
        in loop: BusLoop
    ) -> MethodAnswer {
        guard let name = arguments.first?.text, let interface = object.interfaces[name],
            let values = object.values[name]
        else { return Self.no("UnknownInterface", "no such interface at \(head.path)") }
        let key = arguments.count > 1 ? arguments[1].text ?? "" : ""
        switch (head.member, arguments.count) {
        case ("GetAll", 1): return .values([.properties(values)])
        case ("Get", 2):
            guard let value = values[key] else { return Self.no("UnknownProperty", key) }
            return .values([.variant(value)])
        case ("Set", 3):
            guard let old = values[key] else { return Self.no("UnknownProperty", key) }
            guard case .variant(let value) = arguments[2], value.type == old.type else {
                return Self.no("InvalidArgs", "\(key) is \(old.type.code)")
            }
            switch interface.write?(key, value) {
            case nil: return Self.no("PropertyReadOnly", key)
            case .refused(let name, let text): return .refused(name: name, text: text)
            case .taken:
                set([key: value], of: name, at: head.path, in: loop)
                return .values([])
            }
        default: return Self.no("InvalidArgs", head.member)
        }
    }

    private func managed(by manager: ObjectPath) -> BusValue {
        let below = objects.filter { $0.key != manager && $0.key.isWithin(manager) }.sorted { $0.key < $1.key }
        let entries = below.map { path, object in
            let interfaces = object.values.sorted { $0.key < $1.key }
                .map { BusValue.Entry(.string($0.key), .properties($0.value)) }
            return BusValue.Entry(
                .objectPath(path),
                .dictionary(key: .string, value: Self.propertiesType, interfaces)
            )
        }
        return .dictionary(
            key: .objectPath,
            value: .dictionary(key: .string, value: Self.propertiesType),
            entries
        )
    }

    /// Names only hold letters, digits and dots, so nothing needs escaping.
    private func description(of object: Object) -> String {
        var text = "<node>"
        for (name, interface) in object.interfaces.sorted(by: { $0.key < $1.key }) {
            text += "<interface name=\"\(name)\">"
            for (member, method) in interface.methods.sorted(by: { $0.key < $1.key }) {
                text += "<method name=\"\(member)\">"
                for type in BusType.parse(method.takes) ?? [] {
                    text += "<arg type=\"\(type.code)\" direction=\"in\"/>"
                }
                for type in BusType.parse(method.returns) ?? [] {
                    text += "<arg type=\"\(type.code)\" direction=\"out\"/>"
                }
                text += "</method>"
            }
            text += "</interface>"
        }
        return text + "</node>"
    }

    private static func no(_ word: String, _ text: String) -> MethodAnswer {
        .refused(name: "org.freedesktop.DBus.Error." + word, text: text)
    }
}

extension BusConnection {
    /// Adds interfaces to the object at `path`, or replaces them. An object manager above tells of it.
    public func export(_ interfaces: [ExportedInterface], at path: ObjectPath) throws(BusError) {
        for interface in interfaces { try interface.check() }
        try change { loop in loop.exports.add(interfaces, at: path, in: loop) }
    }

    /// Makes the object at `path` tell of every object below it.
    public func exportObjectManager(at path: ObjectPath) throws(BusError) {
        try change { loop in loop.exports.manage(at: path) }
    }

    /// Takes the object away. An object manager above tells of it.
    public func unexport(_ path: ObjectPath) throws(BusError) {
        try change { loop in loop.exports.remove(at: path, in: loop) }
    }

    /// Sets properties of an exported object, and tells everybody. `nil` takes a property away.
    public func set(_ changes: [String: BusValue?], of interface: String, at path: ObjectPath) throws(BusError) {
        try BusValue.check(changes.values.compactMap { $0 })
        try change { loop in loop.exports.set(changes, of: interface, at: path, in: loop) }
    }

    private func change(_ command: @escaping Mailbox.Command) throws(BusError) {
        guard mailbox.post(command) else { throw mailbox.ended }
    }
}
