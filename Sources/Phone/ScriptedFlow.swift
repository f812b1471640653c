internal import Values

/// A running flow of the scripted app, such as a login: its remaining actions in order, and its
/// data.
struct ScriptedFlow: Hashable, Sendable {
    /// One action of a flow, such as a read of the vault or a registration.
    enum Action: Hashable, Sendable {
        case readInstallID, readVault, readPurchaseHistory, chooseID, lock, write, confirmWrite,
            sendAlias
        case register, finishStart, markBusy, readLock, login, decideReplacement, unlock, createID,
            selectHistoryUser, adoptID, markIdle
        case waitForPaywall, openPaywall, retryPause, retry, requestAccessStatus, showStatus
    }

    /// The condition for which an action of a flow waits.
    ///
    /// Times are in milliseconds.
    enum Wait: Hashable, Sendable {
        case global(String, since: Int64, until: Int64)
        case response(Int, until: Int64)
        case time(Int64)
    }

    var actions: [Action]
    var wait: Wait?
    var source = ""
    var id: String?
    var vaultID: String?
    var history: [JSONObject]?
    var isIDFromHistory = false
    var attemptCount = 0
    var account: String?
    var password = ""
    var agreesToReplacement = false
    var isIdentityLocked = false
    var startedAtMilliseconds: Int64 = 0

    init(_ actions: [Action], at now: Int64) {
        self.actions = actions
        startedAtMilliseconds = now
    }
}

extension [ScriptedFlow] {
    /// Returns whether a flow still has to carry out an action.
    func contains(_ action: ScriptedFlow.Action) -> Bool {
        contains { $0.actions.contains(action) }
    }

    func isWaiting(for name: String) -> Bool {
        contains { if case .global(name, _, _) = $0.wait { true } else { false } }
    }

    /// Returns whether a flow is registering a user ID.
    ///
    /// Each user ID has at most one registration in progress (C-13).
    func isRegistering(_ id: String) -> Bool {
        contains { flow in
            guard case .response? = flow.wait else { return false }
            return flow.actions.first == .register && flow.id == id
        }
    }
}
