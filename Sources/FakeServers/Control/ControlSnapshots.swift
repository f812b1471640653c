internal import Conformance
internal import Providers

/// Copies of namespaces, and the state of all of them as one value.
extension ControlRoute {
    static let snapshotRoutes = [
        ControlRoute(
            "snapshots",
            "GET",
            "/snapshots",
            "Names of the snapshots.",
            takesNamespace: false,
            work: .answer { api, _ in api.shownSnapshots }
        ),
        ControlRoute(
            "takeSnapshot",
            "POST",
            "/snapshots/{name}",
            "Keeps a copy of a namespace.",
            work: .answer { (api, call) async throws(ControlRefusal) in
                api.world.snapshot(
                    call.namespace,
                    as: try api.text(call.value, "a snapshot's name")
                )
                return api.shownSnapshots
            }
        ),
        ControlRoute(
            "restoreSnapshot",
            "POST",
            "/snapshots/{name}/restore",
            "Puts a copy back.",
            work: .answer { (api, call) async throws(ControlRefusal) in
                try api.restore(call.value, into: call.namespace)
            }
        ),
        ControlRoute(
            "fork",
            "POST",
            "/snapshots/{name}/fork",
            "Puts a copy into another namespace.",
            members: [ControlMember("to", .text, "The namespace that gets the copy.")],
            work: .answer { (api, call) async throws(ControlRefusal) in try api.fork(call) }
        ),
    ]

    static let stateRoutes = [
        ControlRoute(
            "export",
            "GET",
            "/export",
            "All state, without keys and secrets.",
            takesNamespace: false,
            work: .answer { (api, _) async throws(ControlRefusal) in
                guard let saved = try? api.world.save() else {
                    throw ControlRefusal(500, "the state cannot be written")
                }
                return saved
            }
        ),
        ControlRoute(
            "importState",
            "POST",
            "/import",
            "Replaces all state.",
            members: [
                ControlMember("assay", .integer, "The format's number, as export wrote it."),
                ControlMember("kind", .text, "What it is, as export wrote it."),
                ControlMember("namespaces", .object, "The states, as export wrote them."),
                ControlMember("ids", .object, "Whose calls belong where, as export wrote it."),
            ],
            takesNamespace: false,
            work: .answer { (api, call) async throws(ControlRefusal) in
                do throws(FakeWorld.LoadError) {
                    try api.world.load(.object(call.body))
                } catch {
                    throw ControlRefusal(400, error.description)
                }
                return ["namespaces": .strings(api.world.namespaces)]
            }
        ),
    ]
}

extension ControlAPI {
    fileprivate var shownSnapshots: JSONValue { ["snapshots": .strings(world.snapshots)] }

    fileprivate func restore(
        _ name: String,
        into namespace: String
    ) throws(Refusal) -> JSONValue {
        guard world.restore(name, into: namespace) else {
            throw Refusal(
                404,
                "there is no snapshot '\(name)'",
                hint: "POST /assay/v1/snapshots/\(name) takes one"
            )
        }
        return shownSnapshots
    }

    fileprivate func fork(_ call: Call) throws(Refusal) -> JSONValue {
        let given = call.body["to"]?.string ?? ""
        let target = try text(given, "'to', the namespace of the copy,")
        guard target != call.namespace else {
            throw Refusal(400, "a fork goes into another namespace; restore puts back")
        }
        return try restore(call.value, into: target)
    }
}
