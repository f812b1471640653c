internal import Contracts
internal import Providers
internal import Values

/// Defects of the scripted app in its start, which determines the user of the phone.
extension ClientDefect {
    static let start: [ClientDefect] = [
        ClientDefect(
            "asks-everything",
            "the purchase history is read although the vault has the user ID",
            breaks: "C-02"
        ) {
            $0.launch.needsHistory = { _ in true }
        },
        ClientDefect(
            "history-first",
            "the purchase history is read before the vault",
            breaks: "C-02"
        ) {
            $0.actions.start.swapAt(1, 2)
        },
        ClientDefect(
            "history-ignored",
            "the purchase history is never read",
            breaks: "C-02"
        ) {
            $0.launch.needsHistory = { _ in false }
        },
        ClientDefect(
            "believes-vault",
            "any value in the vault is accepted as a user ID",
            breaks: "C-03"
        ) {
            let originalBehavior = $0.launch.recordVaultID
            $0.launch.recordVaultID = { app, flow, value in
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
            let originalBehavior = $0.launch.recordVaultID
            $0.launch.recordVaultID = { app, flow, value in
                guard value == .null else { return originalBehavior(&app, &flow, value) }
                app.bridge.output.append(.error("TypeError: value is null"))
                app.page.isLoading = false
                flow.actions = [.readVault]
            }
        },
        ClientDefect(
            "first-entry",
            "the first purchase selects the user, even if it is inactive",
            breaks: "C-06"
        ) {
            $0.history.sortedEntries = { entries, _ in entries }
        },
        ClientDefect(
            "restore-first-entry",
            "the restore button and the start select the user differently",
            breaks: "C-06",
            guideID: "X-49"
        ) {
            let originalBehavior = $0.history.sortedEntries
            $0.history.sortedEntries = { entries, isRestoreAction in
                isRestoreAction ? entries : originalBehavior(entries, isRestoreAction)
            }
        },
        ClientDefect(
            "adopts-anonymous",
            "an anonymous ID in the purchase history becomes the user ID",
            breaks: "C-06",
            guideID: "X-51"
        ) {
            $0.history.entryNamesUser = { _, _ in true }
        },
        ClientDefect(
            "adopts-sandbox",
            "a sandbox purchase selects the user",
            breaks: "C-06"
        ) {
            $0.history.isProductionEntry = { _ in true }
        },
        ClientDefect(
            "no-lock",
            "a user ID from the purchase history is not locked",
            breaks: "C-07"
        ) {
            $0.launch.mustLockID = { _ in false }
        },
        ClientDefect(
            "lock-after-register",
            "the lock of a user ID is written only after the registration",
            breaks: "C-07"
        ) {
            $0.actions.start.removeAll { $0 == .lock }
            $0.actions.start.insert(.lock, at: $0.actions.start.count - 1)
        },
        ClientDefect(
            "register-before-write",
            "the backend gets a new user ID before the phone has stored it",
            breaks: "C-08",
            guideID: "X-45"
        ) {
            $0.actions.start = [
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
        ) {
            $0.launch.isIDStoredInVault = { _ in true }
        },
        ClientDefect(
            "missing-id-written",
            "a missing install ID is sent to the backend as 'undefined'",
            breaks: "C-15",
            guideID: "X-40"
        ) {
            $0.launch.hasInstallID = { _ in true }
        },
        ClientDefect(
            "page-over-vault",
            "the user ID in the page's web storage overrides the vault",
            breaks: "C-28"
        ) {
            let originalBehavior = $0.launch.recordVaultID
            $0.launch.recordVaultID = { app, flow, value in
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
            $0.launch.storedID = { _ in nil }
            $0.launch.newID = { $0.bridge.installID }
        },
        ClientDefect(
            "each-page-its-own",
            "each open page creates its own user ID",
            breaks: "C-33"
        ) {
            $0.launch.newID = { $0.idSource.uuid() }
        },
        ClientDefect(
            "stuck-after-reload",
            "a reload during the start of the app prevents all later starts",
            breaks: "C-33"
        ) {
            let (mayStartPage, finishStart) = ($0.launch.mayStartPage, $0.launch.finishStart)
            $0.launch.mayStartPage = { app, now in
                app.storage.behaviorFlags.insert("starting").inserted && mayStartPage(&app, now)
            }
            $0.launch.finishStart = { app, flow in
                app.storage.behaviorFlags.remove("starting")
                finishStart(&app, flow)
            }
        },
        ClientDefect(
            "reads-at-once",
            "two reads of the same vault key are concurrent",
            breaks: "C-34"
        ) {
            let originalBehavior = $0.launch.mayStartPage
            $0.launch.mayStartPage = { app, now in
                _ = app.bridge.readVault(.id, at: now)
                return originalBehavior(&app, now)
            }
        },
        ClientDefect(
            "resolves-twice",
            "a page runs its start sequence twice",
            breaks: "C-33"
        ) {
            let originalBehavior = $0.launch.mayStartPage
            $0.launch.mayStartPage = { app, now in
                guard originalBehavior(&app, now) else { return false }
                app.flows.append(ScriptedFlow(app.policy.actions.start, at: now))
                return true
            }
        },
        ClientDefect(
            "adopts-unflagged",
            "an anonymous ID without the anonymous flag becomes the user ID",
            breaks: "C-06"
        ) {
            $0.history.entryNamesUser = { entry, _ in entry["isAnonymous"] != true }
        },
        ClientDefect(
            "owned-by-nobody",
            "a purchase without a usable user ID selects the user",
            breaks: "C-06"
        ) {
            $0.history.isUsableOwnerID = { _ in true }
        },
        ClientDefect(
            "waits-for-install",
            "the start of the app waits forever for an install ID",
            breaks: "C-20"
        ) {
            $0.launch.installIDReadsMax = .max
        },
    ]
}
