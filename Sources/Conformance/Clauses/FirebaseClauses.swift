/// Backends that accept Firebase's ID tokens: F-01 to F-10.
extension Clause {
    static let firebase: [Clause] = [
        Clause(
            "F-01",
            demand: "No token, or a malformed one, gets 401, never 500.",
            why: "Whoever sends rubbish must not find the path that throws.",
            faults: [
                "an exception of the decoder ends as 500", "an empty header passes as anonymous",
            ],
            build: "One function from header to identity or refusal; everything it throws is 401.",
            source: "clause catalogue, F-01"
        ),
        Clause(
            "F-02",
            demand: "An expired token gets 401.",
            why: "A stolen token would work for ever.",
            faults: [
                "'exp' is not checked", "milliseconds and seconds mixed up", "hours of leeway",
            ],
            build: "Let the SDK verify, with at most some seconds of leeway.",
            source: "clause catalogue, F-02"
        ),
        Clause(
            "F-03",
            demand:
                "A token of another audience or issuer gets 401: another project's, Google's own, "
                + "a session cookie, a custom token.",
            why: "Each of them is perfectly signed by somebody.",
            faults: ["only the signature is checked", "'aud' is checked and 'iss' is not"],
            build: "Check 'aud' and 'iss' against the configured project.",
            source: "clause catalogue, F-03; Firebase fact sheet"
        ),
        Clause(
            "F-04",
            demand: "'alg: none', and HS256 keyed with the public certificate, get 401.",
            why: "The two classical forgeries.",
            faults: ["the token's own 'alg' chooses the check"],
            build: "Accept RS256 and nothing else.",
            source: "clause catalogue, F-04"
        ),
        Clause(
            "F-05",
            demand:
                "An unknown 'kid' gets 401 after at most one fetch of the keys; a rotated key is "
                + "accepted without a restart.",
            why: "Keys rotate, and strangers can make up any number of 'kid's.",
            faults: ["keys are fetched once and never again", "every unknown 'kid' fetches them"],
            build: "Cache by 'max-age', refetch once for an unknown 'kid', with a pause between.",
            source: "clause catalogue, F-05"
        ),
        Clause(
            "F-06",
            demand:
                "When the keys cannot be had: a failure such as 503, or a success from the cache, "
                + "never 'accepted unverified'.",
            why: "An outage must not open the door.",
            faults: ["the error of the fetch is caught and the token decoded all the same"],
            build: "No key, no identity.",
            source: "clause catalogue, F-06"
        ),
        Clause(
            "F-07",
            demand: "A revoked session or a disabled user is refused where the route promises it.",
            why: "A token outlives the session by up to an hour.",
            faults: [
                "'checkRevoked' is left out", "the check's own failure counts as 'not revoked'",
            ],
            build: "verifyIdToken with checkRevoked on the routes that matter.",
            source: "clause catalogue, F-07"
        ),
        Clause(
            "F-08",
            demand: "'sub' is the identity: the same address with another 'sub' is another user.",
            why: "Addresses move from person to person.",
            faults: ["users are looked up by e-mail", "an unverified address is enough to merge"],
            build: "Key users by 'sub'.",
            source: "clause catalogue, F-08"
        ),
        Clause(
            "F-09",
            demand:
                "'iat' or 'auth_time' in the future beyond skew, and an empty or over-long 'sub', "
                + "get 401.",
            why: "No such token was ever made by Firebase.",
            faults: ["only 'exp' is looked at", "an empty 'sub' becomes a user"],
            build: "Let the SDK verify; by hand, check every claim that the documentation lists.",
            source: "clause catalogue, F-09"
        ),
        Clause(
            "F-10",
            demand: "Anonymous sessions are refused where a real account is required.",
            why: "Their tokens are as valid as all others.",
            faults: ["'sign_in_provider' is not looked at"],
            build: "Check 'firebase.sign_in_provider' on those routes.",
            source: "clause catalogue, F-10"
        ),
    ]
}
