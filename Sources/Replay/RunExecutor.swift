package import Conformance
package import FakeServers
package import Phone
internal import Providers

/// Carries out one run in a namespace of its own and brings back what was seen.
package final class RunExecutor: Sendable {
    let backend: BackendUnderTest
    let world: FakeWorld
    let profile: Profile
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
        appDefects: Set<AccountApp.Defect> = [],
        clientDefects: Set<ClientDefect> = []
    ) {
        self.appDefects = appDefects
        self.clientDefects = clientDefects
        self.backend = backend
        self.world = world
        self.profile = profile
        self.base = base
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
        let began = world.now
        startKiller(plan, &progress)
        for step in plan.steps {
            await carryOut(step, plan, within: within, &progress)
            if progress.trouble != nil || Task.isCancelled { break }
        }
        progress.killer?.cancel()
        observePhones(progress)
        let isSerialised = progress.isSerialised
        func record(_ settling: RunRecord.Settling) -> RunRecord {
            var exchanges = world.journal.read {
                $0.exchanges(in: name, from: progress.firstSequence)
            }
            if plan.needsSolitude {
                // Fetches of keys name nobody; while nobody else runs, they are this run's.
                exchanges += world.journal.read {
                    $0.exchanges(in: "", from: progress.firstSequence)
                }.filter { $0.from == .backend }
                exchanges.sort { $0.sequence < $1.sequence }
            }
            let isComplete = world.journal.read { $0.isComplete(since: progress.firstSequence) }
            var record = RunRecord(
                plan: plan,
                namespace: progress.namespace,
                base: base,
                began: began,
                ended: world.now,
                exchanges: exchanges,
                settling: settling,
                trouble: progress.trouble ?? (isComplete ? nil : .journalGap)
            )
            record.isSerialised = isSerialised
            return record
        }
        guard plan.observes || plan.hasPlan, progress.trouble == nil, !Task.isCancelled else {
            await tidyUp(plan, name)
            return record(.notNeeded)
        }
        let settling = plan.observes ? await settle(progress, sight) : .notNeeded
        if plan.observes { await probe(plan.users, progress) }
        var result = record(settling)
        result = await wait(for: result, plan, progress, sight, verdict: verdict) {
            record(settling)
        }
        if let watch = plan.watch {
            await lookOn(for: watch)
            result = record(.window(watch))
        }
        await tidyUp(plan, name)
        return result
    }

    /// Lets real time pass in which something forbidden could happen; the record names how much.
    private func lookOn(for watch: Duration) async {
        try? await ContinuousClock().sleep(for: watch)
    }

    /// Undoes what the plan did to the world that runs share.
    private func tidyUp(_ plan: RunPlan, _ name: String) async {
        world.heal(namespace: name)
        if plan.needsSolitude { world.heal(namespace: "") }
        guard let process = backend.process, process.timeZone != nil else { return }
        process.timeZone = nil
        try? await backend.restart(.terminate)
    }

    /// Whether waiting longer could change the verdict.
    package enum Prospect: Hashable, Sendable {
        case settled, mayImprove
    }

    /// Looks again and again while something that has to come is missing and may still come.
    private func wait(
        for first: RunRecord,
        _ plan: RunPlan,
        _ progress: Progress,
        _ sight: RunRecord.Sight,
        verdict: @Sendable (RunRecord) -> Prospect,
        record: () -> RunRecord
    ) async -> RunRecord {
        let clock = ContinuousClock()
        // After a failure the backend's own timers decide, so the profile's patience counts; else
        // a later event has been seen to take effect, and stragglers have little time left.
        let isDisturbed = plan.steps.contains {
            switch $0 {
            case .provider, .restart, .killAtCall: true
            case .deliver(let delivery): delivery.disturbedCount > 0
            case .register, .name, .createAccount, .call, .request, .rotateKeys, .account, .phone:
                false
            }
        }
        let short = min(profile.patience, max(.seconds(1), sight.latency * 20))
        let deadline = clock.now + (isDisturbed ? profile.patience : short)
        var result = first
        var pause: Duration = .milliseconds(5)
        func isOpen(_ record: RunRecord) -> Bool {
            verdict(record) == .mayImprove || plan.observes && Self.isTryingAgain(record)
        }
        while isOpen(result), clock.now < deadline, !Task.isCancelled {
            try? await clock.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(100))
            await probe(plan.users, progress)
            result = record()
            if !isOpen(result) {
                // What came late may come twice: stay until it is quiet again.
                await awaitQuiet(progress, sight)
                await probe(plan.users, progress)
                result = record()
            }
        }
        return result
    }

    /// Whether the backend's last call failed, by plan, so that it has reason to call once more;
    /// until it has, nobody can say that it does not.
    private static func isTryingAgain(_ record: RunRecord) -> Bool {
        let calls = record.exchanges.filter { $0.from == .backend && $0.request.method != "GET" }
        guard let last = calls.last else { return false }
        guard case .answered(let response) = last.outcome else { return true }
        return response.status >= 500 || response.status == 429
    }

    private func open(_ plan: RunPlan, _ name: String) -> Progress {
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
            if providerPlan.provider == "firebase" { world.schedule(providerPlan, namespace: "") }
        case .call(let calls):
            seed(calls, progress)
            await make(calls, &progress)
        case .request(let request):
            await make(request, within: within, &progress)
        case .rotateKeys:
            world.edit("") { services, now in services.firebase.rotateKeys(at: now) }
        case .account(let user, let change):
            let id = progress.namespace.id(of: user)
            let project = profile.firebaseProject
            world.edit(progress.namespace.name) { services, now in
                services.firebase.seed(
                    FirebaseUser(localID: id, created: now),
                    project: project,
                    at: now
                )
                services.firebase.change(id, change, project: project, at: now)
            }
        case .phone(let step): await carryOut(step, plan, &progress)
        case .killAtCall:
            if await progress.killer?.value != true, !Task.isCancelled {
                progress.trouble = .disturbanceMissed("the backend did not make that call")
            }
            progress.killer = nil
        case .deliver(let delivery):
            await deliver(delivery, within: within, &progress)
        case .restart(let restart):
            await awaitDisturbance(plan, progress)
            await self.restart(restart, &progress)
        }
    }

    /// Backends that look a session up find its user.
    private func seed(_ calls: [Call], _ progress: Progress) {
        for call in calls where call.route == .protected {
            guard let id = call.user.map(progress.namespace.id(of:)) else { continue }
            world.edit(progress.namespace.name) { services, now in
                services.firebase.seed(
                    FirebaseUser(localID: id, created: now),
                    project: profile.firebaseProject,
                    at: now
                )
            }
        }
    }

    // MARK: Stops

    /// A restart after a provider has failed comes after it has failed: waits until the backend has
    /// made the call, or patience is over.
    private func awaitDisturbance(_ plan: RunPlan, _ progress: Progress) async {
        for case .provider(let failing) in plan.steps
        where failing.provider == "onesignal" && failing.answers.first != .asUsual {
            let clock = ContinuousClock()
            let deadline = clock.now + profile.patience
            while clock.now < deadline, !Task.isCancelled {
                let isHit = world.journal.read {
                    $0.exchanges(in: progress.namespace.name, from: progress.firstSequence)
                }.contains { $0.from == .backend && $0.to.description == failing.provider }
                if isHit { return }
                try? await clock.sleep(for: .milliseconds(2))
            }
        }
    }

    /// Waits beside the steps for the call at which the backend is to die.
    private func startKiller(_ plan: RunPlan, _ progress: inout Progress) {
        for case .killAtCall(let party, let position) in plan.steps {
            let (name, first) = (progress.namespace.name, progress.firstSequence)
            let patience = profile.patience
            let snapshot = progress
            progress.killer = Task {
                let clock = ContinuousClock()
                let deadline = clock.now + patience
                while clock.now < deadline, !Task.isCancelled {
                    let calls = self.world.journal.read { $0.exchanges(in: name, from: first) }
                        .filter { $0.from == .backend && $0.to.description == party }
                    if calls.count >= position {
                        self.world.heal(namespace: name)
                        var progress = snapshot
                        await self.restart(Restart(signal: .kill), &progress)
                        return progress.trouble == nil
                    }
                    try? await clock.sleep(for: .milliseconds(1))
                }
                return false
            }
        }
    }

    private func restart(_ restart: Restart, _ progress: inout Progress) async {
        if let zone = restart.timeZone { backend.process?.timeZone = zone }
        let sequence = world.journal.begin(
            exchange(
                .assay,
                .restart("SIG\(restart.signal.rawValue), then started again"),
                HTTPMessage.Request("RESTART", "SIG" + restart.signal.rawValue),
                progress
            )
        )
        do throws(BackendUnderTest.UnreachableError) {
            try await backend.restart(restart.signal)
            world.journal.complete(sequence, .answered(HTTPMessage.Response(200)))
        } catch {
            world.journal.complete(sequence, .failed(.refused, error.description))
            progress.trouble = .restartFailed(error.description)
        }
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

    // MARK: Deliveries

    private func deliver(
        _ delivery: Delivery,
        within: Duration,
        _ progress: inout Progress
    ) async {
        progress.now = progress.now + delivery.delay
        let body = self.body(of: delivery, &progress)
        if delivery.isDropped || progress.trouble != nil { return }
        if case .repeats = delivery.subject {} else { progress.bodies[delivery.name] = body }
        if delivery.isTogether {
            await deliverTogether(delivery, body, within: within, &progress)
        } else if delivery.isAlongLadder {
            await deliverAlongLadder(delivery, body, within: within, &progress)
        } else {
            for _ in 0..<delivery.times {
                let outcome = await attempt(delivery, body, within: within, &progress)
                if await isGone(outcome, &progress) { return }
                if case .answered(let response) = outcome {
                    _ = progress.learn(from: response, delivery.answerPattern)
                }
            }
        }
    }

    private func deliverAlongLadder(
        _ delivery: Delivery,
        _ body: [UInt8],
        within: Duration,
        _ progress: inout Progress
    ) async {
        let schedule: RetrySchedule =
            delivery.provider == .purchasely ? .purchasely(takes404: false) : .revenueCat
        for number in 1...schedule.attemptCountMax {
            guard let delay = schedule.delay(beforeAttempt: number) else { return }
            progress.now = progress.now + delay
            if number == 1, let crash = delivery.crash {
                let isOver = await attempt(delivery, body, crashing: crash, within, &progress)
                if isOver || progress.trouble != nil { return }
                continue
            }
            let disturbance: Disturbed =
                switch number {
                case ...delivery.requestsCut: .requestCut
                case ...(delivery.requestsCut + delivery.hangUps): .hangUp
                case ...delivery.disturbedCount: .answerLost
                default: .none
                }
            let outcome = await attempt(
                delivery,
                body,
                within: within,
                disturbed: disturbance,
                &progress
            )
            if case .answered(let response) = outcome, schedule.isSuccess(response.status) {
                return
            }
            if let killer = progress.killer {
                // The next attempt is minutes away; by then the backend is up again.
                if await killer.value == false { return }
            } else if await isGone(outcome, &progress) {
                return
            }
            if Task.isCancelled { return }
            // Minutes lie between two attempts, so whatever the first began is over by then.
            if disturbance != .none { await awaitQuiet(progress, nil) }
        }
    }

    /// All copies are sent but for their last byte; then the last bytes go out together.
    private func deliverTogether(
        _ delivery: Delivery,
        _ body: [UInt8],
        within: Duration,
        _ progress: inout Progress
    ) async {
        await backend.client.warm(lanes: delivery.times, path: backend.readyPath)
        let first = (progress.attemptCounts[delivery.name] ?? 0) + 1
        progress.attemptCounts[delivery.name] = first + delivery.times - 1
        world.setClock(of: progress.namespace.name, to: progress.now)
        let gate = BackendClient.Gate()
        let request = request(delivery, body)
        let snapshot = progress
        let sequences = Locked<[Int]>([])
        let isSerialised = await withTaskGroup(of: Void.self) { group in
            for index in 0..<delivery.times {
                group.addTask {
                    let outcome = await self.backend.client.send(
                        request,
                        lane: index,
                        within: within,
                        disturbance: .held(gate, percent: 100)
                    )
                    // An answer before the gate opened belongs to an attempt all the same.
                    gate.arrive(lane: index)
                    await gate.opened()
                    let sequence = sequences.withLock { $0[index] }
                    self.world.journal.complete(sequence, outcome)
                }
            }
            await gate.reached(delivery.times)
            let isSerialised = !(await answersOthers(lane: delivery.times))
            sequences.withLock { sequences in
                sequences = (0..<delivery.times).map { index in
                    world.journal.begin(
                        exchange(
                            delivery.provider,
                            .delivery(name: delivery.name, attempt: first + index),
                            request,
                            snapshot
                        )
                    )
                }
            }
            gate.open()
            await group.waitForAll()
            return isSerialised
        }
        progress.isSerialised = progress.isSerialised || isSerialised
    }

    private func held(
        _ request: HTTPMessage.Request,
        _ gate: BackendClient.Gate,
        percent: Int,
        within: Duration
    ) async -> Exchange.Outcome {
        let outcome = await backend.client.send(
            request,
            lane: 1,
            within: within,
            disturbance: .held(gate, percent: percent)
        )
        gate.arrive(lane: 1)
        return outcome
    }

    /// Whether the backend takes one request at a time: it answers nobody while it waits for the
    /// rest of a webhook, which then breaks off, so that nothing takes effect.
    func isSerialised() async -> Bool {
        let request = sender.request(
            method: webhookMethod,
            body: Array("{\"event\": null}".utf8),
            at: world.now,
            authorization: .configured,
            signature: .configured
        )
        let gate = BackendClient.Gate()
        async let sending = held(request, gate, percent: 50, within: .seconds(10))
        await gate.reached(1)
        let isSerialised = !(await answersOthers(lane: 2))
        gate.open(breaking: true)
        _ = await sending
        return isSerialised
    }

    /// Whether the backend answers somebody else while it waits for the rest of other requests.
    private func answersOthers(lane: Int) async -> Bool {
        let outcome = await backend.client.send(
            HTTPMessage.Request("GET", backend.readyPath),
            lane: lane,
            within: .seconds(2)
        )
        if case .answered = outcome { return true }
        return false
    }

    /// The first attempt, during which the backend is stopped and started again; whether the
    /// sender takes the event for delivered.
    private func attempt(
        _ delivery: Delivery,
        _ body: [UInt8],
        crashing crash: Crash,
        _ within: Duration,
        _ progress: inout Progress
    ) async -> Bool {
        progress.attemptCounts[delivery.name] = 1
        world.setClock(of: progress.namespace.name, to: progress.now)
        let request = request(delivery, body)
        let sequence = world.journal.begin(
            exchange(
                delivery.provider,
                .delivery(name: delivery.name, attempt: 1),
                request,
                progress
            )
        )
        let gate = BackendClient.Gate()
        let percent = crash.moment == .halfSent ? 50 : 100
        async let sending = held(request, gate, percent: percent, within: within)
        await gate.reached(1)
        if crash.moment != .halfSent { gate.open() }
        if crash.moment == .working {
            try? await ContinuousClock().sleep(for: progress.latency / 2)
        }
        if crash.moment == .answered { _ = await sending }
        await restart(Restart(signal: crash.signal), &progress)
        if crash.moment == .halfSent { gate.open(breaking: true) }
        let outcome = await sending
        if crash.moment == .halfSent {
            world.journal.complete(sequence, .requestCut)
            return false
        }
        guard case .answered(let response) = outcome, response.status == 200 else {
            world.journal.complete(sequence, .answerLost(nil))
            return false
        }
        world.journal.complete(sequence, outcome)
        return true
    }

    private enum Disturbed { case none, requestCut, hangUp, answerLost }

    private func attempt(
        _ delivery: Delivery,
        _ body: [UInt8],
        within: Duration,
        disturbed: Disturbed = .none,
        _ progress: inout Progress
    ) async -> Exchange.Outcome {
        let number = (progress.attemptCounts[delivery.name] ?? 0) + 1
        progress.attemptCounts[delivery.name] = number
        world.setClock(of: progress.namespace.name, to: progress.now)
        let request = request(delivery, body, attempt: number)
        let sequence = world.journal.begin(
            exchange(
                delivery.provider,
                .delivery(name: delivery.name, attempt: number),
                request,
                progress
            )
        )
        progress.laneCount += 1
        var outcome = await backend.client.send(
            request,
            lane: progress.laneCount,
            within: within,
            disturbance: disturbed == .requestCut
                ? .cutRequest : disturbed == .hangUp ? .hangUp : .none
        )
        if disturbed == .answerLost, case .answered(let response) = outcome {
            outcome = .answerLost(response)
        }
        world.journal.complete(sequence, outcome)
        return outcome
    }

    /// Signed as the sender signs: anew for each attempt, so no two attempts carry one time.
    private func request(
        _ delivery: Delivery,
        _ body: [UInt8],
        attempt: Int = 1
    ) -> HTTPMessage.Request {
        // Real attempts are minutes apart; these are seconds apart, and none is in the future.
        let now = world.now - .seconds(max(0, 10 - attempt))
        if delivery.provider == .purchasely {
            return purchaselySender.request(
                body: body,
                at: now,
                signature: delivery.signature
            )
        }
        return sender.request(
            method: webhookMethod,
            body: body,
            at: now,
            authorization: delivery.authorization,
            signature: delivery.signature
        )
    }

    private func isGone(_ outcome: Exchange.Outcome, _ progress: inout Progress) async -> Bool {
        guard case .failed(.refused, let text) = outcome, !(await backend.isReachable())
        else { return false }
        progress.trouble = .backendGone(text)
        return true
    }

    // MARK: Bodies

    /// The body of the contract's first event, in a namespace that nobody uses.
    func sampleBody(of contract: Contract) -> JSONValue? {
        let namespace = Namespace(name: "sample", idForm: profile.idForm)
        for case .deliver(let delivery) in contract.steps {
            switch delivery.subject {
            case .event(let spec): return factory(namespace).body(spec, name: delivery.name)
            case .purchasely(let spec):
                return PurchaselyEventFactory(namespace: namespace, base: base)
                    .body(spec, name: delivery.name)
            case .body, .raw, .repeats, .told: continue
            }
        }
        return nil
    }

    private func body(of delivery: Delivery, _ progress: inout Progress) -> [UInt8] {
        let factory = factory(progress.namespace)
        switch delivery.subject {
        case .repeats(let name):
            let bytes = progress.bodies[name] ?? []
            guard !delivery.edits.isEmpty, let value = try? JSONValue(parsing: bytes)
            else { return bytes }
            return Self.edited(value, delivery, &progress).bytes
        case .event(let spec):
            let body = factory.body(spec, name: delivery.name)
            while let next = progress.upcoming.first, next.time <= spec.time {
                world.apply(next.body, namespace: progress.namespace.name)
                progress.upcoming.removeFirst()
            }
            return Self.edited(body, delivery, &progress).bytes
        case .purchasely(let spec):
            let body = PurchaselyEventFactory(namespace: progress.namespace, base: base)
                .body(spec, name: delivery.name)
            return Self.edited(body, delivery, &progress).bytes
        case .body(let value):
            progress.values.namespace = progress.namespace
            let body = Self.edited(progress.values.fill(value), delivery, &progress)
            // What the event says, REST says.
            if delivery.provider == .revenueCat, body["event"]?["app_user_id"] != nil {
                world.apply(body, namespace: progress.namespace.name)
            }
            return body.bytes
        case .told(let type):
            let bytes = told(type, &progress)
            guard !delivery.edits.isEmpty, let value = try? JSONValue(parsing: bytes)
            else { return bytes }
            return Self.edited(value, delivery, &progress).bytes
        case .raw(.text(let text)):
            progress.values.namespace = progress.namespace
            return Array(progress.values.fill(text).utf8)
        case .raw(.truncated(let spec, let percent)):
            let bytes = factory.body(spec, name: delivery.name).bytes
            return Array(bytes.prefix(bytes.count * percent / 100))
        }
    }

    private static func edited(
        _ body: JSONValue,
        _ delivery: Delivery,
        _ progress: inout Progress
    ) -> JSONValue {
        var body = body
        progress.values.namespace = progress.namespace
        let isFlat = delivery.provider == .purchasely
        for edit in delivery.edits {
            body.set(edit.pointer, to: edit.value.map { progress.values.fill($0) })
        }
        if delivery.paddingKilobytes > 0 {
            let text = String(repeating: "x", count: delivery.paddingKilobytes << 10)
            let place = (isFlat ? [] : ["event"]) + ["assay_padding"]
            body.set(JSONPointer(tokens: place), to: .string(text))
        }
        if delivery.nesting > 0 {
            let nested = (0..<delivery.nesting).reduce(JSONValue.null) { inner, _ in .array([inner])
            }
            let place = (isFlat ? [] : ["event"]) + ["assay_nesting"]
            body.set(JSONPointer(tokens: place), to: nested)
        }
        if delivery.shufflesKeys {
            var generator = SeededGenerator(seed: 0, text: progress.namespace.name + delivery.name)
            body = shuffled(body, &generator)
        }
        return body
    }

    private static func shuffled(
        _ value: JSONValue,
        _ generator: inout SeededGenerator
    ) -> JSONValue {
        switch value {
        case .object(let object):
            var members = object.members
            for index in members.indices {
                members[index].value = shuffled(members[index].value, &generator)
            }
            return .object(JSONObject(members: members.shuffled(using: &generator)))
        case .array(let elements):
            return .array(elements.map { shuffled($0, &generator) })
        case .null, .bool, .number, .string: return value
        }
    }
}
