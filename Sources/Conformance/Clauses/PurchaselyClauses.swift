/// Purchasely's webhooks: P-01 to P-10.
extension Clause {
    static let purchasely: [Clause] = [
        Clause(
            "P-01",
            demand:
                "A body whose 'X-PURCHASELY-REQUEST-SIGNATURE' does not match timestamp and raw "
                + "body gets 401 or 403 and changes nothing.",
            why: "The signature is all that tells Purchasely from a stranger.",
            faults: [
                "the signature is made over JSON that was parsed and written again",
                "a missing header is let through",
                "the deprecated header alone is enough",
                "compared without regard to length or case",
            ],
            build: "Keep the raw bytes; HMAC over timestamp and body, compared in constant time.",
            source: "clause catalogue, P-01; Purchasely fact sheet, signature"
        ),
        Clause(
            "P-02",
            demand:
                "A timestamp outside the tolerance is refused; an old 'event_created_at' with a "
                + "fresh timestamp is not.",
            why: "The one is a replay, the other a retry days later.",
            faults: [
                "no tolerance at all: a pair that was seen once opens the door for ever",
                "the event's own time is checked, so that late retries are refused",
                "seconds and milliseconds mixed up",
            ],
            build: "Compare the header's timestamp with now; leave the event's times to the state.",
            source: "clause catalogue, P-02"
        ),
        Clause(
            "P-03",
            demand: "One effect for each 'event_id', under duplicates and at the same moment.",
            why: "Purchasely retries up to twenty-five times.",
            faults: [
                "no dedupe, or by subscription and type",
                "look up first and insert later, with a gap between them",
                "dedupe shared with RevenueCat's ids",
            ],
            build: "As S-03: a unique key in the event's transaction.",
            source: "clause catalogue, P-03"
        ),
        Clause(
            "P-04",
            demand: "Exactly 200, within 10 s, however slow other services are.",
            why: "Everything else is a failure to Purchasely.",
            faults: [
                "204 or 202", "the push happens before the answer",
                "one slow call holds all others",
            ],
            build: "Store, answer 200, and work from a queue.",
            source: "clause catalogue, P-04"
        ),
        Clause(
            "P-05",
            demand:
                "Unknown event names and fields are acknowledged and change nothing; only ACTIVATE "
                + "and DEACTIVATE change access.",
            why: "Names are added without notice, and lifecycle events come beside the two.",
            faults: [
                "RENEWAL_DISABLED ends access",
                "an unknown name fails, or is taken for one of the two",
                "a null or a number at its edge breaks the parser",
            ],
            build: "Two names change access; all others are stored.",
            source: "clause catalogue, P-05"
        ),
        Clause(
            "P-06",
            demand:
                "An event for an unknown 'user_id' or 'anonymous_user_id' creates that user and "
                + "keeps the entitlement.",
            why: "It may come before the app's registration.",
            faults: [
                "skipped with 200", "'anonymous_user_id' is not looked at", "a second user is made",
            ],
            build: "As S-21, with both ids.",
            source: "clause catalogue, P-06"
        ),
        Clause(
            "P-07",
            demand:
                "ACTIVATE and DEACTIVATE of one transfer end alike in both orders: the new owner "
                + "has access, the old one has none.",
            why: "They are two requests, and nothing orders them.",
            faults: [
                "DEACTIVATE ends the subscription for everybody",
                "the later one to arrive wins",
            ],
            build: "Access belongs to person and subscription; DEACTIVATE ends that pair alone.",
            source: "clause catalogue, P-07"
        ),
        Clause(
            "P-08",
            demand:
                "DEACTIVATE ends only the plan and subscription that it names, and an older event "
                + "never overwrites a newer one.",
            why: "An upgrade deactivates the old plan.",
            faults: [
                "one row for a person", "the order of arrival counts", "stores share a row",
            ],
            build: "As S-09 and S-15, by 'purchasely_subscription_id' and the event's time.",
            source: "clause catalogue, P-08"
        ),
        Clause(
            "P-09",
            demand:
                "Expiry is 'effective_next_renewal_at', not 'next_renewal_at'; SANDBOX never "
                + "grants "
                + "production access.",
            why: "Grace moves the one and not the other.",
            faults: [
                "'next_renewal_at' ends access in grace", "the environment is not looked at",
            ],
            build: "Store the effective date, and the environment as a part of the key.",
            source: "clause catalogue, P-09"
        ),
        Clause(
            "P-10",
            demand: "Consumables and non-consumables stay with the anonymous user on sign-in.",
            why: "Purchasely does not transfer them.",
            faults: ["everything moves with the login", "one-time purchases vanish"],
            build: "Move subscriptions only.",
            source: "clause catalogue, P-10"
        ),
    ]
}
