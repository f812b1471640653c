internal import GRDB
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// Whose token it is: defects of what is checked, and of what is done without keys.
extension Defect {
    static let tokens: [Defect] = [
        Defect("token-missing-500", "a request without a token is answered 500", breaks: "F-01") {
            let correct = $0.session.identify
            $0.session.identify = { routes, authorization in
                guard authorization.isEmpty else { return await correct(routes, authorization) }
                return JSON.response(.internalServerError, ["error": "internal"])
            }
        },
        Defect("token-malformed-500", "what is no token is answered 500", breaks: "F-01") {
            let correct = $0.session.identify
            $0.session.identify = { routes, authorization in
                let isBroken =
                    authorization.hasPrefix("Bearer ")
                    && authorization.count(where: { $0 == "." }) != 2
                guard isBroken else { return await correct(routes, authorization) }
                return JSON.response(.internalServerError, ["error": "internal"])
            }
        },
        Defect("token-expiry-ignored", "tokens never expire", breaks: "F-02") {
            $0.tokens.hasExpired = { claims, _ in claims.expiry == nil }
        },
        Defect("token-audience-ignored", "tokens of other projects pass", breaks: "F-03") {
            $0.tokens.isAudience = { _, _ in true }
        },
        Defect("token-issuer-ignored", "tokens of other issuers pass", breaks: "F-03") {
            $0.tokens.isIssuer = { _, _ in true }
        },
        Defect("token-issuer-by-its-end", "only the end of the issuer is compared", breaks: "F-03")
        {
            $0.tokens.isIssuer = { claims, project in
                claims.issuer?.hasSuffix("google.com/" + project) == true
            }
        },
        Defect("token-claims-ignored", "neither audience nor issuer is checked", breaks: "F-03") {
            $0.tokens.isAudience = { _, _ in true }
            $0.tokens.isIssuer = { _, _ in true }
        },
        Defect("token-signature-ignored", "tokens are decoded and not verified", breaks: "F-04") {
            $0.believe { _ in true }
        },
        Defect("token-none-accepted", "unsigned tokens pass", breaks: "F-04") {
            $0.believe { $0.algorithm == "none" }
        },
        Defect("token-algorithm-believed", "HS256 passes", breaks: "F-04") {
            $0.believe { $0.algorithm == "HS256" }
        },
        Defect("token-never-refetched", "a rotated key is not fetched", breaks: "F-05") {
            $0.tokens.mayRefetch = { now, known in now >= known.validUntil }
        },
        Defect("token-refetch-always", "every unknown key id fetches the keys", breaks: "F-05") {
            $0.tokens.mayRefetch = { _, _ in true }
        },
        Defect("token-keys-down-accepts", "without keys every token passes", breaks: "F-06") {
            let correct = $0.tokens.isSigned
            $0.tokens.isSigned = { verifier, token in await correct(verifier, token) ?? true }
            $0.tokens.isStanding = { _, _, _ in true }
        },
        Defect("token-revocation-ignored", "revoked and disabled users pass", breaks: "F-07") {
            $0.tokens.isStanding = { _, _, _ in true }
        },
        Defect(
            "token-email-identity",
            "the email, not the subject, is the identity",
            breaks: "F-08"
        ) {
            let correct = $0.tokens.subject
            $0.tokens.subject = { claims in correct(claims).map { claims.email ?? $0 } }
        },
        Defect("token-future-accepted", "tokens from the future pass", breaks: "F-09") {
            $0.tokens.isOfTheFuture = { claims, _ in claims.issued == nil || claims.signedIn == nil
            }
        },
        Defect("token-subject-unchecked", "an empty or over-long subject passes", breaks: "F-09") {
            $0.tokens.subject = { $0.subject }
        },
        Defect("token-anonymous-accepted", "anonymous sessions pass", breaks: "F-10") {
            let correct = $0.session.answer
            $0.session.answer = { result in
                guard case .accepted(let subject, _) = result else { return correct(result) }
                return JSON.response(.ok, ["appUserId": subject])
            }
        },
        Defect(
            "token-remembered",
            "a token that was good once is not looked at again",
            breaks: "F-02"
        ) {
            let correct = $0.session.identify
            let good = NIOLockedValueBox<[String: Response]>([:])
            $0.session.identify = { routes, authorization in
                if let known = good.withLockedValue({ $0[authorization] }) { return known }
                let response = await correct(routes, authorization)
                if response.status == .ok {
                    good.withLockedValue { $0[authorization] = response }
                }
                return response
            }
        },
        Defect(
            "token-signature-decoded-late",
            "a token whose signature is no base64url is answered 500",
            breaks: "F-01"
        ) {
            let correct = $0.session.identify
            $0.session.identify = { routes, authorization in
                let parts = authorization.split(separator: ".", omittingEmptySubsequences: false)
                guard parts.count == 3, authorization.count > 100, parts[2].contains("*") else {
                    return await correct(routes, authorization)
                }
                return JSON.response(.internalServerError, ["error": "internal"])
            }
        },
        Defect(
            "keys-down-is-refusal",
            "a token that cannot be checked is called a bad one",
            breaks: "F-06"
        ) {
            let correct = $0.session.answer
            $0.session.answer = { result in
                if case .unavailable = result { return correct(.refused) }
                return correct(result)
            }
        },
        Defect(
            "known-guest-let-in",
            "an anonymous session passes for who is known under its id",
            breaks: "F-10"
        ) {
            let correct = $0.session.identify
            $0.session.identify = { routes, authorization in
                let store = routes.accounts.store
                if authorization.hasPrefix("Bearer "),
                    case .accepted(let subject, isAnonymous: true) = await routes.verifier.verify(
                        String(authorization.dropFirst(7))
                    ), (try? await store.pool.read { try store.user($0, known: subject) }) != nil
                {
                    return JSON.response(.ok, ["appUserId": subject])
                }
                return await correct(routes, authorization)
            }
        },
        Defect(
            "token-project-by-its-beginning",
            "tokens of a project whose name begins with ours pass",
            breaks: "F-03"
        ) {
            $0.tokens.isAudience = { $0.audience?.hasPrefix($1) == true }
            $0.tokens.isIssuer = { claims, project in
                claims.issuer?.hasPrefix("https://securetoken.google.com/" + project) == true
            }
        },
        Defect(
            "token-keys-added",
            "a key that is not published any more is good until the next start",
            breaks: "F-05"
        ) {
            $0.tokens.learn = { known, fresh in
                known.keys.merge(fresh.keys) { $1 }
                known.validUntil = fresh.validUntil
            }
        },
        Defect(
            "token-google-identity",
            "who signs in with Google is known by Google's id",
            breaks: "A-04"
        ) {
            let correct = $0.tokens.subject
            $0.tokens.subject = { claims in correct(claims).map { claims.googleID ?? $0 } }
        },
        Defect(
            "token-revoked-for-good",
            "whoever was refused for a revocation once is refused for ever",
            breaks: "F-07"
        ) {
            let correct = $0.tokens.isStanding
            let refused = NIOLockedValueBox<Set<String>>([])
            $0.tokens.isStanding = { verifier, subject, claims in
                if refused.withLockedValue({ $0.contains(subject) }) { return false }
                let isStanding = await correct(verifier, subject, claims)
                if isStanding == false { refused.withLockedValue { _ = $0.insert(subject) } }
                return isStanding
            }
        },
    ]
}
