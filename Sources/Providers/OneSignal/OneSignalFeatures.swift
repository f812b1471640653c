internal import Redaction

/// The feature of backends that concerns OneSignal alone.
extension Feature {
    package static let push = Feature("push", "Sends push notifications through OneSignal.")
}

extension SecretName {
    package static let oneSignalKey = SecretName(rawValue: "onesignal-key")
}

extension OneSignalState {
    package static let profileSecrets = [
        ProfileSecret(
            .oneSignalKey,
            "The key of OneSignal's REST API.",
            defaultValue: Secret("os_v2_app_assay")
        )
    ]

    package static let features = [Feature.push]

    package static let plannedCalls: PlannedCalls? = PlannedCalls(includesReads: false)
}
