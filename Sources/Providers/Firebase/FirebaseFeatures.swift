package import Values

/// The features of backends that concern Firebase alone.
extension Feature {
    private static let needsProtectedRoute = [Requirement.endpoint("protected")]

    package static let firebase = Feature(
        "firebase",
        "Has a route that accepts Firebase ID tokens.",
        roles: [.optionalService, .idTokens, .contractGroup],
        requirements: needsProtectedRoute
    )
    package static let signedTokens = Feature(
        "signed-tokens",
        "Verifies the signatures of Firebase tokens, so it does not use Firebase's emulator.",
        requirements: needsProtectedRoute
    )
    package static let revocation = Feature(
        "revocation",
        "Asks Firebase whether a session was revoked.",
        optionalFor: ["F-07"],
        requirements: needsProtectedRoute
    )
    package static let realAccounts = Feature(
        "real-accounts",
        "Allows only users with an account on the protected route, not anonymous sessions.",
        optionalFor: ["F-10"],
        requirements: needsProtectedRoute
    )
}

extension FirebaseState {
    package static let contractTerms = ContractTerms(
        secrets: [],
        features: [.firebase, .signedTokens, .revocation, .realAccounts],
        effects: [],
        plannedCalls: PlannedCalls(
            includesReads: true,
            affectsConcurrentRuns: true,
            keyRotationWord: "rotate-keys"
        )
    )
}

extension Exchange.Party {
    package static let firebase = Exchange.Party("firebase")
}
