package import Contracts
package import Values

/// Runs contracts that only contain phone steps with the scripted app, in virtual time and with a
/// model of a correct backend.
package enum Simulation {
    /// Runs the steps of one contract.
    ///
    /// - Parameters:
    ///   - plan: The plan with the contract's steps.
    ///   - name: The name of the run's namespace in the simulated fakes.
    ///   - profile: The profile with the endpoints, vault keys and time budgets.
    ///   - base: The time to which the relative times of the contract refer.
    ///   - defects: The built-in defects that the scripted app has; empty for a correct app.
    /// - Returns: The record of the run, with its journal.
    package static func run(
        _ plan: RunPlan,
        name: String,
        profile: Profile,
        base: Instant,
        defects: Set<ClientDefect> = []
    ) async -> RunRecord {
        var generator = SeededGenerator(seed: 0, text: name)
        let seed = generator.next()
        let environment = SimulatedPhones(name: name, profile: profile, base: base, seed: seed)
        var target = ScriptedTarget(environment, defects: defects, seed: seed)
        for step in plan.steps where target.runProblem == nil {
            await PhoneExecution.carryOut(step, by: &target)
        }
        await target.finish()
        return RunRecord(
            plan: plan,
            namespace: target.namespace,
            base: base,
            began: base,
            ended: target.environment.instant(target.time),
            exchanges: target.environment.exchanges,
            settleEvidence: .notNeeded,
            runProblem: target.runProblem.map { .faultNotApplied($0) }
        )
    }
}

extension PhoneExecution {
    /// Carries out a step of a contract without a backend.
    ///
    /// A step that is not a phone step makes the run inconclusive.
    package static func carryOut(_ step: Step, by executor: inout some PhoneExecutor) async {
        if case .name(let user, let id) = step {
            // Without a backend, no run assigns values to the templates.
            if id.contains("{{") {
                executor.fail(
                    "without a backend, the ID of the user '\(user)' cannot contain '{{'"
                )
            } else {
                executor.assign(id, to: user)
            }
        } else if case .phone(let step) = step {
            await carryOut(step, by: &executor)
        } else {
            executor.fail(
                "a contract without a backend cannot contain the step '\(step.stepKindName)'"
            )
        }
    }
}

extension Step {
    fileprivate var stepKindName: String { traits.kind.map(\.rawValue) ?? "phone" }
}
