internal import Redaction
package import Values

/// The features of backends that concern Purchasely alone.
extension Feature {
    package static let purchasely = Feature(
        "purchasely",
        "Receives Purchasely's webhook.",
        roles: [.optionalService, .contractGroup],
        requirements: [.endpoint(PurchaselyState.webhookEndpoint)]
    )
    package static let purchaselyPush = Feature(
        "purchasely-push",
        "Sends push notifications for Purchasely events.",
        optionalFor: ["P-04", "O-01"],
        requirements: [
            .feature(Feature.push.rawValue), .endpoint(PurchaselyState.webhookEndpoint),
        ]
    )
    package static let purchaselySignature = Feature(
        "purchasely-signature",
        "Requires Purchasely's signature on webhooks.",
        requirements: [
            .secret(.purchaselySigning), .endpoint(PurchaselyState.webhookEndpoint),
        ]
    )
}

extension SecretName {
    package static let purchaselySigning = SecretName(rawValue: "purchasely-signing")
}

extension PurchaselyState {
    /// Backends do not call Purchasely, so no responses can be planned.
    package static let contractTerms = ContractTerms(
        secrets: [
            ProfileSecret(.purchaselySigning, "The secret that signs Purchasely's webhook.")
        ],
        features: [.purchasely, .purchaselyPush, .purchaselySignature],
        effects: [],
        plannedCalls: nil
    )
}

extension Exchange.Party {
    package static let purchasely = Exchange.Party("purchasely")
}
