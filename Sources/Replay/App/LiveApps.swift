internal import Conformance
internal import FakeServers
internal import Phone
internal import Providers

/// Apps on phones before a real backend: the one with accounts, and the scripted one on Despia.
///
/// Their providers are the run's fakes; their own time takes no time.
struct LiveApps: Sendable {
    enum App: Sendable {
        case accounts(AccountApp)
        case despia(DespiaPhone)
    }

    var apps: [String: App] = [:]
    /// What the store account of a phone has bought, for an app that is installed again.
    var receipts: [String: [AccountApp.Receipt]] = [:]
    var storages: [String: ScriptedApp.Storage] = [:]
    var installCount = 0
    /// Events that the store has told of and nobody has delivered.
    var events: [JSONObject] = []
    /// How the way from the app to the backend behaves.
    var plan = AppBackendPlan()
    var gestureTime: Int64 = 0
}

/// The scripted app on one phone, with what is due for it in its own milliseconds.
struct DespiaPhone: Sendable {
    enum Event: Sendable {
        case dispatch(String)
        case input(ScriptedApp.Input)
    }

    var app: ScriptedApp
    var load: Int
    var now: Int64 = 0
    var queue: [(time: Int64, order: Int, event: Event)] = []
    var orderCount = 0

    mutating func add(_ time: Int64, _ event: Event) {
        orderCount += 1
        queue.append((time, orderCount, event))
    }

    /// So long, in its own milliseconds, an app is waited for.
    static let patience: Int64 = 90_000

    mutating func takeNext(by end: Int64) -> Event? {
        let index = queue.indices.min {
            (queue[$0].time, queue[$0].order) < (queue[$1].time, queue[$1].order)
        }
        guard let index, queue[index].time <= end else { return nil }
        let next = queue.remove(at: index)
        now = max(now, next.time)
        return next.event
    }
}

extension RunExecutor {
    /// Carries out what a contract lets happen on a phone.
    func carryOut(_ step: PhoneStep, _ plan: RunPlan, _ progress: inout Progress) async {
        let name = progress.namespace.name
        world.edit(name, notifies: false) { services, _ in
            services.keepsEvents = true
            services.firebase.settings.project = profile.firebaseProject
        }
        switch step {
        case .app(let action): await act(action, &progress)
        case .phone(let change): await apply(change, &progress)
        case .bridge(let plan):
            world.edit(name, notifies: false) { services, _ in
                services.despia.apply(plan, keys: profile.app.vaultKeys)
            }
        case .backend(let plan):
            progress.live.plan.answers.merge(plan.answers) { $1 }
            progress.live.plan.isPermanent = plan.isPermanent
        case .store(let act):
            guard let kind = StoreAction.Kind(rawValue: act.name) else { return }
            let action = StoreAction(kind, user: progress.namespace.id(of: act.user))
            let refusal = world.edit(name) { services, now -> String? in
                do throws(StoreAction.Refusal) {
                    try services.revenueCat.carryOut(action, at: now)
                    return nil
                } catch {
                    return error.description
                }
            }
            if let refusal = refusal ?? nil { progress.trouble = .disturbanceMissed(refusal) }
        }
        collectEvents(&progress)
        introduce(plan.users, progress)
    }

    /// What the store has told since the last look.
    private func collectEvents(_ progress: inout Progress) {
        let told = world.edit(progress.namespace.name, notifies: false) { services, _ in
            defer { services.told = [] }
            return services.told
        }
        progress.live.events += told ?? []
    }

    /// The body of the next event of that type; none is the run's trouble.
    func told(_ type: String, _ progress: inout Progress) -> [UInt8] {
        guard let index = progress.live.events.firstIndex(where: { $0["type"]?.string == type })
        else {
            let known = progress.live.events.compactMap { $0["type"]?.string }
            progress.trouble = .disturbanceMissed(
                "the store told of no \(type)"
                    + (known.isEmpty ? "" : "; it told of \(known.joined(separator: ", "))")
            )
            return []
        }
        return RevenueCatState.body(progress.live.events.remove(at: index)).bytes
    }

