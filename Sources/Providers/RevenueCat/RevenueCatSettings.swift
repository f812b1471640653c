internal import Redaction

/// The switches of the fake RevenueCat.
///
/// They select behavior that the RevenueCat fact sheet marks as unverified, as inferred, or as
/// dependent on the project's configuration.
package struct RevenueCatSettings: Hashable, Codable, Sendable {
    /// The effect of a receipt that already belongs to another customer (RevenueCat fact sheet,
    /// section 5.4).
    package enum RestoreBehavior: String, Hashable, Codable, Sendable, CaseIterable {
        case transfer
        case transferIfNoActiveSubscriptions = "transfer_if_no_active_subs"
        case keep = "error"
        case share
    }

    package enum RetryAfterUnit: String, Hashable, Codable, Sendable { case milliseconds, seconds }

    package enum PurchaseType: String, Hashable, Codable, Sendable {
        case initialPurchase = "INITIAL_PURCHASE"
        case renewal = "RENEWAL"
    }

    package var project = "proja55a4c0de"
    /// Whether REST v2 accepts only the project ID in `project`.
    ///
    /// If nil, it accepts any ID, as it did before this switch existed.
    ///
    /// The response for an unknown project is *inferred*: 404 `resource_missing` (RevenueCat fact
    /// sheet, section 4.4).
    package var knowsItsProjectAlone: Bool?
    package var appID = "appa55a4c0de1"
    package var restoreBehavior = RestoreBehavior.transfer
    /// The number of calls that are allowed in one minute.
    ///
    /// A further call gets 429. If nil, the number is not limited.
    package var callsPerMinuteMax: Int?
    /// The unit of the header `Retry-After` in a response with status 429.
    package var retryAfterUnit = RetryAfterUnit.milliseconds
    /// The status of the response to a read that created the customer.
    ///
    /// It is 201 in the API description, and 200 in section 4.1 of the RevenueCat fact sheet
    /// (unverified).
    package var createdByReadStatus = 201
    /// The type of the purchase event that accompanies an immediate product change on Play
    /// (RevenueCat fact sheet, section 3, row 11).
    package var playChangeEvent = PurchaseType.initialPurchase
    /// The type of the event for a purchase after the subscription lapsed (RevenueCat fact sheet,
    /// section 3, row 5).
    package var resubscriptionEvent = PurchaseType.initialPurchase
    /// Whether RevenueCat sends an EXPIRATION event after a refund (RevenueCat fact sheet, section
    /// 3, row 13).
    package var expiresAfterRefund = true
    /// The time in seconds between the end of a period and its EXPIRATION event.
    ///
    /// In the real service, this time is between some seconds and an hour (RevenueCat fact sheet,
    /// section 3, row 3).
    package var expirationDelaySeconds: Int64 = 5
    /// The `expiration_reason` in the event about the end of a promotional grant (RevenueCat fact
    /// sheet, section 3, row 22).
    package var promotionalEndReason = "UNSUBSCRIBE"
    /// The time in seconds by which REST responses lag behind webhook events.
    ///
    /// RevenueCat does not guarantee that REST returns a change before or after the webhook event
    /// about the change (RevenueCat fact sheet, section 1.5).
    package var restLagSeconds: Int64 = 0
    /// The ID of the OneSignal app to which RevenueCat's OneSignal integration writes tags.
    package var oneSignalApp = "a55a4000-0000-4000-8000-000000000000"
    /// The standard names of the tags that the OneSignal integration does not send.
    package var oneSignalTagsOff: [String] = []
    /// The custom names of tags in the settings of the OneSignal integration, by their standard
    /// names.
    package var oneSignalTagNames: [String: String]?

    package init() {}
}
