internal import Contracts
internal import Grammar
internal import Providers
internal import Values

/// Operations of the control API on planned faults: the responses of a fake to its next calls.
extension ControlRoute {
    static func faultRoutes(_ providers: ProviderTable) -> [ControlRoute] {
        [
            ControlRoute(
                "faults",
                "GET",
                "/faults",
                "Returns the planned faults of the next calls to the fakes.",
                handler: .response { api, call in api.faultSummaries(call.namespace) }
            ),
            ControlRoute(
                "putFault",
                "PUT",
                "/faults/{provider}",
                "Schedules the responses of a provider's fake to its next calls.",
                members: [
                    ControlMember(
                        "responses",
                        .list,
                        "The response to each of the next calls: "
                            + PlannedResponseJSON.allowedSpellings
                            + "."
                    ),
                    ControlMember(
                        "permanent",
                        .flag,
                        "Whether the last response is repeated for all further calls."
                    ),
                    ControlMember(
                        "refused",
                        .flag,
                        "Whether the fake refuses connections, for all namespaces."
                    ),
                    ControlMember(
                        "reads",
                        .flag,
                        "Whether reads count too (default false: only calls that change something)."
                    ),
                ],
                pathValues: providers.sortedEntries.map {
                    ControlPathValue($0.party.description, $0.title)
                },
                handler: .response { (api, call) async throws(ControlRefusal) in
                    try await api.setFault(call)
                    return api.faultSummaries(call.namespace)
                }
            ),
            ControlRoute(
                "deleteFaults",
                "DELETE",
                "/faults",
                "Removes all planned faults; the fakes accept connections again.",
                handler: .response { (api, call) async throws(ControlRefusal) in
                    api.fakes.endFaults(namespace: call.namespace)
                    api.fakes.release(call.namespace)
                    try await api.setRefusing(false, api.servers)
                    return api.faultSummaries(call.namespace)
                }
            ),
        ]
    }
}

extension ControlAPI {
    fileprivate func setFault(_ call: Call) async throws(Refusal) {
        guard let provider = fakes.providers.named(call.value) else {
            let names = fakes.providers.names
            let nearestName = Suggestion.nearest(to: call.value, among: names)
            throw Refusal(
                404,
                "'\(call.value)' is not one of \(names.joined(separator: ", "))",
                hint: nearestName.map { "did you mean '\($0)'?" }
            )
        }
        let hasResponses = call.hasMember("responses")
        let isRefusing = call.body["refused"]?.bool
        // The list is parsed before any change, so that an invalid list changes nothing.
        let responses = isRefusing != nil && !hasResponses ? nil : try Self.responses(call.body)
        if responses == nil, let name = ["permanent", "reads"].first(where: call.hasMember) {
            throw Refusal(400, "'\(name)' requires 'responses', which is missing")
        }
        if let isRefusing {
            try await setRefusing(isRefusing, servers.filter { $0.party == provider.party })
        }
        guard let responses else { return }
        let plan = ProviderPlan(
            provider: provider.party,
            responses: responses,
            repeatsLastResponse: call.body["permanent"]?.bool ?? false,
            includesReads: call.body["reads"]?.bool ?? false
        )
        fakes.schedule(plan, namespace: call.namespace)
    }

    private static func responses(_ body: JSONObject) throws(Refusal) -> [ProviderPlan
        .PlannedResponse]
    {
        guard let list = body["responses"]?.array, !list.isEmpty else {
            throw Refusal(400, "'responses' takes a list, for example [500, \"ok\"]")
        }
        var responses: [ProviderPlan.PlannedResponse] = []
        for item in list {
            guard let response = PlannedResponseJSON.response(item) else {
                throw Refusal(
                    400,
                    "\(item.text) is not a response; allowed are \(PlannedResponseJSON.allowedSpellings)"
                )
            }
            responses.append(response)
        }
        return responses
    }

    fileprivate func faultSummaries(_ namespace: String) -> JSONValue {
        let plans = fakes.read(namespace) { services, _ in services.plans } ?? [:]
        let planSummaries = plans.sorted { $0.key.description < $1.key.description }.map {
            party,
            plan in
            JSONObject.Member(
                key: party.description,
                value: [
                    "responses": .array(plan.responses.map(PlannedResponseJSON.value)),
                    "permanent": .bool(plan.repeatsLastResponse),
                    "reads": .bool(plan.includesReads),
                ]
            )
        }
        return [
            "refused": .strings(servers.filter(\.isRefusing).map(\.party.description)),
            "faults": .object(JSONObject(members: planSummaries)),
        ]
    }

    /// Makes some of the fakes refuse connections, or accept them again.
    ///
    /// The port of a fake serves all namespaces, so all namespaces are affected.
    fileprivate func setRefusing(_ isRefusing: Bool, _ servers: [FakeServer]) async throws(Refusal)
    {
        for server in servers {
            do throws(StartError) {
                try await server.setRefusing(isRefusing)
            } catch {
                throw Refusal(409, error.description)
            }
        }
    }
}
