internal import Conformance
internal import FakeServers
internal import Providers

/// Why a request cannot carry what it should.
struct CredentialError: Error, CustomStringConvertible {
    let description: String
}

/// What requests of the profile's own carry to prove who asks.
extension Play {
    /// The header fields, in lower case and in order.
    ///
    /// - Parameters:
    ///   - credentials: What the profile says; nil: nothing.
    ///   - values: What its templates stand for, but for `{{session}}`.
    /// - Returns: None where the profile says nothing.
    /// - Throws: `CredentialError` when the login gives no session.
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
                throw CredentialError(description: "the header '\(name)': \(error)")
            }
            fields.append(HTTPMessage.Field(name.lowercased(), text))
        }
        if let actor = credentials.actor {
            let uid = values.fill(actor)
            seed(uid: uid)
            guard let token = run.forge.text(TokenSpec(), user: uid, at: run.backendNow) else {
                throw CredentialError(description: "no token can be made for '\(uid)'")
            }
            fields.append(HTTPMessage.Field("authorization", "Bearer " + token))
        }
        return fields
    }

    /// What the profile's login hands out, which is asked for once.
    private func session() async throws(CredentialError) -> String {
        if let known = run.session.withLock({ $0 }) { return known }
        guard let login = profile.session else {
            throw CredentialError(
                description: "the profile says nothing of a session; write 'session: "
                    + "{login: {post: /login, body: {…}}, token: /token}'"
            )
        }
        var request = login.endpoint.request(from: NamedValues([:]))
        request.fields += try await credentials(login.endpoint.credentials, NamedValues([:]))
        let sequence = world.journal.begin(exchange(.assay, .appCall("session"), request))
        let outcome = await backend.client.send(request, within: .seconds(30))
        world.journal.complete(sequence, outcome)
        let place = "the session: \(request.method) \(request.target)"
        guard case .answered(let response) = outcome else {
            throw CredentialError(description: "\(place) was not answered")
        }
        guard (200..<300).contains(response.status) else {
            throw CredentialError(description: "\(place) answered \(response.excerpt)")
        }
        let answer = try? JSONValue(parsing: response.body)
        guard let token = answer?[login.token]?.string, !token.isEmpty else {
            throw CredentialError(description: "\(place) answered nothing at \(login.token)")
        }
        run.session.withLock { $0 = token }
        return token
    }
}
