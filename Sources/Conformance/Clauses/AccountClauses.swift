/// The clauses for the account workflow.
extension Clause {
    static let account: [Clause] = [
        Clause(
            "A-01",
            requirement:
                "After the first launch, a user can purchase without an account; the entitlement "
                + "belongs to the user's anonymous id.",
            rationale: "People do not sign up before they have seen what they buy.",
            faults: [
                "purchases of anonymous ids are skipped",
                "a user is created only at sign-up",
            ],
            correctDesign: "Treat an anonymous id as a user like any other.",
            source: "clause catalogue, A-01"
        ),
        Clause(
            "A-02",
            requirement:
                "After a sign-up by email the anonymous purchase moves to the account's id, and "
                + "exactly one user is entitled.",
            rationale: "Otherwise paying customers lose their purchases, or have them twice.",
            faults: [
                "the alias that links the two ids is ignored",
                "both the anonymous id and the account keep access",
                "an event that names two known ids of one person is dropped",
            ],
            correctDesign:
                "When an event names the anonymous id and the account's id, merge both users' "
                + "rows, and keep the account's row.",
            source: "clause catalogue, A-02"
        ),
        Clause(
            "A-03",
            requirement:
                "A sign-in on a second device finds the same id and the same entitlement, "
                + "without a second user.",
            rationale: "One person is one user.",
            faults: [
                "each device creates a user",
                "the second device keeps its anonymous id instead of the account's id",
            ],
            correctDesign: "Use the account's id as the key of the user.",
            source: "clause catalogue, A-03"
        ),
        Clause(
            "A-04",
            requirement:
                "A sign-in with Google moves the anonymous purchase (A-02) and finds the same "
                + "user on every device (A-03); the same verified address does not create a "
                + "second user.",
            rationale: "People forget which sign-in method they used.",
            faults: [
                "each sign-in provider creates a separate user",
                "users are merged although their email address is not verified",
            ],
            correctDesign:
                "Let Firebase link the sign-in providers, and use the Firebase uid as the key of "
                + "the user.",
            source: "clause catalogue, A-04"
        ),
        Clause(
            "A-05",
            requirement:
                "After a logout the next purchase belongs to a new anonymous id, never to the "
                + "previous user; the store's subscription does not change.",
            rationale: "Phones change hands.",
            faults: [
                "the purchase goes to the last user of the device",
                "the logout ends the previous user's access",
            ],
            correctDesign:
                "Assign each purchase to the user whose id is in the event, never to the user of "
                + "the device.",
            source: "clause catalogue, A-05"
        ),
        Clause(
            "A-06",
            requirement:
                "A restore on a reinstalled device recovers the entitlement through the store "
                + "account; a restore that finds nothing changes nothing.",
            rationale:
                "The phone's vault may have lost the id, but the store account still has the "
                + "purchase.",
            faults: [
                "a restore without a result ends access",
                "the old id keeps access in addition to the new one",
            ],
            correctDesign:
                "Handle the TRANSFER event, or the event with a new alias, that the restore "
                + "causes.",
            source: "clause catalogue, A-06"
        ),
        Clause(
            "A-07",
            requirement:
                "The TRANSFER event that a restore or a login causes moves access: exactly one of "
                + "the two users has it afterwards.",
            rationale:
                "A restore or a login on a phone causes the TRANSFER event that S-17 describes.",
            faults: ["the TRANSFER event is not handled", "only one of the two users is changed"],
            correctDesign:
                "Move the entitlements of all old owners to the new one in one transaction, as in "
                + "S-17.",
            source: "clause catalogue, A-07"
        ),
        Clause(
            "A-08",
            requirement: "A login with the id that the app already uses changes nothing.",
            rationale: "Apps log in at every start.",
            faults: ["each login creates an alias, a transfer or a push"],
            correctDesign: "Compare the new id with the current one before you change anything.",
            source: "clause catalogue, A-08"
        ),
        Clause(
            "A-09",
            requirement:
                "A failed call to a sign-in provider (wrong password, no network, a cancelled "
                + "sheet) changes nothing anywhere.",
            rationale: "A half-finished login leaves a mixture of two users.",
            faults: ["the id changes before the login has succeeded"],
            correctDesign: "Change the state only after the last call that can fail.",
            source: "clause catalogue, A-09"
        ),
        Clause(
            "A-10",
            requirement:
                "A reconciliation replaces the backend's state with RevenueCat's, so that both "
                + "agree.",
            rationale:
                "RevenueCat knows the state of the store; the backend knows only the events "
                + "that it received.",
            faults: [
                "the state with the newer timestamp wins over RevenueCat's response",
                "purchases that RevenueCat does not list are kept",
            ],
            correctDesign: "Take RevenueCat's response as the new state, as in S-34.",
            source: "clause catalogue, A-10"
        ),
        Clause(
            "A-11",
            requirement:
                "The deletion of an account removes the user's personal data and the Firebase "
                + "user, and does not claim to cancel the subscription; a later webhook brings no "
                + "personal data back.",
            rationale: "Users have a right to deletion, and events continue after it.",
            faults: [
                "a later event creates the user again, with name and address",
                "data about the user's device is kept",
            ],
            correctDesign:
                "Keep a record that the id was deleted (a tombstone), and store nothing personal "
                + "from later events.",
            source: "clause catalogue, A-11"
        ),
        Clause(
            "A-12",
            requirement:
                "After a password reset the old password stops working; the id and the "
                + "entitlement stay.",
            rationale: "A user with a new password is still the same user.",
            faults: ["the reset creates a new id", "the old password still signs in"],
            correctDesign:
                "Leave password resets to Firebase, and use the Firebase uid as the key of the "
                + "user.",
            source: "clause catalogue, A-12"
        ),
    ]
}
