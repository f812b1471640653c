internal import Conformance
internal import Providers

/// The scripted app's changes of the user ID: login, logout and restore (C-26 to C-32).
extension ScriptedApp {
    mutating func login(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        guard case .answer(let number, _)? = wait else {
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
        let answer = answers.removeValue(forKey: number)
        let returned = answer?.body["appUserId"]?.string
        if (200..<300).contains(answer?.status ?? 0), let returned, policy.isSomebody(returned) {
            flow.id = returned
            flow.vaultID = returned == id ? id : nil
        } else {
            policy.refused(&self, &flow, returned)
        }
        return true
    }

    /// Ends a flow after a failed login, without any change of the user (C-27).
    mutating func refused(_ flow: inout Flow) {
        error = "The login failed"
        flow.acts = [.login, .idle]
    }

    mutating func decide(_ flow: inout Flow) {
        // A locked user ID owns purchases, so the login does not replace it without the user's
        // agreement (C-29).
        if flow.isLocked, flow.id != id, !policy.mayReplace(flow) {
            error = "This device holds purchases of another user"
            flow.acts = [.decide, .idle]
            return
        }
        policy.remember(&self, flow)
    }

    /// Stores the new user ID of an unfinished change, so that the next launch can complete the
    /// change after a kill (C-28).
    mutating func remember(_ flow: Flow) { storage.switchingTo = flow.id }

    mutating func mint(_ flow: inout Flow, at now: Int64) {
        if let id { storage.retired.insert(id) }
        storage.retired.insert(installID())
        flow.id = policy.freshID(&self, now)
        storage.switchingTo = flow.id
        storage.account = nil
    }

    mutating func select(_ flow: inout Flow) {
        let found = chosen(flow.history, isButton: true)
        guard let found else { return policy.foundNothing(&self, &flow) }
        guard found != id else {
            error = nil
            flow.acts = [.select, .idle]
            return
        }
        if !policy.mayTakeOver(self, flow) {
            error = "These purchases belong to another user"
            flow.acts = [.select, .idle]
            return
        }
        flow.id = found
        flow.isFromHistory = true
        storage.switchingTo = found
    }

    /// Ends a flow after a restore that found no user, without any change of the user (C-26).
    mutating func foundNothing(_ flow: inout Flow) {
        error = "Nothing to restore"
        flow.acts = [.select, .idle]
    }

    /// Returns whether a restore may replace the current user.
    ///
    /// A signed-in user must agree to it (C-26).
    func mayTakeOver(_ flow: Flow) -> Bool { storage.account == nil || flow.agrees }

    mutating func take(_ flow: Flow) {
        if policy.forgetsAccess(self, flow) { hasAccess = false }
        id = flow.id
        storage.currentID = flow.id
        if let account = flow.account { storage.account = account }
        storage.switchingTo = nil
    }
}
