internal import Conformance
internal import Providers

extension ScriptedApp {
    /// Every decision of the app, each a value that holds the right one.
    ///
    /// What it says stands in the methods it names, with the clause that asks for it. They are
    /// values, so that an experiment can exchange one and leave the others alone.
    struct Policy: Sendable {
        typealias App = ScriptedApp

        // Flows: the acts in their order.
        var start: [Act] = [
            .install, .readVault, .readHistory, .resolve, .lock, .write, .confirm, .alias,
            .register, .ready,
        ]
        var restore: [Act] = [.busy, .readHistory, .select, .lock] + Self.tail
        var logout: [Act] = [.busy, .unlock, .mint] + Self.tail
        var login: [Act] = [.busy, .readLock, .login, .decide] + Self.tail
        private static let tail: [Act] = [.write, .confirm, .alias, .register, .take, .idle]

        // The bridge and the backend; times in milliseconds.
        var isNative = App.isNative
        var key = App.key
        var encoded = App.encoded
        var decoded = App.decoded
        /// How long a read of the bridge may take (C-05).
        var readTime: Int64 = 1_500
        /// How long one look for the install id takes.
        var installTime: Int64 = 700
        /// How long a call may take before the app goes on without it (C-20).
        var callTime: Int64 = 4_000
        /// A reply that nobody waits for any more says nothing (C-34).
        var unexpected: @Sendable (inout App, String, JSONValue, Int64) -> Void = { _, _, _, _ in }

        // The start.
        /// A page starts however the one before it ended (C-33).
        var mayStart: @Sendable (inout App, Int64) -> Bool = { _, _ in true }
        var hasInstallID: @Sendable (App) -> Bool = { $0.hasInstallID }
        var learnVault: @Sendable (inout App, inout Flow, JSONValue?) -> Void = {
            $0.learnVault($2, &$1)
        }
        var needsHistory = App.needsHistory
        /// How often it looks for the install id before it gives up (C-20).
        var installTriesMax = 8
        /// Entries of a history may name nobody (C-06).
        var isOwner: @Sendable (String) -> Bool = { ClientTimeline.isUsable($0) }
        var isNamed = App.isNamed
        var isReal = App.isReal
        var ordered = App.ordered
        var keptID: @Sendable (App) -> String? = { $0.keptID }
        var newID: @Sendable (inout App) -> String = { $0.newID() }
        /// An id that came from a purchase is locked (C-07).
        var locks: @Sendable (Flow) -> Bool = { $0.isFromHistory }
        var write: @Sendable (inout App, Flow, Int64) -> Void = { $0.write($1, at: $2) }
        var isWritten = App.isWritten
        var alias: @Sendable (inout App, Flow, Int64) -> Void = { $0.alias($1.id, at: $2) }
        var ready: @Sendable (inout App, Flow) -> Void = { $0.ready($1) }

        // Registration.
        /// Every flow registers the id that it ends with (C-11, C-13).
        var needsRegistration: @Sendable (App, Flow) -> Bool = { _, _ in true }
        var registration: @Sendable (App, String, String) -> [String: String] = {
            $0.registration($1, source: $2)
        }
        var platform = App.platform
        var isConfirmed = App.isConfirmed
        /// Half a second, and twice as long each time (C-13).
        var pause: @Sendable (Int) -> Int64 = { 500 << min($0, 4) }
        var keepPending: @Sendable (inout App, String) -> Void = { $0.keepPending($1) }
        var tryAgain: @Sendable (inout App, Int64) -> Void = { $0.tryAgain(at: $1) }
        /// Only the id that counts now, or that a login is about to put in its place; the others are
        /// nobody's any more (C-11).
        var isCurrent: @Sendable (App, String) -> Bool = {
            $1 == ($0.storage.switchingTo ?? $0.id ?? $1)
        }
        /// Whether somebody else waits behind a retry that has become nobody's (C-13).
        var isNextPending: @Sendable (App) -> Bool = { !$0.storage.pending.isEmpty }
        /// What the backend knows already is not told again.
        var isWanted: @Sendable (App, String) -> Bool = { $0.isUnconfirmed($1) }
        var concludeRetry: @Sendable (inout App, Int, String, Int64) -> Void = {
            $0.conclude($1, $2, at: $3)
        }

        // Changes of identity.
        /// A login names who is there now (C-27).
        var loginID: @Sendable (App) -> String = { $0.id ?? "" }
        var refused: @Sendable (inout App, inout Flow, String?) -> Void = { app, flow, _ in
            app.refused(&flow)
        }
        /// A lock can be given up by whoever agrees to it (C-29).
        var mayReplace: @Sendable (Flow) -> Bool = { $0.agrees }
        var remember: @Sendable (inout App, Flow) -> Void = { $0.remember($1) }
        /// A logout opens the lock (C-30).
        var unlock: @Sendable (inout App, Int64) -> Void = { $0.write(.lock, "false", at: $1) }
        /// Nobody can guess the next id from the last (C-30).
        var freshID: @Sendable (inout App, Int64) -> String = { app, _ in app.ids.uuid() }
        var foundNothing: @Sendable (inout App, inout Flow) -> Void = { $0.foundNothing(&$1) }
        var mayTakeOver: @Sendable (App, Flow) -> Bool = { $0.mayTakeOver($1) }
        var take: @Sendable (inout App, Flow) -> Void = { $0.take($1) }
        /// What was unlocked for one person is not the next one's (C-30).
        var forgetsAccess: @Sendable (App, Flow) -> Bool = { $0.id != $1.id }
        /// An answer that names nobody is a login that failed (C-27).
        var isSomebody: @Sendable (String) -> Bool = { ClientTimeline.isUsable($0) }

        // Selling.
        /// Installed before anything can be sold (C-24).
        var callbacks: @Sendable (App) -> Set<String> = { _ in App.callbacks }
        var isOpening: @Sendable (App) -> Bool = { $0.isOpening }
        var mayOpen: @Sendable (App) -> Bool = { $0.mayOpen }
        /// The id that everybody has (C-17).
        var buyer: @Sendable (App) -> String = { $0.id ?? "null" }
        var purchased: @Sendable (inout App, [JSONValue], Int64) -> Void = {
            $0.purchased($1, at: $2)
        }
        var learnAccess: @Sendable (inout App, Int64) -> Void = { $0.learnAccess(at: $1) }
        var withoutActive = App.withoutActive
        var product = App.product
    }
}
