package import Values

extension FirebaseState: TokenIssuer {
    package static let keyURLVariables = [
        "FIREBASE_JWKS_URL", "FIREBASE_CERTS_URL", "FIREBASE_AUTH_BASE",
    ]

    package static func signTokens(_ services: inout Services) {
        services.firebase.settings.tokens = .rs256
    }

    package static func setProject(_ project: String, _ services: inout Services) {
        services.firebase.settings.project = project
    }

    package static func rotateKeys(_ services: inout Services, at now: Instant) {
        services.firebase.keys.rotate(at: now)
    }

    package static func addUser(
        _ id: String,
        project: String,
        _ services: inout Services,
        at now: Instant
    ) {
        services.firebase.seed(FirebaseUser(localID: id, created: now), project: project)
    }

    package static func change(
        _ id: String,
        _ change: AccountChange,
        project: String,
        _ services: inout Services,
        at now: Instant
    ) {
        services.firebase.change(id, change, project: project, at: now)
    }

    package static func tokenForge(
        project: String,
        _ services: inout Services,
        at now: Instant
    ) -> TokenForge {
        let keys = services.firebase.currentKeys(at: now)
        return TokenForge(
            project: project,
            key: keys.token,
            cookieKey: keys.cookie,
            unpublishedKey: nil,
            withdrawnKey: keys.withdrawnKey
        )
    }

    /// Recognizes a request for the published keys, which are all that a backend reads with GET.
    package static func call(in exchange: Exchange) -> ProviderCall? {
        exchange.request.method == "GET"
            ? ProviderCall(kind: "firebase.keys", fetchesSigningKeys: true) : nil
    }

    /// Returns the token in the response to a sign-in or to the creation of an account.
    package static func issuedToken(in exchange: Exchange) -> (token: String, userID: String)? {
        guard let body = JSONValue(ifValid: exchange.response?.body ?? []),
            let userID = body["localId"]?.string, let token = body["idToken"]?.string
        else { return nil }
        return (token, userID)
    }
}
