internal import Contracts
internal import FakeServers
internal import Grammar
internal import Providers
internal import Redaction
internal import Values

/// The error of a request whose credentials could not be created.
struct CredentialError: Error, CustomStringConvertible {
    let description: String
    /// The response that refused a login; nil without one.
    var response: HTTPMessage.Response?
    /// Whether the backend refused the login of a user whose session it accepted before.
    var isUserLost = false
}

/// Credentials: the headers with which the profile's own requests identify their caller.
extension CaseRequests {
    /// Returns the headers that identify the caller of a request, with lowercase names in
    /// alphabetical order.
    ///
    /// - Parameters:
    ///   - credentials: The credentials that the profile defines; nil for none.
    ///   - values: The values for the templates in the headers, except for `{{session}}`.
    /// - Returns: The headers; empty without credentials.
    /// - Throws: `CredentialError` when a value is missing or the login returns no session token.
    func credentials(
        _ credentials: Profile.Credentials?,
        _ values: NamedValues
    ) async throws(CredentialError) -> [HTTPMessage.Field] {
        guard let credentials else { return [] }
        var values = values
        let givenToken = values.values[TemplateScope.ProfileSlot.idTokenName]
        if credentials.templateNames.contains(TemplateScope.ProfileSlot.idTokenName) {
            addIDToken(to: &values)
        }
        values.markMissing(.endpoint)
        if credentials.usesSession { values.values["session"] = .string(try await session()) }
        if credentials.usesUserSession {
            let name = TemplateScope.ProfileSlot.userSessionName
            values.values[name] = .string(try await userSession(values))
        }
        var fields: [HTTPMessage.Field] = []
        for (name, value) in credentials.headers.sorted(by: { $0.key < $1.key }) {
            // A header whose template has no value is omitted, like a member of a body.
            if values.lacksValue(in: value.exposed) { continue }
            let text: String
            do {
                text = try values.filled(value.exposed)
            } catch {
                throw CredentialError(description: "the header '\(name)' in the profile: \(error)")
            }
            fields.append(HTTPMessage.Field(name.lowercased(), text))
        }
        guard let actor = credentials.actor else { return fields }
        if let givenToken {
            if let token = givenToken?.string {
                fields.append(HTTPMessage.Field("authorization", "Bearer " + token))
            }
        } else if !values.lacksValue(in: actor) {
            let uid = values.fill(actor)
            guard let token = idToken(ofUID: uid) else {
                throw CredentialError(description: "no ID token can be created for user '\(uid)'")
            }
            fields.append(HTTPMessage.Field("authorization", "Bearer " + token))
        }
        return fields
    }

    /// Adds the value of `{{id-token}}`, unless the contract has defined the token of the call.
    ///
    /// It is the ID token of the account for which the request acts, or else of the user. Without
    /// either, the template has no value.
    func addIDToken(to values: inout NamedValues) {
        let name = TemplateScope.ProfileSlot.idTokenName
        guard values.values[name] == nil else { return }
        let uid = ["account", "id"].compactMap { values.values[$0]??.string }.first
        values.values[name] = .some(uid.flatMap { idToken(ofUID: $0) }.map(JSONValue.string))
    }

    /// Returns an ID token of a session that begins now.
    ///
    /// A sign-up with a password or a revocation makes every earlier token invalid, and the profile's
    /// own requests must succeed nevertheless.
    private func idToken(ofUID uid: String) -> String? {
        seed(uid: uid)
        var spec = TokenSpec()
        for claim in ["iat", "auth_time"] {
            spec.claims[claim] = .integer(run.backendNow.seconds)
        }
        return run.tokenForge.text(spec, user: uid, at: run.backendNow)
    }

    /// Returns the session token from the login that the profile defines.
    ///
    /// The login request is sent only once for all requests.
    func session() async throws(CredentialError) -> String {
        if let existingToken = run.session.withLock({ $0 }) { return existingToken }
        guard let login = run.profile.session else {
            throw CredentialError(
                description: "the profile uses {{session}}, but defines no login; write 'session: "
                    + "{login: {post: /login, body: {…}}, token: /token}'"
            )
        }
        let token = try await token(of: login, "session", NamedValues([:]))
        run.session.withLock { $0 = token }
        return token
    }

    /// Stores the session that the response to a user's registration contains, if the profile
    /// defines its location.
    ///
    /// Many backends return a session from the registration and from the login, in the same member.
    /// The user then needs no login until the backend refuses the session.
    ///
    /// - Parameters:
    ///   - response: The body of the response; nil if it is not JSON.
    ///   - values: The templates of the registration, with the user's IDs.
    func storeUserSession(from response: JSONValue?, _ values: NamedValues) {
        guard let pointer = run.profile.userSession?.token,
            let token = response?[pointer]?.string, !token.isEmpty,
            let key = Self.userSessionKey(values)
        else { return }
        run.userSessions.withLock { $0.store(token, of: key) }
    }

