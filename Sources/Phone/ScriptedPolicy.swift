internal import Contracts
internal import Judging
internal import Providers
internal import Values

extension ScriptedApp {
    /// The decisions of the scripted app, grouped by the part of the app that makes them.
    ///
    /// Each default is the correct decision.
    ///
    /// Many defaults call a method of the app. The documentation of that method describes the
    /// decision and names its clauses. The decisions are stored as values so that a deviation
    /// can replace one of them.
    struct Policy: Sendable {
        typealias App = ScriptedApp

        var actions = Actions()
        var bridge = Bridge()
        var launch = Launch()
        var history = History()
        var registration = Registration()
        var userChange = UserChange()
        var selling = Selling()
    }
}

extension ScriptedApp.Policy {
    /// The actions of each flow in their order.
    struct Actions: Sendable {
        var start: [ScriptedFlow.Action] = [
            .readInstallID, .readVault, .readPurchaseHistory, .chooseID, .lock, .write,
            .confirmWrite,
            .sendAlias,
            .register, .finishStart,
        ]
        var restore: [ScriptedFlow.Action] =
            [.markBusy, .readPurchaseHistory, .selectHistoryUser, .lock] + Self.registrationActions
        var logout: [ScriptedFlow.Action] =
            [.markBusy, .unlock, .createID] + Self.registrationActions
        var login: [ScriptedFlow.Action] =
            [.markBusy, .readLock, .login, .decideReplacement] + Self.registrationActions
        private static let registrationActions: [ScriptedFlow.Action] = [
            .write, .confirmWrite, .sendAlias, .register, .adoptID, .markIdle,
        ]
    }

    /// The decisions about the bridge and the backend.
    ///
    /// All times are in milliseconds.
    struct Bridge: Sendable {
        /// Returns whether a user agent belongs to the Despia runtime.
        ///
        /// A browser has no bridge, and bridge commands would open pages there (C-01).
        var isNativeApp: @Sendable (String) -> Bool = { $0.lowercased().contains("despia") }
        /// Returns the vault key for a role.
        ///
        /// The profile must not use the name of a window property as a vault key (C-35).
        var key: @Sendable (VaultRole, [VaultRole: String]) -> String = {
            role,
            keys in keys[role] ?? role.rawValue
        }
        /// Whether commands wait in a queue that sends one command in a task of the page, as the
        /// Despia package does.
        ///
        /// The runtime may lose all commands of a task except the first (Despia fact sheet, section
        /// 1.2).
        var sendsOneCommandInATask = true
        /// Percent-encodes a value exactly once, because user IDs may contain characters with a
        /// meaning in bridge commands (C-21).
        var encoded: @Sendable (String) -> String = { $0.percentEncoded }
        /// Returns the percent-decoded form of a vault value.
        ///
        /// A value that the native side has already decoded is returned unchanged (Despia fact
        /// sheet, section 5; C-22).
        var decoded: @Sendable (String) -> String = { text in
            let decodedText = FormText.decoded(text, decodesPlusAsSpace: false)
            return decodedText.percentEncoded == text ? decodedText : text
        }
        /// The timeout of a read from the vault or the purchase history (C-05), in milliseconds.
        var vaultReadTimeoutMilliseconds: Int64 = 1_500
        /// The timeout of one attempt to read the install ID, in milliseconds.
        var installIDTimeoutMilliseconds: Int64 = 700
        /// The time after which the app continues without the response to a backend call (C-20), in
        /// milliseconds.
        var callTimeoutMilliseconds: Int64 = 4_000
        /// Handles a reply of the native side for which no flow waits.
        ///
        /// The app ignores such a reply (C-34).
        var handleUnexpectedValue: @Sendable (inout App, String, JSONValue, Int64) -> Void = {
            _,
            _,
            _,
            _ in
        }
    }

    /// The decisions about the start of the app.
    struct Launch: Sendable {
        /// Returns whether a page may start.
        ///
        /// By default every page may start, no matter how the previous page ended (C-33).
        var mayStartPage: @Sendable (inout App, Int64) -> Bool = { _, _ in true }
        /// Returns whether the install ID is known.
        ///
        /// The app waits for a missing install ID and does not use a substitute (C-15).
        var hasInstallID: @Sendable (App) -> Bool = { $0.bridge.hasInstallID }
        var recordVaultID: @Sendable (inout App, inout ScriptedFlow, JSONValue?) -> Void = {
            $0.recordVaultID($2, &$1)
        }
        /// Returns whether the app must read the purchase history, which is only the case when the
        /// phone does not know the user ID (C-02).
        var needsHistory: @Sendable (ScriptedFlow) -> Bool = { $0.id == nil }
        /// The maximum number of attempts to read the install ID before the app gives up (C-20).
        var installIDReadsMax = 8
        /// Returns the user ID in the page's web storage, for the case that the vault has lost the
        /// ID; nil without a usable ID.
        var storedID: @Sendable (App) -> String? = {
            $0.storage.currentID.flatMap { ClientTimeline.isUsable($0) ? $0 : nil }
        }
        var newID: @Sendable (inout App) -> String = { $0.newID() }
        /// Returns whether a flow locks its user ID.
        ///
        /// It does so for an ID from a purchase (C-07).
        var mustLockID: @Sendable (ScriptedFlow) -> Bool = { $0.isIDFromHistory }
        /// Stores the user ID in the vault before the app sends it to any server (C-08).
        var write: @Sendable (inout App, ScriptedFlow, Int64) -> Void = { app, flow, now in
            if let id = flow.id, id != flow.vaultID { app.bridge.write(.id, id, at: now) }
        }
        var isIDStoredInVault: @Sendable (ScriptedFlow) -> Bool = { $0.id == $0.vaultID }
        var sendAlias: @Sendable (inout App, ScriptedFlow, Int64) -> Void = {
            $0.bridge.sendAlias($1.id, at: $2)
        }
        var finishStart: @Sendable (inout App, ScriptedFlow) -> Void = { $0.finishStart($1) }
    }

