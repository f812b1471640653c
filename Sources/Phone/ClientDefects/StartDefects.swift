internal import Conformance
internal import Providers

/// Defects of the scripted app in its start, its bridge commands and its registrations.
extension ClientDefect {
    static let start: [ClientDefect: ClientDeviation] = [
        .commandsInBrowser: {
            $0.isNative = { _ in true }
            let correct = $0.mayOpenPaywall
            $0.mayOpenPaywall = { app in app.globals["uuid"] == nil || correct(app) }
        },
        .asksEverything: { $0.needsHistory = { _ in true } },
        .historyFirst: { $0.start.swapAt(1, 2) },
        .historyIgnored: { $0.needsHistory = { _ in false } },
        .believesVault: {
            let correct = $0.recordVaultID
            $0.recordVaultID = { app, flow, value in
                if let text = value?.string {
                    flow.id = text
                    flow.vaultID = text
                }
                correct(&app, &flow, value)
            }
        },
        .throwsOnNull: {
            let correct = $0.recordVaultID
            $0.recordVaultID = { app, flow, value in
                guard value == .null else { return correct(&app, &flow, value) }
                app.output.append(.error("TypeError: value is null"))
                app.isLoading = false
                flow.actions = [.readVault]
            }
        },
        .waitsForBridge: {
            $0.vaultReadTimeout = 30_000
            $0.installIDTimeout = 30_000
        },
        .firstEntry: { $0.sortedEntries = { entries, _ in entries } },
        .restoreFirstEntry: {
            let correct = $0.sortedEntries
            $0.sortedEntries = { entries, isButton in
                isButton ? entries : correct(entries, isButton)
            }
        },
        .adoptsAnonymous: { $0.isNamed = { _, _ in true } },
        .adoptsSandbox: { $0.isProductionEntry = { _ in true } },
        .noLock: { $0.locksID = { _ in false } },
        .lockAfterRegister: {
            $0.start.removeAll { $0 == .lock }
            $0.start.insert(.lock, at: $0.start.count - 1)
        },
        .registerBeforeWrite: {
            $0.start = [
                .install, .readVault, .readHistory, .chooseID, .lock, .register, .write, .alias,
                .finishStart,
            ]
        },
        .writeUnconfirmed: { $0.isWritten = { _ in true } },
        .aliasAtLaunchOnly: {
            let correct = $0.alias
            $0.alias = { app, flow, now in if !app.isStarted { correct(&app, flow, now) } }
        },
        .aliasOfBefore: { $0.alias = { app, flow, now in app.alias(app.id ?? flow.id, at: now) } },
        .pageOverVault: {
            let correct = $0.recordVaultID
            $0.recordVaultID = { app, flow, value in
                correct(&app, &flow, value)
                flow.id = app.storage.currentID ?? flow.id
            }
        },
        .installAfterLogout: {
            $0.storedID = { _ in nil }
            $0.newID = { $0.installID() }
        },
        .eachPageItsOwn: { $0.newID = { $0.ids.uuid() } },
        .stuckAfterReload: {
            let (mayStart, finishStart) = ($0.mayStart, $0.finishStart)
            $0.mayStart = { app, now in
                app.storage.defectFlags.insert("starting").inserted && mayStart(&app, now)
            }
            $0.finishStart = { app, flow in
                app.storage.defectFlags.remove("starting")
                finishStart(&app, flow)
            }
        },
        .readsAtOnce: {
            let correct = $0.mayStart
            $0.mayStart = { app, now in
                let read = app.read(.id)
                _ = app.sendAndWait(read, app.key(.id), at: now, for: app.policy.vaultReadTimeout)
                return correct(&app, now)
            }
        },
        .lateReplyAdopted: {
            $0.handleUnexpectedValue = { app, name, value, now in
                guard name == app.key(.id), let text = value.string,
                    ClientTimeline.isUsable(text), app.isStarted, text != app.id,
                    !app.waits(for: name)
                else { return }
                var flow = ScriptedApp.Flow([.write, .alias, .register, .adoptID], at: now)
                flow.id = text
                flow.source = "vault"
                app.flows.append(flow)
            }
        },
        .keyOfWindow: {
            let correct = $0.key
            $0.key = { role, keys in role == .lock ? "status" : correct(role, keys) }
        },
        .ownedByNobody: { $0.isUsableOwnerID = { _ in true } },
        .waitsForInstall: { $0.installIDReadsMax = .max },
        .resolvesTwice: {
            let correct = $0.mayStart
            $0.mayStart = { app, now in
                guard correct(&app, now) else { return false }
                app.flows.append(ScriptedApp.Flow(app.policy.start, at: now))
                return true
            }
        },
        .adoptsUnflagged: { $0.isNamed = { entry, _ in entry["isAnonymous"] != true } },
        .staleRetry: { $0.isCurrent = { _, _ in true } },
        .retryDuringLogin: { $0.isCurrent = { $1 == ($0.id ?? $1) } },
        .retryBlocksNext: { $0.isNextPending = { _ in false } },
        .hotRetries: { $0.pause = { _ in 300 } },
        .unencoded: { $0.encoded = { $0 } },
        .encodedTwice: { $0.encoded = { $0.percentEncoded.percentEncoded } },
        .readsRaw: { $0.decoded = { $0 } },
        .spinsForEver: { $0.callTimeout = 1 << 40 },
        .missingIDWritten: { $0.hasInstallID = { _ in true } },
        .noRegisterOnLogin: { $0.skipRegistration(of: "login") },
        .noRegisterOnRestore: { $0.skipRegistration(of: "restore_button") },
        .registersNewOnly: {
            $0.needsRegistration = { app, flow in app.storage.currentID != flow.id }
        },
        .statusIgnored: {
            let correct = $0.isConfirmed
            $0.isConfirmed = { status, named, id in status != nil || correct(status, named, id) }
        },
        .answerUnread: {
            $0.isConfirmed = { status, _, _ in (200..<300).contains(status ?? 0) }
        },
        .failureCounts: { $0.isConfirmed = { _, _, _ in true } },
        .neverRetries: { $0.scheduleRetry = { _, _ in } },
        .queueReplayed: {
            $0.keepPending = { app, id in app.storage.pending.append(id) }
            $0.needsRetry = { _, _ in true }
            let correct = $0.recordRetryResult
            $0.recordRetryResult = { app, number, id, now in
                let waiting = app.storage.pending.count
                correct(&app, number, id, now)
                guard app.registeredID == id else { return }
                for _ in 0..<waiting {
                    let values = app.policy.registration(app, id, "retry")
                    _ = app.call("register", values, at: now)
                }
            }
        },
        .noPlatform: {
            $0.changeRegistration { values, _ in
                guard ["restore_button", "logout"].contains(values["source"]) else { return }
                values["platform"] = nil
            }
        },
        .anythingIsIOS: {
            let correct = $0.platform
            $0.platform = { correct($0) == "android" ? "android" : "ios" }
        },
        .devicePerLaunch: {
            $0.changeRegistration { values, app in values["device"] = "device-\(app.callCount)" }
        },
    ]
}

extension ScriptedApp.Policy {
    fileprivate mutating func skipRegistration(of source: String) {
        let correct = needsRegistration
        needsRegistration = { app, flow in flow.source != source && correct(app, flow) }
    }

    fileprivate mutating func changeRegistration(
        _ change: @escaping @Sendable (inout [String: String], ScriptedApp) -> Void
    ) {
        let correct = registration
        registration = { app, id, source in
            var values = correct(app, id, source)
            change(&values, app)
            return values
        }
    }
}
