internal import Contracts
internal import FakeServers
internal import Phone
internal import Providers
internal import Values

/// The simulated phones of a run against a real backend, with the store events that their purchases
/// caused.
struct LiveApps: Sendable {
    var target: ScriptedTarget<LivePhoneEnvironment>?
    /// Events of the simulated store that no delivery of the contract has sent yet.
    var events: [JSONObject] = []
}

extension CaseExecution {
    /// Executes a step of the contract that happens on a simulated phone.
    mutating func carryOut(_ step: PhoneStep) async {
        let name = namespace.name
        fakes.edit(name, notifies: false) { services, _ in
            services.keepsEvents = true
            services.firebase.settings.project = profile.firebaseProject
        }
        var target = liveApps.target ?? makeScriptedTarget()
        target.environment.namespace = namespace
        target.environment.now = now
        await PhoneExecution.carryOut(step, by: &target)
        namespace = target.environment.namespace
        if let text = target.runProblem { runProblem = .actionFailed(text) }
        liveApps.target = target
        collectEvents()
        registerUserIDs()
    }

    private func makeScriptedTarget() -> ScriptedTarget<LivePhoneEnvironment> {
        var generator = SeededGenerator(seed: 0, text: namespace.name)
        let environment = LivePhoneEnvironment(
            fakes: fakes,
            client: backend.client,
            profile: profile,
            base: run.base,
            namespace: namespace,
            now: now,
            firstSequence: firstSequence,
            defects: run.appDefects,
            token: { [run, fakes] spec, user in
                run.tokenForge.text(spec, user: user, at: fakes.now)
            }
        )
        return ScriptedTarget(environment, defects: run.clientDefects, seed: generator.next())
    }

    /// Records the final state of all pages and phones after the last step of the contract.
    func observePhones() async {
        var target = liveApps.target
        await target?.finish()
    }

    /// Collects the events that the simulated store has created since the last call.
    private mutating func collectEvents() {
        let told = fakes.edit(namespace.name, notifies: false) { services, _ in
            defer { services.told = [] }
            return services.told
        }
        liveApps.events += told ?? []
    }

    /// Returns the body of the next store event with the given type, such as `INITIAL_PURCHASE`.
    ///
    /// If there is no such event, the run ends and is inconclusive.
    mutating func told(_ type: String) -> [UInt8] {
        guard let index = liveApps.events.firstIndex(where: { $0["type"]?.string == type })
        else {
            let knownEventTypes = liveApps.events.compactMap { $0["type"]?.string }
            runProblem = .faultNotApplied(
                "the simulated store sent no \(type) event"
                    + (knownEventTypes.isEmpty
                        ? "" : "; it sent \(knownEventTypes.joined(separator: ", "))")
            )
            return []
        }
        return RevenueCatEventWriter.body(liveApps.events.remove(at: index)).bytes
    }
}
