package import Conformance
internal import Providers

/// The control API below `/assay/v1`: whatever a person, a test or the command line does to the
/// fakes.
package final class ControlAPI: Sendable {
    /// A call that cannot be carried out: what is wrong, and what to type next.
    private struct Refusal: Error {
        let status: Int
        let text: String
        var hint: String?

        init(_ status: Int = 400, _ text: String, hint: String? = nil) {
            self.status = status
            self.text = text
            self.hint = hint
        }
    }

    /// One request, read.
    private struct Call {
        let request: HTTPMessage.Request
        let values: [String]
        let namespace: String
        let body: JSONObject

        var value: String { values.first ?? "" }

        func query(_ name: String) -> String? { request.query(name) }
    }

    private let world: FakeWorld
    private let courier: Courier
    private let version: String
    private let allowedHosts: Set<String>
    private let servers: [FakeServer]

    package init(
        world: FakeWorld,
        courier: Courier,
        version: String,
        servers: [FakeServer],
        allowedHosts: Set<String> = []
    ) {
        self.world = world
        self.courier = courier
        self.version = version
        self.servers = servers
        self.allowedHosts = allowedHosts
    }

    // MARK: Answering

    /// An answer, or lines that go on.
    package enum Answer: Sendable {
        case whole(HTTPMessage.Response)
        case lines(AsyncStream<String>)
    }

    package func respond(to request: HTTPMessage.Request) async -> Answer {
        do throws(Refusal) {
            try checkOrigin(request)
            return try await answer(request)
        } catch {
            var body: JSONObject = ["error": .string(error.text)]
            if let hint = error.hint { body["hint"] = .string(hint) }
            return .whole(HTTPMessage.Response(error.status, json: .object(body)))
        }
    }

    /// A web page must not move the fakes: neither from another origin nor by a name that points
    /// here.
    private func checkOrigin(_ request: HTTPMessage.Request) throws(Refusal) {
        let host = Self.hostName(request[field: "host"] ?? "")
        guard LoopbackHost.isLoopback(host) || allowedHosts.contains(host) else {
            throw Refusal(
                403,
                "the Host header names '\(host)', which is not this machine",
                hint: "use http://127.0.0.1, or start with --allow-host \(host)"
            )
        }
        if let origin = request[field: "origin"] {
            let own = "http://" + (request[field: "host"] ?? "")
            guard origin == own else {
                throw Refusal(
                    403,
                    "a page of \(origin) may not call the control API",
                    hint: "call it from a program, or from the page that assay serve serves"
                )
            }
        }
        if request[field: "sec-fetch-site"] == "cross-site" {
            throw Refusal(403, "a page of another site may not call the control API")
        }
    }

    private static func hostName(_ authority: String) -> String {
        if authority.hasPrefix("[") {
            return String(authority.dropFirst().prefix { $0 != "]" })
        }
        return String(authority.prefix { $0 != ":" })
    }

    private func answer(_ request: HTTPMessage.Request) async throws(Refusal) -> Answer {
        guard let segments = request.pathSegments else {
            throw Refusal(400, "the path is no UTF-8")
        }
        if segments.isEmpty {
            return .whole(
                HTTPMessage.Response(
                    200,
                    json: ["assay": .string(version), "control": "/assay/v1"]
                )
            )
        }
        guard segments.starts(with: ["assay", "v1"]) else {
            throw Refusal(404, "the control API lies below /assay/v1")
        }
        let path = Array(segments.dropFirst(2))
        guard let (route, values) = ControlRoute.match(request.method, path) else {
            let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"].filter {
                ControlRoute.match($0, path) != nil
            }
            guard methods.isEmpty else {
                throw Refusal(405, "\(request.path) takes \(methods.joined(separator: ", "))")
            }
            throw Refusal(
                404,
                "there is no \(request.method) \(request.path)",
                hint: "GET /assay/v1/openapi.json lists everything"
            )
        }
        let (object, problem) = request.jsonObject()
        guard let object else { throw Refusal(400, "the body is no JSON object: \(problem)") }
        let namespace =
            request.query("namespace") ?? request[field: "x-assay-namespace"] ?? ""
        if route.takesNamespace, !world.namespaces.contains(namespace) {
            throw Refusal(
                404,
                "there is no namespace '\(namespace)'",
                hint: "PUT /assay/v1/namespaces/\(namespace) makes it"
            )
        }
        let call = Call(request: request, values: values, namespace: namespace, body: object)
        if route == .journalStream { return .lines(try stream(call)) }
        return .whole(HTTPMessage.Response(200, json: try await carryOut(route, call)))
    }

    private func carryOut(_ route: ControlRoute, _ call: Call) async throws(Refusal) -> JSONValue {
        switch route {
        case .root:
            return [
                "assay": .string(version),
                "fakes": .object(
                    JSONObject(
                        members: servers.map {
                            .init(key: $0.party.description, value: .string($0.baseURL))
                        }
                    )
                ),
                "namespaces": .strings(world.namespaces),
            ]
        case .health: return ["ok": true]
        case .openapi: return ControlRoute.document(version: version)
        case .namespaces, .putNamespace, .deleteNamespace, .reset:
            return try namespace(route, call)
        case .journal: return try journal(call)
        case .journalStream: return .null
        case .clock, .setClock, .advance: return try await clock(route, call)
        case .faults, .putFault, .deleteFaults: return try await faults(route, call)
        case .settings, .patchSettings: return try settings(route, call)
        case .webhooks, .putWebhook, .deleteWebhook, .purchaselyWebhook:
            return try webhooks(route, call)
        case .products, .putProduct: return try products(route, call)
        case .storeActions:
            return [
                "actions": .object(
                    JSONObject(
                        members: StoreAction.Kind.allCases.map {
                            .init(key: $0.rawValue, value: .string($0.summary))
                        }
                    )
                )
            ]
        case .storeAction: return try await storeAction(call)
        case .customer:
            let info = world.read(call.namespace) { services, now in
                services.revenueCat.customer(call.value)?.info(at: now, showsAttributes: true)
            }
            guard let info = info ?? nil else {
                throw Refusal(404, "there is no customer '\(call.value)'")
            }
            return info
        case .send: return try await send(call)
        case .deliveries, .flush, .resend: return try await deliveries(route, call)
        case .purchaselyAction: return try await purchaselyAction(call)
        case .device, .deviceAction: return try await device(route, call)
        case .rotateKeys:
            let keys = world.edit(call.namespace) { services, now in
                services.firebase.rotateKeys(at: now)
                return services.firebase.keyIDs
            }
            return ["keys": .strings(keys ?? [])]
        case .snapshots, .takeSnapshot, .restoreSnapshot, .fork:
            return try snapshots(route, call)
        case .export:
            guard let saved = try? world.save() else { throw Refusal(500, "cannot be written") }
            return saved
        case .importState:
            do throws(FakeWorld.LoadError) {
                try world.load(.object(call.body))
            } catch {
                throw Refusal(400, error.description)
            }
            return ["namespaces": .strings(world.namespaces)]
        }
    }

    // MARK: Namespaces

    private func namespace(_ route: ControlRoute, _ call: Call) throws(Refusal) -> JSONValue {
        switch route {
        case .putNamespace:
            let name = try text(call.value, "the name of the namespace")
            let ids = (call.body["ids"]?.array ?? []).compactMap(\.string)
            world.know(ids, namespace: name)
            return ["namespace": .string(name), "ids": .strings(world.ids(of: name))]
        case .deleteNamespace:
            guard world.namespaces.contains(call.value) else {
                throw Refusal(404, "there is no namespace '\(call.value)'")
            }
            world.remove(call.value)
            return ["namespaces": .strings(world.namespaces)]
        case .reset:
            world.reset(call.namespace)
            return [
                "namespace": .string(call.namespace),
                "journal": .integer(Int64(world.journal.read { $0.nextSequence })),
            ]
        default:
            return [
                "namespaces": .array(
                    world.namespaces.map {
                        ["namespace": .string($0), "ids": .strings(world.ids(of: $0))]
                    }
                )
            ]
        }
    }

    private func text(_ text: String, _ what: String) throws(Refusal) -> String {
        guard !text.isEmpty, text.utf8.count <= 200 else {
            throw Refusal(400, "\(what) has 1 to 200 characters")
        }
        return text
    }

    // MARK: Journal

    private struct JournalFilter: Sendable {
        let namespace: String?
        let party: Exchange.Party?
        let hasEffects: Bool

        func passes(_ exchange: Exchange) -> Bool {
            (namespace == nil || exchange.namespace == namespace)
                && (party == nil || exchange.from == party || exchange.to == party)
                && (!hasEffects || !exchange.effects.isEmpty)
        }
    }

    private func filter(_ call: Call) throws(Refusal) -> (JournalFilter, after: Int, limit: Int) {
        var party: Exchange.Party?
        if let name = call.query("party") {
            party = Exchange.Party.allCases.first { $0.description == name }
            guard party != nil else {
                let names = Exchange.Party.allCases.map(\.description).joined(separator: ", ")
                throw Refusal(400, "'party' is '\(name)', which is none of \(names)")
            }
        }
        let after = try number(call, "after", -1)
        let limit = try number(call, "limit", 100)
        guard (1...1000).contains(limit) else { throw Refusal(400, "'limit' takes 1 to 1000") }
        let filter = JournalFilter(
            namespace: call.query("all") == "true" ? nil : call.namespace,
            party: party,
            hasEffects: call.query("effects") == "true"
        )
        return (filter, after, limit)
    }

    private func number(_ call: Call, _ name: String, _ normal: Int) throws(Refusal) -> Int {
        guard let text = call.query(name) else { return normal }
        guard let number = Int(text) else {
            throw Refusal(400, "'\(name)' is '\(text)', which is no number")
        }
        return number
    }

    private func journal(_ call: Call) throws(Refusal) -> JSONValue {
        let (filter, after, limit) = try filter(call)
        let (page, last, forgotten, next) = world.journal.read { journal in
            let page = journal.page(after: after, limit: limit, where: filter.passes)
            return (page.exchanges, page.last, journal.forgottenCount, journal.nextSequence)
        }
        return [
            "entries": .array(page.map(JournalLine.value)), "after": .integer(Int64(last)),
            "more": .bool(last + 1 < next),
            // A full journal cannot prove that something did not happen.
            "forgotten": .integer(Int64(forgotten)),
        ]
    }

    private func stream(_ call: Call) throws(Refusal) -> AsyncStream<String> {
        let (filter, after, _) = try filter(call)
        let journal = world.journal
        let numbers = journal.follow()
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        let task = Task {
            var seen = after
            // Entries that were there and had not ended; they come later, with a lower number.
            var unfinished: Set<Int> = []
            // First what is there, then what comes.
            while true {
                let page = journal.read {
                    $0.page(after: seen, limit: 500, where: filter.passes)
                }
                for exchange in page.exchanges {
                    if exchange.completed == nil {
                        unfinished.insert(exchange.sequence)
                    } else {
                        continuation.yield(JournalLine.value(exchange).text)
                    }
                }
                guard page.last > seen else { break }
                seen = page.last
            }
            for await number in numbers {
                let exchange = journal.read { $0.exchange(number) }
                let isNew = number > seen || unfinished.remove(number) != nil
                guard let exchange, isNew, filter.passes(exchange) else { continue }
                continuation.yield(JournalLine.value(exchange).text)
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return lines
    }

    // MARK: Clock

    private func instant(_ value: JSONValue?, _ name: String) throws(Refusal) -> Instant? {
        switch value {
        case nil, .null: return nil
        case .number:
            if let time = value?.int64 { return Instant(milliseconds: time) }
        case .string(let text):
            if let time = Instant(iso8601: text) { return time }
        default: break
        }
        throw Refusal(
            400,
            "'\(name)' takes a time such as 2026-09-24T12:00:00Z, or milliseconds"
        )
    }

    private func shownClock(_ namespace: String) -> JSONValue {
        let wall = world.now
        let clock = world.read(namespace) { services, _ in services.clock } ?? VirtualClock()
        let now = clock.now(at: wall)
        return [
            "namespace": .string(namespace), "now": .string(now.preciseText),
            "now_ms": .integer(now.milliseconds), "frozen": .bool(clock.frozen != nil),
            "ahead_ms": .integer((now - wall).milliseconds),
        ]
    }

    private func clock(_ route: ControlRoute, _ call: Call) async throws(Refusal) -> JSONValue {
        let wall = world.now
        switch route {
        case .setClock:
            let time = try instant(call.body["now"], "now")
            let frozen = call.body["frozen"]?.bool
            guard time != nil || frozen != nil else {
                throw Refusal(400, "give 'now', 'frozen' or both")
            }
            world.edit(call.namespace) { services, _ in
                if let frozen { services.clock.freeze(frozen, at: wall) }
                if let time { services.clock.set(to: time, at: wall) }
            }
        case .advance:
            let now = world.read(call.namespace) { $1 } ?? wall
            var target = try instant(call.body["to"], "to")
            if let text = call.body["by"]?.string {
                guard let span = Duration(contractText: text), span > .zero else {
                    throw Refusal(400, "'by' is '\(text)', which is no duration such as 5m or 30d")
                }
                target = now + span
            }
            let isSettling = call.body["until"] == "settled"
            guard isSettling || target != nil else {
                throw Refusal(400, "give 'by', 'to' or 'until': 'settled'")
            }
            if let target, target < now {
                throw Refusal(400, "the clock does not go back; use PUT /assay/v1/clock")
            }
            let done = await courier.advance(call.namespace, to: isSettling ? nil : target)
            var shown = shownClock(call.namespace).object ?? JSONObject()
            shown["attempts"] = .integer(Int64(done.attemptCount))
            shown["settled"] = .bool(done.isSettled)
            return .object(shown)
        default: break
        }
        return shownClock(call.namespace)
    }

    // MARK: Faults

    private static let providers = ["revenuecat", "onesignal", "firebase", "purchasely", "despia"]

    private func faults(_ route: ControlRoute, _ call: Call) async throws(Refusal) -> JSONValue {
        switch route {
        case .putFault:
            if let isRefusing = call.body["refused"]?.bool {
                try await refuse(isRefusing, servers.filter { $0.party.description == call.value })
                if call.body["answers"] == nil { break }
            }
            guard Self.providers.contains(call.value) else {
                throw Refusal(
                    404,
                    "'\(call.value)' is none of \(Self.providers.joined(separator: ", "))"
                )
            }
            guard let list = call.body["answers"]?.array, !list.isEmpty else {
                throw Refusal(400, "'answers' takes a list, for example [500, \"ok\"]")
            }
            var answers: [ProviderPlan.Answer] = []
            for item in list { answers.append(try Self.answer(item)) }
            let plan = ProviderPlan(
                provider: call.value,
                answers: answers,
                isPermanent: call.body["permanent"]?.bool ?? false,
                includesReads: call.body["reads"]?.bool ?? false
            )
            world.schedule(plan, namespace: call.namespace)
        case .deleteFaults:
            world.heal(namespace: call.namespace)
            try await refuse(false, servers)
        default: break
        }
        let plans = world.read(call.namespace) { services, _ in services.plans } ?? [:]
        return [
            "refused": .strings(servers.filter(\.isRefusing).map(\.party.description)),
            "faults": .object(
                JSONObject(
                    members: plans.sorted { $0.key < $1.key }.map { name, plan in
                        .init(
                            key: name,
                            value: [
                                "answers": .array(plan.answers.map(Self.shown)),
                                "permanent": .bool(plan.isPermanent),
                                "reads": .bool(plan.includesReads),
                            ]
                        )
                    }
                )
            ),
        ]
    }

    /// A port belongs to every namespace: who refuses one refuses all.
    private func refuse(_ isRefusing: Bool, _ servers: [FakeServer]) async throws(Refusal) {
        for server in servers {
            do throws(StartError) {
                try await server.refuse(isRefusing)
            } catch {
                throw Refusal(409, error.description)
            }
        }
    }

    private static let answerNames: [(name: String, answer: ProviderPlan.Answer)] = [
        ("ok", .asUsual), ("reset", .reset), ("lose-answer", .loseAnswer), ("never", .never),
        ("half", .half), ("malformed", .malformed), ("no-subscribers", .noSubscribers),
        ("invalid-aliases", .invalidAliases),
    ]

    private static func answer(_ value: JSONValue) throws(Refusal) -> ProviderPlan.Answer {
        if let status = value.int64, (200...599).contains(status) { return .status(Int(status)) }
        if let text = value.string {
            if let known = answerNames.first(where: { $0.name == text }) { return known.answer }
            let words = text.split(separator: " ").map(String.init)
            if words.count >= 2, words[0] == "code" {
                return .code(words.dropFirst().joined(separator: " "))
            }
            if words.count == 2, ["slow", "hang"].contains(words[0]),
                let span = Duration(contractText: words[1])
            {
                return words[0] == "slow" ? .slow(span.milliseconds) : .hang(span.milliseconds)
            }
        }
        throw Refusal(
            400,
            "\(value.text) is no answer; there is a status from 200 to 599, slow 2s, hang 2s, "
                + "code QUOTA_EXCEEDED (Firebase), "
                + answerNames.map(\.name).joined(separator: ", ")
        )
    }

    private static func shown(_ answer: ProviderPlan.Answer) -> JSONValue {
        switch answer {
        case .status(let status): .integer(Int64(status))
        case .slow(let milliseconds): .string("slow \(milliseconds)ms")
        case .hang(let milliseconds): .string("hang \(milliseconds)ms")
        case .code(let code): .string("code \(code)")
        default: .string(answerNames.first { $0.answer == answer }?.name ?? "ok")
        }
    }

    // MARK: Switches

    private func settings(_ route: ControlRoute, _ call: Call) throws(Refusal) -> JSONValue {
        if route == .patchSettings {
            guard !call.body.members.isEmpty else {
                throw Refusal(400, "give the switches of at least one provider")
            }
            // All or nothing: a wrong switch leaves the others as they were.
            let problem = world.edit(call.namespace) { services, _ -> Refusal? in
                var changed = services
                do throws(Refusal) {
                    for member in call.body.members {
                        try Self.change(&changed, member.key, member.value)
                    }
                } catch {
                    return error
                }
                services = changed
                return nil
            }
            if let problem = problem ?? nil { throw problem }
        }
        let shown = world.read(call.namespace) { services, _ in Self.shown(services) }
        return shown ?? .null
    }

    /// Changes one switch by name, for the command line.
    ///
    /// - Returns: What is wrong; nil when it was changed.
    package static func changeSwitch(
        of provider: String,
        _ name: String,
        to value: JSONValue,
        in world: FakeWorld
    ) -> String? {
        let problem = world.edit("") { services, _ -> String? in
            do throws(Refusal) {
                try change(
                    &services,
                    provider,
                    .object(
                        JSONObject(members: [
                            .init(key: name, value: value)
                        ])
                    )
                )
                return nil
            } catch {
                return error.text + (error.hint.map { "; " + $0 } ?? "")
            }
        }
        return problem ?? nil
    }

    private static func shown(_ services: Services) -> JSONValue {
        func value(_ settings: some Encodable) -> JSONValue {
            var object = (try? JSONValue(encoding: settings))?.object ?? JSONObject()
            // A switch without a value is there to be found, too.
            for name in Mirror(reflecting: settings).children.compactMap(\.label)
            where object[name] == nil {
                object[name] = .null
            }
            return .object(object)
        }
        return [
            "revenuecat": value(services.revenueCat.settings),
            "onesignal": value(services.oneSignal.settings),
            "firebase": value(services.firebase.settings),
            "purchasely": value(services.purchasely.settings),
            "despia": value(services.despia.settings),
            "despia-faults": value(services.despia.faults),
        ]
    }

    private static func change(
        _ services: inout Services,
        _ provider: String,
        _ value: JSONValue
    ) throws(Refusal) {
        switch provider {
        case "revenuecat": try merge(&services.revenueCat.settings, value, provider)
        case "onesignal": try merge(&services.oneSignal.settings, value, provider)
        case "firebase": try merge(&services.firebase.settings, value, provider)
        case "purchasely": try merge(&services.purchasely.settings, value, provider)
        case "despia": try merge(&services.despia.settings, value, provider)
        case "despia-faults": try merge(&services.despia.faults, value, provider)
        default:
            throw Refusal(
                400,
                "'\(provider)' has no switches",
                hint: "there are " + (providers + ["despia-faults"]).joined(separator: ", ")
            )
        }
    }

    private static func merge<Settings: Codable>(
        _ settings: inout Settings,
        _ value: JSONValue,
        _ provider: String
    ) throws(Refusal) {
        guard let changes = value.object else {
            throw Refusal(400, "'\(provider)' takes an object")
        }
        let names = Mirror(reflecting: settings).children.compactMap(\.label)
        guard var object = (try? JSONValue(encoding: settings))?.object else { return }
        for change in changes.members {
            guard names.contains(change.key) else {
                throw Refusal(
                    400,
                    "\(provider) has no switch '\(change.key)'",
                    hint: "there are " + names.joined(separator: ", ")
                )
            }
            object[change.key] = change.value.isNull ? nil : change.value
        }
        do {
            settings = try JSONValue.object(object).decoded()
        } catch let error as DecodingError {
            guard case .dataCorrupted(let context) = error, let key = context.codingPath.last else {
                throw Refusal(400, "\(provider): \(Self.words(error))")
            }
            throw Refusal(
                400,
                "\(provider): '\(key.stringValue)' does not take "
                    + (changes[key.stringValue]?.text ?? "this")
            )
        } catch {
            throw Refusal(400, "\(provider): \(error)")
        }
    }

    private static func words(_ error: DecodingError) -> String {
        switch error {
        case .typeMismatch(_, let context), .valueNotFound(_, let context),
            .keyNotFound(_, let context), .dataCorrupted(let context):
            "'" + context.codingPath.map(\.stringValue).joined(separator: ".") + "': "
                + context.debugDescription
        @unknown default: "\(error)"
        }
    }

    // MARK: Webhooks and products

    private func url(_ call: Call) throws(Refusal) -> String {
        let text = call.body["url"]?.string ?? ""
        guard WebhookURL(text, allowedHosts: allowedHosts) != nil else {
            throw Refusal(
                400,
                "'url' is '\(text)', which is no http URL on this machine",
                hint: "another host needs assay serve --allow-host NAME"
            )
        }
        return text
    }

    private func webhooks(_ route: ControlRoute, _ call: Call) throws(Refusal) -> JSONValue {
        func secret(_ name: String) -> Secret? { call.body[name]?.string.map(Secret.init) }
        switch route {
        case .putWebhook:
            let environment = call.body["environment"]?.string
            guard environment.map({ ["PRODUCTION", "SANDBOX"].contains($0) }) ?? true else {
                throw Refusal(400, "'environment' is PRODUCTION or SANDBOX; leave it out for both")
            }
            let made = WebhookConfiguration(
                id: try text(call.value, "a webhook's id"),
                url: try url(call),
                authorization: secret("authorization"),
                signingKey: secret("signing-secret"),
                environment: environment,
                app: call.body["app"]?.string,
                types: (call.body["types"]?.array ?? []).compactMap(\.string),
                sendsPaywallEvents: call.body["paywall-events"]?.bool ?? true,
                sendsTemporaryGrants: call.body["temporary-grants"]?.bool ?? true
            )
            world.edit(call.namespace) { services, _ in
                services.revenueCat.webhooks.removeAll { $0.id == made.id }
                services.revenueCat.webhooks.append(made)
            }
        case .deleteWebhook:
            let isKnown = world.edit(call.namespace) { services, _ in
                let count = services.revenueCat.webhooks.count
                services.revenueCat.webhooks.removeAll { $0.id == call.value }
                return services.revenueCat.webhooks.count < count
            }
            guard isKnown == true else { throw Refusal(404, "there is no webhook '\(call.value)'") }
        case .purchaselyWebhook:
            let made = PurchaselyWebhook(url: try url(call), secret: secret("signing-secret"))
            world.edit(call.namespace) { services, _ in services.purchasely.webhook = made }
            return ["url": .string(made.url), "signed": .bool(made.secret != nil)]
        default: break
        }
        let known = world.read(call.namespace) { services, _ in services.revenueCat.webhooks } ?? []
        return [
            "webhooks": .array(
                known.map { webhook in
                    .object(
                        .present([
                            ("id", .string(webhook.id)), ("url", .string(webhook.url)),
                            ("authorized", .bool(webhook.authorization != nil)),
                            ("signed", .bool(webhook.signingKey != nil)),
                            ("environment", webhook.environment.map(JSONValue.string)),
                            ("app", webhook.app.map(JSONValue.string)),
                            ("types", .strings(webhook.types)),
                            ("paywall-events", .bool(webhook.sendsPaywallEvents)),
                            ("temporary-grants", .bool(webhook.sendsTemporaryGrants)),
                        ])
                    )
                }
            )
        ]
    }

    private func products(_ route: ControlRoute, _ call: Call) throws(Refusal) -> JSONValue {
        if route == .putProduct {
            let id = try text(call.value, "a product's id")
            let known = world.read(call.namespace) { services, _ in
                services.revenueCat.catalog.product(id)
            }
            var product = known ?? Catalog().product(id)
            if call.body["days"] == .null { product.days = nil }
            try Self.merge(&product, .object(call.body), "a product")
            guard product.days.map({ $0 > 0 }) ?? true, product.exchangeRate > 0 else {
                throw Refusal(400, "'days' and 'exchangeRate' are greater than zero")
            }
            let described = product
            world.edit(call.namespace) { services, _ in
                services.revenueCat.catalog.products[id] = described
            }
        }
        let catalog = world.read(call.namespace) { services, _ in services.revenueCat.catalog }
        return (try? JSONValue(encoding: catalog ?? Catalog())) ?? .null
    }

    // MARK: Store, events, deliveries

    /// Waits for the deliveries of an action when the caller asked for it, and shows them.
    private func settled(
        _ call: Call,
        from number: Int,
        _ answer: JSONObject
    ) async -> JSONValue {
        if call.body["settle"]?.bool == true { _ = await courier.flush(call.namespace) }
        let all = world.read(call.namespace) { services, _ in services.queue.all } ?? []
        var answer = answer
        answer["deliveries"] = .array(all.filter { $0.number >= number }.map(Self.shown))
        return .object(answer)
    }

    private func nextDelivery(_ namespace: String) -> Int {
        world.read(namespace) { services, _ in (services.queue.all.last?.number ?? 0) + 1 } ?? 1
    }

    private static func shown(_ delivery: WebhookDelivery) -> JSONValue {
        .object(
            .present([
                ("event", .string(delivery.eventID)), ("type", .string(delivery.type)),
                ("provider", .string(delivery.provider.rawValue)),
                ("webhook", .string(delivery.configuration)),
                ("state", .string(delivery.state.rawValue)),
                ("due", delivery.state == .waiting ? .string(delivery.due.preciseText) : nil),
                (
                    "attempts",
                    .array(
                        delivery.attempts.map { attempt in
                            .object(
                                .present([
                                    ("at", .string(attempt.at.preciseText)),
                                    ("status", attempt.status.map { .integer(Int64($0)) }),
                                    ("failure", attempt.failure.map(JSONValue.string)),
                                ])
                            )
                        }
                    )
                ), ("body", try? JSONValue(parsing: delivery.body)),
            ])
        )
    }

    private func storeAction(_ call: Call) async throws(Refusal) -> JSONValue {
        guard let kind = StoreAction.Kind(rawValue: call.value) else {
            throw Refusal(
                404,
                "the store knows no '\(call.value)'",
                hint: "there are "
                    + StoreAction.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            )
        }
        let action: StoreAction
        do throws(StoreAction.Refusal) {
            action = try StoreAction(kind, call.body)
        } catch {
            throw Refusal(400, error.description)
        }
        let first = nextDelivery(call.namespace)
        let result = world.edit(call.namespace) {
            services,
            now -> (JSONValue, JSONValue?, String?) in
            do throws(StoreAction.Refusal) {
                try services.revenueCat.carryOut(action, at: now)
                let events = services.revenueCat.peekEvents().map(JSONValue.object)
                let info = services.revenueCat.customer(action.user)?.info(
                    at: now,
                    showsAttributes: true
                )
                return (.array(events), info, nil)
            } catch {
                return (.null, nil, error.description)
            }
        }
        guard let (events, info, problem) = result else { throw Refusal(404, "no such namespace") }
        if let problem { throw Refusal(409, problem) }
        return await settled(
            call,
            from: first,
            .present([("events", events), ("customer", info)])
        )
    }

    private func send(_ call: Call) async throws(Refusal) -> JSONValue {
        guard var event = call.body["event"]?.object, event["type"]?.string != nil else {
            throw Refusal(400, "'event' is an object with a 'type'")
        }
        let first = nextDelivery(call.namespace)
        let hooks = world.edit(call.namespace) { services, now -> Int in
            if event["id"] == nil, event["event_id"] == nil {
                event["id"] = .string(services.revenueCat.newEventID())
            }
            if event["event_timestamp_ms"] == nil {
                event["event_timestamp_ms"] = .integer(now.milliseconds)
            }
            services.revenueCat.apply(RevenueCatState.body(event))
            services.revenueCat.announce(event)
            return services.revenueCat.webhooks.count
        }
        guard hooks != 0 else {
            throw Refusal(
                409,
                "no webhook is configured",
                hint: "PUT /assay/v1/webhooks/main with {\"url\": \"http://127.0.0.1:…\"}"
            )
        }
        return await settled(call, from: first, ["event": .object(event)])
    }

    private func deliveries(_ route: ControlRoute, _ call: Call) async throws(Refusal) -> JSONValue
    {
        switch route {
        case .flush:
            let count = await courier.flush(call.namespace)
            return ["attempts": .integer(Int64(count))]
        case .resend:
            let first = nextDelivery(call.namespace)
            let count = world.edit(call.namespace) { services, now in
                services.queue.resend(
                    call.value,
                    to: call.body["configuration"]?.string,
                    at: now
                )
            }
            guard count ?? 0 > 0 else {
                throw Refusal(
                    404,
                    "no delivery of an event '\(call.value)' is known",
                    hint: "GET /assay/v1/deliveries lists them"
                )
            }
            _ = await courier.flush(call.namespace)
            return await settled(call, from: first, JSONObject())
        default:
            let wanted = call.query("state")
            if let wanted, WebhookDelivery.State(rawValue: wanted) == nil {
                throw Refusal(400, "'state' is waiting, underway, delivered or failed")
            }
            let all = world.read(call.namespace) { services, _ in services.queue.all } ?? []
            let found = all.filter { wanted == nil || $0.state.rawValue == wanted }
            return ["deliveries": .array(found.suffix(1000).map(Self.shown))]
        }
    }

    // MARK: Purchasely and devices

    private func purchaselyAction(_ call: Call) async throws(Refusal) -> JSONValue {
        guard let action = PurchaselyState.Action(rawValue: call.value) else {
            throw Refusal(
                404,
                "Purchasely knows no '\(call.value)'",
                hint: "there are "
                    + PurchaselyState.Action.allCases.map(\.rawValue).joined(separator: ", ")
            )
        }
        let first = nextDelivery(call.namespace)
        let result = world.edit(call.namespace) { services, now -> ([JSONValue], String?) in
            do throws(StoreAction.Refusal) {
                try services.purchasely.carryOut(action, call.body, at: now)
                return (services.purchasely.peekEvents().map { .object($0.body) }, nil)
            } catch {
                return ([], error.description)
            }
        }
        guard let (events, problem) = result else { throw Refusal(404, "no such namespace") }
        if let problem { throw Refusal(409, problem) }
        return await settled(call, from: first, ["events": .array(events)])
    }

    private func device(_ route: ControlRoute, _ call: Call) async throws(Refusal) -> JSONValue {
        let name = call.query("device") ?? call.body["device"]?.string ?? "main"
        let first = nextDelivery(call.namespace)
        var request = HTTPMessage.Request("GET", "/device?device=\(name.percentEncoded)")
        if route == .deviceAction {
            var body = call.body
            body["device"] = .string(name)
            body["settle"] = nil
            request = HTTPMessage.Request(
                "POST",
                "/device/" + call.value,
                fields: [HTTPMessage.Field("content-type", "application/json")],
                body: JSONValue.object(body).bytes
            )
        }
        let sent = request
        let response = world.edit(call.namespace) { services, now in
            services.despia.respond(to: sent, at: now).response
        }
        let answer = response.flatMap { try? JSONValue(parsing: $0.body) }?.object ?? JSONObject()
        guard response?.status == 200 else {
            throw Refusal(response?.status ?? 500, answer["error"]?.string ?? "refused")
        }
        guard route == .deviceAction else { return .object(answer) }
        return await settled(call, from: first, answer)
    }

    // MARK: Snapshots

    private func snapshots(_ route: ControlRoute, _ call: Call) throws(Refusal) -> JSONValue {
        switch route {
        case .takeSnapshot:
            world.snapshot(call.namespace, as: try text(call.value, "a snapshot's name"))
        case .restoreSnapshot, .fork:
            var target = call.namespace
            if route == .fork {
                target = try text(call.body["to"]?.string ?? "", "'to', the namespace of the copy,")
                guard target != call.namespace else {
                    throw Refusal(400, "a fork goes into another namespace; restore puts back")
                }
                world.know([], namespace: target)
            }
            guard world.restore(call.value, into: target) else {
                throw Refusal(
                    404,
                    "there is no snapshot '\(call.value)'",
                    hint: "POST /assay/v1/snapshots/\(call.value) takes one"
                )
            }
        default: break
        }
        return ["snapshots": .strings(world.snapshots)]
    }
}

/// The control API on a port of its own.
package final class ControlServer: Sendable {
    private let listener: HTTPHost
    private let api: Locked<ControlAPI?>

    package var host: String { listener.host }
    package var port: Int { listener.port }
    package var baseURL: String { "http://\(host):\(port)" }

    /// Opens the port; calls are answered once `open` was called.
    package init(host: String = "127.0.0.1", port: Int = 0) async throws(StartError) {
        let api = Locked<ControlAPI?>(nil)
        self.api = api
        listener = try await HTTPHost(name: "the control API", host: host, port: port) { request in
            guard let control = api.withLock({ $0 }) else {
                return .whole(HTTPMessage.Response(503, json: ["error": "still starting"]))
            }
            switch await control.respond(to: request) {
            case .whole(let response): return .whole(response)
            case .lines(let lines): return .lines(lines)
            }
        }
    }

    package func open(_ control: ControlAPI) {
        api.withLock { $0 = control }
    }

    package func stop() async {
        await listener.stop()
    }
}
