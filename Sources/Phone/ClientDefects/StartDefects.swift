internal import Contracts
internal import Judging
internal import Providers
internal import Values

/// Defects of the scripted app in its start, its bridge commands and its registrations.
extension ClientDefect {
    static let start: [ClientDefect: ClientDeviation] = [
        .commandsInBrowser: {
            $0.isNativeApp = { _ in true }
            let originalBehavior = $0.mayOpenPaywall
            $0.mayOpenPaywall = { app in app.globals["uuid"] == nil || originalBehavior(app) }
        },
        .readsHistoryDespiteVault: { $0.needsHistory = { _ in true } },
        .readsHistoryBeforeVault: { $0.start.swapAt(1, 2) },
        .neverReadsHistory: { $0.needsHistory = { _ in false } },
        .acceptsAnyVaultValue: {
            let originalBehavior = $0.recordVaultID
            $0.recordVaultID = { app, flow, value in
                if let text = value?.string {
                    flow.id = text
                    flow.vaultID = text
                }
                originalBehavior(&app, &flow, value)
            }
        },
        .throwsOnNull: {
            let originalBehavior = $0.recordVaultID
            $0.recordVaultID = { app, flow, value in
                guard value == .null else { return originalBehavior(&app, &flow, value) }
                app.output.append(.error("TypeError: value is null"))
                app.isLoading = false
                flow.actions = [.readVault]
            }
        },
        .waitsForBridgeTimeout: {
            $0.vaultReadTimeoutMilliseconds = 30_000
            $0.installIDTimeoutMilliseconds = 30_000
        },
        .selectsFirstHistoryEntry: { $0.sortedEntries = { entries, _ in entries } },
        .restoreSelectsFirstEntry: {
            let originalBehavior = $0.sortedEntries
            $0.sortedEntries = { entries, isRestoreAction in
                isRestoreAction ? entries : originalBehavior(entries, isRestoreAction)
            }
        },
        .adoptsAnonymousID: { $0.entryNamesUser = { _, _ in true } },
        .adoptsSandboxUser: { $0.isProductionEntry = { _ in true } },
        .neverLocksHistoryID: { $0.mustLockID = { _ in false } },
        .locksAfterRegistration: {
            $0.start.removeAll { $0 == .lock }
            $0.start.insert(.lock, at: $0.start.count - 1)
        },
        .registersBeforeVaultWrite: {
            $0.start = [
                .readInstallID, .readVault, .readPurchaseHistory, .chooseID, .lock, .register,
                .write,
                .sendAlias,
                .finishStart,
            ]
        },
        .ignoresLostVaultWrite: { $0.isIDStoredInVault = { _ in true } },
        .sendsAliasOnlyAtLaunch: {
            let originalBehavior = $0.sendAlias
            $0.sendAlias = { app, flow, now in
                if !app.hasFinishedStart { originalBehavior(&app, flow, now) }
            }
        },
        .sendsPreviousAlias: {
            $0.sendAlias = { app, flow, now in app.sendAlias(app.id ?? flow.id, at: now) }
        },
        .webStorageOverridesVault: {
            let originalBehavior = $0.recordVaultID
            $0.recordVaultID = { app, flow, value in
                originalBehavior(&app, &flow, value)
                flow.id = app.storage.currentID ?? flow.id
            }
        },
        .revertsToInstallIDAfterLogout: {
            $0.storedID = { _ in nil }
            $0.newID = { $0.installID() }
        },
        .eachPageCreatesOwnID: { $0.newID = { $0.idSource.uuid() } },
        .reloadBlocksLaterStarts: {
            let (mayStartPage, finishStart) = ($0.mayStartPage, $0.finishStart)
            $0.mayStartPage = { app, now in
                app.storage.behaviorFlags.insert("starting").inserted && mayStartPage(&app, now)
            }
            $0.finishStart = { app, flow in
                app.storage.behaviorFlags.remove("starting")
                finishStart(&app, flow)
            }
        },
        .readsVaultKeyConcurrently: {
            let originalBehavior = $0.mayStartPage
            $0.mayStartPage = { app, now in
                let readVaultCommand = app.readVaultCommand(.id)
                _ = app.sendCommandAndWait(
                    readVaultCommand,
                    app.key(.id),
                    at: now,
                    for: app.policy.vaultReadTimeoutMilliseconds
                )
                return originalBehavior(&app, now)
            }
        },
        .adoptsLateVaultReply: {
            $0.handleUnexpectedValue = { app, name, value, now in
                guard name == app.key(.id), let text = value.string,
                    ClientTimeline.isUsable(text), app.hasFinishedStart, text != app.id,
                    !app.isFlowWaiting(for: name)
                else { return }
                var flow = ScriptedApp.Flow([.write, .sendAlias, .register, .adoptID], at: now)
                flow.id = text
                flow.source = "vault"
                app.flows.append(flow)
            }
        },
        .usesWindowPropertyAsVaultKey: {
            let originalBehavior = $0.key
            $0.key = { role, keys in role == .lock ? "status" : originalBehavior(role, keys) }
        },
        .selectsUserWithoutUsableID: { $0.isUsableOwnerID = { _ in true } },
        .waitsForeverForInstallID: { $0.installIDReadsMax = .max },
        .runsStartTwice: {
            let originalBehavior = $0.mayStartPage
            $0.mayStartPage = { app, now in
                guard originalBehavior(&app, now) else { return false }
                app.flows.append(ScriptedApp.Flow(app.policy.start, at: now))
                return true
            }
        },
        .adoptsUnflaggedAnonymousID: {
            $0.entryNamesUser = { entry, _ in entry["isAnonymous"] != true }
        },
        .retriesForLoggedOutUser: { $0.isCurrentUserID = { _, _ in true } },
        .continuesRetryDuringLogin: { $0.isCurrentUserID = { $1 == ($0.id ?? $1) } },
        .losesRegistrationDuringRetry: { $0.hasNextPendingRegistration = { _ in false } },
        .retriesWithoutBackoff: { $0.retryPause = { _ in 300 } },
        .unencoded: { $0.encoded = { $0 } },
        .encodesIDsTwice: { $0.encoded = { $0.percentEncoded.percentEncoded } },
        .skipsVaultDecoding: { $0.decoded = { $0 } },
        .waitsWithoutTimeout: { $0.callTimeoutMilliseconds = 1 << 40 },
        .sendsUndefinedInstallID: { $0.hasInstallID = { _ in true } },
        .skipsRegistrationOnLogin: { $0.skipRegistration(of: "login") },
        .skipsRegistrationOnRestore: { $0.skipRegistration(of: "restore_button") },
        .registersOnlyNewIDs: {
            $0.needsRegistration = { app, flow in app.storage.currentID != flow.id }
        },
        .ignoresRegistrationStatus: {
            let originalBehavior = $0.isConfirmed
            $0.isConfirmed = { status, responseID, id in
                status != nil || originalBehavior(status, responseID, id)
            }
        },
        .ignoresRegistrationResponseID: {
            $0.isConfirmed = { status, _, _ in (200..<300).contains(status ?? 0) }
        },
        .treatsFailedRegistrationAsSuccess: { $0.isConfirmed = { _, _, _ in true } },
        .neverRetriesRegistration: { $0.scheduleRetry = { _, _ in } },
        .retriesForPreviousUsers: {
            $0.addPendingRegistration = { app, id in app.storage.pendingRegistrationIDs.append(id) }
            $0.needsRetry = { _, _ in true }
            let originalBehavior = $0.recordRetryResult
            $0.recordRetryResult = { app, number, id, now in
                let pendingCount = app.storage.pendingRegistrationIDs.count
                originalBehavior(&app, number, id, now)
                guard app.registeredID == id else { return }
                for _ in 0..<pendingCount {
                    let values = app.policy.registrationValues(app, id, "retry")
                    _ = app.call("register", values, at: now)
                }
            }
        },
        .omitsPlatform: {
            $0.changeRegistration { values, _ in
                guard ["restore_button", "logout"].contains(values["source"]) else { return }
                values["platform"] = nil
            }
        },
        .reportsUnknownPlatformAsIOS: {
            let originalBehavior = $0.platform
            $0.platform = { originalBehavior($0) == "android" ? "android" : "ios" }
        },
        .createsDeviceIDPerLaunch: {
            $0.changeRegistration { values, app in values["device"] = "device-\(app.callCount)" }
        },
    ]
}

extension ScriptedApp.Policy {
    fileprivate mutating func skipRegistration(of source: String) {
        let originalBehavior = needsRegistration
        needsRegistration = { app, flow in flow.source != source && originalBehavior(app, flow) }
    }

    fileprivate mutating func changeRegistration(
        _ change: @escaping @Sendable (inout [String: String], ScriptedApp) -> Void
    ) {
        let originalBehavior = registrationValues
        registrationValues = { app, id, source in
            var values = originalBehavior(app, id, source)
            change(&values, app)
            return values
        }
    }
}
