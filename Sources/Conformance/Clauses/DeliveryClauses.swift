/// The clauses for failed pushes, for robustness and for reconciliation: S-30, S-31, S-33, S-34.
extension Clause {
    static let delivery: [Clause] = [
        Clause(
            "S-30",
            requirement:
                "The backend checks the push provider's responses: a status other than 2xx, a "
                + "200 with an empty 'id', and 'invalid_aliases' mean that nothing was delivered; "
                + "the push is then retried or recorded as failed.",
            rationale: "HTTP 200 does not mean that a push was delivered.",
            faults: [
                "the status of the provider's response is not checked",
                "a response with an empty 'id' counts as sent",
                "a network error is ignored",
                "a push that the provider refuses permanently is retried forever",
            ],
            correctDesign:
                "Mark the outbox row as sent only for a 2xx with an id; retry 429 and 5xx with "
                + "pauses; give up on 400 and 403 and record the reason.",
            source: "identity rules, S-30; OneSignal fact sheet"
        ),
        Clause(
            "S-31",
            requirement:
                "A notification matches the current state: no 'remains active' after a refund, "
                + "one message for each incident, none for sandbox events.",
            rationale: "BILLING_ISSUE and CANCELLATION arrive as a pair about one incident.",
            faults: [
                "one failed payment causes two messages",
                "the message depends on the event's name instead of the resulting state",
                "purchases of testers cause messages to customers",
            ],
            correctDesign:
                "Choose the message after computing the state, and send only one for each "
                + "incident.",
            source: "identity rules, S-31 and table C.1"
        ),
        Clause(
            "S-33",
            requirement:
                "Every handler answers exactly once on every path, and the backend keeps "
                + "running, even when its connections are used up or the peer has disconnected.",
            rationale:
                "A request that hangs causes a retry; a process that exits takes all other "
                + "requests with it.",
            faults: [
                "an exception in a background task ends the process",
                "a burst exhausts the connection pool, and the pool never recovers",
                "one path returns without a response, or sends two",
                "a peer that disconnects during a request leaves a lock or a connection behind",
            ],
            correctDesign:
                "Put one error handler around everything and a timeout on every wait, and "
                + "release connections in 'finally'.",
            source: "identity rules, S-33"
        ),
        Clause(
            "S-34",
            requirement:
                "The backend can rebuild its state from RevenueCat's subscriber endpoint; a "
                + "periodic reconciliation repairs differences.",
            rationale: "RevenueCat stops delivering an event after five retries.",
            faults: [
                "reconciliation only adds, so that it never notices a refund",
                "reconciliation undoes a newer event",
                "one customer who cannot be read stops all others",
                "reconciliation sends pushes about old events",
            ],
            correctDesign:
                "Read each subscriber and apply the response, with its own timestamp, through the "
                + "same function as events; skip and record customers who cannot be read.",
            source: "identity rules, S-34; RevenueCat fact sheet 4"
        ),
    ]
}
