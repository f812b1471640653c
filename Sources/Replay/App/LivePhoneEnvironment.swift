internal import Contracts
internal import FakeServers
internal import Phone
internal import Providers
internal import Values

/// The environment of an app that runs against a real backend: that backend, and the fakes of the
/// run.
///
/// The app calls the fakes directly in this process. The journal records each call to the backend
/// at the real time of the call.
struct LivePhoneEnvironment: PhoneEnvironment {
    let fakes: FakeRegistry
    let client: any Transport
    let profile: Profile
    let base: Instant
    var namespace: Namespace
    /// The current time in the contract, which labels the entries of the journal.
    var now: Instant
    let firstSequence: Int
    let defects: Set<AccountApp.Defect>
    /// Returns an ID token for a user, as Firebase would sign it now.
    let token: @Sendable (TokenSpec, String) -> String?

    /// The apps with accounts, by the name of the phone that they are installed on.
    ///
    /// A phone without an entry runs a page or no app.
    var accountApps: [String: AccountApp] = [:]
    /// The kind of app that was launched last on each phone.
    private var launchedApps: [String: AppAction.App] = [:]
    /// The purchases of the store account of each phone, by phone name, for an app that is
    /// installed again.
    private var receipts: [String: [AccountApp.Receipt]] = [:]
    private var installCount = 0
    private var loadCountsByPhone: [String: Int] = [:]
    /// The planned faults and delays of the app's calls to the backend.
    private var plan = AppBackendPlan()

    init(
        fakes: FakeRegistry,
        client: any Transport,
        profile: Profile,
        base: Instant,
        namespace: Namespace,
        now: Instant,
        firstSequence: Int,
        defects: Set<AccountApp.Defect>,
        token: @escaping @Sendable (TokenSpec, String) -> String?
    ) {
        self.fakes = fakes
        self.client = client
        self.profile = profile
        self.base = base
        self.namespace = namespace
        self.now = now
        self.firstSequence = firstSequence
        self.defects = defects
        self.token = token
    }

    var recordedExchanges: [Exchange] {
        fakes.journal.read { $0.exchanges(in: namespace.name, from: firstSequence) }
    }

    /// The names of the phones whose final state is recorded.
    ///
    /// A phone that ran only an app with accounts has no state to record.
    var phones: [String] { loadCountsByPhone.keys.sorted() }

    mutating func assign(_ id: String, to user: String) { namespace.assign(id, to: user) }

    // MARK: The journal

    mutating func write(_ userAction: UserAction, on phone: String, at time: Int64) {
        add(.userAction(userAction, on: phone, namespace: namespace.name, at: now))
    }

    mutating func recordScreen(_ screenContent: JSONValue, of phone: String, at time: Int64) {
        add(.screen(screenContent, on: phone, namespace: namespace.name, at: now))
    }

    mutating func recordPhoneData(_ phone: String, at time: Int64) {
        add(.observation(of: phone, deviceStateJSON(phone), namespace: namespace.name, at: now))
    }

    private func add(_ exchange: Exchange) {
        fakes.journal.write(exchange, invoked: fakes.journal.elapsedMicroseconds)
    }

    // MARK: Apps

    func app(for action: AppAction) -> AppAction.App {
        action.name.isLaunch ? action.app : launchedApps[action.phone] ?? .despia
    }

    mutating func performAccountAction(_ action: AppAction) async -> String? {
        let phone = action.phone
        guard Executor.accountApp.supports(.userAction(action.name)) else {
            return "\(Executor.accountApp) on \(phone) does not support "
                + "'app: \(action.name.rawValue)'"
        }
        if action.name.isLaunch { launchedApps[phone] = .accounts }
        var app = accountApps[phone] ?? install(on: phone)
        write(UserAction(action.name.rawValue), on: phone, at: 0)
        var act = AccountApp.AccountAction(action.name)
        let account = action.account ?? ""
        act.email = namespace.emailAddress(of: account)
        act.password =
            (action.hasWrongPassword ? "wrong-" : "") + namespace.password(of: account)
        act.product = action.product ?? act.product
        var call = app.begin(act)
        while let next = call, !Task.isCancelled {
            call = app.take(await performCall(next, phone))
        }
        accountApps[phone] = app
        receipts[phone] = app.receipts
        // From now on, the user names in the contract stand for these IDs.
        if let name = action.anonymousUser { assign(app.revenueCatID, to: name) }
        // An account belongs to one person, so the first ID that it got stays.
        if let account = action.account, let uid = app.uid, namespace.assignedIDs[account] == nil {
            assign(uid, to: account)
        }
        // The run cannot be judged if a provider refused a correct action, or accepted an action
        // with a wrong password.
        guard (app.failure == nil) == action.hasWrongPassword else { return nil }
        return "'app: \(action.name.rawValue)' "
            + (app.failure.map { "failed at \($0)" } ?? "succeeded but should have failed")
    }

