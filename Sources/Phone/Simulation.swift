package import Conformance

/// A device scenario of the scripted app, in virtual time, before a model of a correct backend.
package enum Simulation {
    /// Carries a scenario out.
    ///
    /// - Parameters:
    ///   - plan: The contract's steps.
    ///   - name: The namespace of the run.
    ///   - profile: Endpoints, keys and budgets.
    ///   - base: The moment that relative times count from.
    ///   - defects: How the app deviates from a correct one.
    /// - Returns: What the run left behind.
    package static func run(
        _ plan: RunPlan,
        name: String,
        profile: Profile,
        base: Instant,
        defects: Set<ClientDefect> = []
    ) async -> RunRecord {
        var generator = SeededGenerator(seed: 0, text: name)
        let seed = generator.next()
        let world = PhoneWorld(name: name, profile: profile, base: base, seed: seed)
        var stage = ScriptedStage(world, defects: defects, seed: seed)
        for step in plan.steps where stage.trouble == nil {
            await PhonePlay.carryOut(step, by: &stage)
        }
        await stage.finish()
        return RunRecord(
            plan: plan,
            namespace: stage.namespace,
            base: base,
            began: base,
            ended: stage.world.instant(stage.time),
            exchanges: stage.world.exchanges,
            settling: .notNeeded,
            trouble: stage.trouble.map { .disturbanceMissed($0) }
        )
    }
}

extension PhonePlay {
    /// A step of a scenario in which nothing but phones takes part; any other is the run's trouble,
    /// in case a cast let it pass.
    package static func carryOut(_ step: Step, by performer: inout some PhonePerformer) async {
        if case .name(let user, let id) = step {
            // Nothing stands for anything before a run gives it a value.
            if id.contains("{{") {
                performer.fail("a scenario of an app alone names '\(user)' without templates")
            } else {
                performer.assign(id, to: user)
            }
        } else if case .phone(let step) = step {
            await carryOut(step, by: &performer)
        } else {
            performer.fail("a scenario of an app alone has nobody for '\(step.kindText)'")
        }
    }
}

extension Step {
    fileprivate var kindText: String { traits.kind.map(\.rawValue) ?? "phone" }
}
