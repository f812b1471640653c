internal import Contracts
internal import Judging
internal import Providers
internal import Values

extension ScriptedApp {
    /// The decisions of the scripted app.
    ///
    /// Each default is the correct decision.
    ///
    /// Most defaults call a method of the app. The documentation of that method describes the
    /// decision and names its clauses. The decisions are stored as values so that a deviation
    /// can replace one of them.
    struct Policy: Sendable {
        typealias App = ScriptedApp

        // Flows: the actions of each flow in their order.
        var start: [FlowAction] = [
            .readInstallID, .readVault, .readPurchaseHistory, .chooseID, .lock, .write,
            .confirmWrite,
            .sendAlias,
            .register, .finishStart,
        ]
        var restore: [FlowAction] =
            [.markBusy, .readPurchaseHistory, .selectHistoryUser, .lock] + Self.registrationActions
        var logout: [FlowAction] = [.markBusy, .unlock, .createID] + Self.registrationActions
        var login: [FlowAction] =
            [.markBusy, .readLock, .login, .decideReplacement] + Self.registrationActions
        private static let registrationActions: [FlowAction] = [
            .write, .confirmWrite, .sendAlias, .register, .adoptID, .markIdle,
        ]

        // The bridge and the backend. All times are in milliseconds.
        var isNativeApp = App.isNativeApp
        var key = App.key
        var encoded = App.encoded
        var decoded = App.decoded
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

        // The start of the app.
        /// Returns whether a page may start.
        ///
        /// By default every page may start, no matter how the previous page ended (C-33).
        var mayStartPage: @Sendable (inout App, Int64) -> Bool = { _, _ in true }
        var hasInstallID: @Sendable (App) -> Bool = { $0.hasInstallID }
        var recordVaultID: @Sendable (inout App, inout Flow, JSONValue?) -> Void = {
            $0.recordVaultID($2, &$1)
        }
        var needsHistory = App.needsHistory
        /// The maximum number of attempts to read the install ID before the app gives up (C-20).
        var installIDReadsMax = 8
        /// Returns whether a user ID from the purchase history is usable (C-06).
        var isUsableOwnerID: @Sendable (String) -> Bool = { ClientTimeline.isUsable($0) }
        var entryNamesUser = App.entryNamesUser
        var isProductionEntry = App.isProductionEntry
        var sortedEntries = App.sortedEntries
        var storedID: @Sendable (App) -> String? = { $0.storedID }
        var newID: @Sendable (inout App) -> String = { $0.newID() }
        /// Returns whether a flow locks its user ID.
        ///
        /// It does so for an ID from a purchase (C-07).
        var mustLockID: @Sendable (Flow) -> Bool = { $0.isIDFromHistory }
        var write: @Sendable (inout App, Flow, Int64) -> Void = { $0.write($1, at: $2) }
        var isIDStoredInVault = App.isIDStoredInVault
        var sendAlias: @Sendable (inout App, Flow, Int64) -> Void = { $0.sendAlias($1.id, at: $2) }
        var finishStart: @Sendable (inout App, Flow) -> Void = { $0.finishStart($1) }

        // Registration.
        /// Returns whether a flow must register its final user ID.
        ///
        /// Every flow must (C-11, C-13).
        var needsRegistration: @Sendable (App, Flow) -> Bool = { _, _ in true }
        var registrationValues: @Sendable (App, String, String) -> [String: String] = {
            $0.registrationValues($1, source: $2)
        }
        var platform = App.platform
        var isConfirmed = App.isConfirmed
        /// Returns the delay before a registration retry, in milliseconds.
        ///
        /// It is half a second at first and doubles each time, up to eight seconds (C-13).
        var retryPause: @Sendable (Int) -> Int64 = { 500 << min($0, 4) }
        var addPendingRegistration: @Sendable (inout App, String) -> Void = {
            $0.addPendingRegistration($1)
        }
        var scheduleRetry: @Sendable (inout App, Int64) -> Void = { $0.scheduleRetry(at: $1) }
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

        // Changes of the user ID.
        /// Returns the user ID that a login sends to the backend, which is the current ID (C-27).
        var loginID: @Sendable (App) -> String = { $0.id ?? "" }
        var endFailedLogin: @Sendable (inout App, inout Flow, String?) -> Void = { app, flow, _ in
            app.endFailedLogin(&flow)
        }
        /// Returns whether a login may replace a locked user ID.
        ///
        /// It may when the user agrees (C-29).
        var mayReplaceStoredID: @Sendable (Flow) -> Bool = { $0.agreesToReplacement }
        var storePendingID: @Sendable (inout App, Flow) -> Void = { $0.storePendingID($1) }
        /// Removes the lock of the user ID at a logout (C-30).
        var unlock: @Sendable (inout App, Int64) -> Void = { $0.write(.lock, "false", at: $1) }
        /// Returns a new user ID for a logout.
        ///
        /// It cannot be guessed from the previous ID (C-30).
        var newLogoutID: @Sendable (inout App, Int64) -> String = { app, _ in app.idSource.uuid() }
        var endEmptyRestore: @Sendable (inout App, inout Flow) -> Void = { $0.endEmptyRestore(&$1) }
        var mayReplaceUser: @Sendable (App, Flow) -> Bool = { $0.mayReplaceUser($1) }
        var adoptID: @Sendable (inout App, Flow) -> Void = { $0.adoptID($1) }
        /// Returns whether a change of the user ID locks the paid content again.
        ///
        /// It does so for another user (C-30).
        var resetsAccess: @Sendable (App, Flow) -> Bool = { $0.id != $1.id }
        /// Returns whether the user ID in a login response is usable.
        ///
        /// Without a usable ID, the login has failed (C-27).
        var isUsableID: @Sendable (String) -> Bool = { ClientTimeline.isUsable($0) }

        // Paywalls and purchases.
        /// Returns the names of the installed purchase callbacks.
        ///
        /// All are installed before any purchase is possible (C-24).
        var purchaseCallbacks: @Sendable (App) -> Set<String> = { _ in App.purchaseCallbacks }
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
        var statusWithoutActivePurchase = App.statusWithoutActivePurchase
        var product = App.product
    }
}
