internal import Conformance
internal import FakeServers
internal import Providers

/// One run of a case while it goes on: what it has come to know, and the order of things.
///
/// Each kind of step has a file of its own: `Deliveries`, `HeldCopies`, `Stops`, `Bodies`, `AppCalls`,
/// `LiveApps`; and so have `Settling` and `Observation`, which come after the steps.
struct Play: Sendable {
    /// What it shares with other runs.
    let run: RunExecutor
    let plan: RunPlan
    /// Longest wait for an answer, in real time.
    let within: Duration
    /// When it began, on the wall and on the runner's clock.
    private let began: (wall: Instant, clock: Duration)
    /// The journal's number at which it began.
    let firstSequence: Int
    var namespace: Namespace
    /// The contract's time.
    var now: Instant
    var bodies: [String: [UInt8]] = [:]
    var attemptCounts: [String: Int] = [:]
    var laneCount = 0
    /// Deliveries that wait for the step that they are released with.
    var held: [Held] = []
    /// Events that have not happened in the model yet, oldest first.
    var upcoming: [(spec: EventSpec, delivery: String)] = []
    /// Whom a step has named: the backend may know them.
    var named: Set<String> = []
    /// Events were delivered that a backend which works later may not have come to yet.
    var hasUnsettledEvents = false
    var trouble: RunRecord.Trouble?
    /// What proves that an id is the device's own, by user.
    var proofs: [String: String] = [:]
    /// Kills the backend at a stated call and starts it again.
    var killer: Task<Bool, Never>?
    var isSerialised = false
    /// Nothing can be stored until it is healed.
    var isStoreBroken = false
    /// Tokens that end while the case goes on, with their ends in seconds since 1970, by call.
    var shownTokens: [String: (token: String, end: Int64)] = [:]
    /// How many tokens were shown to see which ones the backend takes.
    var trialCount = 0
    /// When the steps were over and the outcome was waited for.
    private var waitBegan: Duration?
    var latency: Duration = .milliseconds(5)
    /// What the contract's templates stand for.
    var values: TemplateValues
    var live = LiveApps()
    var missing: RunExecutor.Missing?
    /// How many deliveries were never answered.
    var unansweredCount = 0

    init(_ plan: RunPlan, in name: String, within: Duration, of run: RunExecutor) {
        self.run = run
        self.plan = plan
        self.within = within
        began = (run.world.now, run.clock.now)
        firstSequence = run.world.journal.read { $0.nextSequence }
        namespace = Namespace(name: name, idForm: run.profile.idForm)
        now = run.base
        values = TemplateValues(namespace: namespace, base: run.base, given: plan.values)
    }

    var backend: BackendUnderTest { run.backend }
    var world: FakeWorld { run.world }
    var profile: Profile { run.profile }
    var clock: any RunClock { run.clock }

    /// So long an answer is waited for: whoever has twice left one without an answer is not waited for
    /// as long a third time.
    var answerLimit: Duration {
        unansweredCount < 2 ? within : min(within, max(.seconds(1), within / 10))
    }

    // MARK: The order of things

    /// Carries out the steps and, when the plan observes, settles and probes.
    mutating func perform(
        _ sight: RunRecord.Sight,
        _ verdict: @Sendable (RunRecord) -> RunExecutor.Prospect
    ) async -> RunRecord {
        startKiller()
        for (index, step) in plan.steps.enumerated() {
            if index == plan.givenCount {
                await settleGiven(sight)
                hasUnsettledEvents = false
            }
            // Nobody writes such a contract; one that was made smaller may be.
            if !held.isEmpty, !step.releases { await release([], beside: []) }
            if case .phone(.app) = step, hasUnsettledEvents { await settleBefore(index, sight) }
            await carryOut(step)
            if case .deliver = step { hasUnsettledEvents = true }
            named.formUnion(step.traits.users)
            if trouble != nil || Task.isCancelled { break }
        }
        if !held.isEmpty, trouble == nil { await release([], beside: []) }
        // It must not stop the backend of whoever comes next.
        killer?.cancel()
        _ = await killer?.value
        if let last = plan.clock?.last, trouble == nil { await keepClock(at: last) }
        waitBegan = clock.now
        await observePhones()
        guard plan.observes || plan.hasPlan, trouble == nil, !Task.isCancelled else {
            await tidyUp()
            return record(.notNeeded)
        }
        let settling = plan.observes ? await settle(sight) : .notNeeded
        if plan.observes { await probe(plan.users) }
        var result = await wait(for: record(settling), sight, verdict: verdict)
        if let watch = plan.watch {
            // Real time in which something forbidden could happen; the record names how much.
            let clock = clock
            await JobPlace.givenAway { await clock.pause(watch) }
            result = record(.window(watch))
        }
        await tidyUp()
        return result
    }

