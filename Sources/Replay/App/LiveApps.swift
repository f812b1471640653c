internal import Conformance
internal import FakeServers
internal import Phone
internal import Providers

/// The phones of a run before a real backend, and what the store has told because of them.
struct LiveApps: Sendable {
    var stage: ScriptedStage<LiveSurroundings>?
    /// Events that the store has told of and nobody has delivered.
    var events: [JSONObject] = []
}

extension Play {
    /// Carries out what a contract lets happen on a phone.
    mutating func carryOut(_ step: PhoneStep) async {
        let name = namespace.name
        world.edit(name, notifies: false) { services, _ in
            services.keepsEvents = true
            services.firebase.settings.project = profile.firebaseProject
        }
        var stage = live.stage ?? madeStage()
        stage.world.namespace = namespace
        stage.world.now = now
        await PhonePlay.carryOut(step, by: &stage)
        namespace = stage.world.namespace
        if let text = stage.trouble { trouble = .actFailed(text) }
        live.stage = stage
        collectEvents()
        introduce()
    }

    private func madeStage() -> ScriptedStage<LiveSurroundings> {
        var generator = SeededGenerator(seed: 0, text: namespace.name)
        let surroundings = LiveSurroundings(
            world: world,
            client: backend.client,
            profile: profile,
            base: run.base,
            namespace: namespace,
            now: now,
            firstSequence: firstSequence,
            defects: run.appDefects,
            token: { [run, world] spec, user in
                run.forge.text(spec, user: user, at: world.now)
            }
        )
        return ScriptedStage(surroundings, defects: run.clientDefects, seed: generator.next())
    }

    /// What every page and phone holds when the steps are over.
    func observePhones() async {
        var stage = live.stage
        await stage?.finish()
    }

    /// What the store has told since the last look.
    private mutating func collectEvents() {
        let told = world.edit(namespace.name, notifies: false) { services, _ in
            defer { services.told = [] }
            return services.told
        }
        live.events += told ?? []
    }

    /// The body of the next event of that type; none is the run's trouble.
    mutating func told(_ type: String) -> [UInt8] {
        guard let index = live.events.firstIndex(where: { $0["type"]?.string == type })
        else {
            let known = live.events.compactMap { $0["type"]?.string }
            trouble = .disturbanceMissed(
                "the store told of no \(type)"
                    + (known.isEmpty ? "" : "; it told of \(known.joined(separator: ", "))")
            )
            return []
        }
        return RevenueCatState.body(live.events.remove(at: index)).bytes
    }
}
