internal import Conformance
internal import FakeServers
internal import Providers

extension RunExecutor {
    /// What a run accumulates while it goes on.
    struct Progress {
        var namespace: Namespace
        var firstSequence: Int
        var now: Instant
        var bodies: [String: [UInt8]] = [:]
        var attemptCounts: [String: Int] = [:]
        var laneCount = 0
        /// Events that have not happened in the model yet, oldest first.
        var upcoming: [(time: Duration, body: JSONValue)] = []
        var trouble: RunRecord.Trouble?
        /// What proves that an id is the device's own, by user.
        var proofs: [String: String] = [:]
        /// Kills the backend at a stated call and starts it again.
        var killer: Task<Bool, Never>?
        var isSerialised = false
        var latency: Duration = .milliseconds(5)
        /// What the contract's templates stand for.
        var values: TemplateValues
        var live = LiveApps()

        init(
            namespace: Namespace,
            firstSequence: Int,
            now: Instant,
            values: [String: JSONValue] = [:]
        ) {
            self.namespace = namespace
            self.firstSequence = firstSequence
            self.now = now
            self.values = TemplateValues(namespace: namespace, base: now, given: values)
        }
    }

    /// A run of that plan before its first step.
    func open(_ plan: RunPlan, _ name: String) -> Progress {
        var progress = Progress(
            namespace: Namespace(name: name, idForm: profile.idForm),
            firstSequence: world.journal.read { $0.nextSequence },
            now: base,
            values: plan.values
        )
        let factory = factory(progress.namespace)
        for delivery in plan.deliveries {
            guard case .event(let spec) = delivery.subject else { continue }
            // What the event says, REST says: the model sees the body as it is sent.
            let body = factory.body(spec, name: delivery.name)
            progress.upcoming.append((spec.time, body))
        }
        progress.upcoming.sort { $0.time < $1.time }
        introduce(plan.users, progress)
        return progress
    }

    /// A run that has not begun, and has no plan.
    func blank(_ name: String) -> Progress {
        let progress = Progress(
            namespace: Namespace(name: name, idForm: profile.idForm),
            firstSequence: world.journal.read { $0.nextSequence },
            now: base
        )
        world.open(name, ids: [progress.namespace.id(of: "ada")], at: base)
        return progress
    }
}