    /// What is known so far.
    func record(_ settling: RunRecord.Settling) -> RunRecord {
        let isComplete = world.journal.read { $0.isComplete(since: firstSequence) }
        var record = RunRecord(
            plan: plan,
            namespace: namespace,
            base: run.base,
            began: began.wall,
            ended: world.now,
            exchanges: run.exchanges(of: plan, namespace.name, from: firstSequence),
            settling: settling,
            trouble: trouble ?? (isComplete ? nil : .journalGap)
        )
        record.isSerialised = isSerialised
        record.starvation = run.heartbeat.starvation(
            since: began.clock,
            waitBegan: waitBegan
        )
        return record
    }

    /// Undoes what the plan did to the world that runs share.
    private mutating func tidyUp() async {
        if isStoreBroken { _ = await healStore() }
        if plan.clock != nil { await keepClock(at: .zero) }
        world.settle(namespace: namespace.name)
        if plan.needsSolitude {
            world.heal(namespace: "")
            world.release("")
        }
        guard let process = backend.process, process.timeZone != nil else { return }
        process.timeZone = nil
        try? await backend.restart(.terminate)
    }

    // MARK: Steps

    private mutating func carryOut(_ step: Step) async {
        switch step {
        case .register(let user):
            if let text = await register(user) {
                let isGone = !(await backend.isReachable())
                trouble = isGone ? .backendGone(text) : .registrationFailed(user: user, text)
            }
            introduce()
        case .name(let user, let id):
            values.namespace = namespace
            namespace.assign(values.fillIfPresent(id) ?? id, to: user)
            introduce()
        case .createAccount(let account):
            if let text = await createAccount(account) {
                trouble = .registrationFailed(user: "account " + account, text)
            }
        case .provider(let providerPlan):
            world.schedule(providerPlan, namespace: namespace.name)
            // Fetches of keys name nobody.
            if providerPlan.provider == .firebase { world.schedule(providerPlan, namespace: "") }
        case .call(let calls):
            for call in calls where call.route == .protected {
                if let user = call.user { seed(user) }
            }
            await make(calls)
        case .request(let request): await make(request)
        case .rotateKeys:
            world.edit("") { services, now in services.firebase.rotateKeys(at: now) }
        case .account(let user, let change): self.change(user, change)
        case .phone(let step): await carryOut(step)
        case .killAtCall:
            if await killer?.joined() != true, !Task.isCancelled {
                trouble = .disturbanceMissed("the backend did not make that call")
            }
            killer = nil
        case .deliver(let delivery): await deliver(delivery)
        case .look(let user): await probe([user])
        case .pass(let delivery): await pass(delivery)
        case .restart(let restart):
            await awaitDisturbance()
            await self.restart(restart)
        }
    }

    /// Backends that look a session up find its user.
    func seed(_ user: String) { seed(uid: namespace.id(of: user)) }

    func seed(uid: String) {
        world.edit(namespace.name) { services, now in
            services.firebase.seed(
                FirebaseUser(localID: uid, created: now),
                project: profile.firebaseProject,
                at: now
            )
        }
    }

    private func change(_ user: String, _ change: Step.AccountChange) {
        seed(user)
        let id = namespace.id(of: user)
        world.edit(namespace.name) { services, now in
            services.firebase.change(id, change, project: profile.firebaseProject, at: now)
        }
    }

    // MARK: Shared by its steps

    /// Tells the fakes which ids are its own.
    func introduce() {
        let ids = plan.users.flatMap { [namespace.id(of: $0), namespace.anonymousID(of: $0)] }
        world.open(namespace.name, ids: ids, at: now)
    }

    /// What the plan's events say, REST says when they have happened: the model sees each body as it
    /// is sent.
    ///
    /// The bodies are written then: a backend may choose the ids of the people whom they name.
    mutating func expectEvents() {
        for delivery in plan.deliveries {
            guard case .event(let spec) = delivery.subject else { continue }
            upcoming.append((spec, delivery.name))
        }
        upcoming.sort { $0.spec.time < $1.spec.time }
    }

    func exchange(
        _ from: Exchange.Party,
        _ purpose: Exchange.Purpose,
        _ request: HTTPMessage.Request
    ) -> Exchange {
        Exchange(
            from: from,
            to: .backend,
            namespace: namespace.name,
            purpose: purpose,
            at: now,
            request: request
        )
    }
}
