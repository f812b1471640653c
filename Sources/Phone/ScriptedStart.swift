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
    mutating func readInstallID(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        if policy.hasInstallID(self) { return true }
        flow.attemptCount += 1
        guard flow.attemptCount <= policy.installIDReadsMax else {
            isLoading = false
            error = "This device could not be identified"
            flow.actions = [.markIdle]
            return true
        }
        // Every second attempt only waits, because a request would clear a value that has just
        // arrived by itself.
        flow.wait =
            flow.attemptCount.isMultiple(of: 2)
            ? sendCommandAndWait(
                "get-uuid://",
                "uuid",
                at: now,
                for: policy.installIDTimeoutMilliseconds
            )
            : .global("uuid", since: now, until: now + 700)
        return false
    }

    /// Whether the install ID is known.
    ///
    /// The app waits for a missing install ID and does not use a substitute (C-15).
    var hasInstallID: Bool { globals["uuid"]?.value.string?.isEmpty == false }

    func installID() -> String { globals["uuid"]?.value.string ?? "undefined" }

    mutating func readVault(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        flow.attemptCount = 0
        guard case .global(let name, _, _)? = wait else {
            flow.wait = sendCommandAndWait(
                readVaultCommand(.id),
                key(.id),
                at: now,
                for: policy.vaultReadTimeoutMilliseconds
            )
            return false
        }
        policy.recordVaultID(&self, &flow, globals[name]?.value)
        return true
    }

    /// Uses the value from the vault as the user ID if it is usable.
    ///
    /// Null, no reply and meaningless strings are not usable (C-03, C-04).
    mutating func recordVaultID(_ value: JSONValue?, _ flow: inout Flow) {
        if let text = value?.string.map(policy.decoded), ClientTimeline.isUsable(text) {
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
        _ flow: inout Flow,
        after wait: Wait?,
        at now: Int64
    ) -> Bool {
        guard case .global(let name, _, _)? = wait else {
            guard policy.needsHistory(flow) else { return true }
            flow.wait = sendCommandAndWait(
                "getpurchasehistory://",
                "restoredData",
                at: now,
                for: policy.vaultReadTimeoutMilliseconds
            )
            return false
        }
        var value = globals[name]?.value
        if case .string(let text)? = value { value = JSONValue(ifValid: text) }
        flow.history = value?.array?.compactMap(\.object)
        return true
    }

    /// Returns whether the app must read the purchase history, which is only the case when the
    /// phone does not know the user ID (C-02).
    static func needsHistory(_ flow: Flow) -> Bool { flow.id == nil }

    /// Returns the user ID in the purchase history.
    ///
    /// The start and the restore button use the same rule (C-06).
    func userInHistory(_ history: [JSONObject]?, isRestoreAction: Bool) -> String? {
        let entries = (history ?? []).filter { entry in
            guard let user = entry["externalUserId"]?.string else { return false }
            return policy.isUsableOwnerID(user) && policy.entryNamesUser(entry, user)
                && policy.isProductionEntry(entry)
        }
        return policy.sortedEntries(entries, isRestoreAction).first?["externalUserId"]?.string
    }

    static func entryNamesUser(_ entry: JSONObject, user: String) -> Bool {
        entry["isAnonymous"] != true && !user.hasPrefix("$RCAnonymousID:")
    }

    static func isProductionEntry(_ entry: JSONObject) -> Bool { entry["environment"] != "sandbox" }

    /// Sorts entries of the purchase history: active entries before inactive entries, each with the
    /// latest first.
    static func sortedEntries(_ entries: [JSONObject], isRestoreAction: Bool) -> [JSONObject] {
        func sortKey(_ entry: JSONObject) -> (Int, String) {
            (entry["isActive"] == true ? 1 : 0, entry["purchaseDate"]?.string ?? "")
        }
        return entries.sorted { sortKey($0) > sortKey($1) }
    }

    mutating func chooseID(_ flow: inout Flow, at now: Int64) {
        if flow.id == nil, let historyUserID = userInHistory(flow.history, isRestoreAction: false) {
            flow.id = historyUserID
            flow.source = "restore"
            flow.isIDFromHistory = true
        }
        if flow.id == nil, let storedUserID = policy.storedID(self) {
            flow.id = storedUserID
            flow.source = "stored"
        }
        if flow.id == nil {
            flow.id = policy.newID(&self)
            flow.source = "new"
        }
    }

    /// The user ID in the page's web storage, for the case that the vault has lost the ID; nil
    /// without a usable ID.
    var storedID: String? { storage.currentID.flatMap { ClientTimeline.isUsable($0) ? $0 : nil } }

    /// Returns the user ID of a new user: the install ID, or a random ID if a logout has given up
    /// the install ID (C-31).
    mutating func newID() -> String {
        storage.retiredIDs.contains(installID()) ? idSource.uuid() : installID()
    }

    /// Reads the written user ID back from the vault, and writes it again if the write was lost
    /// (C-09).
    mutating func confirmWrite(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        if policy.isIDStoredInVault(flow) { return true }
        guard case .global(let name, _, _)? = wait else {
            flow.wait = sendCommandAndWait(
                readVaultCommand(.id),
                key(.id),
                at: now,
                for: policy.vaultReadTimeoutMilliseconds
            )
            return false
        }
        if globals[name]?.value.string.map(policy.decoded) == flow.id {
            flow.vaultID = flow.id
            return true
        }
        flow.attemptCount += 1
        if flow.attemptCount > 3 { return true }
        if let id = flow.id { write(.id, id, at: now) }
        flow.wait = sendCommandAndWait(
            readVaultCommand(.id),
            key(.id),
            at: now,
            for: policy.vaultReadTimeoutMilliseconds
        )
        return false
    }

    static func isIDStoredInVault(_ flow: Flow) -> Bool { flow.id == flow.vaultID }

    /// Stores the user ID in the vault before the app sends it to any server (C-08).
    mutating func write(_ flow: Flow, at now: Int64) {
        if let id = flow.id, id != flow.vaultID { write(.id, id, at: now) }
    }

    /// Sets the OneSignal alias to the user ID (C-10).
    mutating func sendAlias(_ id: String?, at now: Int64) {
        sendCommand("setonesignalplayerid://?user_id=\(policy.encoded(id ?? ""))", at: now)
    }

    mutating func finishStart(_ flow: Flow) {
        id = flow.id
        storage.currentID = flow.id
        storage.pendingUserID = nil
        hasFinishedStart = true
        isLoading = false
    }
}
