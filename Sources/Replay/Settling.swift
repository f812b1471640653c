internal import Conformance
internal import FakeServers
internal import Providers

/// Waiting for evidence: a later event's effect, then a quiet journal.
extension RunExecutor {
    /// Delivers a harmless purchase of somebody else and waits until it has taken effect, so that
    /// what was delivered before has had its turn.
    func settle(_ progress: Progress, _ sight: RunRecord.Sight) async -> RunRecord.Settling {
        var isSeen = false
        if sight.seesEffects || sight.seesState {
            isSeen =
                await sentinel(
                    progress.namespace.name + "-s",
                    wait: max(.seconds(1), sight.latency * 20),
                    sight
                ) != nil
        }
        let quiet = await awaitQuiet(progress, sight)
        return isSeen ? .sentinel(quiet: quiet) : .window(quiet)
    }

    /// Waits until nothing of this run has happened for a while that the backend's own latency
    /// suggests; returns that while.
    @discardableResult
    func awaitQuiet(_ progress: Progress, _ sight: RunRecord.Sight?) async -> Duration {
        let latency = sight?.latency ?? .zero
        let isBlind = sight.map { !$0.seesEffects && !$0.seesState } ?? false
        let window = min(max(latency * 2, .milliseconds(isBlind ? 250 : 15)), .seconds(2))
        let clock = ContinuousClock()
        let deadline = clock.now + max(window * 20, .seconds(2))
        while clock.now < deadline, !Task.isCancelled {
            let last = world.journal.read {
                $0.lastActivity(in: progress.namespace.name, from: progress.firstSequence)
            }
            let rest = window - .microseconds(world.journal.elapsed - (last ?? 0))
            guard rest > .zero else { break }
            try? await clock.sleep(for: rest)
        }
        return window
    }

    /// Registers somebody, delivers a purchase and waits for what it leads to; nil when nothing of
    /// what is expected was seen in time.
    func sentinel(
        _ name: String,
        wait: Duration,
        _ expected: RunRecord.Sight
    ) async -> RunRecord.Sight? {
        let user = "sentinel"
        var progress = Progress(
            namespace: Namespace(name: name, idForm: profile.idForm),
            firstSequence: world.journal.read { $0.nextSequence },
            now: base
        )
        world.open(name, ids: [progress.namespace.id(of: user)], at: base)
        guard await register(user, &progress) == nil else { return nil }
        world.open(name, ids: [progress.namespace.id(of: user)], at: base)
        var before: [ObservedState] = []
        if expected.seesState {
            await probe([user], progress)
            before = states(user, progress)
        }
        let event = factory(progress.namespace).body(
            EventSpec(type: "INITIAL_PURCHASE", user: user),
            name: "sentinel"
        )
        world.apply(event, namespace: name)
        let request = sender.request(method: webhookMethod, body: event.bytes, at: world.now)
        let sequence = world.journal.begin(exchange(.revenueCat, .sentinel, request, progress))
        let clock = ContinuousClock()
        let start = clock.now
        let outcome = await backend.client.send(request, within: .seconds(60))
        world.journal.complete(sequence, outcome)
        guard case .answered(let response) = outcome, (200..<300).contains(response.status)
        else { return nil }
        var sight = RunRecord.Sight(seesEffects: false, seesState: false, latency: .zero)
        sight.readsSubscribers = world.journal.read {
            $0.exchanges(in: name, from: progress.firstSequence)
                .contains { $0.from == .backend && $0.to == .revenueCat }
        }
        var pause: Duration = .milliseconds(1)
        while true {
            if expected.seesEffects, !sight.seesEffects {
                sight.seesEffects = world.journal.read {
                    $0.exchanges(in: name, from: progress.firstSequence)
                        .contains { !$0.effects.isEmpty }
                }
            }
            if expected.seesState, !sight.seesState {
                await probe([user], progress)
                sight.seesState = states(user, progress) != before
            }
            sight.latency = clock.now - start
            let isComplete =
                sight.seesEffects == expected.seesEffects && sight.seesState == expected.seesState
            if isComplete || sight.latency > wait || Task.isCancelled {
                if expected.seesState { sight.places = places(progress) }
                return isComplete || sight.seesEffects || sight.seesState ? sight : nil
            }
            try? await clock.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(50))
        }
    }

    /// The places that the probes' answers had, before the purchase and after it.
    private func places(_ progress: Progress) -> [String: [JSONPointer]] {
        var places = Dictionary(
            uniqueKeysWithValues: Set(profile.probes.map(\.name)).map { ($0, Set<JSONPointer>()) }
        )
        let exchanges = world.journal.read {
            $0.exchanges(in: progress.namespace.name, from: progress.firstSequence)
        }
        for exchange in exchanges {
            guard case .probe(let probe, _) = exchange.purpose, exchange.completed != nil,
                case .document(let document) = ObservedState(exchange)
            else { continue }
            places[probe, default: []].formUnion(document.places)
        }
        return places.mapValues { $0.sorted { $0.description < $1.description } }
    }

    private func states(_ user: String, _ progress: Progress) -> [ObservedState] {
        let exchanges = world.journal.read {
            $0.exchanges(in: progress.namespace.name, from: progress.firstSequence)
        }
        return profile.probes.compactMap { probe in
            exchanges.last {
                if case .probe(probe.name, user) = $0.purpose { true } else { false }
            }.map(ObservedState.init)
        }
    }
}
