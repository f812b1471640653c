/// The clauses for a user's access, which must be correct in every order of events: S-09 to S-17,
/// S-19, S-32.
extension Clause {
    static let entitlement: [Clause] = [
        Clause(
            "S-09",
            requirement: "An older event never overwrites newer state of the same subscription.",
            rationale:
                "Retries and the network change the order; a cancellation may arrive after the "
                + "renewal that made it obsolete.",
            faults: [
                "the last event to arrive wins",
                "the time of arrival or of purchase is compared instead of 'event_timestamp_ms'",
                "one timestamp is kept for each user instead of one for each subscription",
                "an older event is dropped as a whole, although it contains facts that no "
                    + "newer event has",
                "state that was read before another event changed it is written back afterwards",
            ],
            correctDesign:
                "Keep the event time for each subscription and for each group of facts; apply "
                + "an event only where it is newer.",
            source: "identity rules, S-09; RevenueCat fact sheet 1.3"
        ),
        Clause(
            "S-10",
            requirement:
                "Access follows from expiry, grace period and revocation, not from the name of "
                + "the last event.",
            rationale:
                "CANCELLATION and BILLING_ISSUE keep access, and access ends with time, without "
                + "any event.",
            faults: [
                "CANCELLATION ends access",
                "access continues until an EXPIRATION arrives, even long after the end",
                "SUBSCRIPTION_PAUSED ends access at once",
                "a temporary grant or an extension does not move the end of access",
                "access is computed when an event arrives, and not when it is queried",
                "a response that was cached before the event is still returned",
            ],
            correctDesign:
                "Store the dates; compute access at each query: now < max(expiry, grace end) "
                + "and not refunded.",
            source: "identity rules, S-10 and table C.1"
        ),
        Clause(
            "S-11",
            requirement:
                "A cancellation by the customer keeps access until the period ends; a refund "
                + "(CUSTOMER_SUPPORT) is compared with the current state and normally ends access.",
            rationale: "One event type has two meanings; 'cancel_reason' distinguishes them.",
            faults: [
                "every CANCELLATION ends access, or none does",
                "REFUND_REVERSED does not bring access back",
            ],
            correctDesign:
                "Branch on 'cancel_reason'; a refund ends the transaction that it names.",
            source: "identity rules, S-11; RevenueCat fact sheet 2.5"
        ),
        Clause(
            "S-12",
            requirement:
                "BILLING_ISSUE keeps access until 'grace_period_expiration_at_ms', or until "
                + "EXPIRATION when that field is null; the billing-issue flag survives the "
                + "CANCELLATION that comes with it.",
            rationale: "RevenueCat sends BILLING_ISSUE and CANCELLATION together, in either order.",
            faults: [
                "BILLING_ISSUE ends access at once",
                "the end of the grace period is ignored, or stored as the new expiry",
                "a CANCELLATION with BILLING_ERROR clears the billing-issue flag",
            ],
            correctDesign:
                "Store the expiry and the end of the grace period separately; only RENEWAL and a "
                + "new purchase clear the billing-issue flag.",
            source: "identity rules, S-12"
        ),
        Clause(
            "S-13",
            requirement:
                "RENEWAL and UNCANCELLATION clear the billing-issue and cancellation flags, of "
                + "that subscription only.",
            rationale: "Otherwise a customer who has paid is asked to pay.",
            faults: [
                "billing-issue and cancellation flags are never cleared",
                "the flags of all the user's subscriptions are cleared",
                "UNCANCELLATION also changes the expiry",
            ],
            correctDesign:
                "Store the flags in the subscription's row, and change only the row that the "
                + "event names.",
            source: "identity rules, S-13"
        ),
        Clause(
            "S-14",
            requirement:
                "PRODUCT_CHANGE does not change the product; 'new_product_id' is kept as "
                + "pending until RENEWAL or INITIAL_PURCHASE.",
            rationale: "Most changes of the product take effect with the next period.",
            faults: [
                "the new product takes effect at once",
                "the pending product stays forever after the renewal",
                "only a purchase of the new product clears the pending one, so that a "
                    + "dropped change stays pending",
                "a null 'new_product_id' erases the product",
            ],
            correctDesign:
                "Add a column for the pending product: PRODUCT_CHANGE sets it and the next "
                + "period clears it.",
            source: "identity rules, S-14"
        ),
        Clause(
            "S-15",
            requirement:
                "EXPIRATION ends only the subscription that it names, and only if no newer "
                + "period exists.",
            rationale: "An upgrade expires the old product.",
            faults: [
                "one row holds everything of a user, so that the end of one product ends all",
                "a late EXPIRATION ends a period that began after it",
                "subscriptions are matched by product only, although two stores sell it",
            ],
            correctDesign:
                "Key subscriptions by store and original transaction; compare the event's "
                + "expiry with the stored one.",
            source: "identity rules, S-15"
        ),
        Clause(
            "S-16",
            requirement:
                "NON_RENEWING_PURCHASE changes no subscription, and an expiry of null does not "
                + "mean 'no access'.",
            rationale: "Coins and lifetime purchases have no subscription period.",
            faults: [
                "the purchase overwrites the subscription's row",
                "an expiry of null is read as 1970, or as 'ended'",
                "a consumable unlocks the subscription",
                "a one-time purchase that has ended gives no access when it is bought again",
            ],
            correctDesign:
                "Store one-time purchases in separate rows; an expiry of null means that the "
                + "purchase never ends.",
            source: "identity rules, S-16"
        ),
        Clause(
            "S-17",
            requirement:
                "TRANSFER, which has no 'app_user_id', moves entitlements from every "
                + "'transferred_from' to 'transferred_to'; both sides are recorded, and the "
                + "response is 200.",
            rationale: "Otherwise the TRANSFER fails on every attempt, or two users have access.",
            faults: [
                "the missing 'app_user_id' ends as a 400 or 500",
                "the new owner gets access and the old one keeps it, or neither of them has access",
                "only the first of several old owners is handled",
                "a new owner who is unknown is not created",
                "a purchase that arrives after its transfer stays with the old owner",
                "a cached state of the new or old owner is still returned",
            ],
            correctDesign:
                "Handle TRANSFER before looking up the user; move the rows in one transaction, "
                + "or read both users from RevenueCat.",
            source: "identity rules, S-17; RevenueCat fact sheet, TRANSFER"
        ),
        Clause(
            "S-19",
            requirement: "SANDBOX events do not change access that comes from production events.",
            rationale:
                "One customer may have sandbox and production purchases; the end of a test "
                + "purchase does not end the real one.",
            faults: [
                "the environment is not checked",
                "a sandbox purchase unlocks production",
                "sandbox and production share a row, by transaction or by product",
            ],
            correctDesign:
                "Make the environment a part of the subscription's key, and count only "
                + "production purchases as access.",
            source: "identity rules, S-19"
        ),
        Clause(
            "S-32",
            requirement:
                "Times are stored with their time zone, and epoch milliseconds are returned "
                + "exactly.",
            rationale: "A TIMESTAMP without a time zone shifts by hours on another server.",
            faults: [
                "times are stored or parsed as local times",
                "seconds are used for milliseconds, so that times are off by a factor of "
                    + "1,000 or rounded",
                "the column for times is a 32-bit integer or a floating-point number",
            ],
            correctDesign:
                "Store epoch milliseconds as a 64-bit integer, or TIMESTAMPTZ; run the server "
                + "in UTC and test it in another time zone.",
            source: "identity rules, S-32"
        ),
    ]
}
