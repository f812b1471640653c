/// A deviation that breaks exactly one promise of this backend.
///
/// Each is one to five lines at a place marked `Defect:` in the code. `assay mutants` runs the
/// suite against every one of them and expects it to be caught.
package enum Defect: String, Sendable, CaseIterable {
    case noAuthorizationCheck = "no-authorization-check"
    case authorizationMissingAllowed = "authorization-missing-allowed"
    case authorizationPrefix = "authorization-prefix"
    case authorizationExtra = "authorization-extra"
    case authorizationAnyCase = "authorization-any-case"
    case authorizationSchemeOnly = "authorization-scheme-only"
    case signatureIgnored = "signature-ignored"
    case signatureMissingAllowed = "signature-missing-allowed"
    case signatureAgeIgnored = "signature-age-ignored"
    case noDedupe = "no-dedupe"
    case dedupeCheckThenWrite = "dedupe-check-then-write"
    case dedupeInMemory = "dedupe-in-memory"
    case dedupeByContent = "dedupe-by-content"
    case dedupeByTransaction = "dedupe-by-transaction"
    case brokenBodyMarked = "broken-body-marked"
    case duplicateRejected = "duplicate-rejected"
    case duplicateDropsConnection = "duplicate-drops-connection"
    case lastWriteWins = "last-write-wins"
    case malformedFails = "malformed-500"
    case malformedAccepted = "malformed-accepted"
    case unknownTypeRejected = "unknown-type-rejected"
    case unknownTypeOverwrites = "unknown-type-overwrites"
    case informationalExtends = "informational-extends"
    case unknownFieldRejected = "unknown-field-rejected"
    case nullRejected = "null-rejected"
    case missingKeyRejected = "missing-key-rejected"
    case unknownStoreRejected = "unknown-store-rejected"
    case unknownReasonFails = "unknown-reason-fails"
    case bodyLimit = "body-limit"
    case depthLimit = "depth-limit"
    case ignoredAnswersNoContent = "ignored-answers-204"
    case testEventGrants = "test-event-grants"
    case transferFails = "transfer-fails"
    case transferIgnored = "transfer-ignored"
    case transferKeepsSource = "transfer-keeps-source"
    case transferFirstOnly = "transfer-first-only"
    case aliasesIgnored = "aliases-ignored"
    case originalIDIgnored = "original-id-ignored"
    case noMerge = "no-merge"
    case unknownUserSkipped = "unknown-user-skipped"
    case unknownUserRejected = "unknown-user-rejected"
    case registerResets = "register-resets"
    case pushResultIgnored = "push-result-ignored"
    case pushEmptyIDAccepted = "push-empty-id-accepted"
    case pushErrorsTakenForFailure = "push-errors-taken-for-failure"
    case pushWithoutKey = "push-without-key"
    case pushNewKey = "push-new-key"
    case pushBeforeAnswer = "push-before-answer"
    case pushFailureFailsWebhook = "push-failure-fails-webhook"
    case outboxInMemory = "outbox-in-memory"

    /// What goes wrong, in one line.
    package var summary: String {
        switch self {
        case .noAuthorizationCheck: "anybody may deliver"
        case .authorizationMissingAllowed: "a request without Authorization passes"
        case .authorizationPrefix: "any beginning of the secret passes"
        case .authorizationExtra: "anything may follow the secret"
        case .authorizationAnyCase: "the secret is compared without regard to case"
        case .authorizationSchemeOnly: "the word Bearer alone passes"
        case .signatureIgnored: "the signature is not checked"
        case .signatureMissingAllowed: "a request without signature passes"
        case .signatureAgeIgnored: "an old signature passes for ever"
        case .noDedupe: "event ids are not remembered"
        case .dedupeCheckThenWrite: "the check for duplicates runs before the transaction"
        case .dedupeInMemory: "event ids are forgotten on restart"
        case .dedupeByContent: "the whole body, not the event id, tells duplicates"
        case .dedupeByTransaction: "the transaction id tells duplicates"
        case .brokenBodyMarked: "an event is marked as seen although its request broke off"
        case .duplicateRejected: "a duplicate is answered 409"
        case .duplicateDropsConnection: "a duplicate gets no answer at all"
        case .lastWriteWins: "an older event overwrites newer state"
        case .malformedFails: "a body that is no event is answered 500"
        case .malformedAccepted: "a body that is no event is answered 200"
        case .unknownTypeRejected: "an unknown event type is answered 400"
        case .unknownTypeOverwrites: "every event type is written into the subscription"
        case .informationalExtends: "an informational event moves the expiry"
        case .unknownFieldRejected: "a body with an unknown field is answered 422"
        case .nullRejected: "a null where a text is usual is answered 422"
        case .missingKeyRejected: "an optional key is required"
        case .unknownStoreRejected: "an unknown store is answered 422"
        case .unknownReasonFails: "an unknown reason is answered 500"
        case .bodyLimit: "bodies beyond 100 kB are answered 413"
        case .depthLimit: "bodies nested deeper than 20 are answered 400"
        case .ignoredAnswersNoContent: "an event that changes nothing is answered 204"
        case .testEventGrants: "TEST counts as a purchase"
        case .transferFails: "TRANSFER needs an app_user_id and is answered 500"
        case .transferIgnored: "TRANSFER is acknowledged and nothing moves"
        case .transferKeepsSource: "TRANSFER copies instead of moving"
        case .transferFirstOnly: "TRANSFER moves from the first id only"
        case .aliasesIgnored: "users are not looked up by aliases"
        case .originalIDIgnored: "users are not looked up by original_app_user_id"
        case .noMerge: "two records of one person stay two"
        case .unknownUserSkipped: "an event for an unknown user is dropped with 200"
        case .unknownUserRejected: "an event for an unknown user is answered 404"
        case .registerResets: "a late register wipes what an event had stored"
        case .pushResultIgnored: "a push is sent once, whatever comes back"
        case .pushEmptyIDAccepted: "a 200 with an empty id counts as sent"
        case .pushErrorsTakenForFailure: "a 200 with errors is sent again under a new key"
        case .pushWithoutKey: "pushes carry no idempotency key"
        case .pushNewKey: "each attempt of a push has a new idempotency key"
        case .pushBeforeAnswer: "the webhook waits for the push"
        case .pushFailureFailsWebhook: "a failed push fails the webhook after the event was stored"
        case .outboxInMemory: "pushes wait in memory"
        }
    }

    /// Defects that show only where the provider does not suppress the second push: with them,
    /// each message gets a key of its own.
    static let withOwnKeys: Set<Defect> = [
        .noDedupe, .dedupeCheckThenWrite, .dedupeInMemory, .dedupeByContent,
    ]

    /// The defects of the published identity guide's webhook code that this backend can show
    /// (X-01, X-02, X-05, X-07, X-08, X-16 to X-20 of the defect list).
    package static let guide: Set<Defect> = [
        .noAuthorizationCheck, .dedupeCheckThenWrite, .lastWriteWins, .malformedFails,
        .unknownTypeOverwrites, .transferFails, .aliasesIgnored, .originalIDIgnored,
        .testEventGrants, .pushResultIgnored, .pushWithoutKey,
    ]
}
