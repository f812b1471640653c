/// The switches of the fake OneSignal: what the fact sheet leaves open or marks as differing.
package struct OneSignalSettings: Hashable, Codable, Sendable {
    package enum Recipients: String, Hashable, Codable, Sendable {
        /// Whoever is named is reached: a backend's tests have no phone that registers.
        case any
        /// Only users with a subscribed device; the others are reported as invalid (section 4).
        case known
    }

    package enum MixedTargets: String, Hashable, Codable, Sendable {
        /// Sent to all of them, segments included, as was observed (section 3).
        case send
        /// 400, as the documentation says.
        case refuse
    }

    package var recipients = Recipients.any
    package var mixedTargets = MixedTargets.send
    /// Alias targeting without `target_channel` is refused, as documented.
    package var requiresTargetChannel = true
    /// A wrong key is a 400 with the old legacy text below `/api/v1`.
    package var legacyAuthError = false
    package var playersNeedKey = true
    /// Users and subscriptions are written without a key, as OneSignal's own libraries on phones do.
    package var usersNeedNoKey: Bool?
    /// An idempotency key that is no UUID is refused.
    package var requiresUUIDKeys = false
    /// How many tags the plan allows a user; none: any number.
    package var tagsMax: Int?
    /// Calls in one second before 429; none: any number.
    package var callsPerSecondMax: Int?
    /// Writes to one user or subscription in one second before 429 (section 9: 1); none: any.
    package var userWritesPerSecondMax: Int?
    /// Views in one second before 429 (section 9: 1 with a look-back of 10); none: any number.
    package var viewsPerSecondMax: Int?
    /// How many aliases a user may have (section 7: 10 in one text, 20 in another).
    package var aliasesMax: Int? = 20
    /// Legacy notification answers name `recipients`.
    package var countsRecipients = false
    /// Seconds until a property that was written is read back (section 7: about 30 to 60).
    package var propertyDelaySeconds: Int64 = 0
    /// The only apps that exist; empty: any UUID.
    package var apps: [String] = []

    package init() {}
}
