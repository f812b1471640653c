/// Does it heal, and can it be rebuilt: S-30, S-31, S-33, S-34.
extension Clause {
    static let delivery: [Clause] = [
        Clause(
            "S-30",
            demand:
                "The answers of the push provider are read: other than 2xx, 200 with an empty "
                + "'id', "
                + "and 'invalid_aliases' mean that nothing was delivered; it is retried or "
                + "recorded.",
            why: "HTTP 200 is not delivery.",
            faults: [
                "the status is not looked at",
                "an empty 'id' counts as sent",
                "a network error is swallowed",
                "a refusal for ever is retried for ever",
            ],
            build:
                "Mark the outbox row as sent only for 2xx with an id; retry 429 and 5xx with "
                + "pauses, "
                + "give 400 and 403 up and record why.",
            source: "identity rules C, S-30; OneSignal fact sheet"
        ),
        Clause(
            "S-31",
            demand:
                "A notification says what is so: nothing of 'remains active' after a refund, one "
                + "message for each incident, none for sandbox.",
            why: "BILLING_ISSUE and CANCELLATION come as a pair about one incident.",
            faults: [
                "two messages for one failed payment",
                "the text follows the event's name instead of the state after it",
                "testers' purchases notify customers",
            ],
            build:
                "Decide on the message after the state was computed, and key it by the incident.",
            source: "identity rules C, S-31 and table C.1"
        ),
        Clause(
            "S-33",
            demand:
                "Every handler answers exactly once on every path, and the backend keeps running, "
                + "even when its connections are used up or the peer is gone.",
            why:
                "A request that hangs becomes a retry, a process that ends takes all others with "
                + "it.",
            faults: [
                "an exception in a background task ends the process",
                "the pool is exhausted by a burst and never recovers",
                "one path returns without an answer, or answers twice",
                "a peer that hangs up in the middle leaves a lock or a connection behind",
            ],
            build:
                "One error handler around everything, timeouts on every wait, and a connection "
                + "that "
                + "is given back in 'finally'.",
            source: "identity rules C, S-33"
        ),
        Clause(
            "S-34",
            demand: "State can be rebuilt from RevenueCat's subscriber endpoint; what differs is "
                + "mended by a periodic reconciliation.",
            why: "Deliveries end after five retries.",
            faults: [
                "reconciliation only adds, so that a refund is never seen",
                "it undoes what a newer event said",
                "one person who cannot be read stops all others",
                "it pushes old news",
            ],
            build:
                "Read each subscriber, apply it through the same function as events, with its own "
                + "time; skip and note who cannot be read.",
            source: "identity rules C, S-34; RevenueCat fact sheet 4"
        ),
    ]
}
