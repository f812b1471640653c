/// A kind of effect that a backend can cause at a provider, such as a push notification.
package struct EffectKind: Sendable {
    /// The name of the kind in contracts, which the journal writes after the provider's name:
    /// `onesignal.notification`.
    package let name: String
    /// Whether a contract that sets no number of effects expects at least one.
    ///
    /// False for an effect that states a value, which may be stated any number of times.
    package let isExpectedByDefault: Bool
    /// The feature of backends that cause the effect; nil when no feature describes them.
    package let feature: Feature?

    package init(_ name: String, isExpectedByDefault: Bool = true, feature: Feature? = nil) {
        (self.name, self.isExpectedByDefault, self.feature) = (name, isExpectedByDefault, feature)
    }
}