    private mutating func install(on phone: String) -> AccountApp {
        installCount += 1
        return AccountApp(
            installID: namespace.installID(of: phone),
            receipts: receipts[phone] ?? [],
            seed: "\(namespace.name)-\(installCount)",
            defects: defects
        )
    }

    private mutating func performCall(
        _ call: AccountApp.Call,
        _ phone: String
    ) async -> HTTPMessage.Response? {
        switch call {
        case .firebase(let request):
            return fakes.call(.firebase, request, namespace: namespace.name)
        case .revenueCat(let request):
            return fakes.call(.revenueCat, request, namespace: namespace.name)
        case .mail(var request):
            let targetParts = request.target.split(
                separator: "PROJECT",
                omittingEmptySubsequences: false
            )
            request.target = targetParts.joined(separator: profile.tokenProject)
            return fakes.call(.firebase, request, namespace: namespace.name)
        case .backend(let route, let values, let token):
            return await callRoute(route, values, token, phone)
        }
    }

    /// Calls a route of the backend for the app with accounts; returns nil if there is no response.
    private mutating func callRoute(
        _ route: String,
        _ values: [String: String],
        _ token: String?,
        _ phone: String
    ) async -> HTTPMessage.Response? {
        guard let endpoint = profile.endpoints[route] else { return nil }
        // The token is signed with the keys that all runs share, because a backend that verifies
        // signatures knows only these.
        var tokenSpec = TokenSpec()
        // The token and the sign-in have the current time, because the session of a user is never
        // older than the account.
        for claim in ["iat", "auth_time"] { tokenSpec.claims[claim] = .integer(fakes.now.seconds) }
        let signedToken =
            route == "delete-account" ? self.token(tokenSpec, values["id"] ?? "") : nil
        // Calls of the backend that name this ID belong to this run.
        if let id = values["id"] { fakes.assignUserIDs([id], namespace: namespace.name) }
        let (_, outcome) = await send(
            endpoint,
            values,
            route,
            from: PhoneRef(phone),
            fields: (signedToken ?? token).map {
                [HTTPMessage.Field("authorization", "Bearer " + $0)]
            }
                ?? []
        )
        if case .answered(let response) = outcome { return response }
        return nil
    }

    // MARK: The page

    mutating func launch(_ phone: String, isReload: Bool, at time: Int64) -> PhoneLaunch {
        launchedApps[phone] = .despia
        // The state of the phone before its first launch shows later what the app changed.
        if loadCountsByPhone[phone] == nil { recordPhoneData(phone, at: time) }
        loadCountsByPhone[phone, default: 0] += 1
        let device = deviceStateJSON(phone)
        write(UserAction(isReload ? "reload" : "launch"), on: phone, at: time)
        return PhoneLaunch(
            page: PhoneRef(phone, load: "\(loadCountsByPhone[phone] ?? 1)"),
            device: device
        )
    }

    private func deviceStateJSON(_ phone: String) -> JSONValue {
        fakes.edit(namespace.name) { services, _ in services.despia.deviceStateJSON(phone) }
            ?? .null
    }

