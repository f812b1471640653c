internal import Conformance
internal import Providers

/// Namespaces, and copies of them.
extension ControlAPI {
    func namespace(_ route: ControlRoute, _ call: Call) throws(Refusal) -> JSONValue {
        switch route {
        case .putNamespace:
            let name = try text(call.value, "the name of the namespace")
            let ids = (call.body["ids"]?.array ?? []).compactMap(\.string)
            world.know(ids, namespace: name)
            return ["namespace": .string(name), "ids": .strings(world.ids(of: name))]
        case .deleteNamespace:
            guard world.namespaces.contains(call.value) else {
                throw Refusal(404, "there is no namespace '\(call.value)'")
            }
            world.remove(call.value)
            return ["namespaces": .strings(world.namespaces)]
        case .reset:
            world.reset(call.namespace)
            return [
                "namespace": .string(call.namespace),
                "journal": .integer(Int64(world.journal.read { $0.nextSequence })),
            ]
        default:
            return [
                "namespaces": .array(
                    world.namespaces.map {
                        ["namespace": .string($0), "ids": .strings(world.ids(of: $0))]
                    }
                )
            ]
        }
    }

    func snapshots(_ route: ControlRoute, _ call: Call) throws(Refusal) -> JSONValue {
        switch route {
        case .takeSnapshot:
            world.snapshot(call.namespace, as: try text(call.value, "a snapshot's name"))
        case .restoreSnapshot, .fork:
            var target = call.namespace
            if route == .fork {
                target = try text(call.body["to"]?.string ?? "", "'to', the namespace of the copy,")
                guard target != call.namespace else {
                    throw Refusal(400, "a fork goes into another namespace; restore puts back")
                }
                world.know([], namespace: target)
            }
            guard world.restore(call.value, into: target) else {
                throw Refusal(
                    404,
                    "there is no snapshot '\(call.value)'",
                    hint: "POST /assay/v1/snapshots/\(call.value) takes one"
                )
            }
        default: break
        }
        return ["snapshots": .strings(world.snapshots)]
    }

    /// The state of all namespaces, as one value.
    func state(_ route: ControlRoute, _ call: Call) throws(Refusal) -> JSONValue {
        if route == .export {
            guard let saved = try? world.save() else { throw Refusal(500, "cannot be written") }
            return saved
        }
        do throws(FakeWorld.LoadError) {
            try world.load(.object(call.body))
        } catch {
            throw Refusal(400, error.description)
        }
        return ["namespaces": .strings(world.namespaces)]
    }
}
