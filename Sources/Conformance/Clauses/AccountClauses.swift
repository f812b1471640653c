/// The account workflow.
extension Clause {
    static let account: [Clause] = [
        Clause(
            "A-01",
            demand: "An anonymous first launch works without any account and can purchase; the "
                + "entitlement belongs to the anonymous id.",
            why: "Nobody signs up before he has seen what he buys.",
            faults: ["purchases of anonymous ids are skipped", "a user is made only at sign-up"],
            build: "Treat an anonymous id as a user like any other.",
            source: "clause catalogue, A-01"
        ),
        Clause(
            "A-02",
            demand:
                "After a sign-up by e-mail the anonymous purchase follows to the account's id, and "
                + "exactly one person is entitled.",
            why: "Else paying people lose what they bought, or have it twice.",
            faults: [
                "the alias is not followed",
                "both the anonymous id and the account keep access",
                "one event that names two known ids of one person is dropped",
            ],
            build: "Merge both rows when an event names both, and keep the account's.",
            source: "clause catalogue, A-02"
        ),
        Clause(
            "A-03",
            demand:
                "A sign-in on a second device finds the same id and the same entitlement, without "
                + "a second user.",
            why: "One person is one user.",
            faults: ["each device makes a user", "the second device's anonymous id wins"],
            build: "Key users by the account's id.",
            source: "clause catalogue, A-03"
        ),
        Clause(
            "A-04",
            demand:
                "A sign-in with Google is as A-02 and A-03, and the same verified address does not "
                + "make a second person.",
            why: "People forget by which button they came.",
            faults: ["providers make users of their own", "unverified addresses are merged"],
            build: "Let Firebase link providers, and key by its uid.",
            source: "clause catalogue, A-04"
        ),
        Clause(
            "A-05",
            demand:
                "After a logout the next purchase belongs to a fresh anonymous id, never to the "
                + "person before; the store's subscription is untouched.",
            why: "Phones are handed on.",
            faults: ["the device's last user gets the purchase", "logout ends access"],
            build: "Attribute by the event's ids, never by the device.",
            source: "clause catalogue, A-05"
        ),
        Clause(
            "A-06",
            demand:
                "A restore on a reinstalled device recovers the entitlement by the store account; "
                + "where nothing is found nothing changes.",
            why: "The vault may be gone, the store's account is not.",
            faults: ["a restore without a result ends access", "the old id keeps access as well"],
            build: "Handle the TRANSFER or the alias that the restore causes.",
            source: "clause catalogue, A-06"
        ),
        Clause(
            "A-07",
            demand:
                "The TRANSFER that a restore or a login causes moves access; neither two people "
                + "have it nor nobody.",
            why: "As S-17, seen from the phone.",
            faults: ["TRANSFER is not handled", "only one side is changed"],
            build: "As S-17.",
            source: "clause catalogue, A-07"
        ),
        Clause(
            "A-08",
            demand: "A login that is already current changes nothing.",
            why: "Apps log in at every start.",
            faults: ["each login makes an alias, a transfer or a push"],
            build: "Compare before you act.",
            source: "clause catalogue, A-08"
        ),
        Clause(
            "A-09",
            demand: "A provider call that failed (wrong password, no network, a cancelled sheet) "
                + "leaves every party's state as it was.",
            why: "Half a login is two half people.",
            faults: ["the id changes before the login has succeeded"],
            build: "Change state after the last call that can fail.",
            source: "clause catalogue, A-09"
        ),
        Clause(
            "A-10",
            demand: "The backend's snapshot never outvotes RevenueCat: after a reconciliation both "
                + "agree.",
            why: "RevenueCat has seen the store, the backend has seen some events.",
            faults: ["the newer of two clocks wins", "what RevenueCat does not list is kept"],
            build: "As S-34: what it says is the state.",
            source: "clause catalogue, A-10"
        ),
        Clause(
            "A-11",
            demand:
                "Deleting the account removes the person's data and the Firebase user, does not "
                + "claim to cancel the subscription, and a later webhook brings no personal data "
                + "back.",
            why: "Deletion is a right, and events go on after it.",
            faults: [
                "the safety net makes the person anew, with name and address",
                "the device's data stay behind",
            ],
            build: "Keep a tombstone of the id, and let the safety net make nothing personal.",
            source: "clause catalogue, A-11"
        ),
        Clause(
            "A-12",
            demand:
                "After a password reset the old password stops; the id and the entitlement stay.",
            why: "A reset is no new person.",
            faults: ["the reset makes a new id", "the old password still signs in"],
            build: "Leave resets to Firebase, and key by its uid.",
            source: "clause catalogue, A-12"
        ),
    ]
}
