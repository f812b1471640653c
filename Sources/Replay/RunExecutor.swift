package import Conformance
package import FakeServers
package import Phone
internal import Providers

/// Carries out runs, each in a namespace of its own, and brings back what was seen.
///
/// This is what all runs of a suite share; what is one run's own is its `Play`.
package final class RunExecutor: Sendable {
    package let backend: BackendUnderTest
    package let world: FakeWorld
    package let profile: Profile
    package let clock: any RunClock
    package let heartbeat: Heartbeat
    let sender: WebhookSender
    let webhookMethod: String
    let purchaselySender: PurchaselySender
    /// A key that nobody publishes, for forged tokens; made when it is first needed.
    private let stranger = Locked<SigningKey?>(nil)
    /// Whether the backend was seen to show anything only after its answer, by any sentinel: a queue
    /// that was empty when the first ones looked is longer when many play.
    private let hasWorkedLater = Locked(false)
    private let dates: Locked<Dates>
    /// What has been waited for to the end.
    let shared: SharedPatience
    /// What the profile's login has handed out.
    let session = Locked<String?>(nil)
    let origins: Origins
    /// How the app with accounts deviates from a correct one.
    let appDefects: Set<AccountApp.Defect>
    /// How the app on the Despia runtime does.
    let clientDefects: Set<ClientDefect>

    /// - Parameters:
    ///   - backend: Whom the runs are about.
    ///   - world: The fakes that it calls.
    ///   - profile: How it is reached and seen.
    ///   - base: The moment that relative times count from.
    ///   - clock: By which is waited.
    ///   - appDefects: How the app with accounts deviates.
    ///   - clientDefects: How the app on the Despia runtime does.
    ///   - other: Whose backend is another process of the same program: what that one was waited
    ///     for in vain, and the time that this machine took, count for both.
    package init(
        backend: BackendUnderTest,
        world: FakeWorld,
        profile: Profile,
        base: Instant,
        clock: any RunClock,
        appDefects: Set<AccountApp.Defect> = [],
        clientDefects: Set<ClientDefect> = [],
        beside other: RunExecutor? = nil
    ) {
        shared = other?.shared ?? SharedPatience()
        heartbeat = other?.heartbeat ?? Heartbeat(clock)
        self.appDefects = appDefects
        self.clientDefects = clientDefects
        self.backend = backend
        self.world = world
        self.profile = profile
        origins = Origins(authority: profile.authorityPath)
        self.clock = clock
        dates = Locked(Dates(base: base, offset: Self.dateOffset(clock)))
        let endpoint = profile.endpoints["revenuecat-webhook"]
        webhookMethod = endpoint?.method ?? "POST"
        sender = WebhookSender(
            path: endpoint?.path ?? "/",
            authorization: profile.secrets[.revenueCatAuthorization],
            signingKey: profile.secrets[.revenueCatSigning]
        )
        let purchasely = profile.endpoints["purchasely-webhook"]
        purchaselySender = PurchaselySender(
            method: purchasely?.method ?? "POST",
            path: purchasely?.path ?? "/",
            secret: profile.secrets[.purchaselySigning]
        )
    }

    /// Makes the keys that tokens are signed with.
    ///
    /// It is half a second of work of ours and more; without it the first case that needs a key pays
    /// for it, and takes it for a machine that has no time.
    func prepareKeys() { _ = forge }

    /// Writes tokens as Firebase would right now.
    var forge: TokenForge {
        let keys = world.edit("") { services, now in services.firebase.signers(at: now) }
        let stranger = stranger.withLock { key in
            if key == nil, keys?.token != nil { key = try? SigningKey(at: world.now) }
            return key
        }
        return TokenForge(
            project: profile.firebaseProject,
            key: keys?.token,
            cookieKey: keys?.cookie,
            stranger: stranger,
            withdrawn: keys?.withdrawn
        )
    }

    // MARK: Time

    private struct Dates {
        var base: Instant
        /// The offset of the date when `base` was right.
        var offset: Duration
    }

    /// A smaller change of the date is one that a time service makes little by little.
    private static let dateChangeMin: Duration = .seconds(2)

    private static func dateOffset(_ clock: any RunClock) -> Duration {
        clock.wall - Instant(milliseconds: 0) - clock.now
    }

    /// The time that relative times in contracts count from.
    ///
    /// It is the same for every run of a suite, so that a case and its baseline have equal dates, until
    /// the date of this machine is changed: see `followDate`.
    var base: Instant { dates.withLock { $0.base } }

    /// The distance from the clock that never jumps to the date of this machine.
    var dateOffset: Duration { Self.dateOffset(clock) }

    /// Moves `base` along with the date of this machine when the date was changed.
    ///
    /// - Returns: Whether `base` moved, so that earlier runs have other dates.
    func followDate() -> Bool {
        let offset = dateOffset
        return dates.withLock { dates in
            guard Self.isChange(from: dates.offset, to: offset) else { return false }
            // A whole second, as `base` is one.
            let change = Duration.seconds((offset - dates.offset).milliseconds / 1000)
            dates.base = dates.base + change
            dates.offset += change
            return true
        }
    }

    /// Returns whether the date of this machine was changed since it had that offset.
    func isDateChanged(since offset: Duration) -> Bool {
        Self.isChange(from: offset, to: dateOffset)
    }

    private static func isChange(from old: Duration, to new: Duration) -> Bool {
        max(new - old, old - new) >= dateChangeMin
    }

    /// How far the backend's clock has been set ahead of this machine's, and in which of its lives.
    let clockSetting = Locked<(ahead: Duration, life: Int)>((.zero, 0))

    var clockAhead: Duration { clockSetting.withLock { $0.ahead } }

    /// What the backend's clock shows: senders sign by it, and tokens are issued by it.
    var backendNow: Instant { world.now + clockAhead }

    /// A limit that counts only time which this process had.
    func patience(_ limit: Duration) -> Patience { Patience(limit, heartbeat, clock) }

    /// How long stragglers are waited for once a later event has taken effect.
    func shortPatience(_ latency: Duration) -> Duration {
        min(profile.patience, max(.seconds(1), latency * 20))
    }

    // MARK: What was learnt since

    /// A sentinel saw that what comes of an event comes after its answer.
    func noteLateWork() { hasWorkedLater.withLock { $0 = true } }

    /// How the backend is seen, with what has been learnt since calibration.
    func informed(_ sight: RunRecord.Sight) -> RunRecord.Sight {
        var sight = sight
        if hasWorkedLater.withLock({ $0 }) { sight.worksLater = true }
        return sight
    }

    // MARK: A run

    /// Whether waiting longer could change the verdict.
    enum Prospect: Hashable, Sendable {
        case settled, mayImprove
    }

    /// What is missing in a record of a case; others that lack the same wait shorter.
    struct Missing: Sendable {
        let caseID: String
        let cause: @Sendable (RunRecord) -> SharedPatience.Cause
    }

    /// Runs the plan and, when it observes, settles and probes.
    ///
    /// `missing` names what is waited for, where the waiting is shared; `verdict` judges what is known so
    /// far; settling goes on while waiting could still help.
    func run(
        _ plan: RunPlan,
        in name: String,
        sight: RunRecord.Sight,
        within: Duration,
        missing: Missing? = nil,
        verdict: @Sendable (RunRecord) -> Prospect
    ) async -> RunRecord {
        let sight = informed(sight)
        var play = open(plan, name, within: within)
        play.latency = sight.latency
        play.missing = missing
        return await play.perform(sight, verdict)
    }

    /// A run of that plan before its first step.
    func open(_ plan: RunPlan, _ name: String, within: Duration) -> Play {
        let timed = plan.timed(from: world.now - base)
        var play = Play(timed, in: name, within: within, of: self)
        play.expectEvents()
        play.introduce()
        return play
    }

    /// A run that has not begun, and has no plan.
    func blank(_ name: String) -> Play {
        let plan = RunPlan(steps: [], users: ["ada"], observes: false)
        let play = Play(plan, in: name, within: .seconds(60), of: self)
        world.open(name, ids: [play.namespace.id(of: "ada")], at: base)
        return play
    }

    /// What stands in the journal of a run.
    func exchanges(of plan: RunPlan, _ name: String, from first: Int) -> [Exchange] {
        var exchanges = world.journal.read { $0.exchanges(in: name, from: first) }
        if plan.needsSolitude {
            // Fetches of keys name nobody; while nobody else runs, they are this run's.
            exchanges += world.journal.read { $0.exchanges(in: "", from: first, by: .backend) }
            exchanges.sort { $0.sequence < $1.sequence }
        }
        return exchanges.map(Services.understood)
    }

    /// The record with what has happened since, and with a new look at its users if that is asked
    /// for; a run that saw nothing stays as it is.
    func lookAgain(_ record: RunRecord, probes: Bool) async -> RunRecord {
        guard let first = record.exchanges.first?.sequence, record.trouble == nil else {
            return record
        }
        var missed: RunRecord.Trouble?
        if probes {
            var play = Play(record.plan, in: record.namespace.name, within: .seconds(60), of: self)
            play.namespace = record.namespace
            if let last = record.plan.clock?.last { await play.keepClock(at: last) }
            await play.probe(record.plan.users)
            if record.plan.clock != nil { await play.keepClock(at: .zero) }
            missed = play.trouble
        }
        var later = record
        if let trouble = missed { later.trouble = trouble }
        later.exchanges = exchanges(of: record.plan, record.namespace.name, from: first)
        later.ended = world.now
        if !world.journal.read({ $0.isComplete(since: first) }) { later.trouble = .journalGap }
        return later
    }

    func factory(_ namespace: Namespace) -> EventFactory {
        EventFactory(
            EventFactory.Context(
                namespace: namespace,
                base: base,
                products: profile.products,
                entitlement: profile.entitlement
            )
        )
    }
}
