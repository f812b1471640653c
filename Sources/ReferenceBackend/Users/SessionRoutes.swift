internal import GRDB
internal import HTTPTypes
internal import Hummingbird

/// The routes for the login, for the current user, and for the deletion of an account.
struct SessionRoutes: Sendable {
    let accounts: Accounts
    let verifier: TokenVerifier

    struct Policy: Sendable {
        var incompleteLoginResponse = SessionRoutes.incompleteLoginResponse
        var currentUserResponse = SessionRoutes.currentUserResponse
        var verificationResponse = SessionRoutes.verificationResponse
    }

    private var policy: Policy { accounts.store.policies.session }

    func add(to router: Router<BasicRequestContext>) {
        router.post("api/user/login") { request, _ in try await login(request) }
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
        let result = try await accounts.login(
            Accounts.Login(
                accountID: account,
                password: password,
                currentAppUserID: body.currentAppUserId,
                deviceToken: body.deviceToken
            )
        )
        return switch result {
        case .claimed(let id): JSON.response(.ok, ["action": "claimed", "appUserId": id])
        case .recovered(let id): JSON.response(.ok, ["action": "recovered", "appUserId": id])
        case .refused: Self.incompleteLoginResponse()
        case .conflict: JSON.response(.conflict, ["error": "id_not_claimable"])
        }
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