    // MARK: Acts

    private func act(_ action: AppAction, _ progress: inout Progress) async {
        let phone = action.phone
        if action.name == .launch, progress.live.apps[phone] == nil || action.app == .despia {
            progress.live.apps[phone] = open(action, &progress)
        }
        switch progress.live.apps[phone] {
        case .accounts(var app)?:
            await act(action, &app, &progress)
            progress.live.apps[phone] = .accounts(app)
        case .despia(var app)?:
            await act(action, &app, &progress)
            progress.live.apps[phone] = .despia(app)
        case nil:
            progress.trouble = .disturbanceMissed("no app was launched on \(phone)")
        }
    }

    private func open(_ action: AppAction, _ progress: inout Progress) -> LiveApps.App {
        let phone = action.phone
        progress.live.installCount += 1
        let seed = "\(progress.namespace.name)-\(progress.live.installCount)"
        guard action.app == .despia else {
            return .accounts(
                AccountApp(
                    installID: progress.namespace.installID(of: phone),
                    receipts: progress.live.receipts[phone] ?? [],
                    seed: seed,
                    defects: appDefects
                )
            )
        }
        let device = show(phone, progress)
        var generator = SeededGenerator(seed: 0, text: seed)
        return .despia(
            DespiaPhone(
                app: ScriptedApp(
                    globals: device["globals"]?.object ?? JSONObject(),
                    userAgent: device["userAgent"]?.string ?? "",
                    keys: profile.app.vaultKeys,
                    storage: progress.live.storages[phone] ?? ScriptedApp.Storage(),
                    defects: clientDefects,
                    seed: generator.next()
                ),
                load: progress.live.installCount
            )
        )
    }

    private func apply(_ change: PhoneChange, _ progress: inout Progress) async {
        let phone = change.phone
        switch change.act {
        case .reinstall:
            if case .accounts(let app)? = progress.live.apps[phone] {
                progress.live.receipts[phone] = app.receipts
            }
            progress.live.apps[phone] = nil
            progress.live.storages[phone] = nil
            control("POST", "/device/reinstall", phone, [:], progress)
        case .secondPhone:
            if case .accounts(let app)? = progress.live.apps["phone"] {
                progress.live.receipts[phone] = app.receipts
            }
            control(
                "POST",
                "/device/second-device",
                "phone",
                ["name": .string(phone)],
                progress
            )
        case .complete, .cancel, .fail:
            guard case .despia(var app)? = progress.live.apps[phone] else { return }
            await close(change.act?.rawValue ?? "", phone, &app, &progress)
            progress.live.apps[phone] = .despia(app)
        case .cloned, .loseID, nil: break
        }
    }

    // MARK: The app with accounts

    private func act(
        _ action: AppAction,
        _ app: inout AccountApp,
        _ progress: inout Progress
    ) async {
        var act = AccountApp.Act(action.name)
        let account = action.account ?? ""
        act.email = progress.namespace.accountID(of: account)
        act.password =
            (action.hasWrongPassword ? "wrong-" : "") + progress.namespace.password(of: account)
        act.product = action.product ?? act.product
        var call = app.begin(act)
        while let next = call, !Task.isCancelled {
            let answer = await self.make(next, action.phone, &progress)
            call = app.take(answer)
        }
        // Whatever a provider refuses, unless that was the point, leaves nothing to judge.
        if (app.failure == nil) == action.hasWrongPassword {
            progress.trouble = .disturbanceMissed(
                "'app: \(action.name.rawValue)' "
                    + (app.failure.map { "failed at \($0)" } ?? "succeeded and should have failed")
            )
        }
        // From now on the contract's names stand for these ids.
        if let name = action.anonymous { progress.namespace.assign(app.revenueCatID, to: name) }
        // An account is one person: whoever it was first, it stays.
        if let account = action.account, let uid = app.uid,
            progress.namespace.assigned[account] == nil
        {
            progress.namespace.assign(uid, to: account)
        }
        progress.live.receipts[action.phone] = app.receipts
    }

