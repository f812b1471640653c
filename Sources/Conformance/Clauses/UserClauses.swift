/// Is nobody lost, and is one person one user: S-20 to S-29.
extension Clause {
    static let users: [Clause] = [
        Clause(
            "S-20",
            demand:
                "A user is looked for by 'app_user_id', 'original_app_user_id' and 'aliases'; what "
                + "is merged lands on one row.",
            why: "A purchase may arrive under an anonymous alias of somebody who is known.",
            faults: [
                "only 'app_user_id' is looked up, and a second user is made",
                "the first alias wins, even if it belongs to nobody",
                "an event that names two known people changes both or neither",
                "an anonymous 'original_app_user_id' makes the event be dropped",
            ],
            build: "Collect all ids of the event, look all of them up, prefer the one that is no "
                + "alias, and record the others as aliases of that row.",
            source: "identity rules C, S-20; RevenueCat fact sheet 3"
        ),
        Clause(
            "S-21",
            demand:
                "An event for an unknown person creates a user, only for a valid id and marked as "
                + "made so; a later registration completes it without losing the mark.",
            why: "The webhook may come before the app's registration; a dropped one is a paying "
                + "customer without access.",
            faults: [
                "unknown people are skipped with 200",
                "the event fails with 404 or 500 until the retries are over",
                "the registration overwrites 'source', or makes a second user",
                "users are made for 'null', 'undefined' or ids of other forms",
                "two events at once make two users, or one of them fails",
                "\"nobody of that id\" is kept, and answered after somebody is there",
            ],
            build: "INSERT … ON CONFLICT DO NOTHING with 'source = webhook' in the event's "
                + "transaction, then go on as for a known user.",
            source: "identity rules C, S-21"
        ),
        Clause(
            "S-22",
            demand:
                "Registration is an upsert that may be repeated, never replaces a known value by "
                + "null, never moves 'last_seen' backwards, and uses the server's time.",
            why: "Requests leave fields out, and the clocks of phones lie.",
            faults: [
                "the row is replaced as a whole",
                "a missing field is written as null",
                "the client's timestamp is stored, and 1999 or 2099 with it",
                "a second registration answers 409 or 500",
            ],
            build:
                "ON CONFLICT DO UPDATE with COALESCE for every optional field and now() for times.",
            source: "identity rules C, S-22"
        ),
        Clause(
            "S-23",
            demand:
                "Registration checks the id's form, its length (at most 100) and the blocked list, "
                + "and answers 400 with a code that a program can read.",
            why: "Else 'undefined' becomes a person who owns everybody's purchases.",
            faults: [
                "any text is taken, 'null' and 'undefined' among it",
                "the length is cut silently, so that two people become one",
                "the refusal is a 500, or a text without a code",
            ],
            build: "One function that says what an id is; every route and the safety net use it.",
            source: "identity rules C, S-23; RevenueCat fact sheet, blocked app user ids"
        ),
        Clause(
            "S-24",
            demand:
                "Registration cannot take over or relabel a user of another device without proof.",
            why: "The route is open to everybody who guesses or sees an id.",
            faults: [
                "the second device replaces the first one's id in the row",
                "the answer hands the proof of the first device to the second",
                "'source' or the account link follow the latest caller",
            ],
            build:
                "Hand out a token at the first registration and ask for it where a device changes; "
                + "else add the device beside the known ones and give it no proof.",
            source: "identity rules C, S-24"
        ),
        Clause(
            "S-25",
            demand:
                "Login checks the credentials before any lookup or lock, does not tell whether an "
                + "account exists, and limits the rate of attempts.",
            why: "Else it is a list of customers, and a lock that strangers can hold.",
            faults: [
                "404 for an unknown account and 401 for a wrong password",
                "the account is claimed before the password was compared",
                "an unknown account answers sooner, because nothing is hashed",
            ],
            build: "Hash a dummy password for unknown accounts, and answer one 401 with one body.",
            source: "identity rules C, S-25"
        ),
        Clause(
            "S-26",
            demand:
                "An anonymous user is claimed only if it exists, is anonymous, belongs to nobody, "
                + "and is provably the caller's; else 409.",
            why: "An id is what purchases hang on; whoever claims it owns them.",
            faults: [
                "the id alone is enough to claim it",
                "an id of another account is taken from it",
                "null claims a row, or makes one",
            ],
            build:
                "UPDATE … WHERE id = ? AND account_id IS NULL AND is_anonymous AND proof = ?, and "
                + "look at the count of rows.",
            source: "identity rules C, S-26"
        ),
        Clause(
            "S-27",
            demand:
                "A claim changes both rows at once; of two claims at the same moment one wins and "
                + "the other gets 409, never 500.",
            why: "Two taps, or two phones, are enough.",
            faults: [
                "two statements without a transaction",
                "the unique key's violation ends as 500",
                "locks are taken in another order by each, and both wait",
            ],
            build: "One transaction that locks the account and then the user, and turns the unique "
                + "violation into 409.",
            source: "identity rules C, S-27"
        ),
        Clause(
            "S-28",
            demand: "Recovering an account says what becomes of the device's anonymous id and its "
                + "purchases, and records it.",
            why: "Else somebody who has paid loses access by signing in.",
            faults: [
                "the anonymous user's purchases are left with nobody",
                "both ids have access afterwards",
                "the older purchase of one side overwrites the other's",
            ],
            build:
                "Decide for merge, transfer or keep; do it in the login's transaction, and write "
                + "down which.",
            source: "identity rules C, S-28"
        ),
        Clause(
            "S-29",
            demand: "'is_anonymous', 'account_id' and the account's user id agree after every "
                + "operation, the safety net and logout included.",
            why: "They are three copies of one fact.",
            faults: [
                "a claim leaves 'is_anonymous' true",
                "logout clears one side only",
                "the safety net marks a known person as anonymous again",
            ],
            build:
                "Keep one of them and compute the others, or let a constraint hold them together.",
            source: "identity rules C, S-29"
        ),
    ]
}
