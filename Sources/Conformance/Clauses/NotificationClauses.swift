/// The clauses for push notifications, which must reach the right user once: O-01 to O-05.
extension Clause {
    static let notification: [Clause] = [
        Clause(
            "O-01",
            requirement:
                "A push targets exactly one user, by 'include_aliases.external_id' with "
                + "'target_channel: push' or a legacy equivalent.",
            rationale: "A segment or an empty filter reaches every customer.",
            faults: [
                "the push targets the alias in the event instead of the user's id",
                "the push targets 'included_segments' in addition to the user",
                "the push targets a device id that now belongs to another person",
            ],
            correctDesign:
                "Send every push through one function that targets one external id, and choose "
                + "recipients nowhere else.",
            source: "clause catalogue, O-01; OneSignal fact sheet"
        ),
        Clause(
            "O-02",
            requirement:
                "The provider's key never appears in a response of the backend, and the "
                + "backend's requests to the provider are authorized.",
            rationale: "The provider's key can send messages to every customer.",
            faults: [
                "responses repeat the error messages of the provider's client library",
                "a debug route shows the API key",
            ],
            correctDesign: "Answer with your own error messages; log errors without headers.",
            source: "clause catalogue, O-02"
        ),
        Clause(
            "O-03",
            requirement:
                "Each push carries an idempotency key that is derived from the event and equal "
                + "on every attempt.",
            rationale:
                "A push whose response was lost is sent again; without the key the customer "
                + "gets it twice.",
            faults: [
                "each attempt at a push has a random key",
                "two different messages share one key",
            ],
            correctDesign:
                "Derive a UUID from the event id and the kind of message, and store it in the "
                + "outbox.",
            source: "clause catalogue, O-03; OneSignal fact sheet, idempotency"
        ),
        Clause(
            "O-04",
            requirement:
                "A push that got 429 is retried no earlier than 'Retry-After' allows; 400 and "
                + "403 are not retried forever.",
            rationale: "A sender that ignores 'Retry-After' is blocked for longer.",
            faults: [
                "the pause between attempts is fixed",
                "a refused push is retried in an endless loop",
                "a push that got 429 counts as sent",
            ],
            correctDesign: "Store the time of the next attempt in the push's outbox row.",
            source: "clause catalogue, O-04"
        ),
        Clause(
            "O-05",
            requirement:
                "The backend does not overwrite the tags that RevenueCat writes at OneSignal.",
            rationale: "Two writers of one tag undo each other's changes.",
            faults: [
                "RevenueCat and the backend both write 'subscription_status'",
                "the backend replaces all tags of a user at once",
            ],
            correctDesign: "Give the backend's tags other names than those of RevenueCat.",
            source: "clause catalogue, O-05; RevenueCat fact sheet 6"
        ),
    ]
}