    /// Returns the session token of a user from the login that the profile defines under `users`.
    ///
    /// The login request is sent only once for each user.
    ///
    /// - Parameter values: The templates of the request that needs the token, with the user's IDs.
    /// - Returns: The token.
    /// - Throws: `CredentialError` when the request concerns no user, or when the login fails.
    private func userSession(_ values: NamedValues) async throws(CredentialError) -> String {
        guard let key = Self.userSessionKey(values) else {
            throw CredentialError(
                description: "{{user-session}} is used in a request that concerns no user"
            )
        }
        if let existingToken = run.userSessions.withLock({ $0.token(of: key) }) {
            return existingToken
        }
        guard let login = run.profile.userSession?.login else {
            let location = run.profile.userSession.map { " at \($0.token)" } ?? ""
            throw CredentialError(
                description: "no registration of the user returned a session\(location)"
            )
        }
        let now = run.clock.now
        if let refusal = run.userSessions.withLock({ $0.refusal(of: key, at: now) }) {
            throw refusal
        }
        do {
            let token = try await token(of: login, "users", values)
            run.userSessions.withLock { $0.store(token, of: key) }
            return token
        } catch {
            let now = run.clock.now
            throw run.userSessions.withLock { $0.recordFailure(error, of: key, at: now) }
        }
    }

    /// Forgets the session of the user whom a request concerns, because the backend refused it.
    ///
    /// - Returns: Whether there was a session that a login can renew.
    func dropUserSession(_ values: NamedValues) -> Bool {
        guard run.profile.userSession?.login != nil, let key = Self.userSessionKey(values) else {
            return false
        }
        return run.userSessions.withLock { $0.drop(of: key) }
    }

    /// The key of a user's session: the install ID, which stays the same after a login.
    private static func userSessionKey(_ values: NamedValues) -> String? {
        ["device", "id"].compactMap { values.values[$0]??.string }.first
    }

    /// Sends a login request, and returns the token in its response.
    private func token(
        of login: Profile.Session,
        _ profileKey: String,
        _ values: NamedValues
    ) async throws(CredentialError) -> String {
        var values = values
        values.markMissing(.userLogin)
        var request = login.endpoint.request(from: values)
        request.fields += try await credentials(login.endpoint.credentials, values)
        let sequence = run.fakes.journal.begin(exchange(.assay, .appCall("session"), request))
        let outcome = await run.backend.client.send(request, within: .seconds(30))
        run.fakes.journal.complete(sequence, outcome)
        let loginDescription =
            "the login request of '\(profileKey)', \(request.method) \(request.target),"
        guard case .answered(let response) = outcome else {
            throw CredentialError(description: "\(loginDescription) got no response")
        }
        guard (200..<300).contains(response.status) else {
            throw CredentialError(
                description: "\(loginDescription) returned \(response.bodyExcerpt)",
                response: response
            )
        }
        let responseJSON = response.bodyJSON
        guard let token = responseJSON?[login.token]?.string, !token.isEmpty else {
            throw CredentialError(
                description: "\(loginDescription) returned no token at \(login.token)"
            )
        }
        return token
    }
}

extension NamedValues {
    /// Returns whether a string contains a known template that has no value.
    fileprivate func lacksValue(in text: String) -> Bool {
        Template(text).names.contains { name in
            if case .absent = value(of: name) { true } else { false }
        }
    }
}

/// The sessions of users at the backend, by the user's install ID.
///
/// A user whose login the backend refuses after it accepted a session of that user is lost, for
/// example because the backend was killed before it stored the registration. Such a login is tried
/// again only after a pause: each refusal costs the backend a password hash, and may count against a
/// limit of failed logins.
struct UserSessions: Sendable {
    private struct Refusal: Sendable {
        let error: CredentialError
        let pause: Duration
        let nextLogin: Duration
    }

    /// The pause after the first refused login of a user; each later one is twice as long.
    private static let firstPause: Duration = .milliseconds(250)
    /// The statuses of a refused login that show that the backend does not know the user.
    private static let statusesOfUnknownUser = [401, 404, 410]

    private var tokens: [String: String] = [:]
    private var usersWithSession: Set<String> = []
    private var refusals: [String: Refusal] = [:]

    func token(of user: String) -> String? { tokens[user] }

    mutating func store(_ token: String, of user: String) {
        tokens[user] = token
        usersWithSession.insert(user)
        refusals[user] = nil
    }

    /// Forgets the session of a user, and returns whether there was one.
    mutating func drop(of user: String) -> Bool { tokens.removeValue(forKey: user) != nil }

    /// Returns the error of the last refused login of a user, if the next login is not due yet.
    func refusal(of user: String, at now: Duration) -> CredentialError? {
        refusals[user].flatMap { now < $0.nextLogin ? $0.error : nil }
    }

    /// Records a failed login.
    ///
    /// - Parameters:
    ///   - error: The error of the login.
    ///   - user: The install ID of the user.
    ///   - now: The time on the clock of the run.
    /// - Returns: The error, which says whether the backend has lost the user.
    mutating func recordFailure(
        _ error: CredentialError,
        of user: String,
        at now: Duration
    ) -> CredentialError {
        guard usersWithSession.contains(user), let status = error.response?.status,
            Self.statusesOfUnknownUser.contains(status)
        else { return error }
        var error = error
        error.isUserLost = true
        let pause = refusals[user].map { $0.pause * 2 } ?? Self.firstPause
        refusals[user] = Refusal(error: error, pause: pause, nextLogin: now + pause)
        return error
    }
}
