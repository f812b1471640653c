/// A deviation that breaks exactly one promise of the scripted app.
///
/// It exchanges one of the app's decisions for a wrong one, as `deviations` says. `assay mutants`
/// runs the device scenarios against every one of them and expects it to be caught. Those with an
/// `X-` number are mistakes of the published guide's client (identity rules, D.3).
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

    /// What it does, in one line.
    package var summary: String { facts.summary }

    /// The clauses whose contracts must fail.
    package var clauses: [String] { facts.clauses }

    /// The guide's mistake that it is; nil for others.
    package var guide: String? { facts.guide }

    private var facts: (summary: String, clauses: [String], guide: String?) {
        switch self {
        case .commandsInBrowser: ("a browser is taken for the phone", ["C-01"], "X-56")
        case .asksEverything: ("the history is read although the vault knew", ["C-02"], nil)
        case .historyFirst: ("the history is asked before the vault", ["C-02"], nil)
        case .believesVault: ("whatever the vault holds is an id", ["C-03"], nil)
        case .throwsOnNull: ("a null from the bridge ends the start", ["C-04"], nil)
        case .waitsForBridge: ("reads wait for the bridge's own 30 seconds", ["C-05"], "X-41")
        case .firstEntry: ("the first purchase names the user, active or not", ["C-06"], nil)
        case .restoreFirstEntry:
            ("the restore button chooses by another rule than the start", ["C-06"], "X-49")
        case .adoptsAnonymous: ("an anonymous id of the history is adopted", ["C-06"], "X-51")
        case .adoptsSandbox: ("a sandbox purchase names the user", ["C-06"], nil)
        case .noLock: ("an id from the history is not locked", ["C-07"], nil)
        case .lockAfterRegister: ("the lock is written after the registration", ["C-07"], nil)
        case .registerBeforeWrite:
            ("the backend is told before the phone has kept the id", ["C-08"], "X-45")
        case .writeUnconfirmed: ("a lost write is never noticed", ["C-09"], "X-46")
        case .aliasAtLaunchOnly: ("only a launch tells OneSignal", ["C-10"], nil)
        case .aliasOfBefore: ("OneSignal is told the id of before", ["C-10"], nil)
        case .noRegisterOnLogin: ("a login registers nobody", ["C-11", "C-28"], "X-54")
        case .noRegisterOnRestore: ("a restore registers nobody", ["C-11"], nil)
        case .statusIgnored: ("any answer to a registration counts", ["C-12"], "X-38")
        case .answerUnread: ("the id in the answer is not compared", ["C-12"], nil)
        case .failureCounts: ("a failed registration counts as done", ["C-12", "C-16"], "X-37")
        case .neverRetries: ("a failed registration is queued and never sent", ["C-13"], "X-39")
        case .queueReplayed: ("every failed registration is sent later", ["C-13"], nil)
        case .noPlatform: ("restore and logout leave the platform out", ["C-14"], nil)
        case .anythingIsIOS: ("whatever is not Android is iOS", ["C-14"], "X-61")
        case .missingIDWritten: ("a missing install id becomes a text", ["C-15"], "X-40")
        case .devicePerLaunch: ("every launch has a device id of its own", ["C-15"], nil)
        case .paywallUngated: ("a paywall opens whenever it is tapped", ["C-16", "C-18"], nil)
        case .flagNotID: ("one flag for all ids opens the gate", ["C-16", "C-32"], "X-55")
        case .notGatedInFlight:
            ("a paywall opens while a logout goes on", ["C-18"], "X-43")
        case .paywallOfBefore: ("a paywall carries the id of before", ["C-17"], nil)
        case .doubleTap: ("a second tap opens a second paywall", ["C-19"], "X-60")
        case .spinsForEver: ("nothing bounds the wait for an answer", ["C-20"], "X-59")
        case .unencoded: ("ids stand in commands as they are", ["C-21"], "X-44")
        case .encodedTwice: ("ids are encoded twice", ["C-21"], nil)
        case .readsRaw: ("what is read is not decoded as it was written", ["C-22"], nil)
        case .grantsOnCallback: ("the purchase callback unlocks", ["C-23"], nil)
        case .callbackNeedsObject: ("a callback without an argument throws", ["C-24"], nil)
        case .productIdentifier: ("the product is read from another field", ["C-25"], "X-47")
        case .silenceIsFree: ("silence is shown as no subscription", ["C-25"], "X-48")
        case .restoreClears: ("a restore that finds nothing starts anew", ["C-26"], nil)
        case .restoreReplacesAccount:
            ("a restore replaces the id of who is signed in", ["C-26"], "X-52")
        case .loginNamesInstall: ("a login tells the install id", ["C-27"], nil)
        case .loginAppliesFailure: ("a refused login changes the phone", ["C-27"], nil)
        case .pageOverVault: ("what the page kept wins over the vault", ["C-28"], nil)
        case .loginForgotten: ("a login that is cut short is forgotten", ["C-28"], nil)
        case .lockUnread: ("the lock is never read", ["C-29"], "X-50")
        case .lockIsFinal: ("a locked id cannot be given up", ["C-29"], nil)
        case .logoutByTime: ("an id is made of the install id and the time", ["C-30"], "X-62")
        case .logoutToInstall: ("a logout goes back to the install id", ["C-30"], nil)
        case .installAfterLogout:
            ("a lost entry brings the install id back", ["C-31"], "X-42")
        case .logoutHalf:
            ("memory keeps the old id when the registration fails", ["C-32"], nil)
        case .eachPageItsOwn: ("each page makes up an id of its own", ["C-33"], nil)
        case .lateReplyAdopted: ("a reply that comes too late is adopted", ["C-34"], nil)
        case .readsAtOnce: ("two reads of one key go out at once", ["C-34"], nil)
        case .emailInVault: ("the account's address lies in the vault", ["C-35"], nil)
        case .keyOfWindow: ("a key of the vault is a name of the window", ["C-35"], nil)
        case .callbacksLate: ("callbacks are installed by the first paywall", ["C-24"], nil)
        case .resolvesTwice: ("a page starts twice", ["C-33"], nil)
        case .paywallEncodedTwice: ("a paywall's id is encoded twice", ["C-21"], nil)
        case .unlocksLate: ("a logout opens the lock after it wrote the id", ["C-30"], nil)
        case .staleRetry: ("a retry registers who has logged out", ["C-11"], nil)
        case .retryDuringLogin:
            ("a retry goes on for the id of before while a login goes on", ["C-11"], nil)
        case .retryBlocksNext:
            ("what fails while an earlier id is tried again is not tried again", ["C-13"], nil)
        case .accessInherited: ("what one person unlocked stays for the next", ["C-30"], nil)
        case .adoptsUnflagged:
            ("an anonymous id that is not marked as one is adopted", ["C-06"], nil)
        case .loginOfNobody: ("whatever a login answers is an id", ["C-27"], nil)
        case .oneSaleOnly: ("after a cancel no paywall opens again", ["C-19"], nil)
        case .hotRetries: ("retries follow each other without growing pauses", ["C-13"], nil)
        case .restoreUnlocked: ("an id that the button found is not locked", ["C-07"], nil)
        case .ownedByNobody: ("a purchase that names nobody names the user", ["C-06"], nil)
        case .waitsForInstall: ("the start waits for an install id for ever", ["C-20"], nil)
        case .keepsLock: ("a logout leaves the lock as it is", ["C-30"], nil)
        case .neverUnlocks: ("a confirmed purchase is never asked for", ["C-23"], nil)
        case .gateShut: ("no paywall ever opens", ["C-16"], nil)
        case .registersNewOnly: ("an id that was seen before is not registered", ["C-13"], nil)
        case .historyIgnored: ("the history is never asked", ["C-02"], nil)
        case .stuckAfterReload: ("a reload in the middle of the start ends it", ["C-33"], nil)
        }
    }
}