    private func make(
        _ call: AccountApp.Call,
        _ phone: String,
        _ progress: inout Progress
    ) async -> HTTPMessage.Response? {
        let name = progress.namespace.name
        switch call {
        case .firebase(let request): return world.call(.firebase, request, namespace: name)
        case .revenueCat(let request): return world.call(.revenueCat, request, namespace: name)
        case .mail(var request):
            let parts = request.target.split(
                separator: "PROJECT",
                omittingEmptySubsequences: false
            )
            request.target = parts.joined(separator: profile.firebaseProject)
            return world.call(.firebase, request, namespace: name)
        case .backend(let route, let values, let token):
            guard let endpoint = profile.endpoints[route] else { return nil }
            // Backends that verify signatures know the keys of all runs, not those of one.
            var spec = TokenSpec()
            // The session is no older than the account.
            for claim in ["iat", "auth_time"] {
                spec.claims[claim] = .integer(world.now.seconds)
            }
            let signed =
                route == "delete-account"
                ? forge.text(spec, user: values["id"] ?? "", at: world.now) : nil
            let token = signed ?? token
            // The backend's calls about this id are this run's.
            if let id = values["id"] { world.know([id], namespace: name) }
            let outcome = await send(
                endpoint,
                values,
                phone,
                route: route,
                fields: token.map { [HTTPMessage.Field("authorization", "Bearer " + $0)] } ?? [],
                &progress
            )
            if case .answered(let response) = outcome { return response }
            return nil
        }
    }

    /// One call of an app to its backend, as a step of its timeline.
    private func send(
        _ endpoint: Profile.Endpoint,
        _ values: [String: String],
        _ phone: String,
        route: String,
        fields: [HTTPMessage.Field],
        losesAnswer: Bool = false,
        _ progress: inout Progress
    ) async -> Exchange.Outcome {
        var all = values.mapValues { Optional($0) }
        all["timestamp"] = .some(world.now.description)
        let (sequence, outcome) = await send(
            endpoint,
            all,
            purpose: .appCall(route),
            fields: fields + [
                HTTPMessage.Field(ClientTimeline.phoneField, phone)
            ],
            lane: 0,
            progress
        )
        if losesAnswer, case .answered(let response) = outcome {
            world.journal.complete(sequence, .answerLost(response))
        } else {
            world.journal.complete(sequence, outcome)
        }
        return outcome
    }

    // MARK: The app on the Despia runtime

    private func act(
        _ action: AppAction,
        _ phone: inout DespiaPhone,
        _ progress: inout Progress
    ) async {
        let name = action.phone
        gesture(action.name.rawValue, name, progress)
        switch action.name {
        case .launch:
            let outputs = phone.app.start(at: phone.now)
            await take(outputs, name, &phone, &progress)
            await settle(name, &phone, &progress)
            if let user = action.anonymous,
                let id = timeline(progress).finalID(of: name)
            {
                progress.namespace.assign(id, to: user)
            }
        case .purchase:
            await hand(.upgrade, name, &phone, &progress)
            await close("complete", name, &phone, &progress)
        case .upgrade: await hand(.upgrade, name, &phone, &progress)
        case .restore: await hand(.restore, name, &phone, &progress)
        case .logout: await hand(.logout, name, &phone, &progress)
        case .status: await hand(.status, name, &phone, &progress)
        case .callback, .refresh:
            await hand(.called("onRevenueCatPurchase", []), name, &phone, &progress)
        case .login:
            let account = action.account ?? ""
            let input = ScriptedApp.Input.login(
                account: progress.namespace.accountID(of: account),
                password: progress.namespace.password(of: account),
                agrees: action.agrees
            )
            await hand(input, name, &phone, &progress)
        case .launchTwice, .reload, .kill, .upgradeTwice, .wait, .signUp, .signIn, .google,
            .forgotPassword, .deleteAccount:
            break
        }
        progress.live.storages[name] = phone.app.storage
        screen(phone.app.screen, name, progress)
    }

