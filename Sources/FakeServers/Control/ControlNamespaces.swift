internal import Providers
internal import Values

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
                let namespaceSummaries = api.fakes.namespaces.map { name -> JSONValue in
                    ["namespace": .string(name), "ids": .strings(api.fakes.ids(of: name))]
                }
                return ["namespaces": .array(namespaceSummaries)]
            }
        ),
        ControlRoute(
            "putNamespace",
            "PUT",
            "/namespaces/{name}",
            "Creates a namespace and assigns user IDs to it.",
            members: [ControlMember("ids", .stringList, "The user IDs of the namespace.")],
            takesNamespace: false,
            handler: .response { (api, call) async throws(ControlRefusal) in
                let name = try api.text(call.value, "the name of the namespace")
                let ids = (call.body["ids"]?.array ?? []).compactMap(\.string)
                api.fakes.assignUserIDs(ids, namespace: name)
                return ["namespace": .string(name), "ids": .strings(api.fakes.ids(of: name))]
            }
        ),
        ControlRoute(
            "deleteNamespace",
            "DELETE",
            "/namespaces/{name}",
            "Removes a namespace and everything in it.",
            takesNamespace: false,
            handler: .response { (api, call) async throws(ControlRefusal) in
                guard api.fakes.namespaces.contains(call.value) else {
                    throw ControlRefusal(404, "there is no namespace '\(call.value)'")
                }
                api.fakes.remove(call.value)
                return ["namespaces": .strings(api.fakes.namespaces)]
            }
        ),
        ControlRoute(
            "reset",
            "POST",
            "/reset",
            "Resets the data of a namespace; its user IDs, webhooks and switches stay.",
            handler: .response { api, call in
                api.fakes.reset(call.namespace)
                return [
                    "namespace": .string(call.namespace),
                    "journal": .integer(Int64(api.fakes.journal.read { $0.nextSequence })),
                ]
            }
        ),
    ]
}
