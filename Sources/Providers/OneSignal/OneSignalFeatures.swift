internal import Redaction
package import Values

/// The feature of backends that concerns OneSignal alone.
extension Feature {
    package static let push = Feature("push", "Sends push notifications through OneSignal.")
}

extension SecretName {
    package static let oneSignalKey = SecretName(rawValue: "onesignal-key")
}

extension OneSignalState {
    package static let contractTerms = ContractTerms(
        secrets: [
            ProfileSecret(
                .oneSignalKey,
                "The key of OneSignal's REST API.",
                defaultValue: Secret("os_v2_app_assay")
            )
        ],
        features: [.push],
        effects: [
            EffectKind("notification", feature: .push),
            EffectKind("tags", isExpectedByDefault: false),
            EffectKind("cancel"), EffectKind("user"), EffectKind("user-deleted"),
            EffectKind("aliases"), EffectKind("alias-removed"), EffectKind("subscription"),
            EffectKind("subscription-transferred"), EffectKind("subscription-deleted"),
            EffectKind("email"), EffectKind("sms"), EffectKind("event"),
            EffectKind("live-activity"),
        ],
        plannedCalls: PlannedCalls(includesReads: false, requiredFeatures: [.push])
    )
}

extension Exchange.Party {
    package static let oneSignal = Exchange.Party("onesignal")
}
