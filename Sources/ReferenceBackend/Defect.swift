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
    case markedBeforeWork = "marked-before-work"
    case twoTransactions = "two-transactions"
    case answerBeforeStore = "answer-before-store"
    case failureAcknowledged = "failure-acknowledged"
    case readFailureSwallowed = "read-failure-swallowed"
    case statusFromType = "status-from-type"
    case expiryIgnored = "expiry-ignored"
    case cancellationRevokes = "cancellation-revokes"
    case refundKeepsAccess = "refund-keeps-access"
    case billingIssueRevokes = "billing-issue-revokes"
    case graceIgnored = "grace-ignored"
    case billingFlagRecomputed = "billing-flag-recomputed"
    case renewalKeepsFlags = "renewal-keeps-flags"
    case uncancellationIgnored = "uncancellation-ignored"
    case recoveryClearsAll = "recovery-clears-all"
    case productChangeAtOnce = "product-change-at-once"
    case pendingProductForgotten = "pending-product-forgotten"
    case expirationEndsAll = "expiration-ends-all"
    case expirationByDate = "expiration-by-date"
    case consumableOverwrites = "consumable-overwrites"
    case lifetimeExpires = "lifetime-expires"
    case pauseRevokes = "pause-revokes"
    case extensionIgnored = "extension-ignored"
    case refundReversedIgnored = "refund-reversed-ignored"
    case temporaryGrantIgnored = "temporary-grant-ignored"
    case testEventPushes = "test-event-pushes"
    case testRejected = "test-rejected"
    case sandboxCounts = "sandbox-counts"
    case sandboxPushes = "sandbox-pushes"
    case billingAnnouncedTwice = "billing-announced-twice"
    case refundTextSame = "refund-text-same"
    case blockedIDsAllowed = "blocked-ids-allowed"
    case longIDsAllowed = "long-ids-allowed"
    case invalidRegistrationFails = "invalid-registration-500"
    case registerNulls = "register-nulls"
    case registerBelievesClock = "register-believes-clock"
    case registerLosesSource = "register-loses-source"
    case registerTakesDevice = "register-takes-device"
    case registerHandsOutToken = "register-hands-out-token"
    case loginWithoutPassword = "login-without-password"
    case loginTellsAccounts = "login-tells-accounts"
    case claimWithoutProof = "claim-without-proof"
    case claimOwnedID = "claim-owned-id"
    case claimNothing = "claim-nothing"
    case claimUnknownID = "claim-unknown-id"
    case claimTwoSteps = "claim-two-steps"
    case recoverDropsPurchases = "recover-drops-purchases"
    case recoverAnswersCurrent = "recover-answers-current"
    case recoverTakesUnproven = "recover-takes-unproven"
    case anonymousBySource = "anonymous-by-source"
    case localTime = "local-time"
    case expiryByDay = "expiry-by-day"
    case reconcileIgnored = "reconcile-ignored"
    case reconcileAddsOnly = "reconcile-adds-only"
    case pushToEveryone = "push-to-everyone"
    case pushWithoutChannel = "push-without-channel"
    case pushToAlias = "push-to-alias"
    case secretShown = "secret-shown"
    case pushUnauthorised = "push-unauthorised"
    case pushIgnoresRetryAfter = "push-ignores-retry-after"
    case pushRetriesForEver = "push-retries-for-ever"
    case overwritesTags = "overwrites-tags"
    case purchaselySignatureIgnored = "purchasely-signature-ignored"
    case purchaselyDeprecatedAccepted = "purchasely-deprecated-accepted"
    case purchaselyAgeIgnored = "purchasely-age-ignored"
    case purchaselyAgeOfEvent = "purchasely-age-of-event"
    case purchaselyNoDedupe = "purchasely-no-dedupe"
    case purchaselyAnswersCreated = "purchasely-answers-201"
    case purchaselyWaitsForPush = "purchasely-waits-for-push"
    case purchaselyUnknownRejected = "purchasely-unknown-rejected"
    case purchaselyCancellationRevokes = "purchasely-cancellation-revokes"
    case purchaselyNeedsUserID = "purchasely-needs-user-id"
    case purchaselyUnknownSkipped = "purchasely-unknown-skipped"
    case purchaselyHolderIgnored = "purchasely-holder-ignored"
    case purchaselyStatusBelieved = "purchasely-status-believed"
    case purchaselyDeactivateEndsAll = "purchasely-deactivate-ends-all"
    case purchaselyLastWriteWins = "purchasely-last-write-wins"
    case purchaselyNextRenewal = "purchasely-next-renewal"
    case purchaselySandboxCounts = "purchasely-sandbox-counts"
    case purchaselyConsumablesMove = "purchasely-consumables-move"
    case tokenMissingFails = "token-missing-500"
    case tokenExpiryIgnored = "token-expiry-ignored"
    case tokenAudienceIgnored = "token-audience-ignored"
    case tokenIssuerIgnored = "token-issuer-ignored"
    case tokenSignatureIgnored = "token-signature-ignored"
    case tokenNoneAccepted = "token-none-accepted"
    case tokenAlgorithmBelieved = "token-algorithm-believed"
    case tokenNeverRefetched = "token-never-refetched"
    case tokenRefetchAlways = "token-refetch-always"
    case tokenKeysDownAccepts = "token-keys-down-accepts"
    case tokenRevocationIgnored = "token-revocation-ignored"
    case tokenEmailIdentity = "token-email-identity"
    case tokenFutureAccepted = "token-future-accepted"
    case tokenSubjectUnchecked = "token-subject-unchecked"
    case tokenAnonymousAccepted = "token-anonymous-accepted"
    case periodRejected = "period-rejected"
    case offerCodeTooLong = "offer-code-too-long"
    case unicodeRejected = "unicode-rejected"
    case wholeNumbersOnly = "whole-numbers-only"
    case keyOrderMatters = "key-order-matters"
    case tokenClaimsIgnored = "token-claims-ignored"
    case tokenMalformedFails = "token-malformed-500"
    case claimAnswersNewID = "claim-answers-new-id"
    case loginMissingPasswordFails = "login-missing-password-500"
    case registeredCountsAsAccount = "registered-counts-as-account"
    case ownedCheckedBefore = "owned-checked-before"
    case webhookClearsOwner = "webhook-clears-owner"
    case registerCheckThenInsert = "register-check-then-insert"
    case registerForgetsOwner = "register-forgets-owner"
    case staleEventAnnounced = "stale-event-announced"
    case purchaselyAnyEventGrants = "purchasely-any-event-grants"
    case purchaselyNullRejected = "purchasely-null-rejected"
    case purchaselyNumbersRejected = "purchasely-numbers-rejected"
    case purchaselyUnicodeRejected = "purchasely-unicode-rejected"
    case purchaselyFieldsRejected = "purchasely-fields-rejected"
    case newProductIgnored = "new-product-ignored"
    case productChangeNeedsNew = "product-change-needs-new"
    case consumableGrants = "consumable-grants"
    case expirationIgnored = "expiration-ignored"
    case promotionForEver = "promotion-for-ever"
    case promotionNotRevoked = "promotion-not-revoked"
    case refundIsFinal = "refund-is-final"
    case renewalKeepsExpiry = "renewal-keeps-expiry"
    case reconcileAnnounces = "reconcile-announces"
    case signatureOnce = "signature-once"
    case anonymousIgnored = "anonymous-ignored"
    case deviceIsIdentity = "device-is-identity"
    case phoneHasOneUser = "phone-has-one-user"
    case deletionKeepsPhone = "deletion-keeps-phone"

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
        case .markedBeforeWork: "an event is marked as seen before its work is done"
        case .twoTransactions: "mark and state are committed one after the other"
        case .answerBeforeStore: "200 is answered before anything is stored"
        case .failureAcknowledged: "an error is answered 200"
        case .readFailureSwallowed: "a customer that cannot be read is skipped"
        case .statusFromType: "access follows from the name of the last event"
        case .expiryIgnored: "access ends only when an event says so"
        case .cancellationRevokes: "CANCELLATION ends access at once"
        case .refundKeepsAccess: "a refund changes nothing"
        case .billingIssueRevokes: "BILLING_ISSUE ends access"
        case .graceIgnored: "the grace period is not kept"
        case .billingFlagRecomputed: "the paired CANCELLATION clears the billing flag"
        case .renewalKeepsFlags: "RENEWAL clears neither the cancel nor the billing flag"
        case .uncancellationIgnored: "UNCANCELLATION changes nothing"
        case .recoveryClearsAll: "a recovery clears the flags of every subscription"
        case .productChangeAtOnce: "PRODUCT_CHANGE changes the product at once"
        case .pendingProductForgotten: "the product of a deferred change is not kept"
        case .expirationEndsAll: "EXPIRATION ends every subscription of the user"
        case .expirationByDate: "EXPIRATION only copies the date it carries"
        case .consumableOverwrites: "a one-time purchase ends the subscriptions"
        case .lifetimeExpires: "an expiry of null counts as 1970"
        case .pauseRevokes: "SUBSCRIPTION_PAUSED ends access at once"
        case .extensionIgnored: "SUBSCRIPTION_EXTENDED changes nothing"
        case .refundReversedIgnored: "REFUND_REVERSED changes nothing"
        case .temporaryGrantIgnored: "TEMPORARY_ENTITLEMENT_GRANT changes nothing"
        case .testEventPushes: "TEST sends a push"
        case .testRejected: "the nulls of TEST are answered 400"
        case .sandboxCounts: "SANDBOX counts as PRODUCTION"
        case .sandboxPushes: "people are told about sandbox events"
        case .billingAnnouncedTwice: "one failed payment is told twice"
        case .refundTextSame: "a refund is told as a cancellation"
        case .blockedIDsAllowed: "blocked ids become users"
        case .longIDsAllowed: "ids beyond 100 characters become users"
        case .invalidRegistrationFails: "an invalid registration is answered 500"
        case .registerNulls: "a registration without a platform erases it"
        case .registerBelievesClock: "the client's clock sets the time of the last visit"
        case .registerLosesSource: "a later registration overwrites the source"
        case .registerTakesDevice: "whoever registers last owns the device"
        case .registerHandsOutToken: "every registration hands out the proof of ownership"
        case .loginWithoutPassword: "any password signs in"
        case .loginTellsAccounts: "an unknown account is answered 404"
        case .claimWithoutProof: "an id can be claimed by naming it"
        case .claimOwnedID: "an id that somebody owns changes hands"
        case .claimNothing: "a login without an id claims null"
        case .claimUnknownID: "an id that nobody registered is claimed"
        case .claimTwoSteps: "the check and the claim are two steps"
        case .recoverDropsPurchases: "a recovery deletes what the device had bought"
        case .recoverTakesUnproven: "a recovery takes the purchases of any id it names"
        case .recoverAnswersCurrent: "a recovery answers the device's id"
        case .anonymousBySource: "who is anonymous is stored twice"
        case .localTime: "times are read in the server's time zone"
        case .expiryByDay: "the expiry is kept as a date without a time"
        case .reconcileIgnored: "reconciliation does nothing"
        case .reconcileAddsOnly: "reconciliation never removes"
        case .pushToEveryone: "a push goes to a segment as well"
        case .pushWithoutChannel: "a push names no target channel"
        case .pushToAlias: "a push names the id of before the login"
        case .secretShown: "an answer holds the provider's key"
        case .pushUnauthorised: "pushes carry another app's key"
        case .pushIgnoresRetryAfter: "Retry-After is not read"
        case .pushRetriesForEver: "a refused push is sent for ever"
        case .overwritesTags: "RevenueCat's tags are written by the backend too"
        case .purchaselySignatureIgnored: "Purchasely's signature is not checked"
        case .purchaselyDeprecatedAccepted: "the signature of old, which covers no body, passes"
        case .purchaselyAgeIgnored: "an old Purchasely signature passes for ever"
        case .purchaselyAgeOfEvent: "the age of the event, not of the request, is checked"
        case .purchaselyNoDedupe: "Purchasely's event ids are not remembered"
        case .purchaselyAnswersCreated: "a new Purchasely event is answered 201"
        case .purchaselyWaitsForPush: "Purchasely waits for the push"
        case .purchaselyUnknownRejected: "an unknown Purchasely event is answered 400"
        case .purchaselyCancellationRevokes: "RENEWAL_DISABLED ends access"
        case .purchaselyNeedsUserID: "events of anonymous users are answered 400"
        case .purchaselyUnknownSkipped: "events for unknown users are dropped"
        case .purchaselyHolderIgnored: "DEACTIVATE ends the subscription for whoever has it"
        case .purchaselyStatusBelieved: "subscription_status wins over DEACTIVATE"
        case .purchaselyDeactivateEndsAll: "DEACTIVATE ends everything of its user"
        case .purchaselyLastWriteWins: "an older Purchasely event overwrites newer state"
        case .purchaselyNextRenewal: "access ends at the theoretical renewal"
        case .purchaselySandboxCounts: "Purchasely's SANDBOX counts as PRODUCTION"
        case .purchaselyConsumablesMove: "one-time purchases move with the subscription"
        case .tokenMissingFails: "a request without a token is answered 500"
        case .tokenExpiryIgnored: "tokens never expire"
        case .tokenAudienceIgnored: "tokens of other projects pass"
        case .tokenIssuerIgnored: "tokens of other issuers pass"
        case .tokenSignatureIgnored: "tokens are decoded and not verified"
        case .tokenNoneAccepted: "unsigned tokens pass"
        case .tokenAlgorithmBelieved: "HS256 passes"
        case .tokenNeverRefetched: "a rotated key is not fetched"
        case .tokenRefetchAlways: "every unknown key id fetches the keys"
        case .tokenKeysDownAccepts: "without keys every token passes"
        case .tokenRevocationIgnored: "revoked and disabled users pass"
        case .tokenEmailIdentity: "the email, not the subject, is the identity"
        case .tokenFutureAccepted: "tokens from the future pass"
        case .tokenSubjectUnchecked: "an empty or over-long subject passes"
        case .tokenAnonymousAccepted: "anonymous sessions pass"
        case .periodRejected: "an unknown period type is answered 422"
        case .offerCodeTooLong: "a text beyond 255 characters is answered 500"
        case .unicodeRejected: "a text beyond ASCII is answered 500"
        case .wholeNumbersOnly: "a number beyond 32 bits is answered 422"
        case .keyOrderMatters: "another order of keys is answered 400"
        case .tokenClaimsIgnored: "neither audience nor issuer is checked"
        case .tokenMalformedFails: "what is no token is answered 500"
        case .claimAnswersNewID: "a claim answers an id that it made up"
        case .loginMissingPasswordFails: "a login without a password is answered 500"
        case .registeredCountsAsAccount: "whoever registered counts as having an account"
        case .ownedCheckedBefore: "what an account owns is read before the lock"
        case .webhookClearsOwner: "an event unlinks the account"
        case .registerCheckThenInsert: "a registration looks first and inserts later"
        case .registerForgetsOwner: "a second registration unlinks the account"
        case .staleEventAnnounced: "people are told about events that came too late"
        case .purchaselyAnyEventGrants: "every Purchasely event but DEACTIVATE grants"
        case .purchaselyNullRejected: "a null from Purchasely is answered 422"
        case .purchaselyNumbersRejected: "a price beyond a million is answered 422"
        case .purchaselyUnicodeRejected: "a text beyond ASCII from Purchasely is answered 422"
        case .purchaselyFieldsRejected: "an unknown field of Purchasely's is answered 422"
        case .newProductIgnored: "the renewal of a product that is new is ignored"
        case .productChangeNeedsNew: "a change without a new product is answered 500"
        case .consumableGrants: "coins unlock the subscription"
        case .expirationIgnored: "EXPIRATION changes nothing"
        case .promotionForEver: "a promotion never ends"
        case .promotionNotRevoked: "a promotion cannot be taken back"
        case .refundIsFinal: "after a refund nothing grants again"
        case .renewalKeepsExpiry: "RENEWAL keeps the old expiry"
        case .reconcileAnnounces: "reconciliation tells everybody"
        case .signatureOnce: "a second signature for the same event is refused"
        case .anonymousIgnored: "events of anonymous customers are dropped"
        case .deviceIsIdentity: "whoever uses a phone is who used it before"
        case .phoneHasOneUser: "a new user of a phone ends what the one before had"
        case .deletionKeepsPhone: "a deleted account keeps its phone"
        }
    }

    /// The clauses it breaks, first the one it was made for.
    package var clauses: [String] {
        switch self {
        case .noAuthorizationCheck, .authorizationMissingAllowed, .authorizationPrefix,
            .authorizationExtra, .authorizationAnyCase, .authorizationSchemeOnly,
            .signatureIgnored, .signatureMissingAllowed, .signatureAgeIgnored, .signatureOnce:
            ["S-01"]
        case .noDedupe:
            ["S-03", "S-07", "A-01"]
        case .dedupeCheckThenWrite, .dedupeByContent, .dedupeByTransaction, .duplicateRejected:
            ["S-03"]
        case .dedupeInMemory:
            ["S-03", "S-04"]
        case .brokenBodyMarked:
            ["S-07", "S-04", "A-01"]
        case .duplicateDropsConnection:
            ["S-33"]
        case .lastWriteWins:
            ["S-09", "S-15"]
        case .malformedFails, .malformedAccepted:
            ["S-02"]
        case .unknownTypeRejected, .unknownTypeOverwrites, .informationalExtends,
            .unknownFieldRejected, .nullRejected, .missingKeyRejected, .unknownStoreRejected,
            .unknownReasonFails, .bodyLimit, .depthLimit, .periodRejected, .offerCodeTooLong,
            .unicodeRejected, .wholeNumbersOnly, .keyOrderMatters:
            ["S-08"]
        case .ignoredAnswersNoContent, .markedBeforeWork, .failureAcknowledged,
            .readFailureSwallowed:
            ["S-07"]
        case .testEventGrants, .testEventPushes, .testRejected:
            ["S-18"]
        case .transferFails, .transferFirstOnly:
            ["S-17"]
        case .transferIgnored, .transferKeepsSource:
            ["S-17", "A-07"]
        case .aliasesIgnored, .originalIDIgnored:
            ["S-20"]
        case .noMerge:
            ["S-20", "A-02", "A-04", "A-06"]
        case .unknownUserSkipped, .unknownUserRejected:
            ["S-21"]
        case .registerResets:
            ["S-21", "S-22", "A-03", "A-06", "A-08"]
        case .pushResultIgnored:
            ["S-30", "A-01"]
        case .pushEmptyIDAccepted, .pushErrorsTakenForFailure:
            ["S-30"]
        case .pushWithoutKey, .outboxInMemory:
            ["S-05"]
        case .pushNewKey:
            ["O-03", "A-01"]
        case .pushBeforeAnswer, .pushFailureFailsWebhook:
            ["S-06", "S-04"]
        case .twoTransactions, .answerBeforeStore:
            ["S-04"]
        case .statusFromType, .pauseRevokes, .extensionIgnored, .temporaryGrantIgnored,
            .renewalKeepsExpiry:
            ["S-10"]
        case .expiryIgnored:
            ["S-10", "S-12"]
        case .cancellationRevokes, .refundKeepsAccess, .refundReversedIgnored,
            .promotionNotRevoked, .refundIsFinal:
            ["S-11"]
        case .billingIssueRevokes, .graceIgnored, .billingFlagRecomputed:
            ["S-12"]
        case .renewalKeepsFlags, .uncancellationIgnored, .recoveryClearsAll:
            ["S-13"]
        case .productChangeAtOnce, .pendingProductForgotten, .newProductIgnored,
            .productChangeNeedsNew:
            ["S-14"]
        case .expirationEndsAll:
            ["S-15"]
        case .expirationByDate:
            ["S-15", "S-12"]
        case .consumableOverwrites, .lifetimeExpires, .consumableGrants, .promotionForEver:
            ["S-16"]
        case .sandboxCounts:
            ["S-19"]
        case .sandboxPushes, .billingAnnouncedTwice, .refundTextSame, .staleEventAnnounced:
            ["S-31"]
        case .blockedIDsAllowed:
            ["S-23", "S-21"]
        case .longIDsAllowed, .invalidRegistrationFails:
            ["S-23"]
        case .registerNulls, .registerBelievesClock, .registerCheckThenInsert,
            .registerForgetsOwner:
            ["S-22"]
        case .registerLosesSource:
            ["S-21", "S-24"]
        case .registerTakesDevice, .registerHandsOutToken:
            ["S-24"]
        case .loginWithoutPassword, .loginTellsAccounts, .loginMissingPasswordFails:
            ["S-25"]
        case .claimWithoutProof, .claimOwnedID, .claimNothing, .claimUnknownID,
            .claimAnswersNewID:
            ["S-26"]
        case .claimTwoSteps, .ownedCheckedBefore:
            ["S-27"]
        case .recoverDropsPurchases, .recoverAnswersCurrent, .recoverTakesUnproven:
            ["S-28"]
        case .anonymousBySource, .registeredCountsAsAccount, .webhookClearsOwner:
            ["S-29"]
        case .localTime:
            ["S-32"]
        case .expiryByDay:
            ["S-32", "S-10"]
        case .reconcileIgnored:
            ["S-34", "A-10"]
        case .reconcileAddsOnly, .reconcileAnnounces:
            ["S-34"]
        case .pushToEveryone, .pushWithoutChannel, .pushToAlias:
            ["O-01"]
        case .secretShown, .pushUnauthorised:
            ["O-02"]
        case .pushIgnoresRetryAfter, .pushRetriesForEver:
            ["O-04"]
        case .overwritesTags:
            ["O-05"]
        case .purchaselySignatureIgnored, .purchaselyDeprecatedAccepted:
            ["P-01"]
        case .purchaselyAgeIgnored, .purchaselyAgeOfEvent:
            ["P-02"]
        case .purchaselyNoDedupe:
            ["P-03", "P-04"]
        case .purchaselyAnswersCreated, .purchaselyWaitsForPush:
            ["P-04"]
        case .purchaselyUnknownRejected, .purchaselyCancellationRevokes,
            .purchaselyAnyEventGrants, .purchaselyNullRejected, .purchaselyNumbersRejected,
            .purchaselyUnicodeRejected, .purchaselyFieldsRejected:
            ["P-05"]
        case .purchaselyNeedsUserID, .purchaselyUnknownSkipped:
            ["P-06"]
        case .purchaselyHolderIgnored, .purchaselyStatusBelieved:
            ["P-07"]
        case .purchaselyDeactivateEndsAll:
            ["P-08", "P-09"]
        case .purchaselyLastWriteWins:
            ["P-08"]
        case .purchaselyNextRenewal, .purchaselySandboxCounts:
            ["P-09"]
        case .purchaselyConsumablesMove:
            ["P-10"]
        case .tokenMissingFails, .tokenMalformedFails:
            ["F-01"]
        case .tokenExpiryIgnored:
            ["F-02"]
        case .tokenAudienceIgnored, .tokenIssuerIgnored, .tokenClaimsIgnored:
            ["F-03"]
        case .tokenSignatureIgnored, .tokenNoneAccepted, .tokenAlgorithmBelieved:
            ["F-04"]
        case .tokenNeverRefetched, .tokenRefetchAlways:
            ["F-05"]
        case .tokenKeysDownAccepts:
            ["F-06"]
        case .tokenRevocationIgnored:
            ["F-07"]
        case .tokenEmailIdentity:
            ["F-08"]
        case .tokenFutureAccepted, .tokenSubjectUnchecked:
            ["F-09"]
        case .tokenAnonymousAccepted:
            ["F-10"]
        case .expirationIgnored:
            ["S-15", "S-10"]
        case .anonymousIgnored:
            ["A-01"]
        case .deviceIsIdentity, .phoneHasOneUser:
            ["A-05"]
        case .deletionKeepsPhone:
            ["A-11"]
        }
    }

    /// The style of the backend in which the deviation exists.
    package var style: ReferenceBackend.Style {
        switch self {
        case .markedBeforeWork, .failureAcknowledged, .readFailureSwallowed,
            .reconcileIgnored, .reconcileAddsOnly,
            .reconcileAnnounces:
            .sync
        default: .body
        }
    }

    /// Defects that show only where the provider does not suppress the second push: with them,
    /// each message gets a key of its own.
    static let withOwnKeys: Set<Defect> = [
        .noDedupe, .dedupeCheckThenWrite, .dedupeInMemory, .dedupeByContent, .purchaselyNoDedupe,
    ]

    /// The defects of the published identity guide's webhook, registration and login code that this
    /// backend can show (X-01 to X-36 of the defect list; which is which: `Conformance.docc`).
    package static let guide: Set<Defect> = [
        .noAuthorizationCheck, .dedupeCheckThenWrite, .lastWriteWins, .malformedFails,
        .unknownTypeOverwrites, .transferFails, .aliasesIgnored, .originalIDIgnored,
        .testEventGrants, .pushResultIgnored, .pushWithoutKey, .statusFromType, .sandboxCounts,
        .sandboxPushes, .billingFlagRecomputed, .graceIgnored, .blockedIDsAllowed,
        .longIDsAllowed, .registerNulls, .registerBelievesClock, .loginWithoutPassword,
        .claimWithoutProof, .claimNothing, .billingAnnouncedTwice, .refundTextSame,
    ]
}
