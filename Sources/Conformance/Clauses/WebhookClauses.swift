/// The clauses for webhooks: authentication, tolerance, and processing exactly once. S-01 to S-08,
/// S-18.
extension Clause {
    static let webhook: [Clause] = [
        Clause(
            "S-01",
            requirement:
                "A webhook request without the configured Authorization value gets 401 or 403 "
                + "and changes nothing; the comparison takes the same time wherever the values "
                + "differ.",
            rationale: "Anyone who can post to this route can get paid access for free.",
            faults: [
                "the Authorization header is not checked, or only its presence is",
                "the Authorization header is compared by prefix, without regard to case, or after "
                    + "trimming",
                "an empty or missing configured value lets every caller in",
                "the Authorization header is checked after the body was parsed or stored",
            ],
            correctDesign:
                "Before reading anything else, compare the whole Authorization value with the "
                + "configured one in a constant-time function, and refuse to start without a "
                + "configured value.",
            source: "identity rules, S-01; RevenueCat fact sheet 1.1"
        ),
        Clause(
            "S-02",
            requirement:
                "A body that is not an event (no JSON, no 'event', no 'id', no 'type') gets "
                + "400; it never gets 500 and never goes unanswered.",
            rationale: "After a 5xx or a timeout the sender retries the malformed event for hours.",
            faults: [
                "the parser's exception ends as a 500",
                "a body that is not an event gets a 4xx other than 400, or 200",
                "a missing event id becomes null and collides with the next missing one",
                "the handler sends no response after a parse error",
            ],
            correctDesign:
                "Parse and validate the body in one place that returns either an event or a "
                + "reason; answer 400 with the reason.",
            source: "identity rules, S-02"
        ),
        Clause(
            "S-03",
            requirement:
                "Each event id is processed exactly once, however many copies arrive, even at "
                + "the same time.",
            rationale: "Webhooks are delivered at least once; duplicates are documented.",
            faults: [
                "looking up the event id and storing it are two statements with a gap between them",
                "event ids are kept only in memory, or for too short a time",
                "duplicates are detected by transaction, user or type instead of by event id",
                "a copy that arrives while the first is being processed gets an error",
            ],
            correctDesign:
                "INSERT the event id into a table with a unique key, in the transaction that "
                + "applies the event; on a conflict answer 200 and do nothing.",
            source: "identity rules, S-03; RevenueCat fact sheet 1.3"
        ),
        Clause(
            "S-04",
            requirement:
                "The backend stores the id of a processed event and the changes of the event in one "
                + "transaction: after a crash at any point, either all are stored or none.",
            rationale: "Otherwise a crash loses the event for good, or applies it twice.",
            faults: [
                "the event id is stored first and the changes are made later",
                "the changes are made first and the event id is stored later",
                "several statements run without a transaction",
                "the event id stays stored after a failure in the backend, so that the "
                    + "retry is ignored",
            ],
            correctDesign:
                "Write the event id, the state and the outbox row in one database transaction; "
                + "on an error roll all of it back and answer 5xx.",
            source: "identity rules, S-04"
        ),
        Clause(
            "S-05",
            requirement:
                "A push is sent after the commit, from a durable outbox, at most once for each "
                + "event and notification, with an idempotency key.",
            rationale: "A push cannot take part in the database transaction.",
            faults: [
                "the push is sent inside the transaction, which is then rolled back",
                "the push is sent from memory after the commit, and a restart loses it",
                "every retry sends the push again, with a new idempotency key each time",
                "a failed push undoes or blocks the event",
            ],
            correctDesign:
                "Write an outbox row with the event. A worker sends it with a key derived from "
                + "the event id and marks it as sent; a failed push is retried with the same key.",
            source: "identity rules, S-05; OneSignal fact sheet, idempotency"
        ),
        Clause(
            "S-06",
            requirement:
                "The backend answers 200 quickly, far below 60 s, however slow other services are.",
            rationale: "The sender disconnects after 60 s and counts the delivery as failed.",
            faults: [
                "the backend sends the push, or reads from RevenueCat, before it answers",
                "one slow call holds a lock or a connection pool that all other requests need",
                "every response takes seconds, so that the requests of a burst queue up",
            ],
            correctDesign: "Store the event, answer, and do the work from a queue.",
            source: "identity rules, S-06; RevenueCat fact sheet 1.3"
        ),
        Clause(
            "S-07",
            requirement:
                "A failure that a retry can repair gets a status other than 200; an event that "
                + "can never be processed gets 200 and is recorded.",
            rationale:
                "200 ends the retries; every other status starts five of them over two hours.",
            faults: [
                "errors are caught, logged and answered with 200",
                "an unknown or unsupported event gets 4xx or 5xx on every attempt",
                "the retry of a failed event is taken for a duplicate of the first attempt",
                "when a read from RevenueCat fails, the state is only half updated",
            ],
            correctDesign:
                "Respond with 5xx if the transaction did not commit, and with 200 once it did. "
                + "Store an unknown event unchanged, and respond with 200.",
            source: "identity rules, S-07; RevenueCat fact sheet 1.3"
        ),
        Clause(
            "S-08",
            requirement:
                "Unknown event types, fields and values never change a subscription and never "
                + "break a known event.",
            rationale: "RevenueCat adds types and fields without notice.",
            faults: [
                "strict schemas refuse additional fields",
                "enumerations throw on a new store or reason",
                "a default branch treats an unknown type as a purchase or an end",
                "null instead of a value, or a fractional number instead of an integer, "
                    + "breaks the parser",
            ],
            correctDesign:
                "Read the fields that you need and ignore the rest; store an event of an "
                + "unknown type and answer 200; keep an unknown value as a string.",
            source: "identity rules, S-08; RevenueCat fact sheet 1.5"
        ),
        Clause(
            "S-18",
            requirement: "TEST events get 200 and create neither users nor pushes.",
            rationale: "The RevenueCat dashboard has a button that sends a TEST event.",
            faults: [
                "a user is created for the random id in a TEST event",
                "the null fields of a TEST event break the parser",
                "a TEST event is treated as a purchase",
            ],
            correctDesign: "Answer 200 for type TEST right after the Authorization check.",
            source: "identity rules, S-18; RevenueCat fact sheet 2"
        ),
    ]
}
