package import Conformance
internal import FakeServers
internal import Providers

/// A backend that nobody has described yet, looked at: what its files say is tried on it while it runs,
/// and what answered stands in a profile.
///
/// Nothing is switched off because it was not seen; what stayed open is told.
package struct Introduction: Sendable {
    /// The profile, as far as it was found.
    package private(set) var profile: Profile
    /// What was found, and what stayed open, for people.
    package private(set) var notes: [Note] = []
    /// What a plain purchase showed with that profile, and what else was looked at.
    package private(set) var examination = Examination()

    /// One thing that was found, or not.
    package struct Note: Hashable, Sendable {
        /// The key of the profile that it is about.
        package let key: String
        package let text: String
        package let isOpen: Bool
    }

    /// Opens the fakes and a backend by a profile.
    package typealias Opening =
        @Sendable (Profile) async throws(ReplaySession.OpenError) -> ReplaySession

    private let survey: SourceSurvey
    /// Whether a route was found that answers an event as a sender wants it.
    private var takesEvents = false
    /// Whether a call to make a user was not answered.
    private var isHanging = false
    private let name: String

    /// What tokens are called that senders prove themselves by.
    static let token = "assay-test-token"
    static let sharedSecret = Profile.SecretName.revenueCatAuthorization
    /// Where a profile for a backend that runs already finds that secret.
    package static let sharedVariable = "REVENUECAT_WEBHOOK_AUTH"

    private init(_ profile: Profile, _ survey: SourceSurvey, name: String) {
        self.profile = profile
        self.survey = survey
        self.name = name
    }

    /// - Parameters:
    ///   - profile: Where the backend is, or how it is started; what it says more is kept.
    ///   - survey: What the files say.
    ///   - name: What namespaces are called.
    ///   - open: Opens a backend by a profile; it is called again where an environment has to be tried.
    /// - Returns: What was found, and the session that is open still, with the backend in it.
    /// - Throws: When the backend cannot be opened at all.
    package static func meet(
        _ profile: Profile,
        _ survey: SourceSurvey,
        name: String,
        open: Opening
    ) async throws(ReplaySession.OpenError) -> (introduction: Introduction, session: ReplaySession)
    {
        var introduction = Introduction(profile, survey, name: name)
        let session = try await introduction.open(open)
        await introduction.findProtected(session)
        await introduction.findUsers(session)
        await introduction.findProbes(session)
        let executor = introduction.executor(session)
        introduction.examination = await Examination.examine(executor, name: name + "-x")
        introduction.judgeExamination()
        return (introduction, session)
    }

    private mutating func note(_ key: String, _ text: String, isOpen: Bool = false) {
        notes.append(Note(key: key, text: text, isOpen: isOpen))
    }

    /// The runner of the same backend by what is known so far.
    package func executor(_ session: ReplaySession, _ change: (inout Profile) -> Void = { _ in })
        -> RunExecutor
    {
        var profile = profile
        change(&profile)
        return RunExecutor(
            backend: session.backend,
            world: session.world,
            profile: profile,
            base: session.executor.base,
            clock: session.executor.clock
        )
    }

    // MARK: Start and webhook

    /// A way in which sender and backend share one token.
    private struct Sharing {
        /// What the backend's variable holds.
        let variable: String
        /// What the sender sends.
        let header: String
    }

    /// Opens the backend with the environment that its files ask for; where the webhook refuses the
    /// sender, other ways of sharing the token are tried.
    private mutating func open(
        _ open: Opening
    ) async throws(ReplaySession.OpenError) -> ReplaySession {
        let standard = ReplaySession.standardNames(profile)
        let guess = EnvironmentGuess(survey, standard: standard)
        if let entitlement = guess.entitlement { profile.entitlement = entitlement }
        if survey.usesTokens, !survey.readsKeyAddresses {
            profile.unsupported.insert(.signedTokens)
            profile.idForm = .firebase
            // Whoever verifies tokens has a route that demands one, and needs their issuer from the start.
            if profile.endpoints["protected"] == nil {
                profile.endpoints["protected"] = Profile.Endpoint(
                    method: "GET",
                    path: ownRoutes.first ?? "/me"
                )
            }
            note("features", "its tokens are those of the emulator, whose signatures nobody checks")
        }
        guard profile.start != nil else {
            let session = try await open(profile)
            await findWebhook(session)
            return session
        }
        for (name, value) in guess.values where profile.start?.environment[name] == nil {
            profile.start?.environment[name] = value
        }
        for variable in guess.open {
            note("start: env", "\(variable.place) reads \(variable.name)", isOpen: true)
        }
        let bare = Self.token
        let bearer = "Bearer " + bare
        var sharings = [
            Sharing(variable: bearer, header: bearer), Sharing(variable: bare, header: bearer),
            Sharing(variable: bare, header: bare),
        ]
        if survey.writesBearer { sharings.swapAt(0, 1) }
        // Without a variable there is nothing to share another way.
        if guess.authorization == nil { sharings = [Sharing(variable: "", header: bearer)] }
        for (index, sharing) in sharings.enumerated() {
            if let variable = guess.authorization {
                profile.start?.environment[variable] = sharing.variable
            }
            profile.secrets[Self.sharedSecret] = Secret(sharing.header)
            let session = try await open(profile)
            let isTaken = await findWebhook(session)
            if isTaken || index == sharings.count - 1 {
                await findReadiness(session)
                return session
            }
            notes.removeAll { $0.key == Self.webhookKey }
            await session.close()
        }
        return try await open(profile)
    }

    private static let webhookKey = "endpoints: revenuecat-webhook"
    private static let hookWords = [
        "revenuecat", "webhook", "hook", "rc", "purchases", "billing", "event", "subscription",
    ]
    private static let otherSenders =
        ["stripe", "apple", "google", "paypal", "github", "slack"]
        + Services.providers.map(\.party.description).filter { $0 != hookWords[0] }

    /// Finds the route that takes events; whether it takes its sender's too.
    @discardableResult
    private mutating func findWebhook(_ session: ReplaySession) async -> Bool {
        let named = survey.routes.filter { route in
            let path = route.path.lowercased()
            return ["POST", ""].contains(route.method) && !route.hasID
                && Self.hookWords.contains { path.contains($0) }
                && !Self.otherSenders.contains { path.contains($0) }
        }.sorted { Self.rank($0.path) < Self.rank($1.path) }
        let usual = Examination.usualPaths.filter { $0 != "/" }
        let own =
            profile.guessed.contains("revenuecat-webhook")
            ? [] : [profile.endpoints["revenuecat-webhook"]?.path].compactMap(\.self)
        let executor = executor(session)
        var found: (path: String, status: Int)?
        var hangCount = 0
        for path in (own + named.map(\.path) + usual).uniqued().prefix(40) {
            let outcome = await executor.test(name + "-t", path: path, authorization: .configured)
            if case .failed(.timedOut, _) = outcome { hangCount += 1 }
            // Whoever lets every call hang would be asked for minutes.
            if hangCount > 1 { break }
            guard case .answered(let response) = outcome,
                !RouteAnswer.unserved.contains(response.status)
            else { continue }
            let isBetter = found.map { Self.value(response.status) > Self.value($0.status) } ?? true
            if isBetter { found = (path, response.status) }
            if (200..<300).contains(response.status) { break }
        }
        guard let found else {
            note(
                Self.webhookKey,
                "no route of its files, and none of the usual ones, takes events",
                isOpen: true
            )
            return true
        }
        profile.endpoints["revenuecat-webhook"] = Profile.Endpoint(method: "POST", path: found.path)
        profile.guessed.remove("revenuecat-webhook")
        let isTaken = !RouteAnswer.refused.contains(found.status)
        takesEvents = (200..<300).contains(found.status)
        note(
            Self.webhookKey,
            "POST \(found.path) answers an event with \(found.status)",
            isOpen: !takesEvents
        )
        return isTaken
    }

    private static func rank(_ path: String) -> Int {
        hookWords.firstIndex { path.lowercased().contains($0) } ?? hookWords.count
    }

    private static func value(_ status: Int) -> Int {
        switch status {
        case 200..<300: 3
        case 401, 403: 2
        default: 1
        }
    }

    private static let usualReadiness = [
        "/healthz", "/health", "/ping", "/ready", "/readyz", "/livez", "/status", "/api/health",
        "/",
    ]

    /// Finds a route that says that the backend is there.
    private mutating func findReadiness(_ session: ReplaySession) async {
        guard profile.start?.ready == nil else { return }
        let named = survey.routes.filter { route in
            let path = route.path.lowercased()
            return ["GET", ""].contains(route.method) && !route.hasID
                && ["health", "ping", "ready", "live", "status"].contains { path.contains($0) }
        }.map(\.path)
        for path in (named + Self.usualReadiness).uniqued().prefix(30) {
            let outcome = await session.backend.client.send(
                HTTPMessage.Request("GET", path),
                within: .seconds(5)
            )
            if case .failed(.timedOut, _) = outcome { break }
            guard case .answered(let response) = outcome, (200..<300).contains(response.status)
            else { continue }
            profile.start?.ready = Profile.Ready(method: "GET", path: path)
            note("start: ready", "GET \(path) answers \(response.status)")
            return
        }
        note("start: ready", "any answer counts: no usual route answers 2xx")
    }

    // MARK: Who is signed in

    private static let ownWords = [
        "me", "profile", "account", "subscription", "access", "status", "user",
    ]

    /// Routes that seem to show whoever asks.
    private var ownRoutes: [String] {
        survey.routes.filter { route in
            let last = route.path.split(separator: "/").last.map { $0.lowercased() } ?? ""
            return ["GET", ""].contains(route.method) && !route.hasID
                && Self.ownWords.contains { last.contains($0) }
        }.map(\.path).uniqued()
    }

    /// Finds a route that demands an ID token.
    private mutating func findProtected(_ session: ReplaySession) async {
        guard survey.usesTokens, let named = profile.endpoints["protected"] else { return }
        let play = executor(session).blank(name + "-p")
        let id = play.namespace.id(of: "ada")
        let credentials = Profile.Credentials(actor: id)
        let client = session.backend.client
        for path in (ownRoutes + [named.path]).uniqued().prefix(20) {
            var request = HTTPMessage.Request("GET", path)
            let stranger = await client.send(request, within: .seconds(5))
            guard case .answered(let refusal) = stranger,
                RouteAnswer.refused.contains(refusal.status),
                let fields = try? await play.credentials(credentials, NamedValues([:]))
            else { continue }
            request.fields += fields
            let known = await client.send(request, within: .seconds(5))
            guard case .answered(let answer) = known, (200..<300).contains(answer.status) else {
                continue
            }
            let document = try? JSONValue(parsing: answer.body)
            var endpoint = Profile.Endpoint(method: "GET", path: path)
            endpoint.answerID = document?.places.first { document?[$0] == .string(id) }
            profile.endpoints["protected"] = endpoint
            note("endpoints: protected", "GET \(path) demands an ID token and takes one")
            return
        }
        note(
            "endpoints: protected",
            "no route was found that demands an ID token and takes one",
            isOpen: true
        )
    }

    // MARK: Users

    private static let userWords = [
        "signup", "sign-up", "register", "users", "user", "accounts", "customers", "identify",
        "anonymous", "guest", "devices",
    ]

    /// Finds how a user comes to exist.
    private mutating func findUsers(_ session: ReplaySession) async {
        if profile.creation != .register { return }
        if await isCreated(session, .register) {
            note("endpoints: register", "POST /api/user/register takes a user")
            return
        }
        let named = survey.routes.filter { route in
            let path = route.path.lowercased()
            return ["POST", ""].contains(route.method) && !route.hasID
                && Self.userWords.contains { path.contains($0) }
                && !["webhook", "hook", "login", "logout", "password"].contains {
                    path.contains($0)
                }
        }.sorted { Self.userRank($0.path) < Self.userRank($1.path) }
        let clock = session.executor.clock
        for route in named.prefix(12) {
            let start = clock.now
            // Whoever lets a call hang would be asked for minutes.
            defer { if clock.now - start > .seconds(20) { isHanging = true } }
            if isHanging { break }
            for form in [profile.idForm, .uuid, .integer].uniqued() {
                let body = Self.body(route.bodyNames)
                let endpoint = Profile.Endpoint(method: "POST", path: route.path, body: body)
                let isOurs = body.templatePlaces["id"] != nil
                guard await isCreated(session, .request(endpoint), form) else {
                    if isOurs { continue }
                    break
                }
                return take(endpoint, form, await answer(session))
            }
        }
        profile.endpoints["register"] = nil
        profile.creation = .command(["true"])
        note(
            "users: create",
            survey.usesTokens
                ? "whoever shows a token is a user, so nothing is done before"
                : "no route that makes a user was found, so nothing is done before an event; say "
                    + "'users: {create: {post: /…, body: {…}}}' if there is one",
            isOpen: !survey.usesTokens
        )
    }

    private static func userRank(_ path: String) -> Int {
        userWords.firstIndex { path.lowercased().contains($0) } ?? userWords.count
    }

    private func isCreated(
        _ session: ReplaySession,
        _ creation: Profile.UserCreation,
        _ form: Profile.IDForm? = nil
    ) async -> Bool {
        let executor = executor(session) {
            $0.creation = creation
            $0.idForm = form ?? $0.idForm
        }
        var play = executor.blank(name + "-u")
        return await play.register("ada") == nil
    }

    /// The last answer that somebody was created by.
    private func answer(_ session: ReplaySession) async -> (sent: [UInt8], got: JSONValue)? {
        let calls = session.world.journal.read { $0.exchanges(in: name + "-u") }
        guard
            let call = calls.last(where: {
                if case .registration = $0.purpose { true } else { false }
            }),
            let body = call.response?.body, let got = try? JSONValue(parsing: body)
        else { return nil }
        return (call.request.body, got)
    }

    /// Takes a request by which users come to exist, and the place of the id in its answer.
    private mutating func take(
        _ endpoint: Profile.Endpoint,
        _ form: Profile.IDForm,
        _ answer: (sent: [UInt8], got: JSONValue)?
    ) {
        var endpoint = endpoint
        profile.idForm = form
        let id = answer.flatMap {
            Self.id(in: $0.got, sent: String(decoding: $0.sent, as: UTF8.self))
        }
        if let (pointer, value) = id {
            endpoint.answerID = pointer
            switch value {
            case .number: profile.idForm = .integer
            case .string(let text) where text.isUUID: profile.idForm = .uuid
            case .string, .null, .bool, .array, .object: break
            }
        }
        profile.endpoints["register"] = nil
        profile.guessed.remove("register")
        profile.creation = .request(endpoint)
        note(
            "users: create",
            "POST \(endpoint.path) makes a user"
                + (id.map { ", whose id stands at \($0.0) of the answer" } ?? "")
        )
    }

    private static let idWords = [
        "id", "userid", "appuserid", "uid", "customerid", "externalid", "accountid", "user",
    ]

    /// Where an answer names an id that was not sent.
    private static func id(in answer: JSONValue, sent: String) -> (JSONPointer, JSONValue)? {
        let places = answer.places.filter { pointer in
            let name = (pointer.tokens.last ?? "").lowercased().filter { $0.isLetter }
            return idWords.contains(name)
        }
        for pointer in places {
            switch answer[pointer] {
            case .string(let text) where !text.isEmpty && !sent.contains(text):
                return (pointer, .string(text))
            case .number(let number): return (pointer, .number(number))
            default: continue
            }
        }
        return nil
    }

    /// A body that gives each name something that it could mean.
    private static func body(_ names: [String]) -> JSONValue {
        var body: JSONObject = [:]
        for name in names { body[name] = .string(value(of: name)) }
        return .object(body)
    }

    private static func value(of name: String) -> String {
        let plain = name.lowercased().filter { $0.isLetter }
        if idWords.dropLast().contains(plain) || plain.hasSuffix("userid") { return "{{id}}" }
        if plain.contains("mail") { return "{{id}}@example.com" }
        if plain.contains("device") { return "{{device}}" }
        if plain == "platform" || plain == "os" { return "{{platform}}" }
        if plain.contains("time") || plain.hasSuffix("at") { return "{{timestamp}}" }
        if plain == "source" { return "{{source}}" }
        if plain.contains("password") { return "Pw-{{id}}" }
        return plain.contains("name") || plain == "account" ? "{{id}}" : "x"
    }

    // MARK: Probes

    private static let usualProbes = [
        "/users/{{id}}", "/api/users/{{id}}", "/users/{{id}}/subscription",
        "/api/users/{{id}}/subscription", "/subscriptions/{{id}}", "/api/subscriptions/{{id}}",
        "/api/user/access/{{id}}", "/test/users/{{id}}", "/test/subscriptions/{{id}}",
    ]
    /// Finds routes that show somebody's state, by what a purchase changes in them.
    private mutating func findProbes(_ session: ReplaySession) async {
        guard profile.probes.isEmpty else { return }
        let candidates = probeCandidates()
        guard !candidates.isEmpty else { return }
        let executor = executor(session) { $0.probes = candidates }
        let namespace = name + "-s"
        let wanted = RunRecord.Sight(seesEffects: true, seesState: true, latency: .zero)
        _ = await Sentinel(run: executor).see(namespace, wait: .seconds(3), wanted)
        let exchanges = session.world.journal.read { $0.exchanges(in: namespace) }
        let bought = exchanges.first { $0.purpose == .sentinel }?.request
        guard let event = (try? bought?.json())?["event"] else { return }
        let purchase = AnswerSurvey.Purchase(
            product: event["product_id"]?.string ?? "",
            ends: event["expiration_at_ms"].flatMap(Masking.instant)
        )
        var best: (probe: Profile.Probe, doubts: [String: String])?
        var people: Profile.Probe?
        for candidate in candidates {
            let looks = Self.looks(of: candidate.name, in: exchanges)
            guard let after = looks.after else { continue }
            if looks.nobody == nil, people == nil { people = candidate }
            guard AnswerSurvey.isChanged(looks.before, after) else { continue }
            let survey = AnswerSurvey(before: looks.before, after: after, purchase)
            guard survey.readings.count > (best?.probe.readings.count ?? 0) else { continue }
            var probe = candidate
            probe.name = "subscription"
            probe.readings = survey.readings
            best = (probe, survey.doubts)
        }
        guard let best else {
            note("probes", "no route of its files shows what a purchase changes", isOpen: true)
            return
        }
        profile.probes = [best.probe]
        if let people, people.source != best.probe.source {
            var probe = people
            probe.name = "user"
            profile.probes.insert(probe, at: 0)
        }
        let names = best.probe.readings.keys.sorted().joined(separator: ", ")
        note("probes", "\(best.probe.text) shows \(names)")
        for (field, doubt) in best.doubts.sorted(by: { $0.key < $1.key }) {
            note("probes: read: \(field)", doubt, isOpen: true)
        }
    }

    /// What a probe answered about nobody, and about somebody before and after a purchase.
    private static func looks(
        of probe: String,
        in exchanges: [Exchange]
    ) -> (nobody: JSONValue?, before: JSONValue?, after: JSONValue?) {
        var found: [String: [JSONValue?]] = [:]
        for exchange in exchanges {
            guard case .probe(probe, let user) = exchange.purpose, exchange.completed != nil else {
                continue
            }
            if case .document(let document) = ObservedState(exchange), document.object != nil {
                found[user, default: []].append(document)
            } else {
                found[user, default: []].append(nil)
            }
        }
        let (nobody, somebody) = (found["nobody"] ?? [], found["sentinel"] ?? [])
        guard somebody.count > 1 else { return (nil, nil, nil) }
        return (nobody.first ?? nil, somebody.first ?? nil, somebody.last ?? nil)
    }

    private func probeCandidates() -> [Profile.Probe] {
        var paths: [(path: String, actor: String?)] = []
        for route in survey.routes where ["GET", ""].contains(route.method) {
            let path = route.path
            guard !path.lowercased().contains("hook"), !path.lowercased().contains("health") else {
                continue
            }
            if route.hasID {
                paths.append((path, nil))
                if survey.usesTokens { paths.append((path, "{{id}}")) }
                continue
            }
            let query = route.queryNames.first { name in
                Self.idWords.contains(name.lowercased().filter { $0.isLetter })
            }
            if let query { paths.append(("\(path)?\(query)={{id}}", nil)) }
            let last = path.split(separator: "/").last.map { $0.lowercased() } ?? ""
            if survey.usesTokens, Self.ownWords.contains(where: { last.contains($0) }) {
                paths.append((path, "{{id}}"))
            }
        }
        paths += Self.usualProbes.map { ($0, nil) }
        return paths.uniqued(by: { "\($0.path) \($0.actor ?? "")" }).prefix(40).enumerated().map {
            var probe = Profile.Probe(
                name: "candidate-\($0)",
                source: .get($1.path),
                readings: [:],
                ignored: []
            )
            if let actor = $1.actor { probe.credentials = Profile.Credentials(actor: actor) }
            return probe
        }
    }

    // MARK: What stayed open

    /// Notes about what a purchase did not show.
    private mutating func judgeExamination() {
        if !examination.sight.seesEffects, takesEvents, survey.hasCode,
            !survey.mentioned.contains(.oneSignal)
        {
            profile.unsupported.insert(.push)
            note(
                "features",
                "it sends no push: none was seen, and none of its files names who sends them"
            )
        } else if !examination.sight.seesEffects {
            note(
                "features",
                "a purchase led to no push; if it sends none by design, write "
                    + "'features: {except: [push]}'",
                isOpen: true
            )
        }
        if !examination.sight.readsSubscribers, examination.sight.seesState, survey.hasCode,
            !survey.called.contains(.revenueCat)
        {
            profile.unsupported.insert(.subscriberReads)
            note(
                "features",
                "an event makes it ask nobody: none of its files names the host of the REST API"
            )
        }
        for fixed in survey.fixedHosts {
            let provider = Services.providers.first { $0.hints.hosts.contains(fixed.host) }
            guard let provider else { continue }
            note(
                "start: env",
                "\(fixed.place) names \(fixed.host) itself: those calls do not reach the fake of "
                    + "\(provider.title), but the service; read the address from the environment",
                isOpen: true
            )
        }
        for provider in Services.providers {
            guard let endpoint = provider.webhookEndpoint, profile.endpoints[endpoint] == nil,
                let route = survey.routes.first(where: {
                    $0.path.lowercased().contains(provider.party.description)
                })
            else { continue }
            note(
                "endpoints: \(endpoint)",
                "\(route.place) seems to take events of \(provider.title): POST \(route.path)",
                isOpen: true
            )
        }
    }
}

extension Profile.Probe {
    /// The request, for people.
    fileprivate var text: String {
        switch source {
        case .get(let path): "GET \(path)"
        case .command(let words): words.joined(separator: " ")
        }
    }
}

extension String {
    fileprivate var isUUID: Bool {
        let parts = split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.count) == [8, 4, 4, 4, 12] && allSatisfy { $0.isHexDigit || $0 == "-" }
    }
}
