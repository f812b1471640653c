internal import Contracts
internal import Judging
internal import Providers
internal import Values

/// Defects of the scripted app in its start and in its bridge commands.
extension ClientDefect {
    static let start: [ClientDefect] = [
        ClientDefect(
            "commands-in-browser",
            "a browser is treated as a phone with a bridge",
            breaks: "C-01",
            guideID: "X-56"
        ) {
            $0.isNativeApp = { _ in true }
            let originalBehavior = $0.mayOpenPaywall
            $0.mayOpenPaywall = { app in app.globals["uuid"] == nil || originalBehavior(app) }
        },
        ClientDefect(
            "asks-everything",
            "the purchase history is read although the vault has the user ID",
            breaks: "C-02"
        ) { $0.needsHistory = { _ in true } },
        ClientDefect(
            "history-first",
            "the purchase history is read before the vault",
            breaks: "C-02"
        ) { $0.start.swapAt(1, 2) },
        ClientDefect("history-ignored", "the purchase history is never read", breaks: "C-02") {
            $0.needsHistory = { _ in false }
        },
        ClientDefect(
            "believes-vault",
            "any value in the vault is accepted as a user ID",
            breaks: "C-03"
        ) {
            let originalBehavior = $0.recordVaultID
            $0.recordVaultID = { app, flow, value in
                if let text = value?.string {
                    flow.id = text
                    flow.vaultID = text
                }
                originalBehavior(&app, &flow, value)
            }
        },
        ClientDefect(
            "throws-on-null",
            "a null value from the bridge aborts the start of the app",
            breaks: "C-04"
        ) {
            let originalBehavior = $0.recordVaultID
            $0.recordVaultID = { app, flow, value in
                guard value == .null else { return originalBehavior(&app, &flow, value) }
                app.output.append(.error("TypeError: value is null"))
                app.isLoading = false
                flow.actions = [.readVault]
            }
        },
        ClientDefect(
            "waits-for-bridge",
            "reads from the vault wait for the bridge's timeout of 30 seconds",
            breaks: "C-05",
            guideID: "X-41"
        ) {
            $0.vaultReadTimeoutMilliseconds = 30_000
            $0.installIDTimeoutMilliseconds = 30_000
        },
        ClientDefect(
            "first-entry",
            "the first purchase selects the user, even if it is inactive",
            breaks: "C-06"
        ) { $0.sortedEntries = { entries, _ in entries } },
        ClientDefect(
            "restore-first-entry",
            "the restore button and the start select the user differently",
            breaks: "C-06",
            guideID: "X-49"
        ) {
            let originalBehavior = $0.sortedEntries
            $0.sortedEntries = { entries, isRestoreAction in
                isRestoreAction ? entries : originalBehavior(entries, isRestoreAction)
            }
        },
        ClientDefect(
            "adopts-anonymous",
            "an anonymous ID in the purchase history becomes the user ID",
            breaks: "C-06",
            guideID: "X-51"
        ) { $0.entryNamesUser = { _, _ in true } },
        ClientDefect("adopts-sandbox", "a sandbox purchase selects the user", breaks: "C-06") {
            $0.isProductionEntry = { _ in true }
        },
        ClientDefect("no-lock", "a user ID from the purchase history is not locked", breaks: "C-07")
        { $0.mustLockID = { _ in false } },
        ClientDefect(
            "lock-after-register",
            "the lock of a user ID is written only after the registration",
            breaks: "C-07"
        ) {
            $0.start.removeAll { $0 == .lock }
            $0.start.insert(.lock, at: $0.start.count - 1)
        },
        ClientDefect(
            "register-before-write",
            "the backend gets a new user ID before the phone has stored it",
            breaks: "C-08",
            guideID: "X-45"
        ) {
            $0.start = [
                .readInstallID, .readVault, .readPurchaseHistory, .chooseID, .lock, .register,
                .write,
                .sendAlias,
                .finishStart,
            ]
        },
        ClientDefect(
            "write-unconfirmed",
            "a lost write to the vault is never noticed",
            breaks: "C-09",
            guideID: "X-46"
        ) { $0.isIDStoredInVault = { _ in true } },
        ClientDefect(
            "alias-at-launch-only",
            "OneSignal gets the user ID only when the app starts",
            breaks: "C-10"
        ) {
            let originalBehavior = $0.sendAlias
            $0.sendAlias = { app, flow, now in
                if !app.hasFinishedStart { originalBehavior(&app, flow, now) }
            }
        },
        ClientDefect("alias-of-before", "OneSignal gets the previous user ID", breaks: "C-10") {
            $0.sendAlias = { app, flow, now in app.sendAlias(app.id ?? flow.id, at: now) }
        },
        ClientDefect(
            "unencoded",
            "user IDs in bridge commands are not percent-encoded",
            breaks: "C-21",
            guideID: "X-44"
        ) { $0.encoded = { $0 } },
        ClientDefect(
            "encoded-twice",
            "user IDs in bridge commands are percent-encoded twice",
            breaks: "C-21"
        ) { $0.encoded = { $0.percentEncoded.percentEncoded } },
        ClientDefect("reads-raw", "values from the vault are not percent-decoded", breaks: "C-22") {
            $0.decoded = { $0 }
        },
        ClientDefect(
            "page-over-vault",
            "the user ID in the page's web storage overrides the vault",
            breaks: "C-28"
        ) {
            let originalBehavior = $0.recordVaultID
            $0.recordVaultID = { app, flow, value in
                originalBehavior(&app, &flow, value)
                flow.id = app.storage.currentID ?? flow.id
            }
        },
        ClientDefect(
            "install-after-logout",
            "the install ID becomes the user ID again when the vault entry is lost",
            breaks: "C-31",
            guideID: "X-42"
        ) {
            $0.storedID = { _ in nil }
            $0.newID = { $0.installID() }
        },
        ClientDefect("each-page-its-own", "each open page creates its own user ID", breaks: "C-33")
        { $0.newID = { $0.idSource.uuid() } },
        ClientDefect(
            "stuck-after-reload",
            "a reload during the start of the app prevents all later starts",
            breaks: "C-33"
        ) {
            let (mayStartPage, finishStart) = ($0.mayStartPage, $0.finishStart)
            $0.mayStartPage = { app, now in
                app.storage.behaviorFlags.insert("starting").inserted && mayStartPage(&app, now)
            }
            $0.finishStart = { app, flow in
                app.storage.behaviorFlags.remove("starting")
                finishStart(&app, flow)
            }
        },
        ClientDefect(
            "late-reply-adopted",
            "the value in a late vault reply becomes the user ID",
            breaks: "C-34"
        ) {
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
        ClientDefect(
            "reads-at-once",
            "two reads of the same vault key are concurrent",
            breaks: "C-34"
        ) {
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
        ClientDefect(
            "key-of-window",
            "a vault key is the name of a window property",
            breaks: "C-35"
        ) {
            let originalBehavior = $0.key
            $0.key = { role, keys in role == .lock ? "status" : originalBehavior(role, keys) }
        },
        ClientDefect("resolves-twice", "a page runs its start sequence twice", breaks: "C-33") {
            let originalBehavior = $0.mayStartPage
            $0.mayStartPage = { app, now in
                guard originalBehavior(&app, now) else { return false }
                app.flows.append(ScriptedApp.Flow(app.policy.start, at: now))
                return true
            }
        },
        ClientDefect(
            "adopts-unflagged",
            "an anonymous ID without the anonymous flag becomes the user ID",
            breaks: "C-06"
        ) {
            $0.entryNamesUser = { entry, _ in entry["isAnonymous"] != true }
        },
        ClientDefect(
            "owned-by-nobody",
            "a purchase without a usable user ID selects the user",
            breaks: "C-06"
        ) { $0.isUsableOwnerID = { _ in true } },
        ClientDefect(
            "waits-for-install",
            "the start of the app waits forever for an install ID",
            breaks: "C-20"
        ) { $0.installIDReadsMax = .max },
    ]
}