    private func hand(
        _ input: ScriptedApp.Input,
        _ name: String,
        _ phone: inout DespiaPhone,
        _ progress: inout Progress
    ) async {
        let outputs = phone.app.handle(input, at: phone.now)
        await take(outputs, name, &phone, &progress)
        await settle(name, &phone, &progress)
    }

    /// Lets everything happen that follows, in the phone's own time.
    private func settle(
        _ name: String,
        _ phone: inout DespiaPhone,
        _ progress: inout Progress
    ) async {
        let end = phone.now + DespiaPhone.patience
        while !Task.isCancelled {
            if let wake = phone.app.wakeAt,
                !phone.queue.contains(where: { $0.time <= wake }), wake <= end
            {
                phone.add(max(phone.now, wake), .input(.tick))
            }
            guard let event = phone.takeNext(by: end) else { return }
            switch event {
            case .input(let input):
                let outputs = phone.app.handle(input, at: phone.now)
                await take(outputs, name, &phone, &progress)
            case .dispatch(let text): dispatch(text, name, &phone, progress)
            }
        }
    }

    private func take(
        _ outputs: [ScriptedApp.Output],
        _ name: String,
        _ phone: inout DespiaPhone,
        _ progress: inout Progress
    ) async {
        for output in outputs {
            switch output {
            case .command(let text, let at): phone.add(max(phone.now, at), .dispatch(text))
            case .call(let number, let route, let values):
                let (status, body) = await call(route, values, name, &progress)
                phone.add(phone.now + 1, .input(.answered(number, status: status, body)))
            case .error: break
            }
        }
    }

    private func call(
        _ route: String,
        _ values: [String: String],
        _ name: String,
        _ progress: inout Progress
    ) async -> (Int?, JSONValue) {
        let planned = progress.live.plan.takeNext(route)
        if planned == .reset || planned == .never { return (nil, .null) }
        let access = profile.app.access.map { Profile.Endpoint(method: $0.method, path: $0.path) }
        guard let endpoint = route == "access" ? access : profile.endpoints[route] else {
            return (nil, .null)
        }
        if let id = values["id"] { world.know([id], namespace: progress.namespace.name) }
        // Handed to the backend, and its answer is lost, or another one reaches the app.
        var lost: Int?
        if case .status(let status)? = planned { lost = status }
        let outcome = await send(
            endpoint,
            values,
            name,
            route: route,
            fields: [],
            losesAnswer: lost != nil,
            &progress
        )
        if let lost { return (lost, .null) }
        guard case .answered(let response) = outcome else { return (nil, .null) }
        let body = (try? JSONValue(parsing: response.body)) ?? .null
        if route == "access" { return (response.status, usual(body)) }
        // The id where this backend answers it, in the place where the scripted app looks.
        let place =
            endpoint.answerID ?? profile.places(in: route)["id"]
            ?? JSONPointer(tokens: ["appUserId"])
        let id = body[place]?.string ?? (route == "register" ? values["id"] : nil)
        return (response.status, id.map { ["appUserId": .string($0)] } ?? body)
    }

    /// The backend's answer about access in the words of the scripted app.
    private func usual(_ body: JSONValue) -> JSONValue {
        guard let template = profile.app.access?.body?.object else { return body }
        for member in template.members where member.value.templateName == "access" {
            return ["access": body[member.key] ?? .null]
        }
        return body
    }

    private func dispatch(
        _ text: String,
        _ name: String,
        _ phone: inout DespiaPhone,
        _ progress: Progress
    ) {
        let body: JSONObject = [
            "command": .string(text), "device": .string(name), "load": .string("\(phone.load)"),
            "page": .integer(phone.now),
        ]
        let reply = world.call(
            .despia,
            HTTPMessage.Request("POST", "/bridge", body: JSONValue.object(body).bytes),
            namespace: progress.namespace.name
        )
        let answer = (try? JSONValue(parsing: reply.body)) ?? .null
        schedule(answer["replies"]?.array ?? [], &phone)
    }

