/// A built-in defect of the scripted app that violates one or more contract clauses.
///
/// Each defect replaces one of the app's decisions with a wrong decision, as `deviations` defines.
/// `assay mutants` runs the phone contracts against each defect and expects them to detect the
/// defect. A defect with an `X-` number is a mistake in the client of the published guide (identity
/// rules, D.3).
package enum ClientDefect: String, Sendable, CaseIterable {
    case commandsInBrowser = "commands-in-browser"
    case asksEverything = "asks-everything"
    case historyFirst = "history-first"
    case historyIgnored = "history-ignored"
    case believesVault = "believes-vault"
    case throwsOnNull = "throws-on-null"
    case waitsForBridge = "waits-for-bridge"
    case firstEntry = "first-entry"
    case restoreFirstEntry = "restore-first-entry"
    case adoptsAnonymous = "adopts-anonymous"
    case adoptsSandbox = "adopts-sandbox"
    case noLock = "no-lock"
    case lockAfterRegister = "lock-after-register"
    case registerBeforeWrite = "register-before-write"
    case writeUnconfirmed = "write-unconfirmed"
    case aliasAtLaunchOnly = "alias-at-launch-only"
    case aliasOfBefore = "alias-of-before"
    case noRegisterOnLogin = "no-register-on-login"
    case noRegisterOnRestore = "no-register-on-restore"
    case statusIgnored = "status-ignored"
    case answerUnread = "answer-unread"
    case failureCounts = "failure-counts"
    case neverRetries = "never-retries"
    case queueReplayed = "queue-replayed"
    case registersNewOnly = "registers-new-only"
    case noPlatform = "no-platform"
    case anythingIsIOS = "anything-is-ios"
    case missingIDWritten = "missing-id-written"
    case devicePerLaunch = "device-per-launch"
    case paywallUngated = "paywall-ungated"
    case gateShut = "gate-shut"
    case flagNotID = "flag-not-id"
    case notGatedInFlight = "not-gated-in-flight"
    case paywallOfBefore = "paywall-of-before"
    case doubleTap = "double-tap"
    case spinsForEver = "spins-for-ever"
    case unencoded
    case encodedTwice = "encoded-twice"
    case readsRaw = "reads-raw"
    case grantsOnCallback = "grants-on-callback"
    case callbackNeedsObject = "callback-needs-object"
    case neverUnlocks = "never-unlocks"
    case productIdentifier = "product-identifier"
    case silenceIsFree = "silence-is-free"
    case restoreClears = "restore-clears"
    case restoreReplacesAccount = "restore-replaces-account"
    case loginNamesInstall = "login-names-install"
    case loginAppliesFailure = "login-applies-failure"
    case pageOverVault = "page-over-vault"
    case loginForgotten = "login-forgotten"
    case lockUnread = "lock-unread"
    case lockIsFinal = "lock-is-final"
    case logoutByTime = "logout-by-time"
    case logoutToInstall = "logout-to-install"
    case keepsLock = "keeps-lock"
    case installAfterLogout = "install-after-logout"
    case logoutHalf = "logout-half"
    case eachPageItsOwn = "each-page-its-own"
    case stuckAfterReload = "stuck-after-reload"
    case lateReplyAdopted = "late-reply-adopted"
    case readsAtOnce = "reads-at-once"
    case emailInVault = "email-in-vault"
    case keyOfWindow = "key-of-window"
    case callbacksLate = "callbacks-late"
    case resolvesTwice = "resolves-twice"
    case paywallEncodedTwice = "paywall-encoded-twice"
    case unlocksLate = "unlocks-late"
    case staleRetry = "stale-retry"
    case retryDuringLogin = "retry-during-login"
    case retryBlocksNext = "retry-blocks-next"
    case accessInherited = "access-inherited"
    case adoptsUnflagged = "adopts-unflagged"
    case loginOfNobody = "login-of-nobody"
    case oneSaleOnly = "one-sale-only"
    case hotRetries = "hot-retries"
    case restoreUnlocked = "restore-unlocked"
    case ownedByNobody = "owned-by-nobody"
    case waitsForInstall = "waits-for-install"

    /// A one-line description of the defect for reports.
    package var summary: String { facts.summary }

    /// The IDs of the clauses whose contracts must detect the defect.
    package var clauses: [String] { facts.clauses }

    /// The `X-` number of the mistake in the published guide; nil for other defects.
    package var guide: String? { facts.guide }

    private var facts: (summary: String, clauses: [String], guide: String?) {
        switch self {
        case .commandsInBrowser: ("a browser is treated as a phone with a bridge", ["C-01"], "X-56")
        case .asksEverything:
            ("the purchase history is read although the vault has the user ID", ["C-02"], nil)
        case .historyFirst: ("the purchase history is read before the vault", ["C-02"], nil)
        case .believesVault: ("any value in the vault is accepted as a user ID", ["C-03"], nil)
        case .throwsOnNull:
            ("a null value from the bridge aborts the start of the app", ["C-04"], nil)
        case .waitsForBridge:
            ("reads from the vault wait for the bridge's timeout of 30 seconds", ["C-05"], "X-41")
        case .firstEntry:
            ("the first purchase selects the user, even if it is inactive", ["C-06"], nil)
        case .restoreFirstEntry:
            ("the restore button and the start select the user differently", ["C-06"], "X-49")
        case .adoptsAnonymous:
            ("an anonymous ID in the purchase history becomes the user ID", ["C-06"], "X-51")
        case .adoptsSandbox: ("a sandbox purchase selects the user", ["C-06"], nil)
        case .noLock: ("a user ID from the purchase history is not locked", ["C-07"], nil)
        case .lockAfterRegister:
            ("the lock of a user ID is written only after the registration", ["C-07"], nil)
        case .registerBeforeWrite:
            ("the backend gets a new user ID before the phone has stored it", ["C-08"], "X-45")
        case .writeUnconfirmed: ("a lost write to the vault is never noticed", ["C-09"], "X-46")
        case .aliasAtLaunchOnly:
            ("OneSignal gets the user ID only when the app starts", ["C-10"], nil)
        case .aliasOfBefore: ("OneSignal gets the previous user ID", ["C-10"], nil)
        case .noRegisterOnLogin: ("a login sends no registration", ["C-11", "C-28"], "X-54")
        case .noRegisterOnRestore: ("a restore sends no registration", ["C-11"], nil)
        case .statusIgnored: ("any response to a registration counts as success", ["C-12"], "X-38")
        case .answerUnread:
            ("the user ID in the response to a registration is not checked", ["C-12"], nil)
        case .failureCounts:
            ("a failed registration is treated as successful", ["C-12", "C-16"], "X-37")
        case .neverRetries:
            ("a failed registration is queued but never sent again", ["C-13"], "X-39")
        case .queueReplayed:
            ("every failed registration is sent again, even for a previous user", ["C-13"], nil)
        case .noPlatform:
            ("the registrations of a restore and a logout omit the platform", ["C-14"], nil)
        case .anythingIsIOS:
            ("registrations name every platform except Android as iOS", ["C-14"], "X-61")
        case .missingIDWritten:
            ("a missing install ID is sent to the backend as 'undefined'", ["C-15"], "X-40")
        case .devicePerLaunch: ("every launch registers a new device ID", ["C-15"], nil)
        case .paywallUngated:
            ("a paywall opens before the user ID is registered", ["C-16", "C-18"], nil)
        case .flagNotID:
            (
                "the registration of any user ID, not only the current one, allows a paywall",
                ["C-16", "C-32"], "X-55"
            )
        case .notGatedInFlight:
            ("a paywall opens during a logout", ["C-18"], "X-43")
        case .paywallOfBefore: ("a paywall gets the previous user ID", ["C-17"], nil)
        case .doubleTap: ("a second tap opens a second paywall", ["C-19"], "X-60")
        case .spinsForEver: ("the app waits for a response without a time limit", ["C-20"], "X-59")
        case .unencoded: ("user IDs in bridge commands are not percent-encoded", ["C-21"], "X-44")
        case .encodedTwice: ("user IDs in bridge commands are percent-encoded twice", ["C-21"], nil)
        case .readsRaw: ("values from the vault are not percent-decoded", ["C-22"], nil)
        case .grantsOnCallback:
            ("the purchase callback alone unlocks the paid content", ["C-23"], nil)
        case .callbackNeedsObject:
            ("a purchase callback without an argument throws an error", ["C-24"], nil)
        case .productIdentifier:
            ("the product of a purchase is read from the wrong field", ["C-25"], "X-47")
        case .silenceIsFree:
            ("a missing history reply is shown as 'no subscription'", ["C-25"], "X-48")
        case .restoreClears: ("a restore that finds nothing creates a new user ID", ["C-26"], nil)
        case .restoreReplacesAccount:
            ("a restore silently replaces the ID of a signed-in user", ["C-26"], "X-52")
        case .loginNamesInstall:
            ("a login sends the install ID instead of the current user ID", ["C-27"], nil)
        case .loginAppliesFailure: ("a refused login changes the user ID", ["C-27"], nil)
        case .pageOverVault:
            ("the user ID in the page's web storage overrides the vault", ["C-28"], nil)
        case .loginForgotten:
            ("an interrupted login is not resumed at the next launch", ["C-28"], nil)
        case .lockUnread: ("the lock of the user ID is never read", ["C-29"], "X-50")
        case .lockIsFinal:
            ("a locked user ID can never be replaced, even if the user agrees", ["C-29"], nil)
        case .logoutByTime:
            ("the new user ID after a logout is the install ID plus the time", ["C-30"], "X-62")
        case .logoutToInstall: ("the new user ID after a logout is the install ID", ["C-30"], nil)
        case .installAfterLogout:
            (
                "the install ID becomes the user ID again when the vault entry is lost", ["C-31"],
                "X-42"
            )
        case .logoutHalf:
            (
                "after a logout, the page keeps the old user ID if the registration fails",
                ["C-32"], nil
            )
        case .eachPageItsOwn: ("each open page creates its own user ID", ["C-33"], nil)
        case .lateReplyAdopted:
            ("the value in a late vault reply becomes the user ID", ["C-34"], nil)
        case .readsAtOnce: ("two reads of the same vault key are concurrent", ["C-34"], nil)
        case .emailInVault:
            ("the account's email address is stored in the unprotected vault", ["C-35"], nil)
        case .keyOfWindow: ("a vault key is the name of a window property", ["C-35"], nil)
        case .callbacksLate:
            ("purchase callbacks are installed only when the first paywall opens", ["C-24"], nil)
        case .resolvesTwice: ("a page runs its start sequence twice", ["C-33"], nil)
        case .paywallEncodedTwice:
            ("the user ID in a paywall command is percent-encoded twice", ["C-21"], nil)
        case .unlocksLate:
            ("a logout removes the lock only after it wrote the new user ID", ["C-30"], nil)
        case .staleRetry:
            ("a registration retry registers a user who has logged out", ["C-11"], nil)
        case .retryDuringLogin:
            (
                "a registration retry continues for the previous user ID during a login", ["C-11"],
                nil
            )
        case .retryBlocksNext:
            (
                "a registration that fails during the retry for another user ID is lost", ["C-13"],
                nil
            )
        case .accessInherited:
            ("paid content of one user stays unlocked for the next user", ["C-30"], nil)
        case .adoptsUnflagged:
            ("an anonymous ID without the anonymous flag becomes the user ID", ["C-06"], nil)
        case .loginOfNobody:
            ("any value in a login response is accepted as a user ID", ["C-27"], nil)
        case .oneSaleOnly: ("no paywall opens after a canceled purchase", ["C-19"], nil)
        case .hotRetries: ("the delays between registration retries do not grow", ["C-13"], nil)
        case .restoreUnlocked:
            ("a user ID that the restore button finds is not locked", ["C-07"], nil)
        case .ownedByNobody: ("a purchase without a usable user ID selects the user", ["C-06"], nil)
        case .waitsForInstall:
            ("the start of the app waits forever for an install ID", ["C-20"], nil)
        case .keepsLock: ("a logout does not remove the lock of the user ID", ["C-30"], nil)
        case .neverUnlocks:
            ("the app never asks the backend for access after a purchase", ["C-23"], nil)
        case .gateShut: ("no paywall ever opens", ["C-16"], nil)
        case .registersNewOnly:
            ("a user ID that the app already had is not registered again", ["C-13"], nil)
        case .historyIgnored: ("the purchase history is never read", ["C-02"], nil)
        case .stuckAfterReload:
            ("a reload during the start of the app prevents all later starts", ["C-33"], nil)
        }
    }
}
