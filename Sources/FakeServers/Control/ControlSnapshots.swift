internal import Contracts
internal import Providers
internal import Values

/// Operations of the control API on snapshots of namespaces, and on the exported state of all
/// namespaces.
extension ControlRoute {
    static let snapshotRoutes = [
        ControlRoute(
            "snapshots",
            "GET",
            "/snapshots",
            "Lists the names of the snapshots.",
            takesNamespace: false,
            handler: .response { api, _ in api.snapshotNames }
        ),
        ControlRoute(
            "takeSnapshot",
            "POST",
            "/snapshots/{name}",
            "Saves a snapshot of a namespace.",
            handler: .response { (api, call) async throws(ControlRefusal) in
                api.fakes.snapshot(
                    call.namespace,
                    as: try api.text(call.value, "a snapshot's name")
                )
                return api.snapshotNames
            }
        ),
        ControlRoute(
            "restoreSnapshot",
            "POST",
            "/snapshots/{name}/restore",
            "Restores a namespace from a snapshot.",
            handler: .response { (api, call) async throws(ControlRefusal) in
                try api.restore(call.value, into: call.namespace)
            }
        ),
        ControlRoute(
            "fork",
            "POST",
            "/snapshots/{name}/fork",
            "Copies a snapshot into another namespace.",
            members: [ControlMember("to", .text, "The namespace to copy to.")],
            handler: .response { (api, call) async throws(ControlRefusal) in try api.fork(call) }
        ),
    ]

    static let stateRoutes = [
        ControlRoute(
            "export",
            "GET",
            "/export",
            "Returns the state of all namespaces, without keys and secrets.",
            takesNamespace: false,
            handler: .response { (api, _) async throws(ControlRefusal) in
                do {
                    return try api.fakes.save()
                } catch {
                    throw ControlRefusal(500, "the state cannot be exported: \(error)")
                }
            }
        ),
        ControlRoute(
            "importState",
            "POST",
            "/import",
            "Replaces the state of all namespaces with an exported state.",
            members: [
                ControlMember("assay", .integer, "The number of the format, as exported."),
                ControlMember("kind", .text, "The kind of the document, as exported."),
                ControlMember("namespaces", .object, "The state of each namespace, as exported."),
                ControlMember("ids", .object, "The namespace of each user ID, as exported."),
            ],
            takesNamespace: false,
            handler: .response { (api, call) async throws(ControlRefusal) in
                do throws(FakeRegistry.StateLoadError) {
                    try api.fakes.load(.object(call.body))
                } catch {
                    throw ControlRefusal(400, error.description)
                }
                return ["namespaces": .strings(api.fakes.namespaces)]
            }
        ),
    ]
}

extension ControlAPI {
    fileprivate var snapshotNames: JSONValue { ["snapshots": .strings(fakes.snapshots)] }

    fileprivate func restore(
        _ name: String,
        into namespace: String
    ) throws(Refusal) -> JSONValue {
        guard fakes.restore(name, into: namespace) else {
            throw Refusal(
                404,
                "there is no snapshot '\(name)'",
                hint: "POST /assay/v1/snapshots/\(name) saves a snapshot"
            )
        }
        return snapshotNames
    }

    fileprivate func fork(_ call: Call) throws(Refusal) -> JSONValue {
        let targetName = call.body["to"]?.string ?? ""
        let target = try text(targetName, "'to', the namespace of the copy,")
        guard target != call.namespace else {
            throw Refusal(400, "'to' must be another namespace; use restore for the same one")
        }
        return try restore(call.value, into: target)
    }
}
