internal import Contracts
package import Providers
package import Redaction
internal import Synchronization
package import Values

/// The state of all fakes of one process: one journal, and separate data of the services for each
/// namespace.
///
/// A namespace isolates the users of one run from all others. A call belongs to the namespace that
/// its `x-assay-namespace` header names. Without this header it belongs to the namespace of a user
/// ID in the call, or to the default namespace, which has an empty name.
package final class FakeRegistry: Sendable {
    private struct State {
        var servicesByNamespace: [String: Services]
        var ids = NamespaceIDs()
        /// The virtual time of each run in progress, by namespace; used only for timestamps in the
        /// journal.
        var virtualTimeByNamespace: [String: Instant] = [:]
        var snapshots: [String: Services] = [:]
    }

    /// A wrapper of the closure that is called after a change.
    ///
    /// Without this wrapper, the generic lock would wrap the closure once more at every access, so
    /// that each call would be slower than the one before.
    private struct ChangeListener: Sendable {
        var action: @Sendable () -> Void = {}
    }

    package let journal: LiveJournal
    /// The resources of this machine that ran out while the fakes were served.
    package let shortages = ResourceShortages()
    private let state: Locked<State>
    /// Calls to fakes that get no response because of a planned fault and wait for the end of their
    /// run, by namespace.
    private let heldCalls = Locked(HeldCalls())
    /// Whether user IDs were assigned to any namespace.
    ///
    /// If none were assigned, requests need not be searched for user IDs.
    private let hasAssignedIDs = Atomic<Bool>(false)
    private let wallClock: @Sendable () -> Instant
    /// The API key that callers of each fake provider must send.
    private let keys: [Exchange.Party: Secret]
    private let seed: UInt64
    /// The project of apps and backends that send only an API key; nil: the default of the fake.
    private let tokenProject: String?
    /// The providers that the fakes simulate.
    package let providers: ProviderTable
    /// The action to run after a change that may have made a webhook delivery due.
    private let changeListener = Locked(ChangeListener())

    /// Creates the fakes, with an empty default namespace.
    ///
    /// - Parameters:
    ///   - journalBytesMax: The maximum size of the journal, in bytes.
    ///   - keys: The API key that callers of each fake provider must send. A provider without a key
    ///     accepts every caller.
    ///   - seed: The seed of all generated IDs.
    ///   - tokenProject: The project, in every namespace, of callers that send only an API key; nil
    ///     for the default of the fake that issues tokens.
    ///   - providers: The providers to simulate.
    ///   - time: Returns the time since any fixed moment; nil uses the clock of this machine.
    ///   - wallClock: Returns the real time.
    package init(
        journalBytesMax: Int,
        keys: [Exchange.Party: Secret] = [:],
        seed: UInt64 = 0,
        tokenProject: String? = nil,
        providers: ProviderTable = .all,
        time: (@Sendable () -> Duration)? = nil,
        wallClock: @escaping @Sendable () -> Instant
    ) {
        journal = LiveJournal(bytesMax: journalBytesMax, time: time)
        self.keys = keys
        self.seed = seed
        self.tokenProject = tokenProject
        self.providers = providers
        self.wallClock = wallClock
        var services = Services(seed: seed, keys: keys, providerTable: providers)
        if let tokenProject { providers.tokenIssuer?.setProject(tokenProject, &services) }
        state = Locked(State(servicesByNamespace: ["": services]))
    }

    /// The current real time.
    package var now: Instant { wallClock() }

    package func setChangeListener(_ action: @escaping @Sendable () -> Void) {
        changeListener.withLock { $0 = ChangeListener(action: action) }
    }

    // MARK: Namespaces

    package var namespaces: [String] { state.withLock { $0.servicesByNamespace.keys.sorted() } }

    private func makeServices(_ namespace: String) -> Services {
        var generator = SeededGenerator(seed: seed, text: namespace)
        var services = Services(seed: generator.next(), keys: keys, providerTable: providers)
        if let tokenProject { providers.tokenIssuer?.setProject(tokenProject, &services) }
        return services
    }

    /// Assigns user IDs to a namespace, and creates the namespace if it does not exist.
    package func assignUserIDs(_ ids: [String], namespace: String) {
        let newServices = makeServices(namespace)
        state.withLock { state in
            if state.servicesByNamespace[namespace] == nil {
                state.servicesByNamespace[namespace] = newServices
            }
            for id in ids { state.ids.assign(id, to: namespace) }
        }
        if !ids.isEmpty { hasAssignedIDs.store(true, ordering: .relaxed) }
    }

    package func ids(of namespace: String) -> [String] {
        state.withLock { $0.ids.ids(of: namespace) }
    }

    /// Resets the data of a namespace.
    ///
    /// The user IDs, webhooks and switches of the namespace stay.
    package func reset(_ namespace: String) {
        var newServices = makeServices(namespace)
        state.withLock { state in
            guard let oldServices = state.servicesByNamespace[namespace] else { return }
            newServices.copyConfiguration(from: oldServices)
            state.servicesByNamespace[namespace] = newServices
        }
    }

    /// Removes a namespace and its user IDs; the default namespace is reset instead.
    package func remove(_ namespace: String) {
        guard !namespace.isEmpty else { return reset("") }
        state.withLock { state in
            state.servicesByNamespace[namespace] = nil
            state.virtualTimeByNamespace[namespace] = nil
            state.ids.removeIDs(namespace)
        }
    }

    /// Removes the namespace of a run whose result is no longer needed.
    ///
    /// The user IDs of the run stay known. A late call of the backend about one of these users is
    /// listed in the journal under `retiredNamespace`. So it is never taken for a call about an
    /// unknown user.
    package func retire(_ namespace: String) {
        release(namespace)
        state.withLock { state in
            state.servicesByNamespace[namespace] = nil
            state.virtualTimeByNamespace[namespace] = nil
            state.ids.retire(namespace)
        }
    }

    /// The namespace under which the journal lists late calls about users of runs that were
    /// removed.
    ///
    /// No run uses this name.
    package static let retiredNamespace = "(retired)"

    // MARK: Snapshots

    /// Saves a copy of the data of a namespace under a name.
    package func snapshot(_ namespace: String, as name: String) {
        state.withLock { $0.snapshots[name] = $0.servicesByNamespace[namespace] }
    }

    package var snapshots: [String] { state.withLock { $0.snapshots.keys.sorted() } }

    /// Restores the data of a namespace from a snapshot, even from one of another namespace.
    ///
    /// - Returns: Whether a snapshot with that name exists.
    package func restore(_ name: String, into namespace: String) -> Bool {
        let snapshotExists = state.withLock { state in
            guard let snapshotServices = state.snapshots[name] else { return false }
            state.servicesByNamespace[namespace] = snapshotServices
            return true
        }
        notifyChangeListener()
        return snapshotExists
    }

    // MARK: Runs

    /// Creates the namespace of a run with its user IDs and its virtual time.
    package func open(_ namespace: String, ids: [String], at now: Instant) {
        assignUserIDs(ids, namespace: namespace)
        setClock(of: namespace, to: now)
    }

    package func setClock(of namespace: String, to now: Instant) {
        state.withLock { $0.virtualTimeByNamespace[namespace] = now }
    }

    package func clock(of namespace: String) -> Instant {
        let wallTime = wallClock()
        return state.withLock {
            $0.virtualTimeByNamespace[namespace] ?? $0.servicesByNamespace[namespace]?.clock.now(
                at: wallTime
            )
                ?? wallTime
        }
    }

    /// Applies an event of a contract to the fake of its sender in the namespace of a run, so that
    /// the fake's API returns the state that the event reports.
    ///
    /// The user IDs in the event are assigned to the namespace of the run. Nothing happens when the
    /// sender's fake does not follow events.
    package func apply(_ event: JSONValue, of party: Exchange.Party, namespace: String) {
        guard let fake = providers[party]?.eventDrivenFake else { return }
        assignUserIDs(fake.userIDs(in: event), namespace: namespace)
        state.withLock { state in
            state.servicesByNamespace[namespace]?.apply(event, to: fake)
            if !namespace.isEmpty {
                state.servicesByNamespace[""]?.recordResources(of: event, in: fake)
            }
        }
    }

    package func schedule(_ plan: ProviderPlan, namespace: String) {
        state.withLock { $0.servicesByNamespace[namespace]?.plans[plan.provider] = plan }
    }

    /// Ends the planned faults of the fakes in a run, except refusals that are meant to be
    /// permanent.
    ///
    /// A backend that retries a permanently refused call, as clause O-04 allows, is refused again.
    package func settle(namespace: String) {
        state.withLock { state in
            let plans = state.servicesByNamespace[namespace]?.plans ?? [:]
            state.servicesByNamespace[namespace]?.plans = plans.filter(
                \.value.endsWithPermanentRefusal
            )
        }
        release(namespace)
    }

    /// Ends all planned faults of the fakes in a namespace.
    ///
    /// Calls that wait without a response keep waiting until `release`.
    package func endFaults(namespace: String) {
        state.withLock { $0.servicesByNamespace[namespace]?.plans = [:] }
    }

    // MARK: Calls without a response

    /// Waits until `release` ends the calls of a namespace that get no response because of a
    /// planned fault.
    ///
    /// The caller of this function then resets the connection, so that the backend retries while
    /// the users of the run still exist. Cancellation also ends the wait.
    func waitUntilReleased(_ namespace: String) async {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        let number = heldCalls.withLock { $0.add(continuation, to: namespace) }
        continuation.onTermination = { [heldCalls] _ in
            heldCalls.withLock { $0.remove(number, of: namespace) }
        }
        for await _ in stream {}
    }

    /// Returns whether any call in a namespace waits without a response because of a planned fault.
    package func hasHeldCalls(_ namespace: String) -> Bool {
        heldCalls.withLock { $0.hasHeldCalls(namespace) }
    }

    /// Resets the connection of every call in a namespace that waits without a response because of
    /// a planned fault.
    package func release(_ namespace: String) {
        for continuation in heldCalls.withLock({ $0.take(namespace) }) { continuation.finish() }
    }

    // MARK: State

    package func read<Result: Sendable>(
        _ namespace: String,
        _ body: (Services, Instant) throws -> Result
    ) rethrows -> Result? {
        let wallTime = wallClock()
        return try state.withLock { state in
            try state.servicesByNamespace[namespace].map {
                try body($0, $0.clock.now(at: wallTime))
            }
        }
    }

    /// Changes the data of a namespace and carries out the consequences, such as new webhook
    /// deliveries; returns nil when the namespace does not exist.
    ///
    /// Unless `notifies` is false, the webhook dispatcher is notified, because a delivery may have
    /// become due.
    @discardableResult
    package func edit<Result: Sendable>(
        _ namespace: String,
        notifies: Bool = true,
        _ body: (inout Services, Instant) throws -> Result
    ) rethrows -> Result? {
        let wallTime = wallClock()
        var internalCalls: [Services.InternalCall] = []
        let result: Result? = try state.withLock { state in
            guard var services = state.servicesByNamespace.removeValue(forKey: namespace) else {
                return nil
            }
            defer { state.servicesByNamespace[namespace] = services }
            let result = try body(&services, services.clock.now(at: wallTime))
            internalCalls = services.settle(at: services.clock.now(at: wallTime))
            return result
        }
        for call in internalCalls { write(call, namespace) }
        if notifies { notifyChangeListener() }
        return result
    }

    /// Removes and returns the webhook deliveries that are due on the clock of a namespace, so that
    /// no other caller gets them.
    package func takeDueDeliveries(_ namespace: String) -> [WebhookDelivery] {
        let wallTime = wallClock()
        return state.withLock { state in
            guard let now = state.servicesByNamespace[namespace]?.clock.now(at: wallTime) else {
                return []
            }
            return state.servicesByNamespace[namespace]?.queue.take(by: now) ?? []
        }
    }

    private func notifyChangeListener() { changeListener.withLock { $0 }.action() }

    /// Writes a call between two fakes to the journal.
    private func write(_ call: Services.InternalCall, _ namespace: String) {
        let sequence = journal.begin(
            Exchange(
                from: call.from,
                to: call.to,
                namespace: namespace,
                purpose: .call,
                at: clock(of: namespace),
                request: call.request
            )
        )
        journal.complete(sequence, .answered(call.reply.response), effects: call.reply.effects)
    }

    // MARK: Requests

    /// Returns the response of a fake provider to a request.
    ///
    /// In a run the fakes use real time, because the backend also uses real time.
    func respond(
        _ party: Exchange.Party,
        to request: HTTPMessage.Request,
        in namespace: String? = nil
    ) -> Reply {
        let wallTime = wallClock()
        let isFromNetwork = namespace == nil
        let requestedNamespace = namespace ?? request[field: "x-assay-namespace"]
        let hasAssignedIDs = hasAssignedIDs.load(ordering: .relaxed)
        let idCandidates = hasAssignedIDs ? Self.idCandidates(request) : []
        var internalCalls: [Services.InternalCall] = []
        var mayHaveChangedState = false
        let reply = state.withLock { state in
            let found = idCandidates.isEmpty ? nil : state.ids.owningNamespace(among: idCandidates)
            let namespace =
                requestedNamespace.flatMap { state.servicesByNamespace[$0] == nil ? nil : $0 }
                ?? found ?? ""
            let isOfRetiredRun = namespace.isEmpty && state.ids.containsRetiredID(idCandidates)
            // The services are removed and inserted again, so that they are changed in place
            // without a copy.
            guard var services = state.servicesByNamespace.removeValue(forKey: namespace) else {
                return Reply(HTTPMessage.Response(404), .inferred, of: party.description)
            }
            defer { state.servicesByNamespace[namespace] = services }
            let now = services.clock.now(at: wallTime)
            // A call of an app in this process does not come from a web page.
            let refusal =
                isFromNetwork ? services.refusalOfForeignPage(party, request) : nil
            var reply = refusal ?? services.respond(party, to: request, at: now)
            if providers[party]?.affectsOtherFakes == true {
                internalCalls = services.settle(at: now)
                mayHaveChangedState = request.method != "GET"
            }
            reply.namespace = isOfRetiredRun ? Self.retiredNamespace : namespace
            reply.at = state.virtualTimeByNamespace[namespace] ?? now
            return reply
        }
        for call in internalCalls { write(call, reply.namespace) }
        if mayHaveChangedState { notifyChangeListener() }
        return reply
    }

    /// Makes a call of an app in this process to a fake, and writes the call to the journal.
    ///
    /// - Parameters:
    ///   - party: The provider to call.
    ///   - request: The request of the app.
    ///   - namespace: The namespace of the run.
    /// - Returns: The response of the fake.
    package func call(
        _ party: Exchange.Party,
        _ request: HTTPMessage.Request,
        namespace: String
    ) -> HTTPMessage.Response {
        let invoked = journal.elapsedMicroseconds
        var request = request
        request.readBody()
        let reply = respond(party, to: request, in: namespace)
        var exchange = Exchange(
            from: .app,
            to: party,
            namespace: namespace,
            purpose: .call,
            at: reply.at,
            request: request
        )
        exchange.outcome = .answered(reply.response)
        exchange.effects = reply.effects
        journal.write(exchange, invoked: invoked)
        return reply.response
    }

    /// Returns the strings in a request that may be user IDs: path segments, query values, the
    /// credential, the strings in the body, and the claims of the tokens among them.
    private static func idCandidates(_ request: HTTPMessage.Request) -> [String] {
        var found = request.pathSegments ?? []
        found += request.query.map(\.value)
        if let credential = request.authorization?.credential { found.append(credential) }
        // A body that is not JSON contains no IDs.
        if let body = try? request.json() { found += body.strings }
        // A call with the ID token of a user contains the user's ID only in the claims.
        let tokens = found.filter { $0.hasPrefix("eyJ") }.compactMap { WebToken($0) }
        return found + tokens.flatMap { JSONValue.object($0.claims).strings }
    }

    // MARK: Saving

    /// Returns the data of all namespaces without keys and secrets, as JSON that `load` can read.
    package func save() throws -> JSONValue {
        try state.withLock { SavedServices($0.servicesByNamespace, ids: $0.ids.namespaces) }.json()
    }

    /// The reason why the saved state of the fakes cannot be loaded.
    package struct StateLoadError: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    package func load(_ json: JSONValue) throws(StateLoadError) {
        let savedServices = try SavedServices(json, providers, keys)
        let newServices = makeServices("")
        state.withLock { state in
            state.servicesByNamespace = savedServices.servicesByNamespace
            if state.servicesByNamespace[""] == nil { state.servicesByNamespace[""] = newServices }
            state.ids = NamespaceIDs(savedServices.ids)
        }
        if !savedServices.ids.isEmpty { hasAssignedIDs.store(true, ordering: .relaxed) }
    }
}
