/// A built-in defect of the scripted app that violates one or more contract clauses.
///
/// Each defect replaces one of the app's decisions with a wrong decision, as `deviations` defines.
/// `assay mutants` runs the phone contracts against each defect and expects them to detect the
/// defect. A defect with an `X-` number is a mistake in the client of the published guide (identity
/// rules, D.3).
package enum ClientDefect: String, Sendable, CaseIterable {
    case commandsInBrowser = "commands-in-browser"
    case readsHistoryDespiteVault = "asks-everything"
    case readsHistoryBeforeVault = "history-first"
    case neverReadsHistory = "history-ignored"
    case acceptsAnyVaultValue = "believes-vault"
    case throwsOnNull = "throws-on-null"
    case waitsForBridgeTimeout = "waits-for-bridge"
    case selectsFirstHistoryEntry = "first-entry"
    case restoreSelectsFirstEntry = "restore-first-entry"
    case adoptsAnonymousID = "adopts-anonymous"
    case adoptsSandboxUser = "adopts-sandbox"
    case neverLocksHistoryID = "no-lock"
    case locksAfterRegistration = "lock-after-register"
    case registersBeforeVaultWrite = "register-before-write"
    case ignoresLostVaultWrite = "write-unconfirmed"
    case sendsAliasOnlyAtLaunch = "alias-at-launch-only"
    case sendsPreviousAlias = "alias-of-before"
    case skipsRegistrationOnLogin = "no-register-on-login"
    case skipsRegistrationOnRestore = "no-register-on-restore"
    case ignoresRegistrationStatus = "status-ignored"
    case ignoresRegistrationResponseID = "answer-unread"
    case treatsFailedRegistrationAsSuccess = "failure-counts"
    case neverRetriesRegistration = "never-retries"
    case retriesForPreviousUsers = "queue-replayed"
    case registersOnlyNewIDs = "registers-new-only"
    case omitsPlatform = "no-platform"
    case reportsUnknownPlatformAsIOS = "anything-is-ios"
    case sendsUndefinedInstallID = "missing-id-written"
    case createsDeviceIDPerLaunch = "device-per-launch"
    case opensPaywallBeforeRegistration = "paywall-ungated"
    case neverOpensPaywall = "gate-shut"
    case allowsPaywallForAnyRegisteredID = "flag-not-id"
    case opensPaywallDuringLogout = "not-gated-in-flight"
    case opensPaywallForPreviousUser = "paywall-of-before"
    case opensSecondPaywallOnDoubleTap = "double-tap"
    case waitsWithoutTimeout = "spins-for-ever"
    case unencoded
    case encodesIDsTwice = "encoded-twice"
    case skipsVaultDecoding = "reads-raw"
    case grantsAccessOnCallback = "grants-on-callback"
    case callbackRequiresArgument = "callback-needs-object"
    case neverRequestsAccessAfterPurchase = "never-unlocks"
    case readsWrongProductField = "product-identifier"
    case showsNoSubscriptionOnMissingReply = "silence-is-free"
    case emptyRestoreCreatesNewID = "restore-clears"
    case restoreReplacesSignedInUser = "restore-replaces-account"
    case loginSendsInstallID = "login-names-install"
    case refusedLoginChangesID = "login-applies-failure"
    case webStorageOverridesVault = "page-over-vault"
    case neverResumesInterruptedLogin = "login-forgotten"
    case neverReadsLock = "lock-unread"
    case neverReplacesLockedID = "lock-is-final"
    case logoutIDContainsTime = "logout-by-time"
    case logoutReusesInstallID = "logout-to-install"
    case logoutKeepsLock = "keeps-lock"
    case revertsToInstallIDAfterLogout = "install-after-logout"
    case keepsOldIDAfterFailedLogout = "logout-half"
    case eachPageCreatesOwnID = "each-page-its-own"
    case reloadBlocksLaterStarts = "stuck-after-reload"
    case adoptsLateVaultReply = "late-reply-adopted"
    case readsVaultKeyConcurrently = "reads-at-once"
    case storesEmailInVault = "email-in-vault"
    case usesWindowPropertyAsVaultKey = "key-of-window"
    case installsCallbacksLate = "callbacks-late"
    case runsStartTwice = "resolves-twice"
    case encodesPaywallIDTwice = "paywall-encoded-twice"
    case unlocksAfterLogoutWrite = "unlocks-late"
    case retriesForLoggedOutUser = "stale-retry"
    case continuesRetryDuringLogin = "retry-during-login"
    case losesRegistrationDuringRetry = "retry-blocks-next"
    case keepsAccessForNextUser = "access-inherited"
    case adoptsUnflaggedAnonymousID = "adopts-unflagged"
    case acceptsAnyLoginResponseID = "login-of-nobody"
    case blocksPaywallAfterCancellation = "one-sale-only"
    case retriesWithoutBackoff = "hot-retries"
    case restoreSkipsLock = "restore-unlocked"
    case selectsUserWithoutUsableID = "owned-by-nobody"
    case waitsForeverForInstallID = "waits-for-install"

    /// A one-line description of the defect for reports.
    package var summary: String { defectFacts.summary }

    /// The IDs of the clauses whose contracts must detect the defect.
    package var clauses: [String] { defectFacts.clauses }

    /// The `X-` number of the mistake in the published guide; nil for other defects.
    package var guideID: String? { defectFacts.guideID }

    private var defectFacts: (summary: String, clauses: [String], guideID: String?) {
        switch self {
        case .commandsInBrowser: ("a browser is treated as a phone with a bridge", ["C-01"], "X-56")
        case .readsHistoryDespiteVault:
            ("the purchase history is read although the vault has the user ID", ["C-02"], nil)
        case .readsHistoryBeforeVault:
            ("the purchase history is read before the vault", ["C-02"], nil)
        case .acceptsAnyVaultValue:
            ("any value in the vault is accepted as a user ID", ["C-03"], nil)
        case .throwsOnNull:
            ("a null value from the bridge aborts the start of the app", ["C-04"], nil)
        case .waitsForBridgeTimeout:
            ("reads from the vault wait for the bridge's timeout of 30 seconds", ["C-05"], "X-41")
        case .selectsFirstHistoryEntry:
            ("the first purchase selects the user, even if it is inactive", ["C-06"], nil)
        case .restoreSelectsFirstEntry:
            ("the restore button and the start select the user differently", ["C-06"], "X-49")
        case .adoptsAnonymousID:
            ("an anonymous ID in the purchase history becomes the user ID", ["C-06"], "X-51")
        case .adoptsSandboxUser: ("a sandbox purchase selects the user", ["C-06"], nil)
        case .neverLocksHistoryID:
            ("a user ID from the purchase history is not locked", ["C-07"], nil)
        case .locksAfterRegistration:
            ("the lock of a user ID is written only after the registration", ["C-07"], nil)
        case .registersBeforeVaultWrite:
            ("the backend gets a new user ID before the phone has stored it", ["C-08"], "X-45")
        case .ignoresLostVaultWrite:
            ("a lost write to the vault is never noticed", ["C-09"], "X-46")
        case .sendsAliasOnlyAtLaunch:
            ("OneSignal gets the user ID only when the app starts", ["C-10"], nil)
        case .sendsPreviousAlias: ("OneSignal gets the previous user ID", ["C-10"], nil)
        case .skipsRegistrationOnLogin: ("a login sends no registration", ["C-11", "C-28"], "X-54")
        case .skipsRegistrationOnRestore: ("a restore sends no registration", ["C-11"], nil)
        case .ignoresRegistrationStatus:
            ("any response to a registration counts as success", ["C-12"], "X-38")
        case .ignoresRegistrationResponseID:
            ("the user ID in the response to a registration is not checked", ["C-12"], nil)
        case .treatsFailedRegistrationAsSuccess:
            ("a failed registration is treated as successful", ["C-12", "C-16"], "X-37")
        case .neverRetriesRegistration:
            ("a failed registration is queued but never sent again", ["C-13"], "X-39")
        case .retriesForPreviousUsers:
            ("every failed registration is sent again, even for a previous user", ["C-13"], nil)
        case .omitsPlatform:
            (
                "the registrations after a restore and after a logout omit the platform", ["C-14"],
                nil
            )
        case .reportsUnknownPlatformAsIOS:
            ("registrations name every platform except Android as iOS", ["C-14"], "X-61")
        case .sendsUndefinedInstallID:
            ("a missing install ID is sent to the backend as 'undefined'", ["C-15"], "X-40")
        case .createsDeviceIDPerLaunch: ("every launch registers a new device ID", ["C-15"], nil)
        case .opensPaywallBeforeRegistration:
            ("a paywall opens before the user ID is registered", ["C-16", "C-18"], nil)
        case .allowsPaywallForAnyRegisteredID:
            (
                "the registration of any user ID, not only the current one, allows a paywall",
                ["C-16", "C-32"], "X-55"
            )
        case .opensPaywallDuringLogout:
            ("a paywall opens during a logout", ["C-18"], "X-43")
        case .opensPaywallForPreviousUser: ("a paywall gets the previous user ID", ["C-17"], nil)
        case .opensSecondPaywallOnDoubleTap:
            ("a second tap opens a second paywall", ["C-19"], "X-60")
        case .waitsWithoutTimeout:
            ("the app waits for a response without a time limit", ["C-20"], "X-59")
        case .unencoded: ("user IDs in bridge commands are not percent-encoded", ["C-21"], "X-44")
        case .encodesIDsTwice:
            ("user IDs in bridge commands are percent-encoded twice", ["C-21"], nil)
        case .skipsVaultDecoding: ("values from the vault are not percent-decoded", ["C-22"], nil)
        case .grantsAccessOnCallback:
            ("the purchase callback alone unlocks the paid content", ["C-23"], nil)
        case .callbackRequiresArgument:
            ("a purchase callback without an argument throws an error", ["C-24"], nil)
        case .readsWrongProductField:
            ("the product of a purchase is read from the wrong field", ["C-25"], "X-47")
        case .showsNoSubscriptionOnMissingReply:
            ("a missing history reply is shown as 'no subscription'", ["C-25"], "X-48")
        case .emptyRestoreCreatesNewID:
            ("a restore that finds nothing creates a new user ID", ["C-26"], nil)
        case .restoreReplacesSignedInUser:
            ("a restore silently replaces the ID of a signed-in user", ["C-26"], "X-52")
        case .loginSendsInstallID:
            ("a login sends the install ID instead of the current user ID", ["C-27"], nil)
        case .refusedLoginChangesID: ("a refused login changes the user ID", ["C-27"], nil)
        case .webStorageOverridesVault:
            ("the user ID in the page's web storage overrides the vault", ["C-28"], nil)
        case .neverResumesInterruptedLogin:
            ("an interrupted login is not resumed at the next launch", ["C-28"], nil)
        case .neverReadsLock: ("the lock of the user ID is never read", ["C-29"], "X-50")
        case .neverReplacesLockedID:
            ("a locked user ID can never be replaced, even if the user agrees", ["C-29"], nil)
        case .logoutIDContainsTime:
            ("the new user ID after a logout is the install ID plus the time", ["C-30"], "X-62")
        case .logoutReusesInstallID:
            ("the new user ID after a logout is the install ID", ["C-30"], nil)
        case .revertsToInstallIDAfterLogout:
            (
                "the install ID becomes the user ID again when the vault entry is lost", ["C-31"],
                "X-42"
            )
        case .keepsOldIDAfterFailedLogout:
            (
                "after a logout, the page keeps the old user ID if the registration fails",
                ["C-32"], nil
            )
        case .eachPageCreatesOwnID: ("each open page creates its own user ID", ["C-33"], nil)
        case .adoptsLateVaultReply:
            ("the value in a late vault reply becomes the user ID", ["C-34"], nil)
        case .readsVaultKeyConcurrently:
            ("two reads of the same vault key are concurrent", ["C-34"], nil)
        case .storesEmailInVault:
            ("the account's email address is stored in the unprotected vault", ["C-35"], nil)
        case .usesWindowPropertyAsVaultKey:
            ("a vault key is the name of a window property", ["C-35"], nil)
        case .installsCallbacksLate:
            ("purchase callbacks are installed only when the first paywall opens", ["C-24"], nil)
        case .runsStartTwice: ("a page runs its start sequence twice", ["C-33"], nil)
        case .encodesPaywallIDTwice:
            ("the user ID in a paywall command is percent-encoded twice", ["C-21"], nil)
        case .unlocksAfterLogoutWrite:
            ("a logout removes the lock only after it wrote the new user ID", ["C-30"], nil)
        case .retriesForLoggedOutUser:
            ("a registration retry registers a user who has logged out", ["C-11"], nil)
        case .continuesRetryDuringLogin:
            (
                "a registration retry continues for the previous user ID during a login", ["C-11"],
                nil
            )
        case .losesRegistrationDuringRetry:
            (
                "a registration that fails during the retry for another user ID is lost", ["C-13"],
                nil
            )
        case .keepsAccessForNextUser:
            ("paid content of one user stays unlocked for the next user", ["C-30"], nil)
        case .adoptsUnflaggedAnonymousID:
            ("an anonymous ID without the anonymous flag becomes the user ID", ["C-06"], nil)
        case .acceptsAnyLoginResponseID:
            ("any value in a login response is accepted as a user ID", ["C-27"], nil)
        case .blocksPaywallAfterCancellation:
            ("no paywall opens after a canceled purchase", ["C-19"], nil)
        case .retriesWithoutBackoff:
            ("the delays between registration retries do not grow", ["C-13"], nil)
        case .restoreSkipsLock:
            ("a user ID that the restore button finds is not locked", ["C-07"], nil)
        case .selectsUserWithoutUsableID:
            ("a purchase without a usable user ID selects the user", ["C-06"], nil)
        case .waitsForeverForInstallID:
            ("the start of the app waits forever for an install ID", ["C-20"], nil)
        case .logoutKeepsLock: ("a logout does not remove the lock of the user ID", ["C-30"], nil)
        case .neverRequestsAccessAfterPurchase:
            ("the app never asks the backend for access after a purchase", ["C-23"], nil)
        case .neverOpensPaywall: ("no paywall ever opens", ["C-16"], nil)
        case .registersOnlyNewIDs:
            ("a user ID that the app already had is not registered again", ["C-13"], nil)
        case .neverReadsHistory: ("the purchase history is never read", ["C-02"], nil)
        case .reloadBlocksLaterStarts:
            ("a reload during the start of the app prevents all later starts", ["C-33"], nil)
        }
    }
}
