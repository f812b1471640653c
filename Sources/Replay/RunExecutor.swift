package import Conformance
package import FakeServers
package import Phone
internal import Providers

/// Carries out one run in a namespace of its own and brings back what was seen.
///
/// Each concern has a type of its own: `Deliveries`, `HeldCopies`, `Stops`, `Bodies`, `Settling`,
/// `Observation`; this one holds what they share and the order of things.
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
    /// The moment that relative times in contracts count from; the same for every run of a suite,
    /// so that a case and its twin carry equal dates.
    let base: Instant
    /// How the app with accounts deviates from a correct one.
    let appDefects: Set<AccountApp.Defect>
    /// How the app on the Despia runtime does.
    let clientDefects: Set<ClientDefect>

    package init(
        backend: BackendUnderTest,
        world: FakeWorld,
        profile: Profile,
        base: Instant,
        clock: any RunClock,
        appDefects: Set<AccountApp.Defect> = [],
        clientDefects: Set<ClientDefect> = []
    ) {
        self.appDefects = appDefects
        self.clientDefects = clientDefects
        self.backend = backend
        self.world = world
        self.profile = profile
        self.base = base
        self.clock = clock
        heartbeat = Heartbeat(clock)
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
            stranger: stranger
        )
    }

    // MARK: Time

    /// A limit that counts only time which this process had.
    func patience(_ limit: Duration) -> Patience { Patience(limit, heartbeat, clock) }

    /// How long stragglers are waited for once a later event has taken effect.
    func shortPatience(_ latency: Duration) -> Duration {
        min(profile.patience, max(.seconds(1), latency * 20))
    }

    // MARK: A run

    /// Whether waiting longer could change the verdict.
    package enum Prospect: Hashable, Sendable {
        case settled, mayImprove
    }

    /// Runs the plan and, when it observes, settles and probes.
    ///
    /// `verdict` judges what is known so far; settling goes on while waiting could still help.
    package func run(
        _ plan: RunPlan,
        in name: String,
        sight: RunRecord.Sight,
        within: Duration,
        verdict: @Sendable (RunRecord) -> Prospect
    ) async -> RunRecord {
        var progress = open(plan, name)
        progress.latency = sight.latency
        let began = (wall: world.now, clock: clock.now)
        Stops(run: self).startKiller(plan, &progress)
        for step in plan.steps {
            await carryOut(step, plan, within: within, &progress)
            if progress.trouble != nil || Task.isCancelled { break }
        }
        // It must not stop the backend of whoever comes next.
        progress.killer?.cancel()
        _ = await progress.killer?.value
        await observePhones(progress)
        let final = progress
        func record(_ settling: RunRecord.Settling) -> RunRecord {
            self.record(plan, final, settling, began)
        }
        guard plan.observes || plan.hasPlan, progress.trouble == nil, !Task.isCancelled else {
            await tidyUp(plan, name)
            return record(.notNeeded)
        }
        let settling = Settling(run: self)
        let settled = plan.observes ? await settling.settle(progress, sight) : .notNeeded
        if plan.observes { await Observation(run: self).probe(plan.users, progress) }
        var result = await settling.wait(
            for: record(settled),
            plan,
            progress,
            sight,
            verdict: verdict
        ) {
            record(settled)
        }
        if let watch = plan.watch {
            // Real time in which something forbidden could happen; the record names how much.
            await clock.pause(watch)
            result = record(.window(watch))
        }
        await tidyUp(plan, name)
        return result
    }

    private func record(
        _ plan: RunPlan,
        _ progress: Progress,
        _ settling: RunRecord.Settling,
        _ began: (wall: Instant, clock: Duration)
    ) -> RunRecord {
        let isComplete = world.journal.read { $0.isComplete(since: progress.firstSequence) }
        var record = RunRecord(
            plan: plan,
            namespace: progress.namespace,
            base: base,
            began: began.wall,
            ended: world.now,
            exchanges: exchanges(of: plan, progress.namespace.name, from: progress.firstSequence),
            settling: settling,
            trouble: progress.trouble ?? (isComplete ? nil : .journalGap)
        )
        record.isSerialised = progress.isSerialised
        record.starvation = heartbeat.starvation(since: began.clock)
        return record
    }

    private func exchanges(of plan: RunPlan, _ name: String, from first: Int) -> [Exchange] {
        var exchanges = world.journal.read { $0.exchanges(in: name, from: first) }
        if plan.needsSolitude {
            // Fetches of keys name nobody; while nobody else runs, they are this run's.
            exchanges += world.journal.read { $0.exchanges(in: "", from: first) }
                .filter { $0.from == .backend }
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
        if probes {
            let progress = Progress(namespace: record.namespace, firstSequence: first, now: base)
            await Observation(run: self).probe(record.plan.users, progress)
        }
        var later = record
        later.exchanges = exchanges(of: record.plan, record.namespace.name, from: first)
        later.ended = world.now
        if !world.journal.read({ $0.isComplete(since: first) }) { later.trouble = .journalGap }
        return later
    }

    /// Undoes what the plan did to the world that runs share.
    private func tidyUp(_ plan: RunPlan, _ name: String) async {
        world.heal(namespace: name)
        if plan.needsSolitude { world.heal(namespace: "") }
        guard let process = backend.process, process.timeZone != nil else { return }
        process.timeZone = nil
        try? await backend.restart(.terminate)
    }

    // MARK: Steps

    private func carryOut(
        _ step: Step,
        _ plan: RunPlan,
        within: Duration,
        _ progress: inout Progress
    ) async {
        switch step {
        case .register(let user):
            if let text = await register(user, &progress) {
                let isGone = !(await backend.isReachable())
                progress.trouble =
                    isGone ? .backendGone(text) : .registrationFailed(user: user, text)
            }
            introduce(plan.users, progress)
        case .name(let user, let id):
            progress.namespace.assign(id, to: user)
            introduce(plan.users, progress)
        case .createAccount(let account):
            if let text = await createAccount(account, &progress) {
                progress.trouble = .registrationFailed(user: "account " + account, text)
            }
        case .provider(let providerPlan):
            world.schedule(providerPlan, namespace: progress.namespace.name)
            // Fetches of keys name nobody.
            if providerPlan.provider == .firebase { world.schedule(providerPlan, namespace: "") }
        case .call(let calls):
            for call in calls where call.route == .protected {
                if let user = call.user { seed(user, progress) }
            }
            await make(calls, &progress)
        case .request(let request): await make(request, within: within, &progress)
        case .rotateKeys:
            world.edit("") { services, now in services.firebase.rotateKeys(at: now) }
        case .account(let user, let change): self.change(user, change, progress)
        case .phone(let step): await carryOut(step, plan, &progress)
        case .killAtCall:
            if await progress.killer?.joined() != true, !Task.isCancelled {
                progress.trouble = .disturbanceMissed("the backend did not make that call")
            }
            progress.killer = nil
        case .deliver(let delivery):
            await Deliveries(run: self, within: within).deliver(delivery, &progress)
        case .restart(let restart):
            let stops = Stops(run: self)
            await stops.awaitDisturbance(plan, progress)
            await stops.restart(restart, &progress)
        }
    }

    /// Backends that look a session up find its user.
    func seed(_ user: String, _ progress: Progress) {
        let id = progress.namespace.id(of: user)
        world.edit(progress.namespace.name) { services, now in
            services.firebase.seed(
                FirebaseUser(localID: id, created: now),
                project: profile.firebaseProject,
                at: now
            )
        }
    }

    private func change(_ user: String, _ change: Step.AccountChange, _ progress: Progress) {
        seed(user, progress)
        let id = progress.namespace.id(of: user)
        world.edit(progress.namespace.name) { services, now in
            services.firebase.change(id, change, project: profile.firebaseProject, at: now)
        }
    }

    // MARK: Shared

    func introduce(_ users: [String], _ progress: Progress) {
        let ids = users.flatMap {
            [progress.namespace.id(of: $0), progress.namespace.anonymousID(of: $0)]
        }
        world.open(progress.namespace.name, ids: ids, at: progress.now)
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

    func exchange(
        _ from: Exchange.Party,
        _ purpose: Exchange.Purpose,
        _ request: HTTPMessage.Request,
        _ progress: Progress
    ) -> Exchange {
        Exchange(
            from: from,
            to: .backend,
            namespace: progress.namespace.name,
            purpose: purpose,
            at: progress.now,
            request: request
        )
    }
}
