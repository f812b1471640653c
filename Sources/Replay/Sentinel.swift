internal import Conformance
internal import FakeServers
internal import Providers

/// Sends a purchase for a user in a separate namespace, which no case uses, and measures its
/// effects.
///
/// The sentinel shows which effects a purchase has and how fast they come. It also shows that the
/// backend has processed everything that was sent before.
struct Sentinel {
    let run: RunExecutor

    private static let user = "sentinel"
    /// The name of a user that is never registered, so that the probes show their response about an
    /// unknown user.
    private static let nobody = "nobody"

    private var world: FakeRegistry { run.world }

    /// Registers a user, delivers a purchase of that user, and waits for its effects.
    ///
    /// - Parameters:
    ///   - name: The namespace of the user.
    ///   - wait: The longest wait for the effects.
    ///   - expected: The kinds of effects to wait for.
    /// - Returns: The observed effects and their delay; nil when none of the expected effects came
    ///   in time.
    func observePurchase(
        _ name: String,
        wait: Duration,
        _ expected: RunRecord.Observability
    ) async -> RunRecord.Observability? {
        guard let execution = await executionWithUser(name) else { return nil }
        var sight = RunRecord.Observability(seesEffects: false, seesState: false, latency: .zero)
        var before: [ObservedState] = []
        if expected.seesState {
            let nobody = await states(execution, of: Self.nobody)
            before = await states(execution, of: Self.user)
            compareUnknownUser(nobody, before, execution.namespace, into: &sight)
        }
        let start = run.clock.now
        guard await purchase(execution) else { return nil }
        sight.readsSubscribers = exchanges(execution, by: .backend).contains {
            $0.to == .revenueCat
        }
        let settleTimeout = run.settleTimeout(wait)
        var pause: Duration = .milliseconds(1)
        while true {
            if expected.seesEffects, !sight.seesEffects {
                sight.seesEffects = exchanges(execution, by: .backend).contains {
                    !$0.effects.isEmpty
                }
            }
            if expected.seesState, !sight.seesState {
                sight.seesState = await states(execution, of: Self.user) != before
            }
            sight.latency = run.clock.now - start
            if sight.worksLater == nil {
                let isLate = expected.seesState ? !sight.seesState : !sight.seesEffects
                sight.worksLater = isLate
                // A backend that has no state to observe may send its pushes after the response, as
                // any backend may.
                if isLate, expected.seesState { run.recordLateEffect() }
            }
            let isComplete =
                sight.seesEffects == expected.seesEffects && sight.seesState == expected.seesState
            if isComplete || settleTimeout.isOver || Task.isCancelled {
                if expected.seesState { sight.places = places(execution) }
                return isComplete || sight.seesEffects || sight.seesState ? sight : nil
            }
            await settleTimeout.pause(pause)
            pause = min(pause * 2, .milliseconds(50))
        }
    }

    /// Returns the JSON paths in the responses of each probe, before and after the purchase.
    private func places(_ execution: CaseExecution) -> [String: [JSONPointer]] {
        var places = Dictionary(
            uniqueKeysWithValues: Set(run.profile.probes.map(\.name)).map {
                ($0, Set<JSONPointer>())
            }
        )
        for exchange in exchanges(execution, by: .assay) {
            guard case .probe(let probe, _) = exchange.purpose, exchange.completed != nil,
                case .document(let document) = ObservedState(exchange)
            else { continue }
            places[probe, default: []].formUnion(document.places)
        }
        return places.mapValues { $0.sorted { $0.description < $1.description } }
    }

    private func executionWithUser(_ name: String) async -> CaseExecution? {
        var execution = run.runWithoutSteps(name)
        world.open(name, ids: [execution.namespace.id(of: Self.user)], at: run.base)
        guard await execution.register(Self.user) == nil else { return nil }
        world.open(name, ids: [execution.namespace.id(of: Self.user)], at: run.base)
        return execution
    }

    /// Sends the purchase, and returns whether the backend accepted it.
    private func purchase(_ execution: CaseExecution) async -> Bool {
        let event = run.factory(execution.namespace).body(
            EventSpec(type: "INITIAL_PURCHASE", user: Self.user),
            name: "sentinel"
        )
        world.apply(event, namespace: execution.namespace.name)
        let request = run.sender.request(
            method: run.webhookMethod,
            body: event.bytes,
            at: run.backendNow
        )
        let sequence = world.journal.begin(
            execution.exchange(.revenueCat, .sentinel, request)
        )
        let outcome = await run.backend.client.send(request, within: .seconds(60))
        world.journal.complete(sequence, outcome)
        guard case .answered(let response) = outcome else { return false }
        return (200..<300).contains(response.status)
    }

    private func exchanges(
        _ execution: CaseExecution,
        by party: Exchange.Party
    ) -> [Exchange] {
        world.journal.read {
            $0.exchanges(in: execution.namespace.name, from: execution.firstSequence, by: party)
        }
    }

    /// Compares each probe's response about an unknown user with its response about a registered
    /// user.
    ///
    /// Stores the response about the unknown user, and whether the two responses differ.
    private func compareUnknownUser(
        _ nobody: [ObservedState],
        _ somebody: [ObservedState],
        _ namespace: Namespace,
        into sight: inout RunRecord.Observability
    ) {
        var documents: [String: JSONValue] = [:]
        var (cannotTell, showsPeople): ([String], [String]) = ([], [])
        let probes = run.profile.probes.map(\.name)
        guard nobody.count == probes.count, somebody.count == probes.count else { return }
        for (index, probe) in probes.enumerated() {
            if case .document = somebody[index], case .missing = nobody[index] {
                showsPeople.append(probe)
            }
            guard case .document(let document) = nobody[index] else { continue }
            let absent = document.leavingOut(id: namespace.id(of: Self.nobody))
            documents[probe] = absent
            guard case .document(let present) = somebody[index] else { continue }
            if present.leavingOut(id: namespace.id(of: Self.user)) == absent {
                cannotTell.append(probe)
            } else {
                showsPeople.append(probe)
            }
        }
        sight.nobody = documents
        sight.cannotTell = cannotTell
        sight.showsPeople = showsPeople
    }

    private func states(_ execution: CaseExecution, of user: String) async -> [ObservedState] {
        let first = world.journal.read { $0.nextSequence }
        await execution.probe([user])
        let exchanges = world.journal.read {
            $0.exchanges(in: execution.namespace.name, from: first, by: .assay)
        }
        return run.profile.probes.compactMap { probe in
            exchanges.last {
                if case .probe(probe.name, user) = $0.purpose { true } else { false }
            }.map(ObservedState.init)
        }
    }
}
