/// The switches of the fake OneSignal.
///
/// They select behavior that the OneSignal fact sheet leaves open or on which sources differ.
package struct OneSignalSettings: Hashable, Codable, Sendable {
    package enum Recipients: String, Hashable, Codable, Sendable {
        /// A message reaches every recipient that it names, even a user without a device.
        ///
        /// This suits the tests of a backend, in which no phone registers.
        case any
        /// A message reaches only users with a subscribed device.
        ///
        /// The response reports the other recipients as invalid (OneSignal fact sheet, section 4).
        case known
    }

    package enum MixedTargets: String, Hashable, Codable, Sendable {
        /// A message with several kinds of targets is sent to all of them, including segments, as
        /// observed (OneSignal fact sheet, section 3).
        case send
        /// A message with several kinds of targets is refused with 400, as documented.
        case refuse
    }

    package var recipients = Recipients.any
    package var mixedTargets = MixedTargets.send
    /// Whether a message that targets aliases without `target_channel` is refused, as documented.
    package var requiresTargetChannel = true
    /// Whether a request below `/api/v1` with a wrong API key fails with 400 and the text of the
    /// legacy host.
    package var legacyAuthError = false
    package var playersNeedKey = true
    /// Whether callers can change users and subscriptions without an API key, as OneSignal's own
    /// SDKs on phones do.
    package var usersNeedNoKey: Bool?
    /// Whether an idempotency key that is not a UUID is refused.
    package var requiresUUIDKeys = false
    /// The number of tags that a user may have in the customer's plan.
    ///
    /// If nil, the number is not limited.
    package var tagsMax: Int?
    /// The number of calls that are allowed in one second.
    ///
    /// A further call gets 429. If nil, the number is not limited.
    package var callsPerSecondMax: Int?
    /// The number of writes to one user or subscription that are allowed in one second.
    ///
    /// A further write gets 429. If nil, the number is not limited.
    ///
    /// The OneSignal fact sheet (section 9) states a limit of 1.
    package var userWritesPerSecondMax: Int?
    /// The number of GET requests that are allowed in one second.
    ///
    /// A further GET request gets 429. If nil, the number is not limited.
    ///
    /// The OneSignal fact sheet (section 9) states a limit of 1 per app for the view endpoints,
    /// with a look-back of 10.
    package var viewsPerSecondMax: Int?
    /// The number of aliases that a user may have.
    ///
    /// If nil, the number is not limited.
    ///
    /// The documentation states 10 in one place and 20 in another (OneSignal fact sheet, section
    /// 7).
    package var aliasesMax: Int? = 20
    /// Whether the response to a new message contains `recipients`, as legacy responses did.
    package var countsRecipients = false
    /// The time in seconds after which a changed property becomes readable: about 30 to 60 in the
    /// real service (OneSignal fact sheet, section 7).
    package var propertyDelaySeconds: Int64 = 0
    /// The IDs of the OneSignal apps that exist.
    ///
    /// If the list is empty, every UUID is accepted as an app ID.
    package var apps: [String] = []

    package init() {}
}
