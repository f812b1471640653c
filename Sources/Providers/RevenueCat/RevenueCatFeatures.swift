internal import Redaction
package import Values

/// The features of backends that concern RevenueCat alone.
extension Feature {
    package static let authorization = Feature(
        "authorization",
        "Requires the Authorization value of RevenueCat's webhook.",
        requirements: [.secret(.revenueCatAuthorization)]
    )
    package static let signature = Feature(
        "signature",
        "Requires RevenueCat's HMAC signature on webhooks.",
        requirements: [.secret(.revenueCatSigning)]
    )
    package static let createsUnknownUsers = Feature(
        "safety-net",
        "Creates a user when a webhook event names a user that it does not know.",
        optionalFor: ["S-21", "P-06"]
    )
    package static let aliases = Feature(
        "aliases",
        "Finds a user by every ID in an event, not only by app_user_id.",
        optionalFor: ["S-20"]
    )
    package static let separatesSandbox = Feature(
        "sandbox-apart",
        "Grants no production access for sandbox purchases.",
        optionalFor: ["S-19", "P-09"]
    )
    package static let separatesEntitlements = Feature(
        "entitlements-apart",
        "Grants access only for the entitlement of the profile, not for another one.",
        optionalFor: ["S-10"]
    )
    package static let acceptsEveryStore = Feature(
        "every-store",
        "Accepts purchases from every store, including unknown ones.",
        optionalFor: ["S-08"]
    )
    package static let readsSubscriberOnEvent = Feature(
        "subscriber-reads",
        "Reads RevenueCat's REST API when an event arrives. A backend that reads it only during "
            + "reconciliation has the feature 'reconcile' instead."
    )
    package static let reconcile = Feature(
        "reconcile",
        "Has a route that makes the backend compare its state with RevenueCat's.",
        roles: .contractGroup,
        requirements: [.endpoint("reconcile")]
    )
}

extension SecretName {
    package static let revenueCatAuthorization = SecretName(rawValue: "revenuecat-authorization")
    package static let revenueCatSigning = SecretName(rawValue: "revenuecat-signing")
    package static let revenueCatKey = SecretName(rawValue: "revenuecat-key")
}

extension RevenueCatState {
    package static let contractTerms = ContractTerms(
        secrets: [
            ProfileSecret(
                .revenueCatAuthorization,
                "RevenueCat's Authorization header for webhooks.",
                defaultValue: Secret("Bearer assay-test-token")
            ),
            ProfileSecret(.revenueCatSigning, "The secret that signs RevenueCat's webhook."),
            ProfileSecret(
                .revenueCatKey,
                "The key of RevenueCat's REST API.",
                defaultValue: Secret("sk_assay")
            ),
        ],
        features: [
            .authorization, .signature, .createsUnknownUsers, .aliases, .separatesSandbox,
            .separatesEntitlements,
            .acceptsEveryStore, .readsSubscriberOnEvent, .reconcile,
        ],
        effects: [],
        plannedCalls: PlannedCalls(
            includesReads: true,
            requiredFeatures: [.readsSubscriberOnEvent]
        ),
        productNaming: V2ResourceID.self
    )
}

extension Exchange.Party {
    package static let revenueCat = Exchange.Party("revenuecat")
}
