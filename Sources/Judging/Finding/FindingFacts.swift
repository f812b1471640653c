/// The facts about one kind of finding.
package struct FindingFacts: Sendable {
    /// The kebab-case name that reports print after the code, such as `effect-count`.
    package let rule: String
    package let meaning: String
    /// The usual cause of the finding.
    package let cause: String
    package let remedy: String
    /// Whether the finding is a difference between the run and its baseline.
    package let comparesWithBaseline: Bool

    fileprivate init(
        _ rule: String,
        _ meaning: String,
        _ cause: String,
        _ remedy: String,
        comparesWithBaseline: Bool = false
    ) {
        self.rule = rule
        self.meaning = meaning
        self.cause = cause
        self.remedy = remedy
        self.comparesWithBaseline = comparesWithBaseline
    }
}

extension FindingCode {
    /// The table of all kinds of findings.
    package var facts: FindingFacts {
        switch self {
        case .responseStatus:
            FindingFacts(
                "response-status",
                "The backend answered a delivery with a status that the sender does not accept.",
                "RevenueCat counts only 200 as success. After 201, 202, 204, 3xx or 5xx it "
                    + "runs its whole retry schedule, even for input that can never be processed.",
                "Answer exactly 200 once the event is stored, 401 or 403 to unauthenticated "
                    + "callers, 400 to a body that is not an event, and 5xx only when a retry can "
                    + "help."
            )
        case .appliedButRefused:
            FindingFacts(
                "applied-but-refused",
                "The backend applied an event, and then answered with an error status, which asks "
                    + "the sender to repeat a success (S-07).",
                "The change is committed before work that can fail, such as a push or a second "
                    + "write. The sender delivers the event again over two hours; a backend "
                    + "without a check for duplicates applies it each time.",
                "Answer 200 once the change is committed, and do the other work from an outbox; or "
                    + "undo the change before answering 5xx."
            )
        case .webhookThrottled:
            FindingFacts(
                "webhook-throttled",
                "The backend answered 429 to events at a rate at which a provider sends them (S-07).",
                "A rate limit for clients also counts the provider. All events of all customers "
                    + "come from the same sender, which does not slow down after a 429. "
                    + "RevenueCat treats 429 as a failure, retries five times within 155 minutes, "
                    + "and then drops the event.",
                "Exempt the webhook route from the rate limit; limit only callers that prove "
                    + "neither the Authorization value nor the signature."
            )
        case .unauthenticatedAccepted:
            FindingFacts(
                "unauthenticated-accepted",
                "The backend accepted an unauthenticated request that it must refuse.",
                "The Authorization value or the signature is not compared, is compared by "
                    + "prefix or without regard to case, or is computed over re-serialized JSON.",
                "Compare the whole header value in constant time before reading anything "
                    + "else; verify the signature over the raw bytes."
            )
        case .noResponse:
            FindingFacts(
                "no-response",
                "The backend sent no complete response: the connection closed, or the time "
                    + "ran out.",
                "An unhandled error on one code path, a handler that waits for a slow "
                    + "provider, or an exhausted connection pool.",
                "Answer exactly once on every path, and before slow work."
            )
        case .responseLate:
            FindingFacts(
                "response-late",
                "The backend responded after the sender had stopped waiting.",
                "The handler calls another service before it answers.",
                "Store the event, answer, and do the work from a queue."
            )
        case .backendExited:
            FindingFacts(
                "backend-exited",
                "The backend process exited while only this case was running.",
                "A request caused an error that the backend did not handle.",
                "Read the last lines of the backend's output in the report; catch the error "
                    + "in the handler."
            )
        case .responseDiffers:
            FindingFacts(
                "response-differs",
                "A response of the backend differs from the recorded response.",
                "A field of the response was renamed, removed or computed differently; or the "
                    + "recording is out of date.",
                "If the change is intended, update the recording: 'assay verify --update', then "
                    + "'assay review'."
            )
        case .effectContentDiffers:
            FindingFacts(
                "effect-content",
                "No message, or the wrong number of messages, to a provider has the recorded "
                    + "content.",
                "The text, the data or the recipient of the message has changed.",
                "If the change is intended, update the recording: 'assay verify --update', then "
                    + "'assay review'."
            )
        case .effectHeldUp:
            FindingFacts(
                "effect-held-up",
                "An effect for one user, such as a push, waited for a call for another user that "
                    + "got no response.",
                "One worker sends all messages one after the other, and waits for each response. "
                    + "A provider that does not respond to one call delays the messages of all "
                    + "users.",
                "Send several messages at the same time, or end a call without a response after a "
                    + "few seconds."
            )
        case .contractExpired:
            FindingFacts(
                "expired",
                "The recording of this contract is older than its 'max-age'.",
                "The recorded services may send other data today than at the time of the "
                    + "recording.",
                "Record the session again with 'assay record', or raise 'max-age'."
            )
        case .effectMissing:
            FindingFacts(
                "effect-missing",
                "An effect, such as a push, is missing; the baseline run (the same case without "
                    + "faults) has it.",
                "A failed call was never retried, or the event's retry was taken for a "
                    + "duplicate because the event was marked as processed before its work was "
                    + "done.",
                "Commit the mark, the state and the outgoing message in one transaction, "
                    + "and retry the message from there until the provider accepts it.",
                comparesWithBaseline: true
            )
        case .unexpectedEffect:
            FindingFacts(
                "effect-extra",
                "There is an effect, such as a push, that the baseline run (the same case without "
                    + "faults) does not have.",
                "The event took effect twice: the check for duplicates is missing or runs "
                    + "before the write without a lock, or the provider received no idempotency "
                    + "key.",
                "Insert the event id first, with a unique constraint, in the transaction "
                    + "that does the work; give the provider a key derived from the event id.",
                comparesWithBaseline: true
            )
        case .effectDiffers:
            FindingFacts(
                "effect-differs",
                "The backend sent the same users a different message than in the baseline run "
                    + "(the same case without faults).",
                "The content of the message depends on the order or the number of deliveries.",
                "Derive the message from the event that was applied.",
                comparesWithBaseline: true
            )
        case .wrongEffectCount:
            FindingFacts(
                "effect-count",
                "The provider received more or fewer effects, such as pushes, than the contract "
                    + "allows.",
                "Too many: an event or a push was repeated, and its id or idempotency key "
                    + "was not recognized. Too few: a failed push was never retried.",
                "Process each event id once, give each push one key derived from it, and "
                    + "retry the push until the provider accepts it."
            )
        case .idempotencyKeyChanged:
            FindingFacts(
                "idempotency-key-changed",
                "Two attempts of one push carry different idempotency keys, or none.",
                "Every attempt at the push creates a new idempotency key.",
                "When the push is stored, derive its key once from the event id, for example as a "
                    + "UUID v5."
            )
        case .identicalMessages:
            FindingFacts(
                "same-message",
                "Two incidents with different meanings caused messages with the same words.",
                "The text of the message depends only on the event's type, not on its reason.",
                "Describe the actual result in the message: a refund ends access, a cancellation "
                    + "only stops the renewal."
            )
        case .wrongRecipient:
            FindingFacts(
                "wrong-recipient",
                "A push does not target exactly the user that it is about.",
                "The request has segments or filters in addition to the alias, lacks the "
                    + "target channel, or has the id in a field that the provider does not read.",
                "Target the user by include_aliases.external_id with target_channel push, "
                    + "and no other user (OneSignal fact sheet 13, traps 5 to 7)."
            )
        case .tooManyAttempts:
            FindingFacts(
                "too-many-attempts",
                "The backend sent a push again and again although the provider refused it.",
                "Every status other than 200 is taken for a temporary failure.",
                "Retry a push after 408, 409, 425, 429 and 5xx; after 400 and 403, record the "
                    + "failure and stop."
            )
        case .retriedTooEarly:
            FindingFacts(
                "retried-too-early",
                "A push was retried before the time that the provider set.",
                "The backend does not read the Retry-After header of the provider's response.",
                "After a 429, wait at least the seconds that Retry-After states."
            )
        case .providerCallRefused:
            FindingFacts(
                "call-refused",
                "A provider refused the backend's call because the API key is wrong or missing.",
                "The key belongs to another environment, or the scheme in Authorization is wrong.",
                "Send 'Authorization: Key <app key>' to OneSignal and 'Bearer <key>' to RevenueCat."
            )
        case .wrongID:
            FindingFacts(
                "wrong-id",
                "A route returned an id that does not belong to the caller.",
                "The returned id comes from the request, or from another user's row.",
                "Return the id that the account owns after the change is committed."
            )
        case .revealingResponse:
            FindingFacts(
                "revealing-response",
                "Two refused calls got different responses, so that a caller learns which "
                    + "accounts exist.",
                "An unknown account takes a different code path than a wrong password.",
                "Answer an unknown account and a wrong password with the same status and the same "
                    + "body."
            )
        case .wrongRaceOutcome:
            FindingFacts(
                "wrong-winners",
                "The wrong number of competing calls succeeded.",
                "The check and the write are two steps without a lock around them.",
                "Lock both rows in a fixed order, or update conditionally and check the "
                    + "number of changed rows; answer 409 to the calls that lose."
            )
        case .secretExposed:
            FindingFacts(
                "secret-shown",
                "A response of the backend contains a secret, such as an API key.",
                "An error message repeats a provider's request or configuration.",
                "Answer with your own error messages, and write the provider's message to the log."
            )
        case .tooManyFetches:
            FindingFacts(
                "too-many-fetches",
                "The backend fetched Firebase's keys more often than an unknown key id allows.",
                "Every unknown key id triggers a fetch, so any caller can make the backend "
                    + "send requests.",
                "Keep the keys as long as Cache-Control allows, and fetch them again at "
                    + "most once for an unknown key id."
            )
        case .stateDiffers:
            FindingFacts(
                "state-differs",
                "A probe (a read-only request for a user's state) returned other values than in "
                    + "the baseline run without faults.",
                "The state depends on something that must not matter: the number or order "
                    + "of deliveries, failures, or irrelevant events.",
                "Compare the two timelines; the first differing field shows which code to check.",
                comparesWithBaseline: true
            )
        case .wrongStateValue:
            FindingFacts(
                "state-value",
                "A field in a probe's response does not have the value that the protocol requires.",
                "The event was ignored, or its type was read as the new state.",
                "Derive access from the dates of the subscription, not from the name of the "
                    + "last event."
            )
        case .userMissing:
            FindingFacts(
                "user-missing",
                "A user that only an event has named does not exist afterwards.",
                "Unknown users are skipped, so a purchase that arrives before the "
                    + "registration is lost.",
                "Create the user from the event, mark the user as created by an event, and "
                    + "complete the user at the registration."
            )
        case .unexpectedUser:
            FindingFacts(
                "unexpected-user",
                "A user exists although no registration and no purchase named the user.",
                "Every id in any body becomes a user, including the id in the dashboard's "
                    + "TEST event.",
                "Create users only for events that contain a purchase."
            )
        case .unstableState:
            FindingFacts(
                "unstable",
                "Two fault-free runs of the same steps ended with different values of mapped "
                    + "fields, or with different numbers of notifications.",
                "Work is sometimes lost: it runs in the background and is not awaited, an "
                    + "error is ignored, or two workers compete for one row.",
                "Answer a delivery when its work is stored, and let only one worker take "
                    + "each row. Do not map values in 'read' that may differ between two users."
            )
        case .personalDataKept:
            FindingFacts(
                "personal-data-kept",
                "After an account was deleted, the backend still returns personal data of "
                    + "its user.",
                "Only the login is removed, or a later webhook fills the record again.",
                "When an account is deleted, erase all data that identifies its user or a "
                    + "phone. Mark the id as deleted, so that later events store only the purchase."
            )
        case .unexpectedCommand:
            FindingFacts(
                "unexpected-command",
                "The app sent a command to the native side that it must not send in this "
                    + "situation.",
                "The app reads every source of ids instead of stopping at the first usable "
                    + "id, or it mistakes a browser for the phone.",
                "Check the user agent before any command, stop at the first usable id, and "
                    + "change nothing when nothing was found."
            )
        case .commandMissing:
            FindingFacts(
                "command-missing",
                "The app did not send a required command to the native side.",
                "Some code path updates only some of vault, OneSignal and backend with a new id, "
                    + "or a lost write goes unnoticed.",
                "Let one function change the id, and let it write, read back, set the alias "
                    + "and register every time."
            )
        case .identitySplit:
            FindingFacts(
                "identity-split",
                "Vault, OneSignal, backend and paywall do not carry the same id on one phone.",
                "A login, logout or restore was interrupted, or separate code updates each of "
                    + "these places.",
                "Change the id in one place and in one order, remember an unfinished "
                    + "change, and finish it at the next launch."
            )
        case .unusableID:
            FindingFacts(
                "unusable-id",
                "An id that identifies no user was stored, aliased, registered or used for "
                    + "a purchase.",
                "A value was inserted into a string without a check: undefined, null, n/a, "
                    + "or an id that RevenueCat refuses.",
                "Check every id that comes from the bridge, the history or a response "
                    + "before using it."
            )
        case .paywallTooEarly:
            FindingFacts(
                "paywall-too-early",
                "A paywall opened before its buyer was known, or while the buyer was changing.",
                "The app's 'ready' flag does not record for which id it was set; or a failed "
                    + "registration counted as successful.",
                "Open a paywall only when the current id equals the last registered one and "
                    + "no request is in flight."
            )
        case .paywallRepeated:
            FindingFacts(
                "paywall-repeated",
                "A second paywall opened while the first was open.",
                "The upgrade button becomes active again right after the paywall command was sent.",
                "Keep a flag for the open paywall until its outcome is known or the page becomes "
                    + "visible again."
            )
        case .registrationLost:
            FindingFacts(
                "registration-lost",
                "The app did not register its user with the backend.",
                "A failed call counts as success: fetch resolves on 4xx and 5xx, or the "
                    + "code continues after a catch.",
                "Count a registration only when a 2xx response contains the id; retry with "
                    + "growing pauses, and at the next launch."
            )
        case .registrationRepeated:
            FindingFacts(
                "registration-repeated",
                "The app repeated a registration without a reason.",
                "The whole queue of failed registrations is sent, or two places in the app "
                    + "register.",
                "Keep one entry for each id in the queue and remove it when the backend confirms "
                    + "the id."
            )
        case .registrationIncomplete:
            FindingFacts(
                "registration-incomplete",
                "A registration omits a field, or a field does not match the phone.",
                "Some code paths build the request body separately, or the platform is guessed "
                    + "when the user agent does not name it.",
                "Build the request body in one function; wait for the install id; send an unknown "
                    + "platform as unknown."
            )
        case .startTooSlow:
            FindingFacts(
                "start-too-slow",
                "The app's start took longer than the profile allows while the native side did "
                    + "not reply.",
                "The app waits for the bridge's limit of 30 seconds, once for the vault and "
                    + "once for the history.",
                "Give each read of the bridge a shorter time limit, and treat a missing reply as "
                    + "no value."
            )
        case .malformedCommand:
            FindingFacts(
                "bad-command",
                "A command to the native side does not have the intended meaning.",
                "Ids are inserted into the URL without encoding, so that & and # cut them "
                    + "off or add parameters; or two reads of one key run at the same time.",
                "Encode every dynamic part exactly once, and run reads of one key one after "
                    + "the other."
            )
        case .wrongUser:
            FindingFacts(
                "wrong-user",
                "The app continues as a different user than the contract requires.",
                "The app trusted the purchase history or a late reply, a lost vault entry brought "
                    + "an earlier user back, or the app's code paths choose by different rules.",
                "Choose the user in one function, remember which ids were given up, and ignore "
                    + "late replies."
            )
        case .wrongOrder:
            FindingFacts(
                "wrong-order",
                "The app stored an id, or set the lock of that id, only after a step that depends on it.",
                "Awaiting a command without a reply does not wait until it has been carried out, "
                    + "and the network is faster than the bridge.",
                "Read back the value that was written to the vault, and register afterwards."
            )
        case .screenDiffers:
            FindingFacts(
                "screen-differs",
                "The page shows another state than the contract requires.",
                "A purchase callback alone unlocks access, a missing reply is shown as 'not "
                    + "subscribed', or a spinner never ends.",
                "Show access only when the backend confirms it, show unknown as unknown, "
                    + "and limit every wait."
            )
        case .guessableID:
            FindingFacts(
                "guessable-id",
                "An id that the app created can be guessed or was used before.",
                "The id is derived from the install id or the time.",
                "Use a random id from the platform's generator."
            )
        case .unprotectedSecret:
            FindingFacts(
                "unprotected-secret",
                "An unlocked vault entry contains something private, or a vault key equals a "
                    + "property name of the window.",
                "Private values are stored with locked=false because it is convenient.",
                "Store only ids in unlocked entries, and choose vault keys that are not names of "
                    + "window properties."
            )
        case .pageBroken:
            FindingFacts(
                "page-broken",
                "The page reported an error or crashed.",
                "A callback of the page was called without the argument that it expects, or a "
                    + "reply did not have the expected form.",
                "Let callbacks accept no argument, an object and a string, and catch every error."
            )
        case .commandSwallowed:
            FindingFacts(
                "command-swallowed",
                "The app sent two commands to the native side in one task of the page, so that the "
                    + "second one may be lost.",
                "The page hands commands to the window itself, without a queue. "
                    + "The runtime turns each assignment into a navigation, and navigations in one "
                    + "task swallow each other.",
                "Send every command through the queue of the runtime's package, or one that "
                    + "waits for a timer between two commands."
            )
        case .requestsNotConcurrent:
            FindingFacts(
                "no-overlap",
                "The concurrent requests were not in flight at the same time, so the case tested "
                    + "no race.",
                "The backend, or the machine, handled one request after the other.",
                "Run the case again with --only and --jobs 1 on an idle machine, or give the backend "
                    + "more than one worker."
            )
        case .unobservable:
            FindingFacts(
                "unobservable",
                "Nothing that this case checks can be seen from outside the backend.",
                "No probe of the profile shows the effect, and the backend sends no push about it.",
                "Add a read-only probe to the backend and name it in assay.yaml under 'probes'."
            )
        case .journalGap:
            FindingFacts(
                "journal-gap",
                "The journal was full and dropped entries, so the case cannot prove that "
                    + "something did not happen.",
                "There was more traffic than the journal (the list of all exchanges) can hold.",
                "Run fewer cases at once with --jobs, or raise the size limit with --journal."
            )
        case .allValuesVolatile:
            FindingFacts(
                "all-volatile",
                "Two baseline runs (without faults) of the same steps differ in every value that "
                    + "could be compared.",
                "The probe returns only times, counters or random values.",
                "Let the probe return the subscription itself, or select fields with 'read'."
            )
        case .backendThrottled:
            FindingFacts(
                "throttled",
                "The backend answered 429: the case met its rate limit instead of its event "
                    + "handling.",
                "The backend has a rate limit on the webhook route.",
                "Raise the limit in the environment where Assay runs, or use --jobs 1."
            )
        case .backendGone:
            FindingFacts(
                "backend-gone",
                "The backend stopped accepting connections.",
                "The backend crashed or was stopped.",
                "Read the backend's log, start the backend, and run 'assay verify' again."
            )
        case .baselineFailed:
            FindingFacts(
                "baseline-failed",
                "The baseline run (the same case without faults) already failed, so there is "
                    + "nothing to compare with.",
                "The backend does not handle a plain delivery; other cases show the reason.",
                "Fix the causes of the failed cases first, then run 'assay verify' again."
            )
        case .setupFailed:
            FindingFacts(
                "setup-failed",
                "The preparation of the case ('given') failed.",
                "A user could not be created, or a probe (a read-only request for a user's state) "
                    + "did not respond.",
                "Run 'assay doctor', which checks 'users', 'endpoints' and 'probes' of assay.yaml."
            )
        case .faultNotApplied:
            FindingFacts(
                "fault-not-applied",
                "The fault that this case needs did not happen, so nothing was tested.",
                "The backend did not call the provider whose response was to fail, or an "
                    + "operation that the case needs was refused earlier.",
                "If the backend makes no such call by design, declare the feature under "
                    + "'features: except'."
            )
        case .machineBusy:
            FindingFacts(
                "machine-busy",
                "An expected response or effect did not arrive in time, and Assay itself was "
                    + "delayed during the wait, even when the case was run again without other "
                    + "cases.",
                "The machine was overloaded: its timers fired late, or the process was "
                    + "suspended, and possibly the backend as well.",
                "Run the case again on a machine with less load, or with a smaller number for "
                    + "--jobs."
            )
        case .settleTimeoutExpired:
            FindingFacts(
                "settle-timeout",
                "The settle timeout ended before the backend had finished its work.",
                "The backend's pause between two attempts is longer than 'settle-timeout' in the "
                    + "profile, or a later test purchase had not taken effect either.",
                "Set 'settle-timeout' in assay.yaml to more than the backend's longest pause "
                    + "between two attempts, for example 'settle-timeout: 60s'."
            )
        case .mappedPathAbsent:
            FindingFacts(
                "reading-absent",
                "No response of the probe had the field that the profile maps, not even "
                    + "after a purchase, so its value cannot be read.",
                "The JSON pointer is misspelled, the field moved, or the backend omits it.",
                "Correct 'read' in assay.yaml; if a missing field has a meaning, declare "
                    + "it: 'refunded: {at: /refunded, absent: false}'."
            )
        case .notRun:
            FindingFacts(
                "not-run",
                "The case did not run, so it has no verdict.",
                "The backend lacks a feature that the case needs, or Assay did not start the "
                    + "backend itself.",
                "Declare the missing feature under 'features: except' in assay.yaml, or let Assay "
                    + "start the backend with --start."
            )
        }
    }
}
