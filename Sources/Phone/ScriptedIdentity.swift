internal import Providers
internal import Values

/// The scripted app's changes of the user ID: login, logout and restore (C-26 to C-32).
extension ScriptedApp {
    mutating func login(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        guard case .response(let number, _)? = wait else {
            flow.wait = call(
                "login",
                [
                    "account": flow.account ?? "", "password": flow.password,
                    "id": policy.loginID(self),
                ],
                at: now
            )
            return false
        }
        let response = responses.removeValue(forKey: number)
        let returnedID = response?.body["appUserId"]?.string
        if (200..<300).contains(response?.status ?? 0), let returnedID,
            policy.isUsableID(returnedID)
        {
            flow.id = returnedID
            flow.vaultID = returnedID == id ? id : nil
        } else {
            policy.endFailedLogin(&self, &flow, returnedID)
        }
        return true
    }

    /// Ends a flow after a failed login, without any change of the user (C-27).
    mutating func endFailedLogin(_ flow: inout Flow) {
        error = "The login failed"
        flow.actions = [.login, .markIdle]
    }

    mutating func decideReplacement(_ flow: inout Flow) {
        // A locked user ID owns purchases, so the login does not replace it without the user's
        // agreement (C-29).
        if flow.isIdentityLocked, flow.id != id, !policy.mayReplaceStoredID(flow) {
            error = "This device holds purchases of another user"
            flow.actions = [.decideReplacement, .markIdle]
            return
        }
        policy.storePendingID(&self, flow)
    }

    /// Stores the new user ID of an unfinished change, so that the next launch can complete the
    /// change after a kill (C-28).
    mutating func storePendingID(_ flow: Flow) { storage.pendingUserID = flow.id }

    mutating func createID(_ flow: inout Flow, at now: Int64) {
        if let id { storage.retiredIDs.insert(id) }
        storage.retiredIDs.insert(installID())
        flow.id = policy.newLogoutID(&self, now)
        storage.pendingUserID = flow.id
        storage.account = nil
    }

    mutating func selectHistoryUser(_ flow: inout Flow) {
        let historyUserID = userInHistory(flow.history, isRestoreAction: true)
        guard let historyUserID else { return policy.endEmptyRestore(&self, &flow) }
        guard historyUserID != id else {
            error = nil
            flow.actions = [.selectHistoryUser, .markIdle]
            return
        }
        if !policy.mayReplaceUser(self, flow) {
            error = "These purchases belong to another user"
            flow.actions = [.selectHistoryUser, .markIdle]
            return
        }
        flow.id = historyUserID
        flow.isIDFromHistory = true
        storage.pendingUserID = historyUserID
    }

    /// Ends a flow after a restore that found no user, without any change of the user (C-26).
    mutating func endEmptyRestore(_ flow: inout Flow) {
        error = "Nothing to restore"
        flow.actions = [.selectHistoryUser, .markIdle]
    }

    /// Returns whether a restore may replace the current user.
    ///
    /// A signed-in user must agree to it (C-26).
    func mayReplaceUser(_ flow: Flow) -> Bool { storage.account == nil || flow.agreesToReplacement }

    mutating func adoptID(_ flow: Flow) {
        if policy.resetsAccess(self, flow) { hasAccess = false }
        id = flow.id
        storage.currentID = flow.id
        if let account = flow.account { storage.account = account }
        storage.pendingUserID = nil
    }
}