    /// The decisions about entries of the purchase history (C-06).
    struct History: Sendable {
        /// Returns whether a user ID from the purchase history is usable (C-06).
        var isUsableOwnerID: @Sendable (String) -> Bool = { ClientTimeline.isUsable($0) }
        var entryNamesUser: @Sendable (JSONObject, String) -> Bool = { entry, user in
            entry["isAnonymous"] != true && !user.hasPrefix("$RCAnonymousID:")
        }
        var isProductionEntry: @Sendable (JSONObject) -> Bool = { $0["environment"] != "sandbox" }
        /// Returns the entries in the order in which they select the user; the second argument is
        /// whether the user tapped the restore button.
        var sortedEntries: @Sendable ([JSONObject], Bool) -> [JSONObject] = { entries, _ in
            Self.sortedByActivityAndTime(entries)
        }

        /// Sorts entries of the purchase history: active entries before inactive entries, each with
        /// the latest first.
        private static func sortedByActivityAndTime(_ entries: [JSONObject]) -> [JSONObject] {
            func sortKey(_ entry: JSONObject) -> (Int, String) {
                (entry["isActive"] == true ? 1 : 0, entry["purchaseDate"]?.string ?? "")
            }
            return entries.sorted { sortKey($0) > sortKey($1) }
        }

        /// Returns the user ID in the purchase history.
        ///
        /// The start and the restore button use the same rule (C-06).
        func user(in history: [JSONObject]?, isRestoreAction: Bool) -> String? {
            let entries = (history ?? []).filter { entry in
                guard let user = entry["externalUserId"]?.string else { return false }
                return isUsableOwnerID(user) && entryNamesUser(entry, user)
                    && isProductionEntry(entry)
            }
            return sortedEntries(entries, isRestoreAction).first?["externalUserId"]?.string
        }
    }

    /// The decisions about registrations at the backend.
    struct Registration: Sendable {
        /// The maximum number of retries of one registration.
        static let retryCountMax = 6

        /// Returns whether a flow must register its final user ID.
        ///
        /// Every flow must (C-11, C-13).
        var needsRegistration: @Sendable (App, ScriptedFlow) -> Bool = { _, _ in true }
        var registrationValues: @Sendable (App, String, String) -> [String: String] = {
            $0.registrationValues($1, source: $2)
        }
        var platform: @Sendable (String) -> String = Self.platform
        /// Returns whether a response, with its status and the user ID in its body, confirms the
        /// registration of a user ID.
        ///
        /// It must have a 2xx status and contain the user ID (C-12).
        var isConfirmed: @Sendable (Int?, String?, String) -> Bool = { status, responseID, id in
            (200..<300).contains(status ?? 0) && responseID == id
        }
        /// Returns the delay before a registration retry, in milliseconds.
        ///
        /// It is half a second at first and doubles each time, up to eight seconds (C-13).
        var retryPause: @Sendable (Int) -> Int64 = { 500 << min($0, 4) }
        var addPendingRegistration: @Sendable (inout App, String) -> Void = {
            $0.storage.addPendingRegistration($1)
        }
        var scheduleRetry: @Sendable (inout App, Int64) -> Void = {
            $0.flows.append(ScriptedFlow([.retryPause, .retry], at: $1))
        }
        /// Returns whether a user ID is the current ID, or the ID that a login is about to set.
        ///
        /// The registration of any other ID is obsolete (C-11).
        var isCurrentUserID: @Sendable (App, String) -> Bool = {
            $1 == ($0.storage.pendingUserID ?? $0.id ?? $1)
        }
        /// Returns whether another user ID waits for registration after a retry whose user ID
        /// became obsolete (C-13).
        var hasNextPendingRegistration: @Sendable (App) -> Bool = {
            !$0.storage.pendingRegistrationIDs.isEmpty
        }
        /// Returns whether a retry still needs to register a user ID, because the backend may not
        /// know it.
        var needsRetry: @Sendable (App, String) -> Bool = { $0.isUnconfirmed($1) }
        var recordRetryResult: @Sendable (inout App, Int, String, Int64) -> Void = {
            $0.recordRegistrationResult($1, $2, at: $3)
        }

