/// Who may speak, what passes through, and what happens once: S-01 to S-08, S-18.
extension Clause {
    static let webhook: [Clause] = [
        Clause(
            "S-01",
            demand:
                "A webhook request without the configured Authorization value gets 401 or 403 and "
                + "changes nothing; the comparison takes the same time wherever the values differ.",
            why: "Whoever can post to this route can give himself paid access.",
            faults: [
                "the header is not looked at, or only its presence is",
                "compared by prefix, without regard to case, or after trimming",
                "an empty or missing configured value lets everybody in",
                "checked after the body was parsed or stored",
            ],
            build:
                "Before anything else is read, compare the whole header value with the configured "
                + "one by a constant-time function, and refuse to start without a configured "
                + "value.",
            source: "identity rules C, S-01; RevenueCat fact sheet 1.1"
        ),
        Clause(
            "S-02",
            demand:
                "A body that is no event (no JSON, no 'event', no 'id', no 'type') gets 400, and "
                + "neither 500 nor silence.",
            why: "A 5xx or a hang makes the sender try poison again for hours.",
            faults: [
                "an exception of the parser ends as 500",
                "another 4xx, or 200, for something that was never read",
                "a missing id becomes null and collides with the next one",
                "the handler never answers on the path of the parse error",
            ],
            build:
                "Parse and validate in one place that returns either an event or a reason; answer "
                + "400 with the reason.",
            source: "identity rules C, S-02"
        ),
        Clause(
            "S-03",
            demand:
                "Each event id is processed exactly once, however many copies come, at once too.",
            why: "Delivery is at least once; duplicates are documented.",
            faults: [
                "'have I seen it?' and 'I have seen it' are two statements with a gap between them",
                "ids are remembered in memory, or for too short a time",
                "the dedupe key is the transaction, the user or the type instead of the event id",
                "a copy that comes while the first is being worked on gets an error",
            ],
            build: "INSERT the event id into a table with a unique key, in the transaction that "
                + "applies the event; a conflict means: answer 200 and do nothing.",
            source: "identity rules C, S-03; RevenueCat fact sheet 1.3"
        ),
        Clause(
            "S-04",
            demand:
                "Noting that an event was processed and applying it commit together: after a crash "
                + "at any point either nothing or all of it is there.",
            why: "Else a crash loses the event for good, or applies it twice.",
            faults: [
                "the event id is stored first and the work done later",
                "the work is done first and the id stored later",
                "several statements without a transaction",
                "the id survives a failure inside the backend, so that the retry is swallowed",
            ],
            build: "One database transaction holds the event id, the state and the outbox row; an "
                + "error rolls all of it back and answers 5xx.",
            source: "identity rules C, S-04"
        ),
        Clause(
            "S-05",
            demand: "A push is sent after the commit, from a durable outbox, at most once for each "
                + "event and notification, with an idempotency key.",
            why: "A push cannot take part in the database's transaction.",
            faults: [
                "sent inside the transaction, which is then rolled back",
                "sent after the commit from memory, and lost by a restart",
                "sent again by every retry, with a new idempotency key each time",
                "a failure of the push undoes or blocks the event",
            ],
            build: "Write an outbox row with the event; a worker sends it with a key made from the "
                + "event id and marks it sent; what failed is tried again with the same key.",
            source: "identity rules C, S-05; OneSignal fact sheet, idempotency"
        ),
        Clause(
            "S-06",
            demand: "200 comes quickly, far below 60 s, however slow other services are.",
            why: "The sender disconnects after 60 s and counts it as a failure.",
            faults: [
                "the push, or a read of RevenueCat, happens before the answer",
                "one slow call holds a lock or a pool that all others need",
                "every answer takes seconds, so that a burst queues up",
            ],
            build: "Store the event, answer, and work from a queue.",
            source: "identity rules C, S-06; RevenueCat fact sheet 1.3"
        ),
        Clause(
            "S-07",
            demand:
                "A failure that a retry can mend answers other than 200; an event that can never "
                + "be processed answers 200 and is recorded.",
            why: "200 ends the retries, everything else starts five of them over two hours.",
            faults: [
                "errors are caught, logged and answered with 200",
                "an unknown or unsupported event answers 4xx or 5xx for ever",
                "the retry is taken for a duplicate of the failed attempt",
                "the failure of a read of RevenueCat leaves half of the state",
            ],
            build: "Answer 5xx when the transaction did not commit, 200 once it did; what is not "
                + "understood is stored as it is and answered with 200.",
            source: "identity rules C, S-07; RevenueCat fact sheet 1.3"
        ),
        Clause(
            "S-08",
            demand: "Unknown event types, fields and values never change a subscription and never "
                + "break a known event.",
            why: "RevenueCat adds types and fields without notice.",
            faults: [
                "strict schemas that refuse additional fields",
                "enumerations that throw on a new store or reason",
                "a default branch that treats an unknown type as a purchase or an end",
                "null where a value is usual, a number where an integer is usual",
            ],
            build:
                "Read the fields that you need and ignore the rest; an unknown type is stored and "
                + "answered with 200, an unknown value is kept as text.",
            source: "identity rules C, S-08; RevenueCat fact sheet 1.5"
        ),
        Clause(
            "S-18",
            demand: "TEST events are answered with 200 and create neither users nor pushes.",
            why: "The dashboard has a button that sends one.",
            faults: [
                "the safety net makes a user of the random id in it",
                "its nulls break the parser",
                "it is treated as a purchase",
            ],
            build: "Answer 200 for type TEST right after the Authorization check.",
            source: "identity rules C, S-18; RevenueCat fact sheet 2"
        ),
    ]
}
