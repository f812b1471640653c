internal import Conformance
internal import FakeServers
internal import Providers

/// How a user comes to exist.
extension Introduction {
    static let userWords = [
        "signup", "sign-up", "register", "users", "user", "accounts", "customers", "identify",
        "anonymous", "guest", "devices",
    ]

    /// Finds how a user comes to exist.
    mutating func findUsers(_ session: ReplaySession) async {
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

    static func userRank(_ path: String) -> Int {
        userWords.firstIndex { path.lowercased().contains($0) } ?? userWords.count
    }

    func isCreated(
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
    func answer(_ session: ReplaySession) async -> (sent: [UInt8], got: JSONValue)? {
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
    mutating func take(
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

    static let idWords = [
        "id", "userid", "appuserid", "uid", "customerid", "externalid", "accountid", "user",
    ]

    /// Where an answer names an id that was not sent.
    static func id(in answer: JSONValue, sent: String) -> (JSONPointer, JSONValue)? {
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
    static func body(_ names: [String]) -> JSONValue {
        var body: JSONObject = [:]
        for name in names { body[name] = .string(value(of: name)) }
        return .object(body)
    }

    static func value(of name: String) -> String {
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
}

extension String {
    fileprivate var isUUID: Bool {
        let parts = split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.count) == [8, 4, 4, 4, 12] && allSatisfy { $0.isHexDigit || $0 == "-" }
    }
}
