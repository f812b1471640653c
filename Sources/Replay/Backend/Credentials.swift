internal import Contracts
internal import FakeServers
internal import Grammar
internal import Providers
internal import Redaction
internal import Values

/// The error of a request whose credentials could not be created.
struct CredentialError: Error, CustomStringConvertible {
    let description: String
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
        if credentials.usesSession { values.values["session"] = .string(try await session()) }
        var fields: [HTTPMessage.Field] = []
        for (name, value) in credentials.headers.sorted(by: { $0.key < $1.key }) {
            let text: String
            do {
                text = try values.filled(value.exposed)
            } catch {
                throw CredentialError(description: "the header '\(name)' in the profile: \(error)")
            }
            fields.append(HTTPMessage.Field(name.lowercased(), text))
        }
        if let actor = credentials.actor {
            let uid = values.fill(actor)
            seed(uid: uid)
            guard let token = run.tokenForge.text(TokenSpec(), user: uid, at: run.backendNow) else {
                throw CredentialError(description: "no ID token can be created for user '\(uid)'")
            }
            fields.append(HTTPMessage.Field("authorization", "Bearer " + token))
        }
        return fields
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
        var request = login.endpoint.request(from: NamedValues([:]))
        request.fields += try await credentials(login.endpoint.credentials, NamedValues([:]))
        let sequence = run.fakes.journal.begin(exchange(.assay, .appCall("session"), request))
        let outcome = await run.backend.client.send(request, within: .seconds(30))
        run.fakes.journal.complete(sequence, outcome)
        let loginDescription =
            "the login request of 'session', \(request.method) \(request.target),"
        guard case .answered(let response) = outcome else {
            throw CredentialError(description: "\(loginDescription) got no response")
        }
        guard (200..<300).contains(response.status) else {
            throw CredentialError(
                description: "\(loginDescription) returned \(response.bodyExcerpt)"
            )
        }
        let responseJSON = response.bodyJSON
        guard let token = responseJSON?[login.token]?.string, !token.isEmpty else {
            throw CredentialError(
                description: "\(loginDescription) returned no token at \(login.token)"
            )
        }
        run.session.withLock { $0 = token }
        return token
    }
}
