internal import Conformance
internal import Providers

/// What happens to the next calls of a provider.
extension ControlRoute {
    static func faultRoutes(_ providers: ProviderTable) -> [ControlRoute] {
        [
            ControlRoute(
                "faults",
                "GET",
                "/faults",
                "What happens to the next calls.",
                work: .answer { api, call in api.shownFaults(call.namespace) }
            ),
            ControlRoute(
                "putFault",
                "PUT",
                "/faults/{provider}",
                "Schedules the answers to a provider's next calls.",
                members: [
                    ControlMember(
                        "answers",
                        .list,
                        "For each next call: " + FaultSpelling.choices + "."
                    ),
                    ControlMember("permanent", .flag, "The last answer stays in force."),
                    ControlMember(
                        "refused",
                        .flag,
                        "Connections are refused, for every namespace."
                    ),
                    ControlMember(
                        "reads",
                        .flag,
                        "Reads count too (default false: only calls that change)."
                    ),
                ],
                words: providers.listed.map {
                    ControlWord($0.party.description, $0.title)
                },
                work: .answer { (api, call) async throws(ControlRefusal) in
                    try await api.putFault(call)
                    return api.shownFaults(call.namespace)
                }
            ),
            ControlRoute(
                "deleteFaults",
                "DELETE",
                "/faults",
                "Calls are answered as usual again.",
                work: .answer { (api, call) async throws(ControlRefusal) in
                    api.world.heal(namespace: call.namespace)
                    api.world.release(call.namespace)
                    try await api.refuse(false, api.servers)
                    return api.shownFaults(call.namespace)
                }
            ),
        ]
    }
}

extension ControlAPI {
    fileprivate func putFault(_ call: Call) async throws(Refusal) {
        guard let provider = world.providers.named(call.value) else {
            let names = world.providers.names
            let near = Suggestion.nearest(to: call.value, among: names)
            throw Refusal(
                404,
                "'\(call.value)' is none of \(names.joined(separator: ", "))",
                hint: near.map { "did you mean '\($0)'?" }
            )
        }
        let hasAnswers = call.gives("answers")
        let isRefusing = call.body["refused"]?.bool
        // Read before anything is done: a list that is wrong changes nothing.
        let answers = isRefusing != nil && !hasAnswers ? nil : try Self.answers(call.body)
        if answers == nil, let name = ["permanent", "reads"].first(where: call.gives) {
            throw Refusal(400, "'\(name)' says something about 'answers', which is missing")
        }
        if let isRefusing {
            try await refuse(isRefusing, servers.filter { $0.party == provider.party })
        }
        guard let answers else { return }
        let plan = ProviderPlan(
            provider: provider.party,
            answers: answers,
            isPermanent: call.body["permanent"]?.bool ?? false,
            includesReads: call.body["reads"]?.bool ?? false
        )
        world.schedule(plan, namespace: call.namespace)
    }

    private static func answers(_ body: JSONObject) throws(Refusal) -> [ProviderPlan.Answer] {
        guard let list = body["answers"]?.array, !list.isEmpty else {
            throw Refusal(400, "'answers' takes a list, for example [500, \"ok\"]")
        }
        var answers: [ProviderPlan.Answer] = []
        for item in list {
            guard let answer = FaultSpelling.answer(item) else {
                throw Refusal(400, "\(item.text) is no answer; there is " + FaultSpelling.choices)
            }
            answers.append(answer)
        }
        return answers
    }

    fileprivate func shownFaults(_ namespace: String) -> JSONValue {
        let plans = world.read(namespace) { services, _ in services.plans } ?? [:]
        let shown = plans.sorted { $0.key.description < $1.key.description }.map {
            party,
            plan in
            JSONObject.Member(
                key: party.description,
                value: [
                    "answers": .array(plan.answers.map(FaultSpelling.value)),
                    "permanent": .bool(plan.isPermanent), "reads": .bool(plan.includesReads),
                ]
            )
        }
        return [
            "refused": .strings(servers.filter(\.isRefusing).map(\.party.description)),
            "faults": .object(JSONObject(members: shown)),
        ]
    }

    /// A port belongs to every namespace: who refuses one refuses all.
    fileprivate func refuse(_ isRefusing: Bool, _ servers: [FakeServer]) async throws(Refusal) {
        for server in servers {
            do throws(StartError) {
                try await server.refuse(isRefusing)
            } catch {
                throw Refusal(409, error.description)
            }
        }
    }
}
