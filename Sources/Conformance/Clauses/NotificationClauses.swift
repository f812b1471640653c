/// Is the right person told, once: O-01 to O-05.
extension Clause {
    static let notification: [Clause] = [
        Clause(
            "O-01",
            demand:
                "A push names the person by 'include_aliases.external_id' with 'target_channel: "
                + "push', or a legacy equivalent, and that person only.",
            why: "A segment or an empty filter reaches everybody.",
            faults: [
                "the alias of the event instead of the user's id",
                "'included_segments' beside the person",
                "the id of a device that has changed hands",
            ],
            build: "One function that sends to one external id; nothing else may build a target.",
            source: "clause catalogue, O-01; OneSignal fact sheet"
        ),
        Clause(
            "O-02",
            demand:
                "The provider's key never stands in an answer of the backend, and the request is "
                + "authorised.",
            why: "The key can write to every customer.",
            faults: ["errors of the provider's client are handed on as they are", "a debug route"],
            build: "Answer with texts of your own; log errors without headers.",
            source: "clause catalogue, O-02"
        ),
        Clause(
            "O-03",
            demand:
                "Each push carries an idempotency key made from the event, equal on every attempt.",
            why: "An answer that was lost is repeated; without the key so is the push.",
            faults: ["a random key for each attempt", "one key for two different messages"],
            build: "A UUID made from event id and kind of message, stored in the outbox.",
            source: "clause catalogue, O-03; OneSignal fact sheet, idempotency"
        ),
        Clause(
            "O-04",
            demand:
                "429 is tried again no earlier than 'Retry-After' says; 400 and 403 are not tried "
                + "for ever.",
            why: "Whoever ignores it is shut out for longer.",
            faults: ["a fixed pause", "an endless loop on a refusal", "429 counts as sent"],
            build: "Keep the moment of the next attempt in the outbox row.",
            source: "clause catalogue, O-04"
        ),
        Clause(
            "O-05",
            demand: "The tags that RevenueCat itself writes are not overwritten.",
            why: "Two writers of one tag undo each other.",
            faults: ["'subscription_status' written by both", "all tags are replaced at once"],
            build: "Write tags under names of your own.",
            source: "clause catalogue, O-05; RevenueCat fact sheet 6"
        ),
    ]
}
