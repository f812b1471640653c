/// Whether access is right, in every order: S-09 to S-17, S-19, S-32.
extension Clause {
    static let entitlement: [Clause] = [
        Clause(
            "S-09",
            demand: "An older event never overwrites the newer state of the same subscription.",
            why:
                "Retries and the network change the order; a cancellation may come after the "
                + "renewal "
                + "that healed it.",
            faults: [
                "the last one to arrive wins",
                "the time of arrival is compared, or the time of purchase, instead of "
                    + "'event_timestamp_ms'",
                "one clock for a person instead of one for each subscription",
                "an older event is dropped whole, although it holds what no newer one says",
                "what was read before another event changed it is written after it",
            ],
            build:
                "Keep the event time for each subscription and for each group of facts; apply an "
                + "event only where it is newer.",
            source: "identity rules C, S-09; RevenueCat fact sheet 1.3"
        ),
        Clause(
            "S-10",
            demand:
                "Access follows from expiry, grace and revocation, not from the last event's name.",
            why: "CANCELLATION and BILLING_ISSUE keep access; time ends it without any event.",
            faults: [
                "CANCELLATION switches access off",
                "access stays on until an EXPIRATION comes, even long after the end",
                "SUBSCRIPTION_PAUSED ends access at once",
                "a temporary grant or an extension leaves the old end",
                "access is decided when an event comes, and not when it is asked for",
                "an answer that was kept from before the event goes on being given",
            ],
            build:
                "Store the dates; compute access when it is asked for: now < max(expiry, grace "
                + "end) "
                + "and not refunded.",
            source: "identity rules C, S-10 and table C.1"
        ),
        Clause(
            "S-11",
            demand: "A cancellation by the customer keeps access until the period ends; a refund "
                + "(CUSTOMER_SUPPORT) is judged against the current state and normally ends it.",
            why: "One event type says two things; 'cancel_reason' tells them apart.",
            faults: [
                "every CANCELLATION ends access, or none does",
                "REFUND_REVERSED does not bring access back",
            ],
            build: "Branch on 'cancel_reason'; a refund ends the transaction that it names.",
            source: "identity rules C, S-11; RevenueCat fact sheet 2.5"
        ),
        Clause(
            "S-12",
            demand: "BILLING_ISSUE keeps access until 'grace_period_expiration_at_ms', or until "
                + "EXPIRATION when that is null, and its mark survives the CANCELLATION beside it.",
            why: "Both are dispatched together, in either order.",
            faults: [
                "BILLING_ISSUE ends access at once",
                "the grace end is ignored, or taken for the new expiry",
                "CANCELLATION with BILLING_ERROR clears the mark",
            ],
            build:
                "Keep expiry and grace end apart; only RENEWAL and a new purchase clear the mark.",
            source: "identity rules C, S-12"
        ),
        Clause(
            "S-13",
            demand: "RENEWAL and UNCANCELLATION clear the marks of a failed payment and of a "
                + "cancellation, of that subscription alone.",
            why: "Else a person who has paid is asked to pay.",
            faults: [
                "marks are never cleared",
                "the marks of all subscriptions of the person are cleared",
                "UNCANCELLATION also moves the expiry",
            ],
            build:
                "Marks live in the subscription's row; the event's row is the only one to change.",
            source: "identity rules C, S-13"
        ),
        Clause(
            "S-14",
            demand:
                "PRODUCT_CHANGE does not change the product; 'new_product_id' is kept as pending "
                + "until RENEWAL or INITIAL_PURCHASE.",
            why: "Most changes take effect at the next period.",
            faults: [
                "the new product is in effect at once",
                "the pending product is kept for ever after the renewal",
                "only the new product ends the waiting, and a change that is dropped stays pending",
                "a null 'new_product_id' erases the product",
            ],
            build:
                "A column for the pending product, set by PRODUCT_CHANGE and cleared by the next "
                + "period.",
            source: "identity rules C, S-14"
        ),
        Clause(
            "S-15",
            demand:
                "EXPIRATION ends only the subscription that it names, and only if no newer period "
                + "exists.",
            why: "An upgrade expires the old product.",
            faults: [
                "one row for a person: the end of one product ends all",
                "a late EXPIRATION ends the period that came after it",
                "matched by product alone, although two stores sell it",
            ],
            build:
                "Key subscriptions by store and original transaction; compare the event's expiry "
                + "with the stored one.",
            source: "identity rules C, S-15"
        ),
        Clause(
            "S-16",
            demand:
                "NON_RENEWING_PURCHASE touches no subscription, and an expiry of null is not 'no "
                + "access'.",
            why: "Coins and lifetime purchases have no period.",
            faults: [
                "the purchase overwrites the subscription's row",
                "null is read as 1970, or as 'over'",
                "a consumable unlocks the subscription",
                "one-time means once: what was over is not given again",
            ],
            build:
                "Store one-time purchases in rows of their own; null means that it does not end.",
            source: "identity rules C, S-16"
        ),
        Clause(
            "S-17",
            demand: "TRANSFER, which has no 'app_user_id', moves entitlements from every "
                + "'transferred_from' to 'transferred_to'; both are recorded, and the answer is "
                + "200.",
            why: "Else it fails for ever, or two people have access.",
            faults: [
                "the missing 'app_user_id' ends as 400 or 500",
                "the winner gets access and the loser keeps it, or nobody has it",
                "only the first of several losers is looked at",
                "a winner who is not known yet is not created",
                "a purchase that is told after its transfer stays with the loser",
                "a view of the winner or the loser is kept from before",
            ],
            build:
                "Handle TRANSFER before the lookup of the user; move the rows in one transaction, "
                + "or read both people from RevenueCat.",
            source: "identity rules C, S-17; RevenueCat fact sheet, TRANSFER"
        ),
        Clause(
            "S-19",
            demand: "SANDBOX events do not change what production events gave.",
            why: "One customer may have both; a tester's end is not the customer's.",
            faults: [
                "the environment is not looked at",
                "a sandbox purchase unlocks production",
                "sandbox and production share a row, by transaction or by product",
            ],
            build:
                "Make the environment a part of the subscription's key, and count only production "
                + "where access is asked for.",
            source: "identity rules C, S-19"
        ),
        Clause(
            "S-32",
            demand: "Times are stored with their zone, and epoch milliseconds come back exactly.",
            why: "A TIMESTAMP without a zone moves by hours on another server.",
            faults: [
                "local time is stored or parsed",
                "seconds where milliseconds are meant, by a factor of a thousand or by rounding",
                "a 32-bit or floating-point column",
            ],
            build:
                "Store epoch milliseconds as a 64-bit integer, or TIMESTAMPTZ; run the server in "
                + "UTC and test it in another zone.",
            source: "identity rules C, S-32"
        ),
    ]
}
