package import Contracts
package import FakeServers
package import Phone
internal import Providers
package import Values

/// Executes the runs of cases, each in a separate namespace of the fakes, and returns their
/// records.
///
/// All runs of a suite share the executor. The state of a single run is in `CaseExecution`.
package final class RunExecutor: Sendable {
    package let backend: BackendUnderTest
    package let fakes: FakeRegistry
    package let profile: Profile
    package let clock: any RunClock
    package let heartbeat: Heartbeat
    let purchaseWebhook: PurchaseWebhook
    /// The signing key for forged tokens, which no service publishes; created when it is first
    /// needed.
    private let unpublishedKey = Locked<SigningKey?>(nil)
    /// Whether the backend ever showed the effect of a sentinel's purchase only after its response.
    ///
    /// A sentinel is a user that no case involves. A backend with such late effects processes
    /// purchases in a queue. The queue is empty for the first purchases, and grows when many cases
    /// run.
    private let hasShownLateEffects = Locked(false)
    private let dateState: Locked<DateState>
    /// The record of effects that did not come during a full wait, which shortens later waits for
    /// the same effects.
    let sharedSettleTimeout: SharedSettleTimeout
    let unprocessedPurchases = UnprocessedPurchases()
    /// The session token from the login that the profile defines; nil until it is needed.
    let session = Locked<String?>(nil)
    let userSessions = Locked(UserSessions())
    let originClients: OriginClients
    /// The deliberate defects of Assay's app with accounts, which test Assay itself.
    let appDefects: Set<AccountApp.Defect>
    /// The deliberate defects of Assay's app in the Despia runtime, which test Assay itself.
    let clientDefects: Set<ClientDefect>

    /// Creates the executor for one instance of the backend.
    ///
    /// - Parameters:
    ///   - backend: The backend under test.
    ///   - fakes: The fakes that the backend calls.
    ///   - profile: The endpoints and probes of the backend.
    ///   - base: The time that relative times in contracts count from.
    ///   - clock: The clock that measures waits.
    ///   - appDefects: The deliberate defects of Assay's app with accounts.
    ///   - clientDefects: The deliberate defects of Assay's app in the Despia runtime.
    ///   - other: The executor for another instance of the same backend. Both executors share the
    ///     knowledge about effects that do not come, and about time in which the machine was busy.
    package init(
        backend: BackendUnderTest,
        fakes: FakeRegistry,
        profile: Profile,
        base: Instant,
        clock: any RunClock,
        appDefects: Set<AccountApp.Defect> = [],
        clientDefects: Set<ClientDefect> = [],
        alongside other: RunExecutor? = nil
    ) {
        sharedSettleTimeout = other?.sharedSettleTimeout ?? SharedSettleTimeout()
        heartbeat = other?.heartbeat ?? Heartbeat(clock)
        self.appDefects = appDefects
        self.clientDefects = clientDefects
        self.backend = backend
        self.fakes = fakes
        self.profile = profile
        originClients = OriginClients(authority: profile.certificateAuthorityPath)
        self.clock = clock
        dateState = Locked(DateState(base: base, offset: Self.dateOffset(clock)))
        purchaseWebhook = PurchaseWebhook(profile, fakes.providers)
    }

    /// Creates the keys that sign tokens, before the first case.
    ///
    /// This takes half a second or more. Otherwise, that time would count as time lost on a busy
    /// machine in the first case that needs a key.
    func prepareKeys() { _ = tokenForge }

    /// A creator of ID tokens with the current signing keys of the fake that issues tokens.
    var tokenForge: TokenForge {
        let project = profile.tokenProject
        let forgeOfIssuer = fakes.providers.tokenIssuer.flatMap { issuer in
            fakes.edit("") { services, now in
                issuer.tokenForge(project: project, &services, at: now)
            }
        }
        var tokenForge =
            forgeOfIssuer
            ?? TokenForge(
                project: project,
                key: nil,
                cookieKey: nil,
                unpublishedKey: nil,
                withdrawnKey: nil
            )
        let isSigned = tokenForge.key != nil
        tokenForge.unpublishedKey = unpublishedKey.withLock { key in
            // Without the key, the forge sends an unsigned token, which is invalid too. The next
            // access tries again.
            if key == nil, isSigned { key = try? SigningKey(at: fakes.now) }
            return key
        }
        return tokenForge
    }

    // MARK: Time

    private struct DateState {
        var base: Instant
        /// The difference between the machine's date and the clock of Assay at the time when `base`
        /// was set.
        var offset: Duration
    }

    /// The smallest change of the machine's date that moves the base time.
    ///
    /// Smaller changes are corrections by a time service.
    private static let dateChangeMin: Duration = .seconds(2)

    private static func dateOffset(_ clock: any RunClock) -> Duration {
        clock.wallTime - Instant(milliseconds: 0) - clock.now
    }

    /// The time that relative times in contracts count from.
    ///
    /// All runs of a suite have the same base, so that a case and its baseline have equal dates. If
    /// the date of this machine is changed, `adoptDateChange` moves the base.
    var base: Instant { dateState.withLock { $0.base } }

    /// The difference between the date of this machine and Assay's clock, which never jumps.
    var dateOffset: Duration { Self.dateOffset(clock) }

    /// Moves the base time by the same amount if the date of this machine was changed.
    ///
    /// - Returns: Whether the base time moved, so that the dates of earlier runs are no longer
    ///   comparable.
    func adoptDateChange() -> Bool {
        let offset = dateOffset
        return dateState.withLock { dateState in
            guard Self.isDateChange(from: dateState.offset, to: offset) else { return false }
            // The change is a whole number of seconds, because `base` is a whole second.
            let dateChange = Duration.seconds((offset - dateState.offset).milliseconds / 1000)
            dateState.base = dateState.base + dateChange
            dateState.offset += dateChange
            return true
        }
    }

    /// Returns whether the date of this machine was changed since `dateOffset` had the given value.
    func isDateChanged(since offset: Duration) -> Bool {
        Self.isDateChange(from: offset, to: dateOffset)
    }

    private static func isDateChange(from oldOffset: Duration, to new: Duration) -> Bool {
        max(new - oldOffset, oldOffset - new) >= dateChangeMin
    }

    /// The time by which the backend's clock is ahead of the clock of this machine.
    ///
    /// The second value is the number of the backend process whose clock was set.
    let clockSetting = Locked<(clockAdvance: Duration, processNumber: Int)>((.zero, 0))

    var clockAhead: Duration { clockSetting.withLock { $0.clockAdvance } }

    /// The current time of the backend's clock, used in signatures of webhooks and in tokens.
    var backendNow: Instant { fakes.now + clockAhead }

    /// Returns a time limit that does not count time in which the machine was too busy.
    func settleTimeout(_ limit: Duration) -> SettleTimeout {
        SettleTimeout(limit, heartbeat, clock)
    }

    /// Returns the longest wait for effects whose absence alone is no failure.
    ///
    /// It follows the slowest effect of any case so far, up to the settle timeout.
    func shortSettleTimeout(_ latency: Duration) -> Duration {
        min(
            profile.settleTimeout,
            max(.seconds(1), latency * 20, sharedSettleTimeout.slowestDelay * 2)
        )
    }

    // MARK: Knowledge since calibration

    /// Records that the effects of an event came only after the response to it.
    func recordLateEffect() { hasShownLateEffects.withLock { $0 = true } }

    /// Returns the results of the calibration before the first case, updated with later
    /// observations.
    func updatedObservability(_ observability: RunRecord.Observability) -> RunRecord.Observability {
        var observability = observability
        if hasShownLateEffects.withLock({ $0 }) { observability.appliesEventsLater = true }
        return observability
    }

    // MARK: A run

    /// The possible effect of a longer wait on a verdict.
    ///
    /// `settled` means that a longer wait cannot change the verdict; `mayResolveWithLongerWait`
    /// means that it could.
    enum VerdictStability: Hashable, Sendable {
        case settled, mayResolveWithLongerWait
    }

    /// Identifies the effects that are missing in the record of a case.
    ///
    /// Later cases that lack the same effects may wait for a shorter time.
    struct MissingEffect: Sendable {
        let caseID: String
        let waitRule: SharedSettleTimeout.WaitRule
        let missingEffectKey: @Sendable (RunRecord) -> SharedSettleTimeout.MissingEffectKey
    }

    /// Runs the steps of a plan, and returns the record of the run.
    ///
    /// If the plan observes effects, the run also waits for effects and reads the probes.
    ///
    /// - Parameters:
    ///   - plan: The steps.
    ///   - name: The namespace of the run.
    ///   - observability: The effects and the state of the backend that can be observed.
    ///   - within: The longest wait for a response.
    ///   - missingEffect: Identifies the missing effects; nil if the run does not share its waits with
    ///     other cases.
    ///   - verdict: Judges the current record. The wait goes on while a longer wait could change
    ///     the verdict.
    /// - Returns: The record of the run.
    func run(
        _ plan: RunPlan,
        in name: String,
        observability: RunRecord.Observability,
        within: Duration,
        missingEffect: MissingEffect? = nil,
        verdict: @Sendable (RunRecord) -> VerdictStability
    ) async -> RunRecord {
        let observability = updatedObservability(observability)
        var execution = open(plan, name, within: within)
        execution.latency = observability.latency
        execution.missingEffect = missingEffect
        return await execution.perform(observability, verdict)
    }

    /// Returns a prepared run of a plan, before its first step.
    func open(_ plan: RunPlan, _ name: String, within: Duration) -> CaseExecution {
        let withFixedPeriodEnd = plan.withFixedPeriodEnd(from: fakes.now - base)
        var execution = CaseExecution(withFixedPeriodEnd, in: name, within: within, of: self)
        execution.deliveries.collectFutureEvents(of: withFixedPeriodEnd)
        execution.registerUserIDs()
        return execution
    }

    /// Returns a prepared run that has no steps, for single requests about the user `ada`.
    func runWithoutSteps(_ name: String) -> CaseExecution {
        let plan = RunPlan(steps: [], users: ["ada"], observesFinalState: false)
        let execution = CaseExecution(plan, in: name, within: .seconds(60), of: self)
        fakes.open(name, ids: [execution.namespace.id(of: "ada")], at: base)
        return execution
    }

    /// Returns the exchanges (requests with their responses) of a run, from the journal.
    func exchanges(of plan: RunPlan, _ name: String, from first: Int) -> [Exchange] {
        var exchanges = fakes.journal.read { $0.exchanges(in: name, from: first) }
        if plan.mustRunExclusively {
            // Requests for signing keys name no user. They belong to this run, because no other
            // case runs meanwhile.
            exchanges += fakes.journal.read { $0.exchanges(in: "", from: first, by: .backend) }
            exchanges.sort { $0.sequence < $1.sequence }
        }
        return exchanges.map(fakes.providers.recognizingCall)
    }

    /// Returns an earlier record with all exchanges that the journal contains by now.
    ///
    /// If `probes` is true, the probes are read again first. A record without exchanges is returned
    /// unchanged.
    func refreshedRecord(_ record: RunRecord, probes: Bool) async -> RunRecord {
        guard let first = record.exchanges.first?.sequence, record.runProblem == nil else {
            return record
        }
        var probeProblem: RunRecord.RunProblem?
        if probes {
            var execution = CaseExecution(
                record.plan,
                in: record.namespace.name,
                within: .seconds(60),
                of: self
            )
            execution.namespace = record.namespace
            if let last = record.plan.clock?.last { await execution.syncBackendClock(at: last) }
            await execution.requests.probe(record.plan.users)
            if record.plan.clock != nil { await execution.syncBackendClock(at: .zero) }
            probeProblem = execution.runProblem
        }
        var updatedRecord = record
        if let runProblem = probeProblem { updatedRecord.runProblem = runProblem }
        updatedRecord.exchanges = exchanges(of: record.plan, record.namespace.name, from: first)
        updatedRecord.ended = fakes.now
        if !fakes.journal.read({ $0.isComplete(since: first) }) {
            updatedRecord.runProblem = .journalGap
        }
        return updatedRecord
    }

    /// Returns the values from which the events of a run are derived.
    ///
    /// Without a plan, they are the values of a run that draws none.
    func eventContext(_ namespace: Namespace, of plan: RunPlan? = nil) -> EventContext {
        EventContext(
            namespace: namespace,
            base: plan?.base(from: base) ?? base,
            products: profile.products,
            entitlement: profile.entitlement,
            drawnValues: plan?.drawnValues ?? .standard
        )
    }
}
