internal import Contracts
internal import FakeServers
internal import Grammar
internal import Providers
internal import Values

/// The state of one run of a case while its steps are executed.
///
/// The kinds of steps are in separate files: `Deliveries`, `HeldCopies`, `Stops`, `Bodies`,
/// `AppCalls`, `LiveApps`. After the steps, `CaseSettling` waits for effects, and `Observation`
/// reads probes.
struct CaseExecution: Sendable {
    /// The executor, with the resources that all runs of a suite share.
    let run: RunExecutor
    let plan: RunPlan
    /// The longest wait for a response of the backend, in real time.
    let within: Duration
    /// The time at which the run began, as a date and as a time of the runner's clock.
    private let startTime: (wallTime: Instant, clock: Duration)
    /// The journal's sequence number at which the run began.
    let firstSequence: Int
    var namespace: Namespace
    /// The current time in the contract, which moves on with the delays of the steps.
    var now: Instant
    var deliveries = DeliveryState()
    /// The users that earlier steps have named.
    ///
    /// The backend may know them.
    var namedUsers: Set<String> = []
    /// Whether a delivery has been sent and the backend may not have processed it yet.
    var hasUnsettledEvents = false
    var runProblem: RunRecord.RunProblem?
    /// The proofs, issued by the backend, that a device owns its user ID, by user.
    var proofs: [String: String] = [:]
    /// The task that kills and restarts the backend when it makes a certain call; nil if the case
    /// has no such kill.
    var killTask: Task<Bool, Never>?
    var servesOneRequestAtATime = false
    /// Whether the backend refused to start with the secrets that a step gave it.
    var lacksServer = false
    /// Whether the backend's database is failing because of an injected fault.
    var isDatabaseFailing = false
    var expiringTokens = ExpiringTokens()
    /// The time when the steps were over and the wait for their effects began; nil while steps run.
    private var waitStartTime: Duration?
    var latency: Duration = .milliseconds(5)
    /// The values for the templates in the contract, such as `{{user.ada}}`.
    var values: TemplateValues
    var liveApps = LiveApps()
    var missingEffect: RunExecutor.MissingEffect?

    init(_ plan: RunPlan, in name: String, within: Duration, of run: RunExecutor) {
        self.run = run
        self.plan = plan
        self.within = within
        startTime = (run.fakes.now, run.clock.now)
        firstSequence = run.fakes.journal.read { $0.nextSequence }
        namespace = Namespace(
            name: name,
            idForm: run.profile.idForm,
            accountIDForm: run.profile.requests.accountIDForm,
            similarIDs: plan.drawnValues?.similarIDs
        )
        let base = plan.base(from: run.base)
        now = base
        values = TemplateValues(namespace: namespace, base: base, given: plan.values)
    }

    var backend: BackendUnderTest { run.backend }
    var fakes: FakeRegistry { run.fakes }
    var profile: Profile { run.profile }
    var clock: any RunClock { run.clock }

    /// The requests of the run at this moment.
    var requests: CaseRequests {
        CaseRequests(
            run: run,
            namespace: namespace,
            now: now,
            within: within,
            firstSequence: firstSequence
        )
    }

    /// The waits of the run at this moment.
    var settling: CaseSettling { CaseSettling(requests: requests, plan: plan) }

    // MARK: The order of a run

    /// Runs all steps of the plan, and returns the record of the run.
    ///
    /// If the plan observes effects, the run then waits for effects and reads the probes.
    mutating func perform(
        _ observability: RunRecord.Observability,
        _ verdict: @Sendable (RunRecord) -> RunExecutor.VerdictStability
    ) async -> RunRecord {
        for (index, step) in plan.steps.enumerated() {
            if index == plan.preparationStepCount {
                await settling.settleGiven(observability)
                hasUnsettledEvents = false
            }
            if index == plan.preparationStepCount ?? 0 { startKillTask() }
            // Only a shrunk contract can hold back deliveries before a step that does not release
            // them.
            if !deliveries.held.isEmpty, !step.releasesHeldDeliveries {
                await release([], alongside: [])
            }
            if case .phone(.app) = step, hasUnsettledEvents {
                hasUnsettledEvents = false
                if runProblem == nil { await settling.settleBeforeStep(index, observability) }
            }
            await carryOut(step)
            if case .deliver = step { hasUnsettledEvents = true }
            namedUsers.formUnion(step.traits.users)
            if runProblem != nil || Task.isCancelled { break }
        }
        if !deliveries.held.isEmpty, runProblem == nil { await release([], alongside: []) }
        // A kill that is still planned must not stop the backend during the next case.
        killTask?.cancel()
        _ = await killTask?.value
        if let last = plan.clock?.last, runProblem == nil { await syncBackendClock(at: last) }
        waitStartTime = clock.now
        await liveApps.observe()
        if plan.readsReadinessRoute == true, runProblem == nil { await requests.readReadiness() }
        guard plan.observesFinalState || plan.hasPlannedResponses, runProblem == nil,
            !Task.isCancelled
        else {
            await undoSharedChanges()
            return record(.notNeeded)
        }
        let settleEvidence =
            plan.observesFinalState ? await settling.settle(observability) : .notNeeded
        if plan.observesFinalState { await requests.probe(plan.users) }
        var result = await settling.wait(
            for: record(settleEvidence),
            missingEffect,
            observability,
            verdict: verdict
        ) { record(settleEvidence) }
        if let extraObservationTime = plan.extraObservationTime {
            // A forbidden effect could occur even after the normal wait, so the run observes the
            // backend longer. The record contains the length of this additional time.
            let clock = clock
            await JobSlot.releaseSlot { await clock.pause(extraObservationTime) }
            result = record(.window(extraObservationTime))
        }
        await undoSharedChanges()
        return result
    }

