internal import Contracts
internal import FakeServers
internal import Phone
internal import Providers
internal import Values

/// The simulated phones of a run against a real backend, with the store events that their purchases
/// caused.
struct LiveApps: Sendable {
    private var target: ScriptedTarget<LivePhoneEnvironment>?
    /// Events of the simulated store that no delivery of the contract has sent yet.
    private var events: [EventSummary] = []

    /// Executes a step of the contract that happens on a simulated phone.
    ///
    /// - Returns: The namespace with the IDs that the step has assigned, and the reason why the run
    ///   is inconclusive; nil without one.
    mutating func carryOut(
        _ step: PhoneStep,
        _ requests: CaseRequests
    ) async -> (namespace: Namespace, problem: String?) {
        let (fakes, name) = (requests.run.fakes, requests.namespace.name)
        fakes.edit(name, notifies: false) { services, _ in services.keepsEvents = true }
        var target = target ?? Self.makeScriptedTarget(requests)
        target.environment.namespace = requests.namespace
        target.environment.now = requests.now
        await PhoneExecution.carryOut(step, by: &target)
        self.target = target
        let told = fakes.edit(target.environment.namespace.name, notifies: false) { services, _ in
            defer { services.told = [] }
            return services.told
        }
        let senders = fakes.providers.sortedEntries.compactMap(\.sender)
        events += (told ?? []).compactMap { event in
            senders.lazy.compactMap { $0.event(.object(event)) }.first
        }
        return (target.environment.namespace, target.runProblem)
    }

    private static func makeScriptedTarget(
        _ requests: CaseRequests
    ) -> ScriptedTarget<LivePhoneEnvironment> {
        let run = requests.run
        var generator = SeededGenerator(seed: 0, text: requests.namespace.name)
        let environment = LivePhoneEnvironment(
            fakes: run.fakes,
            client: run.backend.client,
            profile: run.profile,
            base: run.base,
            namespace: requests.namespace,
            now: requests.now,
            firstSequence: requests.firstSequence,
            defects: run.appDefects,
            token: { [fakes = run.fakes] spec, user in
                run.tokenForge.text(spec, user: user, at: fakes.now)
            }
        )
        return ScriptedTarget(environment, defects: run.clientDefects, seed: generator.next())
    }

    /// Records the final state of all pages and phones after the last step of the contract.
    func observe() async {
        var target = target
        await target?.finish()
    }

    /// The types of the events that no delivery has sent yet.
    var eventTypes: [String] { events.compactMap(\.type) }

    /// Removes the next event with the given type, and returns its body; nil without such an event.
    mutating func takeEvent(_ type: String) -> JSONValue? {
        events.firstIndex { $0.type == type }.map { events.remove(at: $0).body }
    }
}

extension CaseExecution {
    /// Executes a step of the contract that happens on a simulated phone.
    mutating func carryOut(_ step: PhoneStep) async {
        let problem: String?
        (namespace, problem) = await liveApps.carryOut(step, requests)
        if let problem { runProblem = .actionFailed(problem) }
        registerUserIDs()
    }

    /// Returns the body of the next store event with the given type, such as `INITIAL_PURCHASE`.
    ///
    /// If there is no such event, the run ends and is inconclusive.
    mutating func told(_ type: String) -> [UInt8] {
        if let body = liveApps.takeEvent(type) { return body.bytes }
        let knownEventTypes = liveApps.eventTypes
        runProblem = .faultNotApplied(
            "the simulated store sent no \(type) event"
                + (knownEventTypes.isEmpty
                    ? "" : "; it sent \(knownEventTypes.joined(separator: ", "))")
        )
        return []
    }
}
