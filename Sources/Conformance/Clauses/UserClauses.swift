/// The clauses for users: no user is lost, and one person is one user. S-20 to S-29.
extension Clause {
    static let users: [Clause] = [
        Clause(
            "S-20",
            requirement:
                "The user of an event is looked up by 'app_user_id', 'original_app_user_id' and "
                + "'aliases'; ids that were merged share one row.",
            rationale: "A purchase may arrive under an anonymous alias of a known user.",
            faults: [
                "only 'app_user_id' is looked up, and a second user is created",
                "the first alias wins, even if it belongs to no user",
                "an event that names two known users changes both or neither",
                "an event with an anonymous 'original_app_user_id' is dropped",
            ],
            correctDesign:
                "Collect all ids of the event and look up all of them. Prefer the id that is "
                + "not an alias, and record the others as aliases of its row.",
            source: "identity rules, S-20; RevenueCat fact sheet 3"
        ),
        Clause(
            "S-21",
            requirement:
                "An event for an unknown user creates that user, but only for a valid id, and "
                + "marks the user as created by a webhook; a later registration completes the "
                + "user and keeps the mark.",
            rationale:
                "The webhook may arrive before the app's registration; dropping it leaves a "
                + "paying customer without access.",
            faults: [
                "unknown users are skipped with 200",
                "the event fails with 404 or 500 until the retries end",
                "the registration overwrites 'source', or creates a second user",
                "users are created for 'null', 'undefined' or malformed ids",
                "two simultaneous events create two users, or one of them fails",
                "the lookup result 'no such user' is cached and returned after the user exists",
            ],
            correctDesign:
                "Use INSERT … ON CONFLICT DO NOTHING with 'source = webhook' in the event's "
                + "transaction, then continue as for a known user.",
            source: "identity rules, S-21"
        ),
        Clause(
            "S-22",
            requirement:
                "Registration is an upsert that can be repeated: it never replaces a known "
                + "value with null, never moves 'last_seen' backwards, and uses the server's time.",
            rationale: "Requests leave out fields, and the clocks of phones are wrong.",
            faults: [
                "a registration replaces the user's whole row",
                "a missing field is written as null",
                "the client's timestamp is stored, even one from 1999 or 2099",
                "a second registration gets 409 or 500",
            ],
            correctDesign:
                "Use ON CONFLICT DO UPDATE with COALESCE for every optional field and now() for "
                + "times.",
            source: "identity rules, S-22"
        ),
        Clause(
            "S-23",
            requirement:
                "Registration checks the id's format, its length (at most 100 characters) and "
                + "the list of blocked ids, and answers an invalid id with 400 and a "
                + "machine-readable code.",
            rationale:
                "Otherwise 'undefined' becomes a user who owns the purchases of many people.",
            faults: [
                "any string is accepted, including 'null' and 'undefined'",
                "a long id is truncated silently, so that two users become one",
                "an invalid id gets a 500, or a message without a code",
            ],
            correctDesign:
                "Validate ids in one function, and use it in every route and before creating "
                + "users from events.",
            source: "identity rules, S-23; RevenueCat fact sheet, blocked app user ids"
        ),
        Clause(
            "S-24",
            requirement:
                "Without proof of ownership, a registration cannot take over or relabel a user of "
                + "another device.",
            rationale: "The registration route is open to anyone who guesses or sees an id.",
            faults: [
                "the second device replaces the first device's id in the row",
                "the response gives the first device's proof to the second device",
                "'source' or the account link change to the latest caller's",
            ],
            correctDesign:
                "Return a token at the first registration and require it when the device changes; "
                + "without it, only add the new device to the user's devices and return no token.",
            source: "identity rules, S-24"
        ),
        Clause(
            "S-25",
            requirement:
                "Login checks the credentials before any lookup or lock, does not reveal "
                + "whether an account exists, and limits the rate of attempts.",
            rationale:
                "Otherwise a caller without a password can list the customers and hold locks.",
            faults: [
                "an unknown account gets 404 and a wrong password gets 401",
                "the login changes the account before the password is compared",
                "an unknown account is answered faster, because no password is hashed",
            ],
            correctDesign:
                "Hash a dummy password for unknown accounts, and answer both cases with the "
                + "same 401 and the same body.",
            source: "identity rules, S-25"
        ),
        Clause(
            "S-26",
            requirement:
                "An account can claim an anonymous user only if that user exists, is anonymous, "
                + "has no account, and provably belongs to the caller; otherwise the answer is "
                + "409.",
            rationale: "Purchases belong to an id, and a caller who claims the id owns them.",
            faults: [
                "knowing the id is enough to claim it",
                "an id of another account is taken away from it",
                "a null id claims a row, or creates one",
            ],
            correctDesign:
                "UPDATE … WHERE id = ? AND account_id IS NULL AND is_anonymous AND proof = ?, "
                + "and check the number of changed rows.",
            source: "identity rules, S-26"
        ),
        Clause(
            "S-27",
            requirement:
                "A claim changes the rows of the account and the user at once; of two "
                + "simultaneous claims one wins and the other gets 409, never 500.",
            rationale: "Two taps, or two phones, are enough to cause simultaneous claims.",
            faults: [
                "the two rows are changed by two statements without a transaction",
                "the unique-key violation ends as a 500",
                "two claims take the locks in different orders and wait for each other",
            ],
            correctDesign:
                "Use one transaction that locks the account and then the user, and answer the "
                + "unique-key violation with 409.",
            source: "identity rules, S-27"
        ),
        Clause(
            "S-28",
            requirement:
                "When a login recovers an account, the backend decides what happens to the "
                + "device's anonymous id and its purchases, and records the decision.",
            rationale: "Otherwise a paying customer loses access by signing in.",
            faults: [
                "the anonymous user's purchases are left without an owner",
                "both ids have access after the login",
                "an older purchase of one id overwrites the other id's purchase",
            ],
            correctDesign:
                "Choose between merging, transferring and keeping the purchases; do it in the "
                + "login's transaction, and record the choice.",
            source: "identity rules, S-28"
        ),
        Clause(
            "S-29",
            requirement:
                "'is_anonymous', 'account_id' and the account's user id agree after every "
                + "operation, including a logout and the creation of users from events.",
            rationale: "These three fields are copies of one fact.",
            faults: [
                "after a claim, 'is_anonymous' is still true",
                "a logout clears the link between account and user in only one of the two rows",
                "an event marks a known user as anonymous again",
            ],
            correctDesign:
                "Store one of the three fields and compute the others, or enforce their agreement "
                + "with a constraint.",
            source: "identity rules, S-29"
        ),
    ]
}
