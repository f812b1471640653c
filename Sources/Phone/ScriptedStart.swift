internal import Contracts
internal import Judging
internal import Providers
internal import Values

/// The start of the scripted app, which determines the user of the phone and registers the user at
/// the backend.
extension ScriptedApp {
    /// Waits for the install ID, which may arrive late.
    ///
    /// The app requests the install ID when it does not arrive (C-15).
    mutating func readInstallID(
        _ flow: inout ScriptedFlow,
        after wait: ScriptedFlow.Wait?,
        at now: Int64
    ) -> Bool {
        if policy.launch.hasInstallID(self) { return true }
        flow.attemptCount += 1
        guard flow.attemptCount <= policy.launch.installIDReadsMax else {
            page.isLoading = false
            page.error = "This device could not be identified"
            flow.actions = [.markIdle]
            return true
        }
        // Every second attempt only waits, because a request would clear a value that has just
        // arrived by itself.
        flow.wait =
            flow.attemptCount.isMultiple(of: 2)
            ? bridge.sendCommandAndWait(
                "get-uuid://",
                "uuid",
                at: now,
                for: bridge.policy.installIDTimeoutMilliseconds
            )
            : .global("uuid", since: now, until: now + 700)
        return false
    }

    mutating func readVault(
        _ flow: inout ScriptedFlow,
        after wait: ScriptedFlow.Wait?,
        at now: Int64
    ) -> Bool {
        flow.attemptCount = 0
        guard case .global(let name, _, _)? = wait else {
            flow.wait = bridge.readVault(.id, at: now)
            return false
        }
        policy.launch.recordVaultID(&self, &flow, bridge.globals[name]?.value)
        return true
    }

    /// Uses the value from the vault as the user ID if it is usable.
    ///
    /// Null, no reply and meaningless strings are not usable (C-03, C-04).
    mutating func recordVaultID(_ value: JSONValue?, _ flow: inout ScriptedFlow) {
        if let text = value?.string.map(bridge.policy.decoded), ClientTimeline.isUsable(text) {
            flow.vaultID = text
            flow.id = text
            flow.source = "vault"
        }
        // An interrupted change of the user ID continues, whatever the vault contains (C-28).
        if let interruptedLoginID = storage.pendingUserID {
            flow.id = interruptedLoginID
            flow.source = "resume"
        }
    }

    mutating func readPurchaseHistory(
        _ flow: inout ScriptedFlow,
        after wait: ScriptedFlow.Wait?,
        at now: Int64
    ) -> Bool {
        guard case .global(let name, _, _)? = wait else {
            guard policy.launch.needsHistory(flow) else { return true }
            flow.wait = bridge.sendCommandAndWait(
                "getpurchasehistory://",
                "restoredData",
                at: now,
                for: bridge.policy.vaultReadTimeoutMilliseconds
            )
            return false
        }
        var value = bridge.globals[name]?.value
        if case .string(let text)? = value { value = JSONValue(ifValid: text) }
        flow.history = value?.array?.compactMap(\.object)
        return true
    }

    mutating func chooseID(_ flow: inout ScriptedFlow, at now: Int64) {
        if flow.id == nil,
            let historyUserID = policy.history.user(in: flow.history, isRestoreAction: false)
        {
            flow.id = historyUserID
            flow.source = "restore"
            flow.isIDFromHistory = true
        }
        if flow.id == nil, let storedUserID = policy.launch.storedID(self) {
            flow.id = storedUserID
            flow.source = "stored"
        }
        if flow.id == nil {
            flow.id = policy.launch.newID(&self)
            flow.source = "new"
        }
    }

    /// Returns the user ID of a new user: the install ID, or a random ID if a logout has given up
    /// the install ID (C-31).
    mutating func newID() -> String {
        storage.retiredIDs.contains(bridge.installID) ? idSource.uuid() : bridge.installID
    }

    /// Reads the written user ID back from the vault, and writes it again if the write was lost
    /// (C-09).
    mutating func confirmWrite(
        _ flow: inout ScriptedFlow,
        after wait: ScriptedFlow.Wait?,
        at now: Int64
    ) -> Bool {
        if policy.launch.isIDStoredInVault(flow) { return true }
        guard case .global(let name, _, _)? = wait else {
            flow.wait = bridge.readVault(.id, at: now)
            return false
        }
        if bridge.globals[name]?.value.string.map(bridge.policy.decoded) == flow.id {
            flow.vaultID = flow.id
            return true
        }
        flow.attemptCount += 1
        if flow.attemptCount > 3 { return true }
        if let id = flow.id { bridge.write(.id, id, at: now) }
        flow.wait = bridge.readVault(.id, at: now)
        return false
    }

    mutating func finishStart(_ flow: ScriptedFlow) {
        id = flow.id
        storage.currentID = flow.id
        storage.pendingUserID = nil
        hasFinishedStart = true
        page.isLoading = false
    }
}