        /// Returns the platform that a registration sends for a user agent.
        ///
        /// The user agent of an iPad in desktop mode contains `Macintosh` (Despia fact sheet,
        /// section 2). The result is `unknown` for a user agent without a platform (C-14).
        private static func platform(_ userAgent: String) -> String {
            let lowercasedUserAgent = userAgent.lowercased()
            if lowercasedUserAgent.contains("android") { return "android" }
            return ["iphone", "ipad", "macintosh"].contains { lowercasedUserAgent.contains($0) }
                ? "ios" : "unknown"
        }
    }

    /// The decisions about changes of the user ID.
    struct UserChange: Sendable {
        /// Returns the user ID that a login sends to the backend, which is the current ID (C-27).
        var loginID: @Sendable (App) -> String = { $0.id ?? "" }
        var endFailedLogin: @Sendable (inout App, inout ScriptedFlow, String?) -> Void = {
            app,
            flow,
            _ in
            app.endFailedLogin(&flow)
        }
        /// Returns whether a login may replace a locked user ID.
        ///
        /// It may when the user agrees (C-29).
        var mayReplaceStoredID: @Sendable (ScriptedFlow) -> Bool = { $0.agreesToReplacement }
        /// Stores the new user ID of an unfinished change, so that the next launch can complete the
        /// change after a kill (C-28).
        var storePendingID: @Sendable (inout App, ScriptedFlow) -> Void = {
            $0.storage.pendingUserID = $1.id
        }
        /// Removes the lock of the user ID at a logout (C-30).
        var unlock: @Sendable (inout App, Int64) -> Void = {
            $0.bridge.write(.lock, "false", at: $1)
        }
        /// Returns a new user ID for a logout.
        ///
        /// It cannot be guessed from the previous ID (C-30).
        var newLogoutID: @Sendable (inout App, Int64) -> String = { app, _ in app.idSource.uuid() }
        var endEmptyRestore: @Sendable (inout App, inout ScriptedFlow) -> Void = {
            $0.endEmptyRestore(&$1)
        }
        /// Returns whether a restore may replace the current user.
        ///
        /// A signed-in user must agree to it (C-26).
        var mayReplaceUser: @Sendable (App, ScriptedFlow) -> Bool = {
            $0.storage.account == nil || $1.agreesToReplacement
        }
        var adoptID: @Sendable (inout App, ScriptedFlow) -> Void = { $0.adoptID($1) }
        /// Returns whether a change of the user ID locks the paid content again.
        ///
        /// It does so for another user (C-30).
        var resetsAccess: @Sendable (App, ScriptedFlow) -> Bool = { $0.id != $1.id }
        /// Returns whether the user ID in a login response is usable.
        ///
        /// Without a usable ID, the login has failed (C-27).
        var isUsableID: @Sendable (String) -> Bool = { ClientTimeline.isUsable($0) }
    }

    /// The decisions about paywalls and purchases.
    struct Selling: Sendable {
        /// The maximum time for which a tap to buy waits until the app is ready, in milliseconds.
        static let paywallWaitMaxMilliseconds: Int64 = 8_000

        /// Returns the names of the installed purchase callbacks.
        ///
        /// They are the functions that the native side calls with the result of a purchase (Despia
        /// fact sheet, section 6.1). All are installed before any purchase is possible (C-24).
        var purchaseCallbacks: @Sendable (App) -> Set<String> = { _ in
            ["onRevenueCatPurchase", "onRevenueCatResult", "iapSuccess"]
        }
        var isPaywallOpening: @Sendable (App) -> Bool = { $0.isPaywallOpening }
        var mayOpenPaywall: @Sendable (App) -> Bool = { $0.mayOpenPaywall }
        /// Returns the user ID for a paywall.
        ///
        /// The backend and OneSignal use the same user ID (C-17).
        var paywallUserID: @Sendable (App) -> String = { $0.id ?? "null" }
        var handlePurchaseCallback: @Sendable (inout App, [JSONValue], Int64) -> Void = {
            $0.handlePurchaseCallback($1, at: $2)
        }
        var requestAccess: @Sendable (inout App, Int64) -> Void = { $0.requestAccess(at: $1) }
        /// Returns the subscription status when the purchase history has no active entry.
        ///
        /// An empty history means no subscription; a missing history means that the status is
        /// unknown (C-25).
        var statusWithoutActivePurchase: @Sendable ([JSONObject]?) -> String = {
            $0 == nil ? "unknown" : "none"
        }
        /// Returns the product of a history entry.
        ///
        /// Versions of the Despia runtime use two different names for this field.
        var product: @Sendable (JSONObject) -> String? = {
            ($0["productId"] ?? $0["productIdentifier"])?.string
        }
    }
}
