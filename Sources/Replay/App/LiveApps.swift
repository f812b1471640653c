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

extension RunExecutor {
    /// Carries out what a contract lets happen on a phone.
    func carryOut(_ step: PhoneStep, _ plan: RunPlan, _ progress: inout Progress) async {
        let name = progress.namespace.name
        world.edit(name, notifies: false) { services, _ in
            services.keepsEvents = true
            services.firebase.settings.project = profile.firebaseProject
        }
        var stage = progress.live.stage ?? stage(progress)
        stage.world.namespace = progress.namespace
        stage.world.now = progress.now
        await PhonePlay.carryOut(step, by: &stage)
        progress.namespace = stage.world.namespace
        if let trouble = stage.trouble { progress.trouble = .disturbanceMissed(trouble) }
        progress.live.stage = stage
        collectEvents(&progress)
        introduce(plan.users, progress)
    }

    private func stage(_ progress: Progress) -> ScriptedStage<LiveSurroundings> {
        var generator = SeededGenerator(seed: 0, text: progress.namespace.name)
        let surroundings = LiveSurroundings(
            world: world,
            client: backend.client,
            profile: profile,
            base: base,
            namespace: progress.namespace,
            now: progress.now,
            firstSequence: progress.firstSequence,
            defects: appDefects,
            token: { [self] spec, user in forge.text(spec, user: user, at: world.now) }
        )
        return ScriptedStage(surroundings, defects: clientDefects, seed: generator.next())
    }

    /// What every page and phone holds when the steps are over.
    func observePhones(_ progress: Progress) async {
        var stage = progress.live.stage
        await stage?.finish()
    }

    /// What the store has told since the last look.
    private func collectEvents(_ progress: inout Progress) {
        let told = world.edit(progress.namespace.name, notifies: false) { services, _ in
            defer { services.told = [] }
            return services.told
        }
        progress.live.events += told ?? []
    }

    /// The body of the next event of that type; none is the run's trouble.
    func told(_ type: String, _ progress: inout Progress) -> [UInt8] {
        guard let index = progress.live.events.firstIndex(where: { $0["type"]?.string == type })
        else {
            let known = progress.live.events.compactMap { $0["type"]?.string }
            progress.trouble = .disturbanceMissed(
                "the store told of no \(type)"
                    + (known.isEmpty ? "" : "; it told of \(known.joined(separator: ", "))")
            )
            return []
        }
        return RevenueCatState.body(progress.live.events.remove(at: index)).bytes
    }
}