    private func schedule(_ replies: [JSONValue], _ phone: inout DespiaPhone) {
        for reply in replies {
            let name = reply["name"]?.string ?? ""
            let input: ScriptedApp.Input =
                reply["kind"] == "callback"
                ? .called(name, reply["arguments"]?.array ?? [])
                : .assigned(name, reply["value"] ?? .null)
            phone.add(phone.now + max(1, reply["delay"]?.int64 ?? 0), .input(input))
        }
    }

    /// The sheet that is open is bought, cancelled or fails.
    private func close(
        _ outcome: String,
        _ name: String,
        _ phone: inout DespiaPhone,
        _ progress: inout Progress
    ) async {
        gesture(outcome, name, progress)
        // The SDK tells RevenueCat which subscription of OneSignal's this phone has.
        let device = show(name, progress)
        if let player = device["playerId"]?.string, let buyer = device["externalId"]?.string {
            var action = StoreAction(.setAttributes, user: buyer)
            action.attributes = ["$onesignalId": .string(player)]
            let attributes = action
            world.edit(progress.namespace.name) { services, now in
                try? services.revenueCat.carryOut(attributes, at: now)
            }
        }
        let answer = control(
            "POST",
            "/device/paywall/" + outcome,
            name,
            ["environment": "PRODUCTION"],
            progress
        )
        collectEvents(&progress)
        schedule(answer["replies"]?.array ?? [], &phone)
        await settle(name, &phone, &progress)
    }

    // MARK: Phones

    /// What every phone holds when the steps are over.
    func observePhones(_ progress: Progress) {
        for (name, app) in progress.live.apps.sorted(by: { $0.key < $1.key }) {
            guard case .despia = app else { continue }
            let shown = show(name, progress)
            record(
                .assay,
                .despia,
                .probe(name: "phone", user: name),
                HTTPMessage.Request("GET", "/device"),
                shown,
                progress
            )
        }
    }

    private func gesture(_ name: String, _ phone: String, _ progress: Progress) {
        let request = HTTPMessage.Request(
            "POST",
            "/" + name,
            fields: [HTTPMessage.Field(ClientTimeline.phoneField, phone)]
        )
        record(.assay, .app, .gesture(name), request, ["ok": true], progress)
    }

    private func screen(_ shown: JSONValue, _ phone: String, _ progress: Progress) {
        let request = HTTPMessage.Request(
            "GET",
            "/screen",
            fields: [HTTPMessage.Field(ClientTimeline.phoneField, phone)]
        )
        record(.assay, .app, .screen, request, shown, progress)
    }

    private func record(
        _ from: Exchange.Party,
        _ to: Exchange.Party,
        _ purpose: Exchange.Purpose,
        _ request: HTTPMessage.Request,
        _ answer: JSONValue,
        _ progress: Progress
    ) {
        var exchange = self.exchange(from, purpose, request, progress)
        exchange.to = to
        let sequence = world.journal.begin(exchange)
        world.journal.complete(sequence, .answered(HTTPMessage.Response(200, json: answer)))
    }

    private func show(_ phone: String, _ progress: Progress) -> JSONValue {
        control("GET", "/device?device=" + phone.percentEncoded, phone, [:], progress)
    }

    @discardableResult
    private func control(
        _ method: String,
        _ path: String,
        _ phone: String,
        _ body: JSONObject,
        _ progress: Progress
    ) -> JSONValue {
        var body = body
        body["device"] = .string(phone)
        let request = HTTPMessage.Request(
            method,
            path,
            body: method == "GET" ? [] : JSONValue.object(body).bytes
        )
        let response = world.edit(progress.namespace.name) { services, now in
            services.despia.respond(to: request, at: now).response
        }
        return response.flatMap { try? JSONValue(parsing: $0.body) } ?? .null
    }

    private func timeline(_ progress: Progress) -> ClientTimeline {
        ClientTimeline(
            RunRecord(
                plan: RunPlan(steps: [], users: [], observes: false),
                namespace: progress.namespace,
                base: base,
                began: base,
                ended: base,
                exchanges: world.journal.read {
                    $0.exchanges(in: progress.namespace.name, from: progress.firstSequence)
                },
                settling: .notNeeded
            ),
            profile: profile
        )
    }
}
