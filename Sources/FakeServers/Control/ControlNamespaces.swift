internal import Conformance
internal import Providers

/// Operations of the control API on namespaces and their user IDs.
extension ControlRoute {
    static let namespaceRoutes = [
        ControlRoute(
            "namespaces",
            "GET",
            "/namespaces",
            "Lists the namespaces and their user IDs.",
            takesNamespace: false,
            handler: .response { api, _ in
                let all = api.world.namespaces.map { name -> JSONValue in
                    ["namespace": .string(name), "ids": .strings(api.world.ids(of: name))]
                }
                return ["namespaces": .array(all)]
            }
        ),
        ControlRoute(
            "putNamespace",
            "PUT",
            "/namespaces/{name}",
            "Creates a namespace and assigns user IDs to it.",
            members: [ControlMember("ids", .texts, "The user IDs of the namespace.")],
            takesNamespace: false,
            handler: .response { (api, call) async throws(ControlRefusal) in
                let name = try api.text(call.value, "the name of the namespace")
                let ids = (call.body["ids"]?.array ?? []).compactMap(\.string)
                api.world.assignUserIDs(ids, namespace: name)
                return ["namespace": .string(name), "ids": .strings(api.world.ids(of: name))]
            }
        ),
        ControlRoute(
            "deleteNamespace",
            "DELETE",
            "/namespaces/{name}",
            "Removes a namespace and everything in it.",
            takesNamespace: false,
            handler: .response { (api, call) async throws(ControlRefusal) in
                guard api.world.namespaces.contains(call.value) else {
                    throw ControlRefusal(404, "there is no namespace '\(call.value)'")
                }
                api.world.remove(call.value)
                return ["namespaces": .strings(api.world.namespaces)]
            }
        ),
        ControlRoute(
            "reset",
            "POST",
            "/reset",
            "Resets the data of a namespace; its user IDs, webhooks and switches stay.",
            handler: .response { api, call in
                api.world.reset(call.namespace)
                return [
                    "namespace": .string(call.namespace),
                    "journal": .integer(Int64(api.world.journal.read { $0.nextSequence })),
                ]
            }
        ),
    ]
}
