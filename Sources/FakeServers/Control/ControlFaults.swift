internal import Conformance
internal import Providers

/// What happens to the next calls of a provider.
extension ControlAPI {
    /// The names of all fakes, as the address takes them.
    private static var names: String {
        Services.providers.map(\.party.description).joined(separator: ", ")
    }

    func faults(_ route: ControlRoute, _ call: Call) async throws(Refusal) -> JSONValue {
        switch route {
        case .putFault: try await putFault(call)
        case .deleteFaults:
            world.heal(namespace: call.namespace)
            try await refuse(false, servers)
        default: break
        }
        return shownFaults(call.namespace)
    }

    private func putFault(_ call: Call) async throws(Refusal) {
        if let isRefusing = call.body["refused"]?.bool {
            try await refuse(isRefusing, servers.filter { $0.party.description == call.value })
            if call.body["answers"] == nil { return }
        }
        guard let provider = Services.provider(named: call.value) else {
            throw Refusal(
                404,
                "'\(call.value)' is none of \(Self.names)"
            )
        }
        let plan = ProviderPlan(
            provider: provider.party,
            answers: try Self.answers(call.body["answers"]),
            isPermanent: call.body["permanent"]?.bool ?? false,
            includesReads: call.body["reads"]?.bool ?? false
        )
        world.schedule(plan, namespace: call.namespace)
    }

    private static func answers(_ value: JSONValue?) throws(Refusal) -> [ProviderPlan.Answer] {
        guard let list = value?.array, !list.isEmpty else {
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

    private func shownFaults(_ namespace: String) -> JSONValue {
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
    private func refuse(_ isRefusing: Bool, _ servers: [FakeServer]) async throws(Refusal) {
        for server in servers {
            do throws(StartError) {
                try await server.refuse(isRefusing)
            } catch {
                throw Refusal(409, error.description)
            }
        }
    }
}
