internal import GRDB
internal import HTTPTypes
internal import Hummingbird

/// Built-in defects of the reference backend in logins whose proof is a Firebase ID token.
extension Defect {
    static let tokenLogins: [Defect] = [
        Defect(
            "token-login-unverified",
            "a login decodes the ID token but does not verify it",
            breaks: "S-25",
            loginProof: .idToken
        ) {
            $0.session.accountOfToken = { _, token in
                TokenVerifier.Token(token)?.claims.subject
            }
        },
        Defect(
            "token-login-tells-ids",
            "a login without a valid ID token gets another status for a known user ID",
            breaks: "S-25",
            loginProof: .idToken
        ) {
            let correctRule = $0.session.loginRefusal
            $0.session.loginRefusal = { routes, userID in
                let store = routes.accounts.store
                let isKnown = try await store.pool.read { db in
                    try userID.map { try store.user(db, known: $0) != nil } ?? false
                }
                guard isKnown else {
                    return JSON.response(.notFound, ["error": "unknown_app_user_id"])
                }
                return try await correctRule(routes, userID)
            }
        },
        Defect(
            "token-login-by-email",
            "a login takes the email address of the ID token as the account",
            breaks: "F-08",
            loginProof: .idToken
        ) {
            let correctRule = $0.session.accountOfToken
            $0.session.accountOfToken = { routes, token in
                guard await correctRule(routes, token) != nil else { return nil }
                return TokenVerifier.Token(token)?.claims.email
            }
        },
        Defect(
            "token-login-drops-purchases",
            "a login that claims a user ID leaves its purchases with the previous ID",
            breaks: "S-26",
            loginProof: .idToken
        ) {
            $0.accounts.takeUID = { store, db, _, uid in
                if try store.user(db, known: uid) == nil {
                    _ = try store.insert(db, uid, source: "login")
                }
                return uid
            }
        },
    ]
}