    /// Returns the record of the run up to now.
    func record(_ settleEvidence: RunRecord.SettleEvidence) -> RunRecord {
        let isComplete = fakes.journal.read { $0.isComplete(since: firstSequence) }
        var record = RunRecord(
            plan: plan,
            namespace: namespace,
            base: plan.base(from: run.base),
            began: startTime.wallTime,
            ended: fakes.now,
            exchanges: run.exchanges(of: plan, namespace.name, from: firstSequence),
            settleEvidence: settleEvidence,
            runProblem: runProblem ?? (isComplete ? nil : .journalGap)
        )
        record.servesOneRequestAtATime = servesOneRequestAtATime
        record.starvation = run.heartbeat.starvation(
            since: startTime.clock,
            waitStartTime: waitStartTime
        )
        return record
    }

    /// Undoes the changes of this run to state that other runs share, such as the backend's clock.
    private mutating func undoSharedChanges() async {
        if isDatabaseFailing { _ = await removeDatabaseFault() }
        if plan.clock != nil { await syncBackendClock(at: .zero) }
        fakes.settle(namespace: namespace.name)
        if plan.mustRunExclusively {
            fakes.endFaults(namespace: "")
            fakes.release("")
        }
        guard let process = backend.process,
            process.timeZone != nil || process.secretChange != nil
        else { return }
        process.timeZone = nil
        process.secretChange = nil
        // If the backend does not start, the next case finds that it is unreachable and reports it.
        try? await backend.restart(.terminate)
    }

    // MARK: Steps

    private mutating func carryOut(_ step: Step) async {
        switch step {
        case .register(let user):
            if let text = await register(user) {
                let isBackendGone = !(await backend.isReachable())
                runProblem =
                    isBackendGone ? .backendGone(text) : .registrationFailed(user: user, text)
            }
            registerUserIDs()
        case .name(let user, let id):
            values.namespace = namespace
            // A call that was refused returns no ID. The user then keeps a generated ID, which the
            // backend does not know.
            if let id = values.fillIfPresent(id) {
                namespace.assign(id, to: user)
                registerUserIDs()
            }
        case .createAccount(let account):
            if let text = await UserCreation(requests: requests).createAccount(account).problem {
                runProblem = .registrationFailed(user: "account " + account, text)
            }
        case .provider(let providerPlan): requests.schedule(providerPlan)
        case .call(let calls):
            for call in calls where call.route == .protected {
                if let user = call.user { requests.seed(user) }
            }
            await sendAppCalls(calls)
        case .request(let request): await sendAppCalls(request)
        case .rotateKeys: requests.rotateKeys()
        case .account(let user, let change): requests.change(user, change)
        case .phone(let step): await carryOut(step)
        case .killAtCall:
            if await killTask?.joined() != true, !Task.isCancelled {
                runProblem = .faultNotApplied(
                    "the backend did not make the call at which the case kills it"
                )
            }
            killTask = nil
        case .deliver(let delivery): await deliver(delivery)
        case .probe(let user): await requests.probe([user])
        case .waitForEnd(let delivery):
            if let problem = await requests.waitForEnd(of: delivery, in: plan) {
                runProblem = problem
            }
        case .restart(let restart):
            await requests.awaitProviderError(of: plan)
            await self.restart(restart)
        }
    }

    /// Registers a user with the backend, and stores the ID and the proof that it returns.
    ///
    /// Returns an error message on failure; nil on success.
    mutating func register(_ user: String) async -> String? {
        let result = await UserCreation(requests: requests)
            .register(user, isKnown: namedUsers.contains(user))
        if let id = result.id { namespace.assign(id, to: user) }
        if let proof = result.proof { proofs[user] = proof }
        return result.problem
    }

    // MARK: Shared by all steps

    /// Registers the user IDs of this run with the fakes, so that they assign calls to its
    /// namespace.
    func registerUserIDs() {
        let ids = plan.users.flatMap { [namespace.id(of: $0), namespace.anonymousID(of: $0)] }
        fakes.open(namespace.name, ids: ids, at: now)
    }
}
