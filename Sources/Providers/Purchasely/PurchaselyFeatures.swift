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
        isOptionalByDesign: true,
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
    package static let profileSecrets = [
        ProfileSecret(.purchaselySigning, "The secret that signs Purchasely's webhook.")
    ]

    package static let features: [Feature] = [.purchasely, .purchaselyPush, .purchaselySignature]

    package static let effects: [EffectKind] = []

    /// Backends do not call Purchasely.
    package static let plannedCalls: PlannedCalls? = nil
}

extension Exchange.Party {
    package static let purchasely = Exchange.Party("purchasely")
}
