internal import Contracts

extension EffectExpectation {
    /// The kind of the effect that a push notification is.
    static let notificationKind = "onesignal.notification"
}
