package import Contracts
package import Providers
package import Values

/// The simulated environment of an app, as one value: the phones with their store accounts, the
/// bridge, a model of the app's backend, and the journal.
///
/// All times are in microseconds since the contract's first step, on a simulated clock or on the
/// real clock.
package struct SimulatedPhones: Sendable, PhoneEnvironment {
    package let profile: Profile
    package let base: Instant
    package private(set) var namespace: Namespace
    package private(set) var despia: DespiaState
    package var backend: AppBackend
    package private(set) var exchanges: [Exchange] = []
    private var pageLoadCounts: [String: Int] = [:]

    /// Creates an environment in which no phone has launched the app yet.
    ///
    /// - Parameters:
    ///   - name: The name of the run's namespace in the fakes.
    ///   - profile: The profile with the endpoints, vault keys and time budgets.
    ///   - base: The time to which the relative times of a contract refer.
    ///   - seed: The seed of the random IDs of the phones.
    ///   - late: The delay of the replies that a contract plans to arrive late.
    package init(
        name: String,
        profile: Profile,
        base: Instant,
        seed: UInt64,
        late: Duration = .seconds(31)
    ) {
        self.profile = profile
        self.base = base
        namespace = Namespace(name: name, idForm: profile.idForm)
        despia = DespiaState(seed: seed)
        despia.settings.lateMilliseconds = late.milliseconds
        backend = AppBackend(profile: profile)
    }

    package var recordedExchanges: [Exchange] { exchanges }

    package mutating func assign(_ id: String, to user: String) {
        namespace.assign(id, to: user)
    }

    // MARK: Changes

    package mutating func apply(
        _ change: PhoneChange,
        product: String? = nil,
        at time: Int64
    ) -> [JSONValue] {
        let context = DespiaState.StepContext(namespace: namespace, base: base, profile: profile)
        let replies = despia.apply(change, product: product, in: context, at: instant(time))
        for action in despia.outbox.takeStoreActions() where action.kind == .purchase {
            backend.recordPurchase(action.product, by: action.user)
        }
        return replies
    }

    package mutating func take(_ plan: BridgePlan) {
        despia.apply(plan, keys: profile.app.vaultKeys)
    }

    package mutating func take(_ plan: AppBackendPlan) { backend.take(plan) }

    package mutating func carryOut(_ act: FakeStoreAction) -> String? {
        "'store: \(act.name)' is not possible: the simulated environment has no store"
    }

    /// Returns the kind of app for an action: every phone in this environment runs the tested
    /// Despia app.
    package func app(for action: AppAction) -> AppAction.App { .despia }

    package func performAccountAction(_ action: AppAction) async -> String? {
        "'app: \(action.name.rawValue)' needs an app with accounts on \(action.phone)"
    }

    // MARK: The phone

    package mutating func launch(
        _ phone: String,
        isReload: Bool,
        at time: Int64
    ) -> PhoneLaunch {
        // The phone's data is recorded before the first launch, so that later changes by the app
        // are visible.
        if pageLoadCounts[phone] == nil { recordPhoneData(phone, at: time) }
        pageLoadCounts[phone, default: 0] += 1
        let device = despia.deviceStateJSON(phone)
        write(UserAction(isReload ? "reload" : "launch"), on: phone, at: time)
        let page = PhoneRef(phone, load: "\(pageLoadCounts[phone] ?? 1)")
        return PhoneLaunch(page: page, device: device)
    }

    package mutating func write(_ userAction: UserAction, on phone: String, at time: Int64) {
        addExchange(
            .userAction(userAction, on: phone, namespace: namespace.name, at: instant(time)),
            time
        )
    }

    package mutating func recordScreen(_ stateJSON: JSONValue, of phone: String, at time: Int64) {
        addExchange(
            .screen(stateJSON, on: phone, namespace: namespace.name, at: instant(time)),
            time
        )
    }

    package mutating func recordPhoneData(_ phone: String, at time: Int64) {
        let stateJSON = despia.deviceStateJSON(phone)
        addExchange(
            .observation(of: phone, stateJSON, namespace: namespace.name, at: instant(time)),
            time
        )
    }

    /// Returns whether the phone has the native side of Despia; a browser has none.
    package func isNativeApp(_ phone: String) -> Bool {
        despia.devices[phone]?.uaPreset != "browser"
    }

    package var phones: [String] { despia.devices.keys.sorted() }

    // MARK: Traffic

    package mutating func command(
        _ text: String,
        from page: PhoneRef,
        pageTime: Int64,
        at time: Int64
    ) -> JSONValue {
        let exchange = Exchange.command(
            text,
            from: page,
            page: pageTime,
            namespace: namespace.name,
            at: instant(time)
        )
        let sequence = beginExchange(exchange, at: time)
        let body = exchange.request.bodyJSON?.object ?? JSONObject()
        let reply = despia.take(body, at: instant(time))
        // Discards the pending store actions. These are calls of the RevenueCat SDK other than
        // purchases, and not calls of the app.
        _ = despia.outbox.takeStoreActions()
        complete(sequence, .answered(HTTPMessage.Response(200, json: reply)), at: time)
        return reply
    }

    package mutating func call(
        _ route: String,
        _ values: [String: String],
        from page: PhoneRef,
        at time: Int64
    ) async -> (sequence: Int, response: AppBackend.CallResult)? {
        guard let endpoint = profile.appEndpoint(route) else { return nil }
        let request = endpoint.request(values, idForm: .string)
        return call(route, request, from: page, at: time)
    }

    /// Records a page's call to the app's backend in the journal, and returns the response of the
    /// model.
    package mutating func call(
        _ route: String,
        _ request: HTTPMessage.Request,
        from page: PhoneRef,
        at time: Int64
    ) -> (sequence: Int, response: AppBackend.CallResult) {
        let sequence = beginCall(route, request, from: page, at: time)
        let namespace = namespace
        let response = backend.respond(route, to: request) { namespace.id(of: $0) }
        return (sequence, response)
    }

    /// Records a page's call to the app's real backend.
    ///
    /// The backend responds itself unless the contract plans another response for this call.
    ///
    /// - Parameters:
    ///   - route: The name of the called route.
    ///   - request: The page's request.
    ///   - page: The page that sends the call.
    ///   - time: The time in microseconds since the contract's first step.
    /// - Returns: The sequence number of the call in the journal, and the planned response; nil
    ///   when the backend responds itself.
    package mutating func recordCall(
        _ route: String,
        _ request: HTTPMessage.Request,
        from page: PhoneRef,
        at time: Int64
    ) -> (sequence: Int, response: AppBackend.CallResult?) {
        if backend.hasPlannedResponse(for: route) {
            let (sequence, response) = call(route, request, from: page, at: time)
            return (sequence, response)
        }
        return (beginCall(route, request, from: page, at: time), nil)
    }

    private mutating func beginCall(
        _ route: String,
        _ request: HTTPMessage.Request,
        from page: PhoneRef,
        at time: Int64
    ) -> Int {
        let exchange = Exchange(
            from: .app,
            to: .backend,
            namespace: namespace.name,
            purpose: .appCall(route),
            at: instant(time),
            request: request,
            phone: page
        )
        return beginExchange(exchange, at: time)
    }

    package mutating func complete(_ sequence: Int, _ outcome: Exchange.Outcome, at time: Int64) {
        exchanges[sequence].outcome = outcome
        exchanges[sequence].completed = time
    }

    private mutating func beginExchange(_ exchange: Exchange, at time: Int64) -> Int {
        var exchange = exchange
        exchange.sequence = exchanges.count
        exchange.invoked = time
        exchanges.append(exchange)
        return exchange.sequence
    }

    /// Adds a journal entry that has no duration, such as a user action.
    private mutating func addExchange(_ exchange: Exchange, _ time: Int64) {
        exchanges[beginExchange(exchange, at: time)].completed = time
    }

    package func instant(_ time: Int64) -> Instant { base + .microseconds(time) }
}
