internal import Contracts
internal import FakeServers
internal import Judging
internal import Providers
internal import Values

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
    private static let unknownUserName = "nobody"

    /// Returns whether a line of the backend's output is about a sentinel, and not about a case.
    static func isNamed(in line: String) -> Bool {
        [user, unknownUserName].contains { line.contains("-s-\($0)") }
    }

    private var fakes: FakeRegistry { run.fakes }

    /// Registers a user, delivers a purchase of that user, and waits for its effects.
    ///
    /// - Parameters:
    ///   - name: The namespace of the user.
    ///   - wait: The longest wait for the effects.
    ///   - expectedObservability: The kinds of effects to wait for.
    ///   - comparesUnknownUser: Whether each probe is also read for a user that is never registered.
    ///     Such a read costs the backend a login, which is slow with a good password hash.
    ///   - remembersMissingEffects: Whether a purchase without effects is rechecked after all
    ///     cases.
    /// - Returns: The observed effects and their delay; nil when none of the expected effects came
    ///   in time.
    func observePurchase(
        _ name: String,
        wait: Duration,
        _ expectedObservability: RunRecord.Observability,
        comparesUnknownUser: Bool = false,
        remembersMissingEffects: Bool = false
    ) async -> RunRecord.Observability? {
        guard let execution = await executionWithUser(name) else { return nil }
        var observability = RunRecord.Observability(
            arePushesObservable: false,
            areProbeChangesObservable: false,
            latency: .zero
        )
        var statesBeforePurchase: [ObservedState] = []
        if expectedObservability.areProbeChangesObservable {
            let unknownUserStates =
                comparesUnknownUser ? await states(execution, of: Self.unknownUserName) : []
            statesBeforePurchase = await states(execution, of: Self.user)
            compareUnknownUser(
                unknownUserStates,
                statesBeforePurchase,
                execution.namespace,
                into: &observability
            )
        }
        let start = run.clock.now
        guard await sendPurchase(execution) else { return nil }
        observability.readsSubscribersOverREST = exchanges(execution, by: .backend).contains {
            $0.to == run.purchaseWebhook.party
        }
        let settleTimeout = run.settleTimeout(wait)
        var pause: Duration = .milliseconds(1)
        while true {
            await observeEffects(
                execution,
                statesBeforePurchase,
                expectedObservability,
                since: start,
                into: &observability
            )
            if observability.appliesEventsLater == nil {
                observability.appliesEventsLater = isLate(observability, expectedObservability)
            }
            let isComplete = observability.showsSameEffects(as: expectedObservability)
            if isComplete || settleTimeout.isOver || Task.isCancelled {
                if expectedObservability.areProbeChangesObservable {
                    observability.valuePaths = valuePaths(execution)
                }
                if isComplete || !observability.showsNoPurchase { return observability }
                if remembersMissingEffects, !settleTimeout.isCutShort, !Task.isCancelled {
                    recheckLater(execution, statesBeforePurchase, expectedObservability, wait)
                }
                return nil
            }
            await settleTimeout.pause(pause)
            pause = min(pause * 2, .milliseconds(50))
        }
    }

    /// Looks for the expected effects that were not observed before, and measures their delay.
    ///
    /// A push that does not come says nothing about the speed of the backend. A state that does not
    /// change may still change later.
    private func observeEffects(
        _ execution: CaseExecution,
        _ statesBeforePurchase: [ObservedState],
        _ expectedObservability: RunRecord.Observability,
        since start: Duration,
        into observability: inout RunRecord.Observability
    ) async {
        let earlierEffectCount = observability.shownEffectCount
        if expectedObservability.arePushesObservable, !observability.arePushesObservable {
            observability.arePushesObservable = await showsMessage(execution)
        }
        if expectedObservability.areProbeChangesObservable,
            !observability.areProbeChangesObservable
        {
            observability.areProbeChangesObservable =
                await states(execution, of: Self.user) != statesBeforePurchase
        }
        let isStateMissing =
            expectedObservability.areProbeChangesObservable
            && !observability.areProbeChangesObservable
        if observability.shownEffectCount > earlierEffectCount || isStateMissing {
            observability.latency = run.clock.now - start
        }
    }

    /// Remembers a purchase without an effect, so that it is checked again after all cases.
    private func recheckLater(
        _ execution: CaseExecution,
        _ statesBeforePurchase: [ObservedState],
        _ expectedObservability: RunRecord.Observability,
        _ waitTime: Duration
    ) {
        run.unprocessedPurchases.add(
            .init(
                execution: execution,
                statesBeforePurchase: statesBeforePurchase,
                expectedObservability: expectedObservability,
                waitTime: waitTime
            ),
            at: run.heartbeat.usableTime
        )
    }

    /// Returns whether a purchase has had an effect by now.
    func hasEffect(_ purchase: UnprocessedPurchases.Purchase) async -> Bool {
        if purchase.expectedObservability.arePushesObservable,
            await showsMessage(purchase.execution)
        {
            return true
        }
        guard purchase.expectedObservability.areProbeChangesObservable else { return false }
        return await states(purchase.execution, of: Self.user) != purchase.statesBeforePurchase
    }

    /// Returns whether the backend sent a push, or an effect source lists a message.
    private func showsMessage(_ execution: CaseExecution) async -> Bool {
        if run.profile.effectSources.isEmpty {
            return exchanges(execution, by: .backend).contains { !$0.effects.isEmpty }
        }
        await execution.requests.probe([Self.user])
        return exchanges(execution, by: .assay).contains { !$0.effects.isEmpty }
    }

    /// Returns whether the effects of the purchase come after the response to the event.
    private func isLate(
        _ observability: RunRecord.Observability,
        _ expectedObservability: RunRecord.Observability
    ) -> Bool {
        let isLate =
            expectedObservability.areProbeChangesObservable
            ? !observability.areProbeChangesObservable : !observability.arePushesObservable
        // Only a late change of the user's state shows that the backend processes events in a
        // queue. Late pushes alone do not show it, because any backend may send pushes after its
        // response.
        if isLate, expectedObservability.areProbeChangesObservable { run.recordLateEffect() }
        return isLate
    }

    /// Returns the JSON paths in the responses of each probe, before and after the purchase.
    ///
    /// A mapped path that selects an element of a list is one of them if it led to a value.
    private func valuePaths(_ execution: CaseExecution) -> [String: [JSONPointer]] {
        var valuePaths = Dictionary(
            uniqueKeysWithValues: Set(run.profile.probes.map(\.name)).map {
                ($0, Set<JSONPointer>())
            }
        )
        for exchange in exchanges(execution, by: .assay) {
            guard case .probe(let probe, _) = exchange.purpose, exchange.completed != nil,
                case .document(let document) = ObservedState(exchange)
            else { continue }
            valuePaths[probe, default: []].formUnion(document.valuePaths)
            let readings = run.profile.probes.first { $0.name == probe }?.readings ?? [:]
            let mappedPaths = readings.values.flatMap(\.conditions).map(\.pointer)
            valuePaths[probe, default: []].formUnion(mappedPaths.filter { document[$0] != nil })
        }
        return valuePaths.mapValues { $0.sorted { $0.description < $1.description } }
    }

    private func executionWithUser(_ name: String) async -> CaseExecution? {
        var execution = run.runWithoutSteps(name)
        // The fakes know the accounts of both users, as in a case. Only the backend does not know the
        // user that is never registered.
        let ids = [Self.user, Self.unknownUserName].map(execution.namespace.id(of:))
        fakes.open(name, ids: ids, at: run.base)
        guard await execution.register(Self.user) == nil else { return nil }
        fakes.open(name, ids: ids, at: run.base)
        return execution
    }

    /// Sends the purchase, and returns whether the backend accepted it.
    private func sendPurchase(_ execution: CaseExecution) async -> Bool {
        let webhook = run.purchaseWebhook
        let event = webhook.sender.purchaseEvent(
            of: Self.user,
            name: "sentinel",
            in: run.eventContext(execution.namespace)
        )
        fakes.apply(event, of: webhook.party, namespace: execution.namespace.name)
        let request = webhook.request(event.bytes, at: run.backendNow)
        let sequence = fakes.journal.begin(
            execution.requests.exchange(webhook.party, .sentinel, request)
        )
        let outcome = await run.backend.client.send(request, within: .seconds(60))
        fakes.journal.complete(sequence, outcome)
        guard case .answered(let response) = outcome else { return false }
        return (200..<300).contains(response.status)
    }

    private func exchanges(
        _ execution: CaseExecution,
        by party: Exchange.Party
    ) -> [Exchange] {
        fakes.journal.read {
            $0.exchanges(in: execution.namespace.name, from: execution.firstSequence, by: party)
        }
    }

    /// Compares each probe's response about an unknown user with its response about a registered
    /// user.
    ///
    /// Stores the response about the unknown user, and whether the two responses differ.
    private func compareUnknownUser(
        _ unknownUserStates: [ObservedState],
        _ knownUserStates: [ObservedState],
        _ namespace: Namespace,
        into observability: inout RunRecord.Observability
    ) {
        var documents: [String: JSONValue] = [:]
        var (probesNotShowingExistence, probesShowingExistence): ([String], [String]) = ([], [])
        let probes = run.profile.probes.map(\.name)
        guard unknownUserStates.count == probes.count, knownUserStates.count == probes.count else {
            return
        }
        for (index, probe) in probes.enumerated() {
            if case .document = knownUserStates[index], case .missing = unknownUserStates[index] {
                probesShowingExistence.append(probe)
            }
            guard case .document(let document) = unknownUserStates[index] else { continue }
            let unknownUserDocument = document.leavingOut(
                id: namespace.id(of: Self.unknownUserName)
            )
            documents[probe] = unknownUserDocument
            guard case .document(let present) = knownUserStates[index] else { continue }
            if present.leavingOut(id: namespace.id(of: Self.user)) == unknownUserDocument {
                probesNotShowingExistence.append(probe)
            } else {
                probesShowingExistence.append(probe)
            }
        }
        observability.unknownUserDocuments = documents
        observability.probesNotShowingExistence = probesNotShowingExistence
        observability.probesShowingExistence = probesShowingExistence
    }

    private func states(_ execution: CaseExecution, of user: String) async -> [ObservedState] {
        let first = fakes.journal.read { $0.nextSequence }
        await execution.requests.probe([user])
        let exchanges = fakes.journal.read {
            $0.exchanges(in: execution.namespace.name, from: first, by: .assay)
        }
        return run.profile.probes.compactMap { probe in
            exchanges.last {
                if case .probe(probe.name, user) = $0.purpose { true } else { false }
            }.map(ObservedState.init)
        }
    }
}

extension RunRecord.Observability {
    /// The number of the kinds of effects that were observed.
    fileprivate var shownEffectCount: Int {
        (arePushesObservable ? 1 : 0) + (areProbeChangesObservable ? 1 : 0)
    }

    /// Returns whether the same kinds of effects are observable.
    fileprivate func showsSameEffects(as other: RunRecord.Observability) -> Bool {
        arePushesObservable == other.arePushesObservable
            && areProbeChangesObservable == other.areProbeChangesObservable
    }
}