    mutating func command(
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
            at: now
        )
        let sequence = fakes.journal.begin(exchange)
        let body = exchange.request.bodyJSON?.object ?? JSONObject()
        let reply = fakes.edit(namespace.name) { services, now in
            services.despia.take(body, at: now)
        }
        let response = HTTPMessage.Response(200, json: reply ?? .null)
        fakes.journal.complete(sequence, .answered(response))
        return reply ?? .null
    }

    mutating func call(
        _ route: String,
        _ values: [String: String],
        from page: PhoneRef,
        at time: Int64
    ) async -> (sequence: Int, response: AppBackend.CallResult)? {
        guard let endpoint = profile.appEndpoint(route) else { return nil }
        let plannedResponse = plan.takeNext(route) ?? .ok
        // The planned error status that the app gets; the real response of the backend is then
        // lost.
        var lostResponseStatus: Int?
        var delay = Duration.zero
        switch plannedResponse {
        case .reset: return (-1, .reset)
        case .never: return (-1, .never)
        case .status(let status): lostResponseStatus = status
        case .slow(let time): delay = time
        case .ok, .otherID, .noID, .nullID, .undefinedID, .claimed, .recovered: break
        }
        if let id = values["id"] { fakes.assignUserIDs([id], namespace: namespace.name) }
        let (sequence, outcome) = await send(
            endpoint,
            values,
            route,
            from: page,
            losesResponse: lostResponseStatus != nil
        )
        if let lostResponseStatus {
            let response = HTTPMessage.Response(lostResponseStatus, json: ["error": "planned"])
            return (sequence, .answered(response, after: delay))
        }
        guard case .answered(let response) = outcome else { return (sequence, .reset) }
        return (
            sequence,
            .answered(scriptedAppResponse(response, route, values, endpoint), after: delay)
        )
    }

    /// Does nothing, because `call` has already recorded the outcome in real time.
    func complete(_ sequence: Int, _ outcome: Exchange.Outcome, at time: Int64) {}

    /// Translates a response of the backend into the format that the scripted app reads.
    private func scriptedAppResponse(
        _ response: HTTPMessage.Response,
        _ route: String,
        _ values: [String: String],
        _ endpoint: Profile.Endpoint
    ) -> HTTPMessage.Response {
        let body = response.bodyJSON ?? .null
        if route == "access" {
            let pointer = profile.app.access?.body?.templatePointersInJSON["access"]
            let accessBody: JSONValue? = pointer.map { ["access": body[$0] ?? .null] }
            return HTTPMessage.Response(response.status, json: accessBody ?? body)
        }
        // The ID moves from its field in the backend's response to the field that the scripted app
        // reads.
        let pointer =
            endpoint.responseIDPointer ?? profile.pointersByTemplateName(in: route)["id"]
            ?? JSONPointer(tokens: ["appUserId"])
        let id = body[pointer]?.string ?? (route == "register" ? values["id"] : nil)
        return HTTPMessage.Response(
            response.status,
            json: id.map { ["appUserId": .string($0)] } ?? body
        )
    }

    /// Sends one call of an app to the backend, and records it in the journal.
    private func send(
        _ endpoint: Profile.Endpoint,
        _ values: [String: String],
        _ route: String,
        from phone: PhoneRef,
        fields: [HTTPMessage.Field] = [],
        losesResponse: Bool = false
    ) async -> (sequence: Int, outcome: Exchange.Outcome) {
        var allValues = values
        allValues["timestamp"] = fakes.now.description
        let request = endpoint.request(allValues, idForm: profile.idForm, fields: fields)
        let sequence = fakes.journal.begin(
            Exchange(
                from: .app,
                to: .backend,
                namespace: namespace.name,
                purpose: .appCall(route),
                at: now,
                request: request,
                phone: phone
            )
        )
        let outcome = await client.send(request, within: .seconds(30))
        if losesResponse, case .answered(let response) = outcome {
            fakes.journal.complete(sequence, .answerLost(response))
        } else {
            fakes.journal.complete(sequence, outcome)
        }
        return (sequence, outcome)
    }

    // MARK: Given conditions

    mutating func apply(_ change: PhoneChange, product: String?, at time: Int64) -> [JSONValue] {
        let phone = change.phone
        switch change.ownerAction {
        case .reinstall:
            if let app = accountApps.removeValue(forKey: phone) { receipts[phone] = app.receipts }
            launchedApps[phone] = nil
        case .secondPhone:
            // The second phone uses the store account of the first phone, whose name is `phone`.
            if let app = accountApps["phone"] { receipts[phone] = app.receipts }
        case .complete: storeSubscriptionID(of: phone)
        case .cloned, .loseID, .cancel, .fail, nil: break
        }
        let context = DespiaState.StepContext(
            namespace: namespace,
            base: base,
            profile: profile,
            environment: "PRODUCTION"
        )
        return fakes.edit(namespace.name) { services, now in
            services.despia.apply(change, product: product, in: context, at: now)
        } ?? []
    }

    /// Stores the phone's OneSignal subscription ID in the customer attributes of RevenueCat, as
    /// the SDK does.
    private func storeSubscriptionID(of phone: String) {
        let device = deviceStateJSON(phone)
        guard let subscriptionID = device["playerId"]?.string,
            let buyerID = device["externalId"]?.string
        else { return }
        var action = StoreAction(.setAttributes, user: buyerID)
        action.attributes = ["$onesignalId": .string(subscriptionID)]
        let attributes = action
        fakes.edit(namespace.name) { services, now in
            // The store model never refuses attributes.
            try? services.revenueCat.carryOut(attributes, at: now)
        }
    }

    mutating func take(_ plan: BridgePlan) {
        fakes.edit(namespace.name, notifies: false) { services, _ in
            services.despia.apply(plan, keys: profile.app.vaultKeys)
        }
    }

    mutating func take(_ plan: AppBackendPlan) {
        self.plan.responses.merge(plan.responses) { $1 }
        self.plan.repeatsLastResponse = plan.repeatsLastResponse
    }

    mutating func carryOut(_ act: FakeStoreAction) -> String? {
        guard let kind = StoreAction.Kind(rawValue: act.name) else {
            return "the store does not support '\(act.name)'"
        }
        let action = StoreAction(kind, user: namespace.id(of: act.user))
        let refusal = fakes.edit(namespace.name) { services, now -> String? in
            do throws(StoreAction.Refusal) {
                try services.revenueCat.carryOut(action, at: now)
                return nil
            } catch {
                return error.description
            }
        }
        return refusal ?? nil
    }
}
