package import Conformance
package import Providers
internal import Synchronization

/// All providers of one process behind one journal, one value of state for each namespace.
///
/// A call belongs to the namespace it names in `x-assay-namespace`, else to the one whose ids it
/// mentions, else to the default one, which has no name.
package final class FakeWorld: Sendable {
    private struct State {
        var spaces: [String: Services]
        var ids = NamespaceIDs()
        /// Virtual time of each run that is going on; only the journal's labels.
        var labels: [String: Instant] = [:]
        var snapshots: [String: Services] = [:]
    }

    /// In a struct: a closure that is the value of a generic type is wrapped once more at every
    /// access, so each call would take longer than the one before.
    private struct ChangeListener: Sendable {
        var action: @Sendable () -> Void = {}
    }

    package let journal: LiveJournal
    /// What this process lacked while it served the fakes.
    package let shortages = Shortages()
    private let state: Locked<State>
    /// Calls that wait for the end of their run, by namespace.
    private let held = Locked(HeldCalls())
    /// Whether any id was ever told to a namespace; without one no request needs to be searched.
    private let hasIDs = Atomic<Bool>(false)
    private let wallClock: @Sendable () -> Instant
    /// What callers of a provider have to show.
    private let keys: [Exchange.Party: Secret]
    private let seed: UInt64
    /// The providers that there are.
    package let providers: ProviderTable
    /// Called after a change that may have made something due.
    private let onChange = Locked(ChangeListener())

    /// - Parameters:
    ///   - journalBytesMax: The bound of the journal, in bytes.
    ///   - keys: What callers of a provider have to show; a provider without one takes anybody.
    ///   - seed: What all ids are drawn from.
    ///   - providers: The providers that there are.
    ///   - time: Tells the time since any fixed moment; nil is this machine's.
    ///   - wallClock: Tells real time.
    package init(
        journalBytesMax: Int,
        keys: [Exchange.Party: Secret] = [:],
        seed: UInt64 = 0,
        providers: ProviderTable = .all,
        time: (@Sendable () -> Duration)? = nil,
        wallClock: @escaping @Sendable () -> Instant
    ) {
        journal = LiveJournal(bytesMax: journalBytesMax, time: time)
        self.keys = keys
        self.seed = seed
        self.providers = providers
        self.wallClock = wallClock
        state = Locked(State(spaces: ["": Services(seed: seed, keys: keys, table: providers)]))
    }

    package convenience init(
        journalBytesMax: Int,
        revenueCatKey: Secret?,
        oneSignalKey: Secret?,
        seed: UInt64 = 0,
        time: (@Sendable () -> Duration)? = nil,
        wallClock: @escaping @Sendable () -> Instant
    ) {
        var keys: [Exchange.Party: Secret] = [:]
        keys[.revenueCat] = revenueCatKey
        keys[.oneSignal] = oneSignalKey
        self.init(
            journalBytesMax: journalBytesMax,
            keys: keys,
            seed: seed,
            time: time,
            wallClock: wallClock
        )
    }

    /// Real time.
    package var now: Instant { wallClock() }

    package func notify(_ action: @escaping @Sendable () -> Void) {
        onChange.withLock { $0 = ChangeListener(action: action) }
    }

    // MARK: Namespaces

    package var namespaces: [String] { state.withLock { $0.spaces.keys.sorted() } }

    private func made(_ namespace: String) -> Services {
        var generator = SeededGenerator(seed: seed, text: namespace)
        return Services(seed: generator.next(), keys: keys, table: providers)
    }

    /// Makes a namespace and tells which ids belong to it.
    package func know(_ ids: [String], namespace: String) {
        let fresh = made(namespace)
        state.withLock { state in
            if state.spaces[namespace] == nil { state.spaces[namespace] = fresh }
            for id in ids { state.ids.give(id, to: namespace) }
        }
        if !ids.isEmpty { hasIDs.store(true, ordering: .relaxed) }
    }

    package func ids(of namespace: String) -> [String] {
        state.withLock { $0.ids.ids(of: namespace) }
    }

    /// Forgets everything about a namespace but which ids belong to it, its webhooks and switches.
    package func reset(_ namespace: String) {
        var fresh = made(namespace)
        state.withLock { state in
            guard let old = state.spaces[namespace] else { return }
            fresh.keep(from: old)
            state.spaces[namespace] = fresh
        }
    }

    /// Removes a namespace and its ids; the default one is reset instead.
    package func remove(_ namespace: String) {
        guard !namespace.isEmpty else { return reset("") }
        state.withLock { state in
            state.spaces[namespace] = nil
            state.labels[namespace] = nil
            state.ids.forget(namespace)
        }
    }

    /// Removes a run whose outcome is no longer needed.
    ///
    /// Its IDs stay known: a late call of the backend that names one of them is listed in the journal
    /// under `retiredNamespace`, and is never taken for a call about an unknown user.
    package func retire(_ namespace: String) {
        release(namespace)
        state.withLock { state in
            state.spaces[namespace] = nil
            state.labels[namespace] = nil
            state.ids.retire(namespace)
        }
    }

    /// The namespace of calls that name users of retired runs; no run has this name.
    package static let retiredNamespace = "(retired)"

    // MARK: Snapshots

    /// Keeps a copy of a namespace under a name.
    package func snapshot(_ namespace: String, as name: String) {
        state.withLock { $0.snapshots[name] = $0.spaces[namespace] }
    }

    package var snapshots: [String] { state.withLock { $0.snapshots.keys.sorted() } }

    /// Puts a copy back, or into another namespace.
    ///
    /// - Returns: Whether there is a snapshot of that name.
    package func restore(_ name: String, into namespace: String) -> Bool {
        let isKnown = state.withLock { state in
            guard let copy = state.snapshots[name] else { return false }
            state.spaces[namespace] = copy
            return true
        }
        changed()
        return isKnown
    }

    // MARK: Runs

    /// Makes a run known: its ids and its virtual time.
    package func open(_ namespace: String, ids: [String], at now: Instant) {
        know(ids, namespace: namespace)
        setClock(of: namespace, to: now)
    }

    package func setClock(of namespace: String, to now: Instant) {
        state.withLock { $0.labels[namespace] = now }
    }

    package func clock(of namespace: String) -> Instant {
        let wall = wallClock()
        return state.withLock {
            $0.labels[namespace] ?? $0.spaces[namespace]?.clock.now(at: wall) ?? wall
        }
    }

    /// Lets what a RevenueCat event reports happen in a run's model; the ids it names are the run's.
    package func apply(_ event: JSONValue, namespace: String) {
        let body = event["event"]
        var ids = ["app_user_id", "original_app_user_id"].compactMap { body?[$0]?.string }
        for list in ["aliases", "transferred_from", "transferred_to"] {
            ids += body?[list]?.array?.compactMap(\.string) ?? []
        }
        know(ids, namespace: namespace)
        state.withLock { $0.spaces[namespace]?.revenueCat.apply(event) }
    }

    package func schedule(_ plan: ProviderPlan, namespace: String) {
        state.withLock { $0.spaces[namespace]?.plans[plan.provider] = plan }
    }

    /// A run is over: its providers work again, but for what they refuse for good.
    ///
    /// Whoever tries that once more, as O-04 allows, is refused once more.
    package func settle(namespace: String) {
        state.withLock { state in
            let plans = state.spaces[namespace]?.plans ?? [:]
            state.spaces[namespace]?.plans = plans.filter(\.value.refusesForGood)
        }
        release(namespace)
    }

    /// Lets a namespace's providers work again; calls that are held stay held until `release`.
    package func heal(namespace: String) {
        state.withLock { $0.spaces[namespace]?.plans = [:] }
    }

    // MARK: Calls without a response

    /// Waits until a namespace's providers work again, for a call that its plan never responds to.
    ///
    /// The connection is cut then, so that the backend retries while its users are still known. A
    /// cancellation ends the wait.
    func untilReleased(_ namespace: String) async {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        let number = held.withLock { $0.add(continuation, to: namespace) }
        continuation.onTermination = { [held] _ in
            held.withLock { $0.remove(number, of: namespace) }
        }
        for await _ in stream {}
    }

    /// Whether any call waits for the end of that run.
    package func isHolding(_ namespace: String) -> Bool {
        held.withLock { $0.isHolding(namespace) }
    }

    /// Cuts the connection of every call that the namespace's plan left without a response.
    package func release(_ namespace: String) {
        for continuation in held.withLock({ $0.take(namespace) }) { continuation.finish() }
    }

    // MARK: State

    package func read<Result: Sendable>(
        _ namespace: String,
        _ body: (Services, Instant) throws -> Result
    ) rethrows -> Result? {
        let wall = wallClock()
        return try state.withLock { state in
            try state.spaces[namespace].map { try body($0, $0.clock.now(at: wall)) }
        }
    }

    /// Changes a namespace's state and carries out what follows from the change; nil when there is
    /// no such namespace.
    ///
    /// Whoever waits for something to become due is told, unless `notifies` is false.
    @discardableResult
    package func edit<Result: Sendable>(
        _ namespace: String,
        notifies: Bool = true,
        _ body: (inout Services, Instant) throws -> Result
    ) rethrows -> Result? {
        let wall = wallClock()
        var calls: [Services.InternalCall] = []
        let result: Result? = try state.withLock { state in
            guard var services = state.spaces.removeValue(forKey: namespace) else { return nil }
            defer { state.spaces[namespace] = services }
            let result = try body(&services, services.clock.now(at: wall))
            calls = services.settle(at: services.clock.now(at: wall))
            return result
        }
        for call in calls { write(call, namespace) }
        if notifies { changed() }
        return result
    }

    /// Takes what is due on a namespace's clock; nobody else gets it then.
    package func takeDue(_ namespace: String) -> [WebhookDelivery] {
        let wall = wallClock()
        return state.withLock { state in
            guard let now = state.spaces[namespace]?.clock.now(at: wall) else { return [] }
            return state.spaces[namespace]?.queue.take(by: now) ?? []
        }
    }

    private func changed() { onChange.withLock { $0 }.action() }

    /// A call between two fakes stands in the journal like any other.
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

    /// Answers one request as the named provider.
    ///
    /// A run's calls are answered in real time, as the backend's own clock is real.
    func respond(
        _ party: Exchange.Party,
        to request: HTTPMessage.Request,
        in namespace: String? = nil
    ) -> Reply {
        let wall = wallClock()
        let isFromNetwork = namespace == nil
        let wanted = namespace ?? request[field: "x-assay-namespace"]
        let hasIDs = hasIDs.load(ordering: .relaxed)
        let candidates = hasIDs ? Self.candidates(request) : []
        var calls: [Services.InternalCall] = []
        var isChange = false
        let reply = state.withLock { state in
            let found = candidates.isEmpty ? nil : state.ids.owner(among: candidates)
            let namespace = wanted.flatMap { state.spaces[$0] == nil ? nil : $0 } ?? found ?? ""
            let isOfRetiredRun = namespace.isEmpty && state.ids.isRetired(candidates)
            // Taken out and put back, so that the state is changed in place and not copied.
            guard var services = state.spaces.removeValue(forKey: namespace) else {
                return Reply(HTTPMessage.Response(404), .inferred, of: party.description)
            }
            defer { state.spaces[namespace] = services }
            let now = services.clock.now(at: wall)
            // What an app in this process sends is not a page of another origin.
            let refusal =
                isFromNetwork ? services.refusalOfForeignPage(party, request) : nil
            var reply = refusal ?? services.respond(party, to: request, at: now)
            if providers[party]?.setsOffOthers == true {
                calls = services.settle(at: now)
                isChange = request.method != "GET"
            }
            reply.namespace = isOfRetiredRun ? Self.retiredNamespace : namespace
            reply.at = state.labels[namespace] ?? now
            return reply
        }
        for call in calls { write(call, reply.namespace) }
        if isChange { changed() }
        return reply
    }

    /// A call of an app that runs in this process, in the journal like any other.
    ///
    /// - Parameters:
    ///   - party: The provider that it calls.
    ///   - request: What it sends.
    ///   - namespace: The run that it belongs to.
    /// - Returns: What the fake answers.
    package func call(
        _ party: Exchange.Party,
        _ request: HTTPMessage.Request,
        namespace: String
    ) -> HTTPMessage.Response {
        let invoked = journal.elapsed
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

    /// Every text in a request that may be an id: the path's segments, the query, the credential,
    /// the strings of the body.
    private static func candidates(_ request: HTTPMessage.Request) -> [String] {
        var found = request.pathSegments ?? []
        found += request.query.map(\.value)
        if let credential = request.authorization?.credential { found.append(credential) }
        if let body = try? request.json() { found += body.strings }
        return found
    }

    // MARK: Saving

    /// Everything but keys and secrets, as JSON that `load` reads.
    package func save() throws -> JSONValue {
        let (spaces, ids) = state.withLock { ($0.spaces, $0.ids.namespaces) }
        var saved = JSONObject()
        for (name, services) in spaces.sorted(by: { $0.key < $1.key }) {
            saved[name] = try JSONValue(encoding: services)
        }
        return [
            "assay": 1, "kind": "services", "namespaces": .object(saved),
            "ids": try JSONValue(encoding: ids),
        ]
    }

    /// A file that `load` cannot read.
    package struct LoadError: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    package func load(_ saved: JSONValue) throws(LoadError) {
        guard saved["kind"] == "services", let namespaces = saved["namespaces"]?.object else {
            throw LoadError(description: "this was not written by assay serve --export-on-exit")
        }
        guard saved["assay"] == 1 else {
            throw LoadError(
                description: "it was written by another version of assay (format "
                    + "\(saved["assay"]?.text ?? "unknown"), this one reads format 1)"
            )
        }
        var spaces: [String: Services] = [:]
        var ids: [String: String] = [:]
        do {
            for member in namespaces.members {
                var services = try member.value.decoded(as: Services.self)
                services.table = providers
                services.take(keys: keys)
                services.queue.recoverUnderway()
                spaces[member.key] = services
            }
            if let saved = saved["ids"] { ids = try saved.decoded() }
        } catch let error as DecodingError {
            throw LoadError(description: Self.place(error))
        } catch {
            throw LoadError(description: "\(error)")
        }
        let fresh = made("")
        state.withLock { state in
            state.spaces = spaces
            if state.spaces[""] == nil { state.spaces[""] = fresh }
            state.ids = NamespaceIDs(ids)
        }
        if !ids.isEmpty { hasIDs.store(true, ordering: .relaxed) }
    }

    private static func place(_ error: DecodingError) -> String {
        let context: DecodingError.Context? =
            switch error {
            case .typeMismatch(_, let context), .valueNotFound(_, let context),
                .keyNotFound(_, let context), .dataCorrupted(let context):
                context
            @unknown default: nil
            }
        let path = (context?.codingPath ?? []).map { "/" + $0.stringValue }.joined()
        return "at \(path.isEmpty ? "/" : path): \(context?.debugDescription ?? "\(error)")"
    }
}
