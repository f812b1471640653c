internal import GRDB
internal import HTTPTypes
internal import Hummingbird

/// The routes for the login, for the current user, and for the deletion of an account.
struct SessionRoutes: Sendable {
    let accounts: Accounts
    let verifier: TokenVerifier
    let loginProof: ReferenceBackend.LoginProof

    struct Policy: Sendable {
        var incompleteLoginResponse = SessionRoutes.incompleteLoginResponse
        var loginRefusal = SessionRoutes.loginRefusal
        var accountOfToken = SessionRoutes.accountOfToken
        var currentUserResponse = SessionRoutes.currentUserResponse
        var verificationResponse = SessionRoutes.verificationResponse
    }

    private var policy: Policy { accounts.store.policies.session }

    func add(to router: Router<BasicRequestContext>) {
        router.post("api/user/login") { request, _ in
            switch loginProof {
            case .password: try await login(request)
            case .idToken: try await loginWithToken(request)
            }
        }
        router.get("api/me") { request, _ in
            await policy.currentUserResponse(self, request.headers[.authorization] ?? "")
        }
        router.delete("api/me") { request, _ in try await deleteAccount(request) }
    }

    private func login(_ request: Request) async throws -> Response {
        struct Body: Decodable {
            struct Credentials: Decodable {
                var password: String?
            }
            var accountId: String?
            var currentAppUserId: String?
            var deviceToken: String?
            var credentials: Credentials?
        }
        guard let body: Body = try await JSON.decode(request), let account = body.accountId,
            let password = body.credentials?.password
        else { return policy.incompleteLoginResponse() }
        let login = Accounts.Login(
            accountID: account,
            password: password,
            currentAppUserID: body.currentAppUserId,
            deviceToken: body.deviceToken
        )
        return Self.response(to: try await accounts.login(login))
    }

    private static func response(to result: Accounts.LoginResult) -> Response {
        switch result {
        case .claimed(let id): JSON.response(.ok, ["action": "claimed", "appUserId": id])
        case .recovered(let id): JSON.response(.ok, ["action": "recovered", "appUserId": id])
        case .refused: incompleteLoginResponse()
        case .conflict: JSON.response(.conflict, ["error": "id_not_claimable"])
        }
    }

    /// Logs a user in with the Firebase ID token in the `Authorization` header, whose uid is the ID
    /// of the account.
    ///
    /// The token is verified before the body is read and before any lookup (S-25).
    private func loginWithToken(_ request: Request) async throws -> Response {
        struct Body: Decodable {
            var currentAppUserId: String?
            var deviceToken: String?
        }
        let token = Self.bearerToken(in: request)
        guard let account = await policy.accountOfToken(self, token) else {
            let body: Body? = try await JSON.decode(request)
            return try await policy.loginRefusal(self, body?.currentAppUserId)
        }
        guard let body: Body = try await JSON.decode(request) else {
            return JSON.response(.badRequest, ["error": "invalid_login"])
        }
        let login = Accounts.Login(
            accountID: account,
            password: "",
            currentAppUserID: body.currentAppUserId,
            deviceToken: body.deviceToken,
            takesUID: true
        )
        return Self.response(to: try await accounts.loginOfVerifiedUser(login))
    }

    /// Returns the ID of the account of a token; nil without a valid token of a user who has an
    /// account (F-10).
    static func accountOfToken(_ routes: SessionRoutes, _ token: String) async -> String? {
        guard case .accepted(let subject, isAnonymous: false) = await routes.verifier.verify(token)
        else { return nil }
        return subject
    }

    /// Returns the response to a login without a valid token.
    ///
    /// It is the same for every user ID in the request, so that it does not reveal which IDs exist
    /// (S-25).
    static func loginRefusal(_ routes: SessionRoutes, _ userID: String?) async throws -> Response {
        JSON.response(.unauthorized, ["error": "invalid_token"])
    }

    private static func bearerToken(in request: Request) -> String {
        let authorization = request.headers[.authorization] ?? ""
        return authorization.hasPrefix("Bearer ") ? String(authorization.dropFirst(7)) : ""
    }

    /// Returns the response to an incomplete login.
    ///
    /// It is the same as for a wrong password, so that it does not reveal more (S-25).
    static func incompleteLoginResponse() -> Response {
        JSON.response(.unauthorized, ["error": "invalid_credentials"])
    }

    /// Returns the response with the user that the Firebase ID token in the `Authorization` header
    /// identifies (F-01 to F-10).
    static func currentUserResponse(_ routes: SessionRoutes, _ authorization: String) async
        -> Response
    {
        guard authorization.hasPrefix("Bearer ") else {
            return JSON.response(.unauthorized, ["error": "no_token"])
        }
        return routes.policy.verificationResponse(
            await routes.verifier.verify(String(authorization.dropFirst(7)))
        )
    }

    /// Returns the response for the result of a token verification.
    ///
    /// An anonymous session is refused, because it has no account (F-10).
    static func verificationResponse(_ result: TokenVerifier.Result) -> Response {
        switch result {
        case .accepted(_, isAnonymous: true):
            JSON.response(.forbidden, ["error": "account_required"])
        case .accepted(let subject, _): JSON.response(.ok, ["appUserId": subject])
        case .refused: JSON.response(.unauthorized, ["error": "invalid_token"])
        case .unavailable: JSON.response(.serviceUnavailable, ["error": "keys_unavailable"])
        }
    }

    private func deleteAccount(_ request: Request) async throws -> Response {
        let authorizationHeader = request.headers[.authorization] ?? ""
        guard authorizationHeader.hasPrefix("Bearer "),
            case .accepted(let subject, _) = await verifier.verify(
                String(authorizationHeader.dropFirst(7))
            )
        else { return JSON.response(.unauthorized, ["error": "invalid_token"]) }
        let store = accounts.store
        try await store.pool.write { db in
            guard let user = try store.user(db, known: subject) else { return }
            try store.policies.accounts.erasePersonalData(db, user)
        }
        return JSON.response(.ok, ["deleted": true])
    }
}
