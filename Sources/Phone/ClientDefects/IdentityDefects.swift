internal import Providers

/// Defects of the scripted app in changes of the user ID: login, logout and restore.
extension ClientDefect {
    static let identity: [ClientDefect] = [
        ClientDefect(
            "restore-clears",
            "a restore that finds nothing creates a new user ID",
            breaks: "C-26"
        ) {
            $0.userChange.endEmptyRestore = { app, flow in flow.id = app.idSource.uuid() }
        },
        ClientDefect(
            "restore-replaces-account",
            "a restore silently replaces the ID of a signed-in user",
            breaks: "C-26",
            guideID: "X-52"
        ) {
            $0.userChange.mayReplaceUser = { _, _ in true }
        },
        ClientDefect(
            "login-names-install",
            "a login sends the install ID instead of the current user ID",
            breaks: "C-27"
        ) {
            $0.userChange.loginID = { $0.bridge.installID }
        },
        ClientDefect(
            "login-applies-failure",
            "a refused login changes the user ID",
            breaks: "C-27"
        ) {
            let originalBehavior = $0.userChange.endFailedLogin
            $0.userChange.endFailedLogin = { app, flow, returnedID in
                guard returnedID == nil else { return originalBehavior(&app, &flow, returnedID) }
                flow.id = app.idSource.uuid()
            }
        },
        ClientDefect(
            "login-forgotten",
            "an interrupted login is not resumed at the next launch",
            breaks: "C-28"
        ) {
            $0.userChange.storePendingID = { _, _ in }
        },
        ClientDefect(
            "lock-unread",
            "the lock of the user ID is never read",
            breaks: "C-29",
            guideID: "X-50"
        ) {
            $0.actions.login.removeAll { $0 == .readLock }
        },
        ClientDefect(
            "lock-is-final",
            "a locked user ID can never be replaced, even if the user agrees",
            breaks: "C-29"
        ) {
            $0.userChange.mayReplaceStoredID = { _ in false }
        },
        ClientDefect(
            "logout-by-time",
            "the new user ID after a logout is the install ID plus the time",
            breaks: "C-30",
            guideID: "X-62"
        ) {
            $0.userChange.newLogoutID = { app, now in "\(app.bridge.installID)-\(now)" }
        },
        ClientDefect(
            "logout-to-install",
            "the new user ID after a logout is the install ID",
            breaks: "C-30"
        ) {
            $0.userChange.newLogoutID = { app, _ in app.bridge.installID }
        },
        ClientDefect(
            "keeps-lock",
            "a logout does not remove the lock of the user ID",
            breaks: "C-30"
        ) {
            $0.userChange.unlock = { _, _ in }
        },
        ClientDefect(
            "logout-half",
            "after a logout, the page keeps the old user ID if the registration fails",
            breaks: "C-32"
        ) {
            let originalBehavior = $0.userChange.adoptID
            $0.userChange.adoptID = { app, flow in
                guard app.registeredID != flow.id else { return originalBehavior(&app, flow) }
                app.registeredID = app.id
                app.storage.pendingUserID = nil
            }
        },
        ClientDefect(
            "email-in-vault",
            "the account's email address is stored in the unprotected vault",
            breaks: "C-35"
        ) {
            let originalBehavior = $0.launch.write
            $0.launch.write = { app, flow, now in
                originalBehavior(&app, flow, now)
                guard let account = flow.account else { return }
                let value = app.bridge.policy.encoded(account)
                app.bridge.sendCommand("setvault://?key=mail&value=\(value)&locked=false", at: now)
            }
        },
        ClientDefect(
            "unlocks-late",
            "a logout removes the lock only after it wrote the new user ID",
            breaks: "C-30"
        ) {
            $0.actions.logout.removeAll { $0 == .unlock }
            $0.actions.logout.insert(.unlock, at: $0.actions.logout.count - 1)
        },
        ClientDefect(
            "access-inherited",
            "paid content of one user stays unlocked for the next user",
            breaks: "C-30"
        ) {
            $0.userChange.resetsAccess = { _, _ in false }
        },
        ClientDefect(
            "login-of-nobody",
            "any value in a login response is accepted as a user ID",
            breaks: "C-27"
        ) {
            $0.userChange.isUsableID = { _ in true }
        },
        ClientDefect(
            "restore-unlocked",
            "a user ID that the restore button finds is not locked",
            breaks: "C-07"
        ) {
            $0.launch.mustLockID = { $0.isIDFromHistory && $0.source != "restore_button" }
        },
    ]
}
