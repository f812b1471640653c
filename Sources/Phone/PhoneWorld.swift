package import Conformance
package import Providers

/// Everything that an app on a phone talks to, as one value: phones and their accounts, the bridge,
/// and the app's own backend; and the journal of what was said.
///
/// Times are microseconds since the scenario began: of a simulation's clock, or of the real one.
package struct PhoneWorld: Sendable {
    package let profile: Profile
    package let base: Instant
    package private(set) var namespace: Namespace
    package private(set) var despia: DespiaState
    package var backend: AppBackend
    package private(set) var exchanges: [Exchange] = []
    private var loads: [String: Int] = [:]

    /// - Parameters:
    ///   - name: The namespace of the run.
    ///   - profile: Endpoints, keys and budgets.
    ///   - base: The moment that relative times count from.
    ///   - seed: What the phones' ids are drawn from.
    ///   - late: After how long a reply comes that comes too late.
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

    package mutating func assign(_ id: String, to user: String) {
        namespace.assign(id, to: user)
    }

    // MARK: What is given

    /// Makes a phone, its accounts or its owner do as the contract says.
    ///
    /// - Returns: Calls of the page's functions that follow from it.
    @discardableResult
    package mutating func apply(_ change: PhoneChange, at time: Int64) -> [JSONValue] {
        let phone = change.phone
        if let kind = change.kind {
            let isAndroid = kind == .android
            control(
                "PATCH",
                "/device",
                phone,
                ["platform": isAndroid ? "android" : "ios"],
                at: time
            )
            control("PATCH", "/device", phone, ["uaPreset": .string(kind.rawValue)], at: time)
        }
        if !change.vault.isEmpty {
            var values = TemplateValues(namespace: namespace, base: base)
            var items = JSONObject()
            for (role, text) in change.vault.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                items[key(role)] = .string(values.fill(text))
            }
            control("POST", "/device/vault", phone, ["items": .object(items)], at: time)
        }
        if let history = change.history {
            let list = history.enumerated().map { entry($0.element, number: $0.offset) }
            control("PUT", "/device/history", phone, ["history": .array(list)], at: time)
        }
        switch change.installID {
        case .missing: despia.faults.uuidMissing = true
        case .late(let delay): despia.settings.uuidDelay = delay.milliseconds
        case nil: break
        }
        return change.act.map { carryOut($0, phone, at: time) } ?? []
    }

    private mutating func carryOut(
        _ act: PhoneChange.Act,
        _ phone: String,
        at time: Int64
    ) -> [JSONValue] {
        switch act {
        case .reinstall: control("POST", "/device/reinstall", phone, [:], at: time)
        case .secondPhone:
            control("POST", "/device/second-device", "phone", ["name": .string(phone)], at: time)
        case .cloned:
            let install = show("phone", at: time)["installUuid"] ?? .null
            control("PATCH", "/device", phone, ["installUuid": install], at: time)
        case .loseID:
            control("POST", "/device/vault", phone, ["items": .object([key(.id): .null])], at: time)
        case .complete, .cancel, .fail:
            return closeSheet(act, phone, at: time)
        }
        return []
    }

    /// The sheet that is open is bought, cancelled or fails; what the page is told of it.
    private mutating func closeSheet(
        _ act: PhoneChange.Act,
        _ phone: String,
        at time: Int64
    ) -> [JSONValue] {
        gesture(act.rawValue, phone, at: time)
        let answer = control("POST", "/device/paywall/" + act.rawValue, phone, [:], at: time)
        for action in despia.takeActions() where action.kind == .purchase {
            backend.learn(action.product, of: action.user)
        }
        return answer["replies"]?.array ?? []
    }

    package mutating func apply(_ plan: BridgePlan) {
        despia.apply(plan, keys: profile.app.vaultKeys)
    }

    package func key(_ role: PhoneChange.VaultRole) -> String {
        profile.app.vaultKeys[role] ?? role.rawValue
    }

    /// A purchase in the shape of the fact sheet's section 4.
    private func entry(_ entry: HistoryEntry, number: Int) -> JSONValue {
        let transaction = "20000000000\(1000 + number)"
        let purchased = base + entry.purchased
        let user = entry.user.map { namespace.id(of: $0) } ?? ""
        return [
            "transactionId": .string(transaction), "originalTransactionId": .string(transaction),
            "productId": .string(entry.product), "type": "subscription",
            "entitlementId": .string(profile.entitlement),
            "externalUserId": .string(
                entry.isAnonymous
                    ? "$RCAnonymousID:" + namespace.hex("history", user, count: 32)
                    : user
            ), "isAnonymous": .bool(entry.isAnonymous), "isActive": .bool(entry.isActive),
            "willRenew": .bool(entry.isActive), "purchaseDate": .string(purchased.description),
            "originalPurchaseDate": .string(purchased.description),
            "expirationDate": .string((purchased + .seconds(30 * 86_400)).description),
            "store": "app_store", "country": "USA", "environment": .string(entry.environment),
            "receipt": "ZmFrZSByZWNlaXB0",
        ]
    }

    // MARK: The phone

    /// A page that opens on a phone, and what the runtime has put there before its scripts.
    package struct Launch: Hashable, Sendable {
        package let phone: String
        package let load: String
        /// The device as the fake shows it: `globals`, `globalDelays`, `userAgent` and more.
        package let device: JSONValue

        package var isNative: Bool { device["uaPreset"]?.string != "browser" }
    }

    package mutating func launch(_ phone: String, isReload: Bool, at time: Int64) -> Launch {
        // What the app found tells later what it changed.
        if loads[phone] == nil { observe(phone, at: time) }
        loads[phone, default: 0] += 1
        let load = "\(loads[phone] ?? 1)"
        let device = show(phone, at: time)
        gesture(isReload ? "reload" : "launch", phone, at: time)
        return Launch(phone: phone, load: load, device: device)
    }

    /// A person's act, in the journal.
    ///
    /// - Parameters:
    ///   - name: What it is called.
    ///   - phone: The phone.
    ///   - missing: The selector of an element that the page does not have.
    ///   - time: Microseconds since the scenario began.
    package mutating func gesture(
        _ name: String,
        _ phone: String,
        missing: String? = nil,
        at time: Int64
    ) {
        let body = missing.map { JSONValue.object(["missing": .string($0)]).bytes } ?? []
        tell(.gesture(name), phone, HTTPMessage.Request("POST", "/" + name, body: body), at: time)
    }

    /// The page told of an error of its own.
    package mutating func pageError(_ text: String, _ phone: String, at time: Int64) {
        tell(
            .gesture("page-error"),
            phone,
            HTTPMessage.Request(
                "POST",
                "/page-error",
                body: JSONValue.object(["text": .string(text)]).bytes
            ),
            at: time
        )
    }

    /// What the page shows.
    package mutating func screen(_ shown: JSONValue, _ phone: String, at time: Int64) {
        let sequence = tell(
            .screen,
            phone,
            HTTPMessage.Request("GET", "/screen"),
            at: time
        )
        exchanges[sequence].outcome = .answered(HTTPMessage.Response(200, json: shown))
    }

    @discardableResult
    private mutating func tell(
        _ purpose: Exchange.Purpose,
        _ phone: String,
        _ request: HTTPMessage.Request,
        at time: Int64
    ) -> Int {
        var request = request
        request.fields.append(HTTPMessage.Field(ClientTimeline.phoneField, phone))
        let sequence = begin(.assay, .app, purpose, request, at: time)
        complete(sequence, .answered(HTTPMessage.Response(200)), at: time)
        return sequence
    }

    /// Looks at what the phone holds.
    package mutating func observe(_ phone: String, at time: Int64) {
        let sequence = begin(
            .assay,
            .despia,
            .probe(name: "phone", user: phone),
            HTTPMessage.Request("GET", "/device"),
            at: time
        )
        let shown = show(phone, at: time)
        complete(sequence, .answered(HTTPMessage.Response(200, json: shown)), at: time)
    }

    private mutating func show(_ phone: String, at time: Int64) -> JSONValue {
        control("GET", "/device?device=" + phone.percentEncoded, phone, [:], at: time)
    }

    /// Whether the phone has a native side at all.
    package func isNative(_ phone: String) -> Bool {
        despia.devices[phone]?.uaPreset != "browser"
    }

    /// Every phone that there is.
    package var phones: [String] { despia.devices.keys.sorted() }

    @discardableResult
    private mutating func control(
        _ method: String,
        _ path: String,
        _ phone: String,
        _ body: JSONObject,
        at time: Int64
    ) -> JSONValue {
        var body = body
        body["device"] = .string(phone)
        let request = HTTPMessage.Request(
            method,
            path,
            body: method == "GET" ? [] : JSONValue.object(body).bytes
        )
        let reply = despia.respond(to: request, at: instant(time))
        return (try? JSONValue(parsing: reply.response.body)) ?? .null
    }

    // MARK: Traffic

    /// A command that the page's setter took.
    ///
    /// - Parameters:
    ///   - text: What the page assigned, to the letter.
    ///   - phone: The phone.
    ///   - load: Which load of the page it was.
    ///   - page: Milliseconds on the page's own clock.
    ///   - time: Microseconds since the scenario began.
    /// - Returns: What the native side answers: `replies`, and perhaps `throws`.
    package mutating func command(
        _ text: String,
        _ phone: String,
        load: String,
        page: Int64,
        at time: Int64
    ) -> JSONValue {
        let body: JSONObject = [
            "command": .string(text), "device": .string(phone), "load": .string(load),
            "page": .integer(page),
        ]
        let request = HTTPMessage.Request("POST", "/bridge", body: JSONValue.object(body).bytes)
        let sequence = begin(.app, .despia, .call, request, at: time)
        let reply = despia.respond(to: request, at: instant(time))
        // What RevenueCat's SDK on the phone does besides a purchase is not the app's.
        _ = despia.takeActions()
        complete(sequence, .answered(reply.response), at: time)
        return (try? JSONValue(parsing: reply.response.body)) ?? .null
    }

    /// A call of the page's to its own backend begins; the backend answers itself, unless the
    /// contract has planned something else for this call.
    ///
    /// - Parameters:
    ///   - route: The route that it belongs to.
    ///   - request: What the page sent.
    ///   - phone: The phone.
    ///   - load: Which load of the page it was.
    ///   - time: Microseconds since the scenario began.
    /// - Returns: Its number, and what is planned.
    package mutating func pass(
        _ route: String,
        _ request: HTTPMessage.Request,
        _ phone: String,
        load: String,
        at time: Int64
    ) -> (sequence: Int, answer: AppBackend.Answer?) {
        if backend.hasPlan(for: route) {
            let (sequence, answer) = call(route, request, phone, load: load, at: time)
            return (sequence, answer)
        }
        return (beginCall(route, request, phone, load: load, at: time), nil)
    }

    private mutating func beginCall(
        _ route: String,
        _ request: HTTPMessage.Request,
        _ phone: String,
        load: String,
        at time: Int64
    ) -> Int {
        var request = request
        request.fields.append(HTTPMessage.Field(ClientTimeline.phoneField, phone))
        request.fields.append(HTTPMessage.Field(ClientTimeline.loadField, load))
        return begin(.app, .backend, .appCall(route), request, at: time)
    }

    /// A call of the page's to its backend begins.
    ///
    /// - Parameters:
    ///   - route: The route that it belongs to.
    ///   - request: What the page sent.
    ///   - phone: The phone.
    ///   - load: Which load of the page it was.
    ///   - time: Microseconds since the scenario began.
    /// - Returns: Its number, and the model's answer.
    package mutating func call(
        _ route: String,
        _ request: HTTPMessage.Request,
        _ phone: String,
        load: String,
        at time: Int64
    ) -> (sequence: Int, answer: AppBackend.Answer) {
        let sequence = beginCall(route, request, phone, load: load, at: time)
        let namespace = namespace
        let answer = backend.respond(route, to: request) { namespace.id(of: $0) }
        return (sequence, answer)
    }

    package mutating func complete(_ sequence: Int, _ outcome: Exchange.Outcome, at time: Int64) {
        exchanges[sequence].outcome = outcome
        exchanges[sequence].completed = time
    }

    private mutating func begin(
        _ from: Exchange.Party,
        _ to: Exchange.Party,
        _ purpose: Exchange.Purpose,
        _ request: HTTPMessage.Request,
        at time: Int64
    ) -> Int {
        exchanges.append(
            Exchange(
                from: from,
                to: to,
                namespace: namespace.name,
                purpose: purpose,
                at: instant(time),
                request: request,
                sequence: exchanges.count,
                invoked: time
            )
        )
        return exchanges.count - 1
    }

    package func instant(_ time: Int64) -> Instant { base + .microseconds(time) }
}
