internal import Conformance
internal import Providers

/// Defects of the scripted app in changes of the user ID: login, logout and restore.
extension ClientDefect {
    static let identity: [ClientDefect: ClientDeviation] = [
        .loginNamesInstall: { $0.loginID = { $0.installID() } },
        .loginAppliesFailure: {
            let correct = $0.endFailedLogin
            $0.endFailedLogin = { app, flow, returned in
                guard returned == nil else { return correct(&app, &flow, returned) }
                flow.id = app.ids.uuid()
            }
        },
        .loginForgotten: { $0.storePendingID = { _, _ in } },
        .lockUnread: { $0.login.removeAll { $0 == .readLock } },
        .lockIsFinal: { $0.mayReplace = { _ in false } },
        .logoutByTime: { $0.newLogoutID = { app, now in "\(app.installID())-\(now)" } },
        .logoutToInstall: { $0.newLogoutID = { app, _ in app.installID() } },
        .keepsLock: { $0.unlock = { _, _ in } },
        .logoutHalf: {
            let correct = $0.adoptID
            $0.adoptID = { app, flow in
                guard app.registeredID != flow.id else { return correct(&app, flow) }
                app.registeredID = app.id
                app.storage.pendingUserID = nil
            }
        },
        .restoreUnlocked: {
            $0.locksID = { $0.isFromHistory && $0.source != "restore_button" }
        },
        .unlocksLate: {
            $0.logout.removeAll { $0 == .unlock }
            $0.logout.insert(.unlock, at: $0.logout.count - 1)
        },
        .accessInherited: { $0.resetsAccess = { _, _ in false } },
        .loginOfNobody: { $0.isUsableID = { _ in true } },
        .restoreClears: { $0.endEmptyRestore = { app, flow in flow.id = app.ids.uuid() } },
        .restoreReplacesAccount: { $0.mayReplaceUser = { _, _ in true } },
        .emailInVault: {
            let correct = $0.write
            $0.write = { app, flow, now in
                correct(&app, flow, now)
                guard let account = flow.account else { return }
                let value = app.policy.encoded(account)
                app.send("setvault://?key=mail&value=\(value)&locked=false", at: now)
            }
        },
    ]
}
