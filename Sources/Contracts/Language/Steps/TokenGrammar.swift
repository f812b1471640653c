package import Grammar
package import Providers
internal import Values

extension TokenSpec {
    package static let grammar = Construct<TokenSpec>(
        "token",
        "a token",
        "A Firebase ID token as an app sends it, or a forged one.",
        makeEmptyOwner: { _ in TokenSpec() }
    ) {
        Field.value(
            "kind",
            \.kind,
            .choice("kind of token"),
            default: .idToken,
            "The kind of token."
        )
        Field.value(
            "signing",
            \.signing,
            .choice("signing"),
            default: .genuine,
            "The key or method that signs the token."
        )
        Field.value(
            "claims",
            \.claims,
            .map(.anyKey("a claim"), claim),
            default: [:],
            "Claims that differ from those of a valid token. `null` removes a claim.",
            fallback: "the claims of a valid token"
        )
        Field.optional(
            "raw",
            \.raw,
            .verbatim("a string").templated(.claim),
            "A string that is sent instead of a token."
        )
        Field.optional(
            "expires",
            \.expires,
            .choice("value of 'expires'"),
            "The expiry of the token. `soon`: the token is valid at first and expires while the "
                + "case runs, even if the backend tolerates clock differences.",
            fallback: "one hour after it is issued"
        )
        Field.optional(
            "once-over",
            \.callWithExpiredToken,
            Call.knownCallName,
            "Sends the token of this earlier call again after the token has expired. The token "
                + "needs `expires: soon`; it counts as expired when the backend refuses a new "
                + "token with the same expiry."
        )
    }

    /// The syntax of a claim's value: any JSON value, or null to remove the claim.
    private static let claim = Syntax<JSONValue?>(
        .templated(.json, .contract(.claim)),
        read: { node, _ in .some(node.json.isNull ? nil : node.json) },
        write: { .json($0 ?? .null) }
    )
}

extension Contract {
    /// The steps that send the token of an earlier call again after its expiry, although this token
    /// does not expire `soon`.
    ///
    /// Each element contains the name of the earlier call and the index of the step.
    var callsWithoutExpiringToken: [(call: String, step: Int)] {
        var callsWithExpiringToken: Set<String> = []
        var callsWithoutExpiry: [(call: String, step: Int)] = []
        for (index, step) in (given + steps).enumerated() {
            guard case .call(let calls) = step else { continue }
            for call in calls {
                if let earlier = call.token?.callWithExpiredToken,
                    !callsWithExpiringToken.contains(earlier)
                {
                    callsWithoutExpiry.append((earlier, index))
                }
            }
            for call in calls where call.token?.expires == .soon && call.route == .protected {
                callsWithExpiringToken.insert(call.name)
            }
        }
        return callsWithoutExpiry
    }
}
