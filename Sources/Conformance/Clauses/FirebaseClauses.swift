/// The clauses for backends that accept Firebase ID tokens: F-01 to F-10.
extension Clause {
    static let firebase: [Clause] = [
        Clause(
            "F-01",
            requirement: "A request without a token, or with a malformed one, gets 401, never 500.",
            rationale: "Anyone can send a malformed token, so it must not reach code that throws.",
            faults: [
                "the decoder's exception ends as a 500",
                "an empty Authorization header passes as an anonymous user",
            ],
            correctDesign:
                "Convert the header to an identity or a refusal in one function, and answer every "
                + "error that it throws with 401.",
            source: "clause catalogue, F-01"
        ),
        Clause(
            "F-02",
            requirement: "An expired token gets 401.",
            rationale: "Otherwise a stolen token would work forever.",
            faults: [
                "'exp' is not checked",
                "milliseconds and seconds are mixed up",
                "hours of leeway are allowed",
            ],
            correctDesign: "Let the SDK verify the token, with at most a few seconds of leeway.",
            source: "clause catalogue, F-02"
        ),
        Clause(
            "F-03",
            requirement:
                "A token for another audience or from another issuer gets 401: another "
                + "project's token, Google's own ID token, a session cookie, a custom token.",
            rationale: "The signature of such a token is valid.",
            faults: ["only the signature is checked", "'aud' is checked and 'iss' is not"],
            correctDesign: "Check 'aud' and 'iss' against the configured project.",
            source: "clause catalogue, F-03; Firebase fact sheet"
        ),
        Clause(
            "F-04",
            requirement:
                "A token with 'alg: none', or with HS256 keyed with the public certificate, "
                + "gets 401.",
            rationale:
                "'alg: none' and HS256 with the public key are the two classic ways to forge a "
                + "token.",
            faults: ["the token's own 'alg' chooses how it is verified"],
            correctDesign: "Accept only tokens that are signed with RS256.",
            source: "clause catalogue, F-04"
        ),
        Clause(
            "F-05",
            requirement:
                "A token with an unknown 'kid' gets 401 after at most one fetch of the keys; a "
                + "token signed with a rotated key is accepted without a restart.",
            rationale: "Firebase rotates its keys, and any caller can invent 'kid' values.",
            faults: [
                "Firebase's keys are fetched once and never again",
                "every unknown 'kid' causes a fetch of the keys",
            ],
            correctDesign:
                "Cache Firebase's keys for their 'max-age', and fetch them again once for an "
                + "unknown 'kid', with a pause between fetches.",
            source: "clause catalogue, F-05"
        ),
        Clause(
            "F-06",
            requirement:
                "While Firebase's keys cannot be fetched, the backend either answers with a "
                + "failure such as 503 or verifies tokens with cached keys; it never accepts a "
                + "token unverified.",
            rationale: "An outage of Firebase must not let unverified callers in.",
            faults: ["when the fetch of the keys fails, the token is decoded without verification"],
            correctDesign: "Accept no token while there is no key to verify it with.",
            source: "clause catalogue, F-06"
        ),
        Clause(
            "F-07",
            requirement:
                "A revoked session or a disabled user is refused on every route that promises "
                + "this check.",
            rationale: "A token stays valid for up to an hour after its session was revoked.",
            faults: [
                "the option 'checkRevoked' is left out",
                "a failure of the revocation check counts as 'not revoked'",
            ],
            correctDesign:
                "Call verifyIdToken with checkRevoked on the routes that must refuse revoked "
                + "sessions.",
            source: "clause catalogue, F-07"
        ),
        Clause(
            "F-08",
            requirement:
                "'sub' is the identity: the same email address under another 'sub' is another "
                + "user.",
            rationale: "Email addresses move from person to person.",
            faults: [
                "users are looked up by email address",
                "an unverified address is enough to merge two users",
            ],
            correctDesign: "Use 'sub' as the key of the user.",
            source: "clause catalogue, F-08"
        ),
        Clause(
            "F-09",
            requirement:
                "A token gets 401 when 'iat' or 'auth_time' lies in the future beyond clock "
                + "skew, or when 'sub' is empty or too long.",
            rationale: "Firebase never issues such a token.",
            faults: [
                "of the token's times, only 'exp' is checked",
                "an empty 'sub' becomes a user",
            ],
            correctDesign:
                "Let the SDK verify the token; when verifying by hand, check every claim that "
                + "the documentation lists.",
            source: "clause catalogue, F-09"
        ),
        Clause(
            "F-10",
            requirement: "Anonymous sessions are refused where a real account is required.",
            rationale: "The tokens of anonymous sessions are as valid as all others.",
            faults: ["the token's 'sign_in_provider' is not checked"],
            correctDesign:
                "Check 'firebase.sign_in_provider' on the routes that require an account.",
            source: "clause catalogue, F-10"
        ),
    ]
}
