/// The clauses for Purchasely's webhooks: P-01 to P-10.
extension Clause {
    static let purchasely: [Clause] = [
        Clause(
            "P-01",
            requirement:
                "A request whose 'X-PURCHASELY-REQUEST-SIGNATURE' does not match its timestamp "
                + "and raw body gets 401 or 403 and changes nothing.",
            rationale: "Only the signature proves that a request comes from Purchasely.",
            faults: [
                "the signature is computed over JSON that was parsed and serialized again",
                "a request without the header is accepted",
                "the deprecated header alone is accepted",
                "signatures are compared without regard to length or case",
            ],
            correctDesign:
                "Keep the raw bytes; compute the HMAC over timestamp and body, and compare it "
                + "in constant time.",
            source: "clause catalogue, P-01; Purchasely fact sheet, signature"
        ),
        Clause(
            "P-02",
            requirement:
                "A request timestamp outside the tolerance is refused; an old "
                + "'event_created_at' with a fresh request timestamp is accepted.",
            rationale:
                "An old request timestamp means a replay; an old event time only means a retry "
                + "days later.",
            faults: [
                "there is no tolerance, so that a captured timestamp and signature work forever",
                "the event's own time is checked, so that late retries are refused",
                "seconds and milliseconds are mixed up",
            ],
            correctDesign:
                "Compare the header's timestamp with the current time; use the event's times "
                + "only for the state.",
            source: "clause catalogue, P-02"
        ),
        Clause(
            "P-03",
            requirement:
                "Each 'event_id' takes effect once, even when duplicates arrive at the same time.",
            rationale: "Purchasely retries up to 25 times.",
            faults: [
                "duplicates are not detected, or only by subscription and type",
                "the lookup and the insert are two steps with a gap between them",
                "event ids share a table with RevenueCat's event ids",
            ],
            correctDesign:
                "Insert the event id with a unique key in the event's transaction, as in S-03.",
            source: "clause catalogue, P-03"
        ),
        Clause(
            "P-04",
            requirement:
                "The backend answers exactly 200 within 10 s, however slow other services are.",
            rationale: "Purchasely counts every other response as a failure.",
            faults: [
                "the status of the response is 204 or 202",
                "the push is sent before the response",
                "one slow call blocks all others",
            ],
            correctDesign: "Store the event, answer 200, and do the work from a queue.",
            source: "clause catalogue, P-04"
        ),
        Clause(
            "P-05",
            requirement:
                "Unknown event names and fields are acknowledged and change nothing; only "
                + "ACTIVATE and DEACTIVATE change access.",
            rationale:
                "Purchasely adds event names without notice, and sends lifecycle events in "
                + "addition to ACTIVATE and DEACTIVATE.",
            faults: [
                "RENEWAL_DISABLED ends access",
                "an unknown event name fails, or is taken for ACTIVATE or DEACTIVATE",
                "null or an extreme number breaks the parser",
            ],
            correctDesign:
                "Let only ACTIVATE and DEACTIVATE change access; store all other events.",
            source: "clause catalogue, P-05"
        ),
        Clause(
            "P-06",
            requirement:
                "An event for an unknown 'user_id' or 'anonymous_user_id' creates that user and "
                + "keeps the entitlement.",
            rationale: "The event may arrive before the app's registration.",
            faults: [
                "the event for an unknown user is skipped with 200",
                "'anonymous_user_id' is not checked",
                "a second user is created",
            ],
            correctDesign:
                "Create the user in the event's transaction, as in S-21, and look up both ids.",
            source: "clause catalogue, P-06"
        ),
        Clause(
            "P-07",
            requirement:
                "ACTIVATE and DEACTIVATE of one transfer have the same result in both orders: "
                + "the new owner has access, the old one does not.",
            rationale: "ACTIVATE and DEACTIVATE are two requests whose order is not guaranteed.",
            faults: [
                "DEACTIVATE ends the subscription for every user",
                "the event that arrives last wins",
            ],
            correctDesign:
                "Store access for each pair of user and subscription; DEACTIVATE ends only the "
                + "pair that it names.",
            source: "clause catalogue, P-07"
        ),
        Clause(
            "P-08",
            requirement:
                "DEACTIVATE ends only the plan and subscription that it names, and an older "
                + "event never overwrites a newer one.",
            rationale: "An upgrade sends DEACTIVATE for the old plan.",
            faults: [
                "each user has only one row",
                "the event that arrives last overwrites the state",
                "subscriptions of several stores share a row",
            ],
            correctDesign:
                "Key subscriptions by 'purchasely_subscription_id', and apply an event only if "
                + "its time is newer, as in S-09 and S-15.",
            source: "clause catalogue, P-08"
        ),
        Clause(
            "P-09",
            requirement:
                "Access expires at 'effective_next_renewal_at', not at 'next_renewal_at'; "
                + "SANDBOX events never grant production access.",
            rationale:
                "A grace period moves 'effective_next_renewal_at' and not 'next_renewal_at'.",
            faults: [
                "'next_renewal_at' ends access during the grace period",
                "the environment is not checked",
            ],
            correctDesign:
                "Store 'effective_next_renewal_at', and make the environment a part of the "
                + "subscription's key.",
            source: "clause catalogue, P-09"
        ),
        Clause(
            "P-10",
            requirement:
                "Consumables and non-consumables stay with the anonymous user at a sign-in.",
            rationale: "Purchasely transfers only subscriptions at a sign-in.",
            faults: ["the login moves all purchases", "one-time purchases disappear"],
            correctDesign: "Move only subscriptions to the signed-in user.",
            source: "clause catalogue, P-10"
        ),
    ]
}
