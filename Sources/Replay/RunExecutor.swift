package import Conformance
package import FakeServers
internal import Providers

/// Carries out one run in a namespace of its own and brings back what was seen.
package final class RunExecutor: Sendable {
    let backend: BackendUnderTest
    let world: FakeWorld
    let profile: Profile
    let sender: WebhookSender
    let webhookMethod: String
    /// The moment that relative times in contracts count from; the same for every run of a suite,
    /// so that a case and its twin carry equal dates.
    let base: Instant

    package init(backend: BackendUnderTest, world: FakeWorld, profile: Profile, base: Instant) {
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
        let began = world.now
        for step in plan.steps {
            await carryOut(step, plan, within: within, &progress)
            if progress.trouble != nil || Task.isCancelled { break }
        }
        func record(_ settling: RunRecord.Settling) -> RunRecord {
            let exchanges = world.journal.read {
                $0.exchanges(in: name, from: progress.firstSequence)
            }
            let isComplete = world.journal.read { $0.isComplete(since: progress.firstSequence) }
            return RunRecord(
                plan: plan,
                namespace: progress.namespace,
                base: base,
                began: began,
                ended: world.now,
                exchanges: exchanges,
                settling: settling,
                trouble: progress.trouble ?? (isComplete ? nil : .journalGap)
            )
        }
        guard plan.observes, progress.trouble == nil, !Task.isCancelled else {
            world.heal(namespace: name)
            return record(.notNeeded)
        }
        let settling = await settle(progress, sight)
        await probe(plan.users, progress)
        var result = record(settling)
        result = await wait(for: result, plan, progress, sight, verdict: verdict) {
            record(settling)
        }
        world.heal(namespace: name)
        return result
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
            case .provider, .restart: true
            case .deliver(let delivery): delivery.disturbedCount > 0
            case .register: false
            }
        }
        let short = min(profile.patience, max(.seconds(1), sight.latency * 20))
        let deadline = clock.now + (isDisturbed ? profile.patience : short)
        var result = first
        var pause: Duration = .milliseconds(5)
        func isOpen(_ record: RunRecord) -> Bool {
            verdict(record) == .mayImprove || Self.isTryingAgain(record)
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
            now: base
        )
        let factory = factory(progress.namespace)
        for delivery in plan.deliveries {
            guard case .event(let spec) = delivery.subject else { continue }
            progress.upcoming.append((spec.time, factory.body(spec, name: delivery.name)))
        }
        progress.upcoming.sort { $0.time < $1.time }
        introduce(plan.users, progress)
        return progress
    }

    private func introduce(_ users: [String], _ progress: Progress) {
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
        case .provider(let providerPlan):
            world.schedule(providerPlan, namespace: progress.namespace.name)
        case .deliver(let delivery):
            await deliver(delivery, within: within, &progress)
        case .restart(let restart):
            await self.restart(restart, &progress)
        }
    }

    private func restart(_ restart: Restart, _ progress: inout Progress) async {
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
        if case .repeats = delivery.subject {} else { progress.bodies[delivery.name] = body }
        if delivery.isTogether {
            await deliverTogether(delivery, body, within: within, &progress)
        } else if delivery.isAlongLadder {
            await deliverAlongLadder(delivery, body, within: within, &progress)
        } else {
            for _ in 0..<delivery.times {
                let outcome = await attempt(delivery, body, within: within, &progress)
                if await isGone(outcome, &progress) { return }
            }
        }
    }

    private func deliverAlongLadder(
        _ delivery: Delivery,
        _ body: [UInt8],
        within: Duration,
        _ progress: inout Progress
    ) async {
        let schedule = RetrySchedule.revenueCat
        for number in 1...schedule.attemptCountMax {
            guard let delay = schedule.delay(beforeAttempt: number) else { return }
            progress.now = progress.now + delay
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
            if await isGone(outcome, &progress) || Task.isCancelled { return }
            // Minutes lie between two attempts, so whatever the first began is over by then.
            if disturbance != .none { await awaitQuiet(progress, nil) }
        }
    }

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
        let snapshot = progress
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<delivery.times {
                group.addTask {
                    let request = self.request(delivery, body)
                    let sequence = self.world.journal.begin(
                        self.exchange(
                            .revenueCat,
                            .delivery(name: delivery.name, attempt: first + index),
                            request,
                            snapshot
                        )
                    )
                    let outcome = await self.backend.client.send(
                        request,
                        lane: index,
                        within: within
                    )
                    self.world.journal.complete(sequence, outcome)
                }
            }
        }
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
        let request = request(delivery, body)
        let sequence = world.journal.begin(
            exchange(
                .revenueCat,
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

    private func request(_ delivery: Delivery, _ body: [UInt8]) -> HTTPMessage.Request {
        sender.request(
            method: webhookMethod,
            body: body,
            at: world.now,
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

    private func body(of delivery: Delivery, _ progress: inout Progress) -> [UInt8] {
        let factory = factory(progress.namespace)
        switch delivery.subject {
        case .repeats(let name):
            let bytes = progress.bodies[name] ?? []
            guard !delivery.edits.isEmpty, let value = try? JSONValue(parsing: bytes)
            else { return bytes }
            return Self.edited(value, delivery, progress.namespace, base).bytes
        case .event(let spec):
            let body = factory.body(spec, name: delivery.name)
            while let next = progress.upcoming.first, next.time <= spec.time {
                world.apply(next.body, namespace: progress.namespace.name)
                progress.upcoming.removeFirst()
            }
            return Self.edited(body, delivery, progress.namespace, base).bytes
        case .body(let value):
            return Self.edited(value, delivery, progress.namespace, base).bytes
        case .raw(.text(let text)): return Array(text.utf8)
        case .raw(.truncated(let spec, let percent)):
            let bytes = factory.body(spec, name: delivery.name).bytes
            return Array(bytes.prefix(bytes.count * percent / 100))
        }
    }

    private static func edited(
        _ body: JSONValue,
        _ delivery: Delivery,
        _ namespace: Namespace,
        _ base: Instant
    ) -> JSONValue {
        var body = body
        for edit in delivery.edits {
            body.set(edit.pointer, to: edit.value.map { filled($0, namespace, base) })
        }
        if delivery.paddingKilobytes > 0 {
            let text = String(repeating: "x", count: delivery.paddingKilobytes << 10)
            body.set(JSONPointer(tokens: ["event", "assay_padding"]), to: .string(text))
        }
        if delivery.nesting > 0 {
            let nested = (0..<delivery.nesting).reduce(JSONValue.null) { inner, _ in .array([inner])
            }
            body.set(JSONPointer(tokens: ["event", "assay_nesting"]), to: nested)
        }
        return body.mapLeaves { filled($0, namespace, base) }
    }

    /// `{{user.ada}}` and `{{now+30d}}` in a body; other text stays as it is.
    private static func filled(
        _ value: JSONValue,
        _ namespace: Namespace,
        _ base: Instant
    ) -> JSONValue {
        guard case .string(let text) = value, text.hasPrefix("{{"), text.hasSuffix("}}")
        else { return value }
        let name = text.dropFirst(2).dropLast(2)
        if name.hasPrefix("user.") { return .string(namespace.id(of: String(name.dropFirst(5)))) }
        if name.hasPrefix("event-id.") {
            return .string(namespace.eventID(of: String(name.dropFirst(9))))
        }
        if name == "now" { return .integer(base.milliseconds) }
        if name.hasPrefix("now"), let offset = Duration(contractText: String(name.dropFirst(3))) {
            return .integer((base + offset).milliseconds)
        }
        return value
    }
}
