/// The clauses for a user's access, which must be correct in every order of events: S-09 to S-17,
/// S-19, S-32.
extension Clause {
    static let entitlement: [Clause] = [
        Clause(
            "S-09",
            demand: "An older event never overwrites newer state of the same subscription.",
            why:
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
            build:
                "Keep the event time for each subscription and for each group of facts; apply "
                + "an event only where it is newer.",
            source: "identity rules C, S-09; RevenueCat fact sheet 1.3"
        ),
        Clause(
            "S-10",
            demand:
                "Access follows from expiry, grace period and revocation, not from the name of "
                + "the last event.",
            why:
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
            build:
                "Store the dates; compute access at each query: now < max(expiry, grace end) "
                + "and not refunded.",
            source: "identity rules C, S-10 and table C.1"
        ),
        Clause(
            "S-11",
            demand:
                "A cancellation by the customer keeps access until the period ends; a refund "
                + "(CUSTOMER_SUPPORT) is compared with the current state and normally ends access.",
            why: "One event type has two meanings; 'cancel_reason' distinguishes them.",
            faults: [
                "every CANCELLATION ends access, or none does",
                "REFUND_REVERSED does not bring access back",
            ],
            build: "Branch on 'cancel_reason'; a refund ends the transaction that it names.",
            source: "identity rules C, S-11; RevenueCat fact sheet 2.5"
        ),
        Clause(
            "S-12",
            demand:
                "BILLING_ISSUE keeps access until 'grace_period_expiration_at_ms', or until "
                + "EXPIRATION when that field is null; the billing-issue flag survives the "
                + "CANCELLATION that comes with it.",
            why: "RevenueCat sends BILLING_ISSUE and CANCELLATION together, in either order.",
            faults: [
                "BILLING_ISSUE ends access at once",
                "the end of the grace period is ignored, or stored as the new expiry",
                "a CANCELLATION with BILLING_ERROR clears the billing-issue flag",
            ],
            build:
                "Store the expiry and the end of the grace period separately; only RENEWAL and a "
                + "new purchase clear the billing-issue flag.",
            source: "identity rules C, S-12"
        ),
        Clause(
            "S-13",
            demand:
                "RENEWAL and UNCANCELLATION clear the billing-issue and cancellation flags, of "
                + "that subscription only.",
            why: "Otherwise a customer who has paid is asked to pay.",
            faults: [
                "billing-issue and cancellation flags are never cleared",
                "the flags of all the user's subscriptions are cleared",
                "UNCANCELLATION also changes the expiry",
            ],
            build:
                "Store the flags in the subscription's row, and change only the row that the "
                + "event names.",
            source: "identity rules C, S-13"
        ),
        Clause(
            "S-14",
            demand:
                "PRODUCT_CHANGE does not change the product; 'new_product_id' is kept as "
                + "pending until RENEWAL or INITIAL_PURCHASE.",
            why: "Most changes of the product take effect with the next period.",
            faults: [
                "the new product takes effect at once",
                "the pending product stays forever after the renewal",
                "only a purchase of the new product clears the pending one, so that a "
                    + "dropped change stays pending",
                "a null 'new_product_id' erases the product",
            ],
            build:
                "Add a column for the pending product: PRODUCT_CHANGE sets it and the next "
                + "period clears it.",
            source: "identity rules C, S-14"
        ),
        Clause(
            "S-15",
            demand:
                "EXPIRATION ends only the subscription that it names, and only if no newer "
                + "period exists.",
            why: "An upgrade expires the old product.",
            faults: [
                "one row holds everything of a user, so that the end of one product ends all",
                "a late EXPIRATION ends a period that began after it",
                "subscriptions are matched by product only, although two stores sell it",
            ],
            build:
                "Key subscriptions by store and original transaction; compare the event's "
                + "expiry with the stored one.",
            source: "identity rules C, S-15"
        ),
        Clause(
            "S-16",
            demand:
                "NON_RENEWING_PURCHASE changes no subscription, and an expiry of null does not "
                + "mean 'no access'.",
            why: "Coins and lifetime purchases have no subscription period.",
            faults: [
                "the purchase overwrites the subscription's row",
                "an expiry of null is read as 1970, or as 'ended'",
                "a consumable unlocks the subscription",
                "a one-time purchase that has ended gives no access when it is bought again",
            ],
            build:
                "Store one-time purchases in separate rows; an expiry of null means that the "
                + "purchase never ends.",
            source: "identity rules C, S-16"
        ),
        Clause(
            "S-17",
            demand:
                "TRANSFER, which has no 'app_user_id', moves entitlements from every "
                + "'transferred_from' to 'transferred_to'; both sides are recorded, and the "
                + "response is 200.",
            why: "Otherwise the TRANSFER fails on every attempt, or two users have access.",
            faults: [
                "the missing 'app_user_id' ends as a 400 or 500",
                "the new owner gets access and the old one keeps it, or neither of them has access",
                "only the first of several old owners is handled",
                "a new owner who is unknown is not created",
                "a purchase that arrives after its transfer stays with the old owner",
                "a cached state of the new or old owner is still returned",
            ],
            build:
                "Handle TRANSFER before looking up the user; move the rows in one transaction, "
                + "or read both users from RevenueCat.",
            source: "identity rules C, S-17; RevenueCat fact sheet, TRANSFER"
        ),
        Clause(
            "S-19",
            demand: "SANDBOX events do not change access that comes from production events.",
            why:
                "One customer may have sandbox and production purchases; the end of a test "
                + "purchase does not end the real one.",
            faults: [
                "the environment is not checked",
                "a sandbox purchase unlocks production",
                "sandbox and production share a row, by transaction or by product",
            ],
            build:
                "Make the environment a part of the subscription's key, and count only "
                + "production purchases as access.",
            source: "identity rules C, S-19"
        ),
        Clause(
            "S-32",
            demand:
                "Times are stored with their time zone, and epoch milliseconds are returned "
                + "exactly.",
            why: "A TIMESTAMP without a time zone shifts by hours on another server.",
            faults: [
                "times are stored or parsed as local times",
                "seconds are used for milliseconds, so that times are off by a factor of "
                    + "1,000 or rounded",
                "the column for times is a 32-bit integer or a floating-point number",
            ],
            build:
                "Store epoch milliseconds as a 64-bit integer, or TIMESTAMPTZ; run the server "
                + "in UTC and test it in another time zone.",
            source: "identity rules C, S-32"
        ),
    ]
}
