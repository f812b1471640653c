extension FindingCode {
    /// What it means, what usually causes it and what mends it, in that order.
    package var explanation: (meaning: String, cause: String, remedy: String) {
        switch self {
        case .answerStatus:
            (
                "The backend answered a delivery with a status the sender does not take.",
                "RevenueCat takes 200 for success and nothing else; 201, 202, 204 and 3xx start the "
                    + "whole retry ladder, and a 5xx for input that can never work does too.",
                "Answer exactly 200 once the event is stored, 401 or 403 to strangers, 400 to what "
                    + "is no event, and 5xx only when a retry can help."
            )
        case .intruderAccepted:
            (
                "A request that does not come from RevenueCat was accepted.",
                "The Authorization value or the signature is not compared at all, compared by "
                    + "prefix, without regard to case, or over re-serialised JSON.",
                "Compare the whole header value in constant time before anything else is read; "
                    + "check the signature over the raw bytes."
            )
        case .noAnswer:
            (
                "No complete answer came: the connection closed, or the time was up.",
                "An unhandled error on one path, a handler that waits for a slow provider, or a "
                    + "connection pool that is exhausted.",
                "Answer exactly once on every path, and before slow work."
            )
        case .answerLate:
            (
                "The answer came later than the sender waits.",
                "The handler calls another service before it answers.",
                "Store the event, answer, and work from a queue."
            )
        case .backendExited:
            (
                "The backend ended by itself while this case ran alone.",
                "One request reached code that does not survive its input.",
                "See the last lines of its output in the report; catch the error at the handler."
            )
        case .answerDiffers:
            (
                "The answer is not the one that was recorded.",
                "A field was renamed, left out, or computed in another way; or the session is out "
                    + "of date.",
                "If the change is meant, record it again: 'assay verify --update', then 'assay "
                    + "review'."
            )
        case .effectContent:
            (
                "No effect, or another number of them, says what was recorded.",
                "The text, the data or the person it reaches has changed.",
                "If the change is meant, record it again: 'assay verify --update', then 'assay "
                    + "review'."
            )
        case .expired:
            (
                "The recording behind this contract is older than its 'max-age'.",
                "What the services send may have changed since.",
                "Record the session again with 'assay record', or raise 'max-age'."
            )
        case .effectMissing:
            (
                "An effect of the twin run does not exist here.",
                "A failed call was never tried again, or the retry of the event was taken for a "
                    + "duplicate because it had been marked as seen before its work was done.",
                "Commit the mark, the state and the outgoing message in one transaction, and retry "
                    + "the message from there until the provider accepts it."
            )
        case .effectExtra:
            (
                "There is an effect that the twin run does not have.",
                "The event took effect a second time: the check for duplicates is missing, runs "
                    + "before the write without a lock, or the provider got no idempotency key.",
                "Insert the event id first, with a unique constraint, in the transaction that "
                    + "does the work; give the provider a key derived from the event id."
            )
        case .effectDiffers:
            (
                "The same people were reached, with something else than in the twin run.",
                "The text depends on the order or the number of deliveries.",
                "Derive the message from the event that was applied."
            )
        case .effectCount:
            (
                "The provider saw more or fewer effects than the contract allows.",
                "Too many: an event or a push was repeated without being recognised, by its id or by "
                    + "its idempotency key. Too few: a failed push was never sent again.",
                "Process each event id once, give each push one key derived from it, and retry the "
                    + "push until the provider accepts it."
            )
        case .keyChanged:
            (
                "Two attempts of one push carry different idempotency keys, or none.",
                "The key is made anew for every attempt.",
                "Derive the key from the event id (a UUID v5 fits), once, when the push is stored."
            )
        case .sameText:
            (
                "Two incidents that mean different things were told in the same words.",
                "The text depends on the event's type alone, not on its reason.",
                "Say what is true: a refund ends access, a cancellation only stops the renewal."
            )
        case .wrongAddress:
            (
                "A push is not addressed to exactly the person it is about.",
                "Segments or filters stand beside the alias, the target channel is missing, or the "
                    + "id stands where the provider does not look.",
                "Name the person by include_aliases.external_id with target_channel push, and "
                    + "nobody else (OneSignal fact sheet 13, traps 5 to 7)."
            )
        case .tooManyAttempts:
            (
                "A push that the provider refused is sent again and again.",
                "Every status but 200 is taken for a passing failure.",
                "Retry 408, 409, 425, 429 and 5xx; record 400 and 403 and stop."
            )
        case .tooEarly:
            (
                "A push was tried again before the time that the provider named.",
                "The header Retry-After is not read.",
                "Wait at least the seconds of Retry-After after a 429."
            )
        case .callRefused:
            (
                "A provider refused the backend's call: its key is wrong or missing.",
                "The key of another environment, or the wrong scheme in Authorization.",
                "Send 'Authorization: Key <app key>' to OneSignal and 'Bearer <key>' to RevenueCat."
            )
        case .wrongID:
            (
                "A route answered another id than the one that belongs to the caller.",
                "The id comes from the request, or from somebody else's row.",
                "Answer the id that the account owns after the change was committed."
            )
        case .tellingAnswer:
            (
                "Two refusals can be told apart, so strangers learn which accounts exist.",
                "An unknown account takes another path than a wrong password.",
                "Answer both with the same status and the same body."
            )
        case .wrongWinners:
            (
                "Of several callers that wanted the same thing, the wrong number got it.",
                "The check and the write are two steps without a lock between them.",
                "Lock both rows in one order, or update conditionally and look at the count; "
                    + "answer 409 to whoever comes second."
            )
        case .secretShown:
            (
                "An answer of the backend holds a secret.",
                "A provider's request or configuration is echoed in an error.",
                "Answer with messages of your own, and log what the provider said."
            )
        case .tooManyFetches:
            (
                "Firebase's keys were fetched more often than an unknown key id allows.",
                "Every unknown key id triggers a fetch, so anybody can make the backend call out.",
                "Keep the keys as long as Cache-Control allows, and fetch again at most once for "
                    + "an unknown key id."
            )
        case .stateDiffers:
            (
                "A probe answers something else than in the twin run.",
                "The deliveries differ only in what must not matter: number, order, failures, or "
                    + "events that mean nothing.",
                "Compare the two timelines; the first differing field names the code to look at."
            )
        case .stateValue:
            (
                "A probe's field does not have the value that the protocol fixes.",
                "The event was ignored, or its type was read as the new state.",
                "Derive access from the dates of the subscription, not from the last event's name."
            )
        case .userMissing:
            (
                "A user that only an event has named does not exist afterwards.",
                "Unknown users are skipped, so a purchase that overtakes the registration is lost.",
                "Create the user from the event, mark it as such, and complete it on register."
            )
        case .userUnwanted:
            (
                "A user exists that nobody registered and no purchase named.",
                "Every id in any body becomes a user, the dashboard's TEST event included.",
                "Create users only for events that carry a purchase."
            )
        case .unsteady:
            (
                "Two runs of the same calm steps ended differently in something that is mapped, or "
                    + "in how often somebody was told.",
                "Work is lost now and then: it is started beside the answer and nobody waits for "
                    + "it, an error is swallowed, or two workers race for one row.",
                "Answer a delivery when its work is stored, and let a worker take each row once; "
                    + "what rightly differs between two people does not belong into 'read'."
            )
        case .personalDataKept:
            (
                "After an account was deleted the backend still shows something personal of it.",
                "Only the login is removed, or a later webhook fills the record again.",
                "Erase what names a person or a phone with the account, and mark the id, so that "
                    + "later events keep to the purchase."
            )
        case .commandUnwanted:
            (
                "The app sent a bridge command that it must not send there.",
                "It asks every source of ids instead of the first that answers, or it "
                    + "takes a browser for the phone.",
                "Check the user agent before any command, stop at the first usable id, "
                    + "and change nothing when nothing was found."
            )
        case .commandMissing:
            (
                "A bridge command that has to come did not come.",
                "A flow tells some of the vault, OneSignal and the backend of a new id, "
                    + "and forgets the others; a write that was lost is never noticed.",
                "Let one function change the id, and let it write, read back, alias and "
                    + "register every time."
            )
        case .identitySplit:
            (
                "Vault, OneSignal, backend or paywall carry different ids on one phone.",
                "A flow was left half-way, or each place is told by code of its own.",
                "Change the id in one place and in one order, remember an unfinished "
                    + "change, and go on with it at the next launch."
            )
        case .unusableID:
            (
                "An id that names nobody was stored, aliased, registered or used to buy.",
                "A value was put into a text without a look: undefined, null, n/a, or an "
                    + "id that RevenueCat refuses.",
                "Check every id that comes from the bridge, the history or an answer "
                    + "before it is used."
            )
        case .paywallTooEarly:
            (
                "A paywall opened before its buyer was known, or while the buyer was "
                    + "changing.",
                "A flag says that the app is ready, and nobody asks for which id; or a "
                    + "failed registration counted.",
                "Open a paywall only when the current id equals the last registered one "
                    + "and nothing is in flight."
            )
        case .paywallRepeated:
            (
                "A second paywall opened while the first was open.",
                "The button becomes active again right after the command was sent.",
                "Keep a flag until the outcome is known or the page becomes visible "
                    + "again."
            )
        case .registrationLost:
            (
                "The backend was never told about the app's user.",
                "A failed call counts as success: fetch resolves on 4xx and 5xx, or a "
                    + "catch goes on.",
                "Count a registration only when a 2xx names the id, try again with "
                    + "growing pauses, and at the next launch."
            )
        case .registrationRepeated:
            (
                "The backend was told the same again for no reason.",
                "A queue of failed registrations is sent whole, or two places register.",
                "Keep one entry for each id and remove it when it was acknowledged."
            )
        case .registrationIncomplete:
            (
                "A registration misses a field, or says something else than the phone "
                    + "is.",
                "Some flows build the body by hand; the platform is guessed from what "
                    + "the user agent does not say.",
                "Build the body in one place; wait for the install id; call an unknown "
                    + "platform unknown."
            )
        case .startTooSlow:
            (
                "The start took longer than the profile allows when the native side is "
                    + "silent.",
                "The app waits for the bridge's own 30 seconds, once for the vault and "
                    + "once for the history.",
                "Race each read against a time of your own, and take silence for "
                    + "absence."
            )
        case .badCommand:
            (
                "A command does not say what was meant.",
                "Ids are put into the URL as they are, so that & and # cut them or add "
                    + "parameters; or one key is read twice at a time.",
                "Encode every dynamic part exactly once, and let reads of one key wait "
                    + "for each other."
            )
        case .wrongPerson:
            (
                "The app goes on as somebody else than it has to.",
                "The history or a late reply was believed, a lost vault entry brought an "
                    + "earlier user back, or flows choose by different rules.",
                "Choose in one function, remember which ids were given up, and ignore "
                    + "what comes too late."
            )
        case .wrongOrder:
            (
                "The backend was told before the phone had kept it.",
                "Awaiting an unwatched command waits for nothing; the network overtakes "
                    + "the bridge.",
                "Read back what was written, and register afterwards."
            )
        case .screenDiffers:
            (
                "The page shows something else than what is known.",
                "A purchase callback unlocks by itself, silence is shown as 'not "
                    + "subscribed', or a spinner never ends.",
                "Show access only when the backend confirms it, show unknown as unknown, "
                    + "and bound every wait."
            )
        case .guessableID:
            (
                "An id that the app made up can be guessed or was used before.",
                "It is made of the install id or of the time.",
                "Use a random id from the platform's own generator."
            )
        case .openSecret:
            (
                "Something private lies open in the vault, or a key collides with a name "
                    + "of the window.",
                "Whatever is convenient is stored with locked=false.",
                "Store ids only, and name keys so that no property of the window has the "
                    + "name."
            )
        case .pageBroken:
            (
                "The page reported an error or died.",
                "A callback was called without the argument that it expects, or an "
                    + "answer was not what it looked for.",
                "Let callbacks take no argument, an object and a text, and catch what "
                    + "can fail."
            )
        case .noOverlap:
            (
                "The copies were not in flight at the same time, so nothing was raced.",
                "The backend, or the machine, handled one after the other.",
                "Run on an idle machine, or give the backend more than one worker."
            )
        case .unobservable:
            (
                "Nothing that this case asks for can be seen from outside.",
                "The profile has no probe for it, and the backend sends no push for it.",
                "Add a read-only probe to the backend and name it in assay.yaml under 'probes'."
            )
        case .journalGap:
            (
                "The journal was full and forgot entries, so absence cannot be proven.",
                "More traffic than the bound allows.",
                "Run fewer cases at once, or raise --journal."
            )
        case .allVolatile:
            (
                "Two runs of the same twin differ in everything that could be compared.",
                "The probe answers only times, counters or random values.",
                "Let the probe answer the subscription itself, or narrow it with 'read'."
            )
        case .throttled:
            (
                "The backend answered 429: its own throttle, not its handling, was tested.",
                "A rate limit in front of the webhook.",
                "Raise the limit in the environment where Assay runs, or use --jobs 1."
            )
        case .backendGone:
            (
                "The backend could not be reached any more.",
                "It crashed or was stopped.",
                "Look at its log; start it and run again."
            )
        case .twinFailed:
            (
                "The undisturbed run already failed, so there is nothing to compare with.",
                "A plain delivery is not handled; other cases say how.",
                "Mend the simplest failing case first."
            )
        case .setupFailed:
            (
                "What the case takes as given could not be made.",
                "A user could not be created, or a probe did not answer.",
                "Check 'users', 'endpoints' and 'probes' in assay.yaml."
            )
        case .disturbanceMissed:
            (
                "What this case disturbs did not take place, so nothing was tested.",
                "The backend made no call to the provider whose answer was to fail, or an act that the "
                    + "case needs was refused before.",
                "If it makes none by design, declare the feature under 'features: except'."
            )
        case .machineBusy:
            (
                "Something did not come in time, and Assay itself was held up while it waited, "
                    + "also when the case was played again alone.",
                "The machine had more to do than it could: its timers fired late, or the process "
                    + "stood for a while, and the backend may have stood as well.",
                "Run again on a machine with less to do, or with fewer --jobs."
            )
        case .patienceOver:
            (
                "The waiting ended before the backend had come to an end with its work.",
                "Its pause between two attempts is longer than 'patience' in the profile, or a later "
                    + "purchase had not taken effect either.",
                "Set 'patience' to more than the longest pause between two attempts."
            )
        case .readingAbsent:
            (
                "No answer of the probe had the place that the profile maps, not even after a "
                    + "purchase, so nothing can be read there.",
                "The pointer is misspelt, the field moved, or the backend leaves it out.",
                "Correct 'read' in assay.yaml; where leaving it out means something, say so: "
                    + "'refunded: {at: /refunded, absent: false}'."
            )
        case .notRun:
            (
                "The case did not run.",
                "The backend lacks a feature, or was not started by Assay.",
                "Declare it under 'features: except', or use --start."
            )
        }
    }
}
