internal import Providers

/// Defects of the scripted app in changes of the user ID: login, logout and restore.
extension ClientDefect {
    static let identityDeviations: [ClientDefect: ClientDeviation] = [
        .loginSendsInstallID: { $0.loginID = { $0.installID() } },
        .refusedLoginChangesID: {
            let originalBehavior = $0.endFailedLogin
            $0.endFailedLogin = { app, flow, returnedID in
                guard returnedID == nil else { return originalBehavior(&app, &flow, returnedID) }
                flow.id = app.idSource.uuid()
            }
        },
        .neverResumesInterruptedLogin: { $0.storePendingID = { _, _ in } },
        .neverReadsLock: { $0.login.removeAll { $0 == .readLock } },
        .neverReplacesLockedID: { $0.mayReplaceStoredID = { _ in false } },
        .logoutIDContainsTime: { $0.newLogoutID = { app, now in "\(app.installID())-\(now)" } },
        .logoutReusesInstallID: { $0.newLogoutID = { app, _ in app.installID() } },
        .logoutKeepsLock: { $0.unlock = { _, _ in } },
        .keepsOldIDAfterFailedLogout: {
            let originalBehavior = $0.adoptID
            $0.adoptID = { app, flow in
                guard app.registeredID != flow.id else { return originalBehavior(&app, flow) }
                app.registeredID = app.id
                app.storage.pendingUserID = nil
            }
        },
        .restoreSkipsLock: {
            $0.mustLockID = { $0.isIDFromHistory && $0.source != "restore_button" }
        },
        .unlocksAfterLogoutWrite: {
            $0.logout.removeAll { $0 == .unlock }
            $0.logout.insert(.unlock, at: $0.logout.count - 1)
        },
        .keepsAccessForNextUser: { $0.resetsAccess = { _, _ in false } },
        .acceptsAnyLoginResponseID: { $0.isUsableID = { _ in true } },
        .emptyRestoreCreatesNewID: {
            $0.endEmptyRestore = { app, flow in flow.id = app.idSource.uuid() }
        },
        .restoreReplacesSignedInUser: { $0.mayReplaceUser = { _, _ in true } },
        .storesEmailInVault: {
            let originalBehavior = $0.write
            $0.write = { app, flow, now in
                originalBehavior(&app, flow, now)
                guard let account = flow.account else { return }
                let value = app.policy.encoded(account)
                app.sendCommand("setvault://?key=mail&value=\(value)&locked=false", at: now)
            }
        },
    ]
}
