internal import Conformance
internal import FakeServers
internal import Providers

/// A harmless purchase of somebody who plays no part, to see what it leads to and how fast.
struct Sentinel {
    let run: RunExecutor

    private static let user = "sentinel"

    private var world: FakeWorld { run.world }

    /// Registers somebody, delivers a purchase and waits for what it leads to; nil when nothing of
    /// what is expected was seen in time.
    func see(
        _ name: String,
        wait: Duration,
        _ expected: RunRecord.Sight
    ) async -> RunRecord.Sight? {
        guard let progress = await registered(name) else { return nil }
        var before: [ObservedState] = []
        if expected.seesState { before = await states(progress) }
        let start = run.clock.now
        guard await purchase(progress) else { return nil }
        var sight = RunRecord.Sight(seesEffects: false, seesState: false, latency: .zero)
        sight.readsSubscribers = exchanges(progress, by: .backend).contains { $0.to == .revenueCat }
        let patience = run.patience(wait)
        var pause: Duration = .milliseconds(1)
        while true {
            if expected.seesEffects, !sight.seesEffects {
                sight.seesEffects = exchanges(progress, by: .backend).contains {
                    !$0.effects.isEmpty
                }
            }
            if expected.seesState, !sight.seesState {
                sight.seesState = await states(progress) != before
            }
            sight.latency = run.clock.now - start
            let isComplete =
                sight.seesEffects == expected.seesEffects && sight.seesState == expected.seesState
            if isComplete || patience.isOver || Task.isCancelled {
                if expected.seesState { sight.places = places(progress) }
                return isComplete || sight.seesEffects || sight.seesState ? sight : nil
            }
            await patience.pause(pause)
            pause = min(pause * 2, .milliseconds(50))
        }
    }

    /// The places that the probes' answers had, before the purchase and after it.
    private func places(_ progress: RunExecutor.Progress) -> [String: [JSONPointer]] {
        var places = Dictionary(
            uniqueKeysWithValues: Set(run.profile.probes.map(\.name)).map {
                ($0, Set<JSONPointer>())
            }
        )
        for exchange in exchanges(progress, by: .assay) {
            guard case .probe(let probe, _) = exchange.purpose, exchange.completed != nil,
                case .document(let document) = ObservedState(exchange)
            else { continue }
            places[probe, default: []].formUnion(document.places)
        }
        return places.mapValues { $0.sorted { $0.description < $1.description } }
    }

    private func registered(_ name: String) async -> RunExecutor.Progress? {
        var progress = run.blank(name)
        world.open(name, ids: [progress.namespace.id(of: Self.user)], at: run.base)
        guard await run.register(Self.user, &progress) == nil else { return nil }
        world.open(name, ids: [progress.namespace.id(of: Self.user)], at: run.base)
        return progress
    }

    /// Whether the backend took the event.
    private func purchase(_ progress: RunExecutor.Progress) async -> Bool {
        let event = run.factory(progress.namespace).body(
            EventSpec(type: "INITIAL_PURCHASE", user: Self.user),
            name: "sentinel"
        )
        world.apply(event, namespace: progress.namespace.name)
        let request = run.sender.request(
            method: run.webhookMethod,
            body: event.bytes,
            at: world.now
        )
        let sequence = world.journal.begin(
            run.exchange(.revenueCat, .sentinel, request, progress)
        )
        let outcome = await run.backend.client.send(request, within: .seconds(60))
        world.journal.complete(sequence, outcome)
        guard case .answered(let response) = outcome else { return false }
        return (200..<300).contains(response.status)
    }

    private func exchanges(
        _ progress: RunExecutor.Progress,
        by party: Exchange.Party
    ) -> [Exchange] {
        world.journal.read {
            $0.exchanges(in: progress.namespace.name, from: progress.firstSequence, by: party)
        }
    }

    private func states(_ progress: RunExecutor.Progress) async -> [ObservedState] {
        let first = world.journal.read { $0.nextSequence }
        await Observation(run: run).probe([Self.user], progress)
        let exchanges = world.journal.read {
            $0.exchanges(in: progress.namespace.name, from: first, by: .assay)
        }
        return run.profile.probes.compactMap { probe in
            exchanges.last {
                if case .probe(probe.name, Self.user) = $0.purpose { true } else { false }
            }.map(ObservedState.init)
        }
    }
}
