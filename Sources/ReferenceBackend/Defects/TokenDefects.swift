internal import GRDB
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// Built-in defects of the reference backend in the verification of Firebase tokens, and in the
/// behavior without Firebase's keys.
extension Defect {
    static let tokens: [Defect] = [
        Defect("token-missing-500", "a request without a token gets status 500", breaks: "F-01") {
            let correctRule = $0.session.currentUserResponse
            $0.session.currentUserResponse = { routes, authorization in
                guard authorization.isEmpty else { return await correctRule(routes, authorization) }
                return JSON.response(.internalServerError, ["error": "internal"])
            }
        },
        Defect("token-malformed-500", "a malformed token gets status 500", breaks: "F-01") {
            let correctRule = $0.session.currentUserResponse
            $0.session.currentUserResponse = { routes, authorization in
                let isBroken =
                    authorization.hasPrefix("Bearer ")
                    && authorization.count(where: { $0 == "." }) != 2
                guard isBroken else { return await correctRule(routes, authorization) }
                return JSON.response(.internalServerError, ["error": "internal"])
            }
        },
        Defect("token-expiry-ignored", "the expiry of a token is not checked", breaks: "F-02") {
            $0.tokens.hasExpired = { claims, _ in claims.expiry == nil }
        },
        Defect(
            "token-audience-ignored",
            "tokens of other Firebase projects are accepted",
            breaks: "F-03"
        ) {
            $0.tokens.hasExpectedAudience = { _, _ in true }
        },
        Defect("token-issuer-ignored", "tokens of other issuers are accepted", breaks: "F-03") {
            $0.tokens.hasExpectedIssuer = { _, _ in true }
        },
        Defect(
            "token-issuer-by-its-end",
            "only the end of a token's issuer is compared",
            breaks: "F-03"
        ) {
            $0.tokens.hasExpectedIssuer = { claims, project in
                claims.issuer?.hasSuffix("google.com/" + project) == true
            }
        },
        Defect(
            "token-claims-ignored",
            "neither the audience nor the issuer of a token is checked",
            breaks: "F-03"
        ) {
            $0.tokens.hasExpectedAudience = { _, _ in true }
            $0.tokens.hasExpectedIssuer = { _, _ in true }
        },
        Defect("token-signature-ignored", "tokens are decoded but not verified", breaks: "F-04") {
            $0.acceptUnverifiedTokens { _ in true }
        },
        Defect("token-none-accepted", "unsigned tokens are accepted", breaks: "F-04") {
            $0.acceptUnverifiedTokens { $0.algorithm == "none" }
        },
        Defect(
            "token-algorithm-believed",
            "tokens that are signed with HS256 are accepted",
            breaks: "F-04"
        ) {
            $0.acceptUnverifiedTokens { $0.algorithm == "HS256" }
        },
        Defect(
            "token-never-refetched",
            "the keys are not fetched again after Firebase rotates them",
            breaks: "F-05"
        ) {
            $0.tokens.mayRefetchKeys = { now, known in now >= known.validUntil }
        },
        Defect(
            "token-refetch-always",
            "every unknown key ID causes a fetch of the keys",
            breaks: "F-05"
        ) {
            $0.tokens.mayRefetchKeys = { _, _ in true }
        },
        Defect(
            "token-keys-down-accepts",
            "every token is accepted while Firebase's keys are unavailable",
            breaks: "F-06"
        ) {
            let correctRule = $0.tokens.isSigned
            $0.tokens.isSigned = { verifier, token in await correctRule(verifier, token) ?? true }
            $0.tokens.isSessionValid = { _, _, _ in true }
        },
        Defect(
            "token-revocation-ignored",
            "the tokens of revoked sessions and disabled users are accepted",
            breaks: "F-07"
        ) {
            $0.tokens.isSessionValid = { _, _, _ in true }
        },
        Defect(
            "token-email-identity",
            "a token's email address identifies the user instead of its subject",
            breaks: "F-08"
        ) {
            let correctRule = $0.tokens.subject
            $0.tokens.subject = { claims in correctRule(claims).map { claims.email ?? $0 } }
        },
        Defect(
            "token-future-accepted",
            "tokens that were issued in the future are accepted",
            breaks: "F-09"
        ) {
            $0.tokens.isIssuedInFuture = { claims, _ in
                claims.issuedAt == nil || claims.signedInAt == nil
            }
        },
        Defect(
            "token-subject-unchecked",
            "a token with an empty or overlong subject is accepted",
            breaks: "F-09"
        ) {
            $0.tokens.subject = { $0.subject }
        },
        Defect(
            "token-anonymous-accepted",
            "anonymous Firebase sessions are accepted where an account is required",
            breaks: "F-10"
        ) {
            let correctRule = $0.session.verificationResponse
            $0.session.verificationResponse = { result in
                guard case .accepted(let subject, _) = result else { return correctRule(result) }
                return JSON.response(.ok, ["appUserId": subject])
            }
        },
        Defect(
            "token-remembered",
            "an accepted token is never verified again",
            breaks: "F-02"
        ) {
            let correctRule = $0.session.currentUserResponse
            let cachedSuccessResponses = NIOLockedValueBox<[String: Response]>([:])
            $0.session.currentUserResponse = { routes, authorization in
                if let known = cachedSuccessResponses.withLockedValue({ $0[authorization] }) {
                    return known
                }
                let response = await correctRule(routes, authorization)
                if response.status == .ok {
                    cachedSuccessResponses.withLockedValue { $0[authorization] = response }
                }
                return response
            }
        },
        Defect(
            "token-signature-decoded-late",
            "a token with an invalid base64url signature gets status 500",
            breaks: "F-01"
        ) {
            let correctRule = $0.session.currentUserResponse
            $0.session.currentUserResponse = { routes, authorization in
                let tokenParts = authorization.split(
                    separator: ".",
                    omittingEmptySubsequences: false
                )
                guard tokenParts.count == 3, authorization.count > 100, tokenParts[2].contains("*")
                else {
                    return await correctRule(routes, authorization)
                }
                return JSON.response(.internalServerError, ["error": "internal"])
            }
        },
        Defect(
            "keys-down-is-refusal",
            "a token that cannot be verified without keys gets status 401",
            breaks: "F-06"
        ) {
            let correctRule = $0.session.verificationResponse
            $0.session.verificationResponse = { result in
                if case .unavailable = result { return correctRule(.refused) }
                return correctRule(result)
            }
        },
        Defect(
            "known-guest-let-in",
            "an anonymous session is accepted if its user ID is registered",
            breaks: "F-10"
        ) {
            let correctRule = $0.session.currentUserResponse
            $0.session.currentUserResponse = { routes, authorization in
                let store = routes.accounts.store
                // If the user cannot be read, the correct rule decides.
                if authorization.hasPrefix("Bearer "),
                    case .accepted(let subject, isAnonymous: true) = await routes.verifier.verify(
                        String(authorization.dropFirst(7))
                    ), (try? await store.pool.read { try store.user($0, known: subject) }) != nil
                {
                    return JSON.response(.ok, ["appUserId": subject])
                }
                return await correctRule(routes, authorization)
            }
        },
        Defect(
            "token-project-by-its-beginning",
            "tokens of Firebase projects with the same name prefix are accepted",
            breaks: "F-03"
        ) {
            $0.tokens.hasExpectedAudience = { $0.audience?.hasPrefix($1) == true }
            $0.tokens.hasExpectedIssuer = { claims, project in
                claims.issuer?.hasPrefix("https://securetoken.google.com/" + project) == true
            }
        },
        Defect(
            "token-keys-added",
            "withdrawn Firebase keys stay valid until a restart",
            breaks: "F-05"
        ) {
            $0.tokens.replaceKeys = { known, fresh in
                known.keys.merge(fresh.keys) { $1 }
                known.validUntil = fresh.validUntil
            }
        },
        Defect(
            "token-google-identity",
            "the Google ID instead of the token's subject identifies a user",
            breaks: "A-04"
        ) {
            let correctRule = $0.tokens.subject
            $0.tokens.subject = { claims in correctRule(claims).map { claims.googleID ?? $0 } }
        },
        Defect(
            "token-revoked-for-good",
            "a user whose session was revoked is refused forever",
            breaks: "F-07"
        ) {
            let correctRule = $0.tokens.isSessionValid
            let refused = NIOLockedValueBox<Set<String>>([])
            $0.tokens.isSessionValid = { verifier, subject, claims in
                if refused.withLockedValue({ $0.contains(subject) }) { return false }
                let isSessionValid = await correctRule(verifier, subject, claims)
                if isSessionValid == false { refused.withLockedValue { _ = $0.insert(subject) } }
                return isSessionValid
            }
        },
    ]
}
