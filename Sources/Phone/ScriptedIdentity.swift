internal import Values

/// The scripted app's changes of the user ID: login, logout and restore (C-26 to C-32).
extension ScriptedApp {
    mutating func login(_ flow: inout ScriptedFlow, after wait: ScriptedFlow.Wait?, at now: Int64)
        -> Bool
    {
        guard case .response(let number, _)? = wait else {
            flow.wait = bridge.call(
                "login",
                [
                    "account": flow.account ?? "", "password": flow.password,
                    "id": policy.userChange.loginID(self),
                ],
                at: now
            )
            return false
        }
        let response = bridge.responses.removeValue(forKey: number)
        let returnedID = response?.body["appUserId"]?.string
        if (200..<300).contains(response?.status ?? 0), let returnedID,
            policy.userChange.isUsableID(returnedID)
        {
            flow.id = returnedID
            flow.vaultID = returnedID == id ? id : nil
        } else {
            policy.userChange.endFailedLogin(&self, &flow, returnedID)
        }
        return true
    }

    /// Ends a flow after a failed login, without any change of the user (C-27).
    mutating func endFailedLogin(_ flow: inout ScriptedFlow) {
        page.error = "The login failed"
        flow.actions = [.login, .markIdle]
    }

    mutating func decideReplacement(_ flow: inout ScriptedFlow) {
        // A locked user ID owns purchases, so the login does not replace it without the user's
        // agreement (C-29).
        if flow.isIdentityLocked, flow.id != id, !policy.userChange.mayReplaceStoredID(flow) {
            page.error = "This device holds purchases of another user"
            flow.actions = [.decideReplacement, .markIdle]
            return
        }
        policy.userChange.storePendingID(&self, flow)
    }

    mutating func createID(_ flow: inout ScriptedFlow, at now: Int64) {
        if let id { storage.retiredIDs.insert(id) }
        storage.retiredIDs.insert(bridge.installID)
        flow.id = policy.userChange.newLogoutID(&self, now)
        storage.pendingUserID = flow.id
        storage.account = nil
    }

    mutating func selectHistoryUser(_ flow: inout ScriptedFlow) {
        let historyUserID = policy.history.user(in: flow.history, isRestoreAction: true)
        guard let historyUserID else { return policy.userChange.endEmptyRestore(&self, &flow) }
        guard historyUserID != id else {
            page.error = nil
            flow.actions = [.selectHistoryUser, .markIdle]
            return
        }
        if !policy.userChange.mayReplaceUser(self, flow) {
            page.error = "These purchases belong to another user"
            flow.actions = [.selectHistoryUser, .markIdle]
            return
        }
        flow.id = historyUserID
        flow.isIDFromHistory = true
        storage.pendingUserID = historyUserID
    }

    /// Ends a flow after a restore that found no user, without any change of the user (C-26).
    mutating func endEmptyRestore(_ flow: inout ScriptedFlow) {
        page.error = "Nothing to restore"
        flow.actions = [.selectHistoryUser, .markIdle]
    }

    mutating func adoptID(_ flow: ScriptedFlow) {
        if policy.userChange.resetsAccess(self, flow) { page.hasAccess = false }
        id = flow.id
        storage.currentID = flow.id
        if let account = flow.account { storage.account = account }
        storage.pendingUserID = nil
    }
}
