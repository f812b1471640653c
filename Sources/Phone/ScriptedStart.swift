internal import Conformance
internal import Providers

/// The start: who the user of this phone is, and that everybody knows.
extension ScriptedApp {
    /// The install id may come late, and is asked for when it does not come (C-15).
    mutating func install(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        if policy.hasInstallID(self) { return true }
        flow.tries += 1
        guard flow.tries <= policy.installTriesMax else {
            isLoading = false
            error = "This device could not be identified"
            flow.acts = [.idle]
            return true
        }
        // Every other time it is only waited for, so that what comes by itself is not cleared.
        flow.wait =
            flow.tries.isMultiple(of: 2)
            ? watch("get-uuid://", "uuid", at: now, for: policy.installTime)
            : .global("uuid", since: now, until: now + 700)
        return false
    }

    /// What is missing is waited for, and nothing stands in for it (C-15).
    var hasInstallID: Bool { globals["uuid"]?.value.string?.isEmpty == false }

    func installID() -> String { globals["uuid"]?.value.string ?? "undefined" }

    mutating func readVault(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        flow.tries = 0
        guard case .global(let name, _, _)? = wait else {
            flow.wait = watch(read(.id), key(.id), at: now, for: policy.readTime)
            return false
        }
        policy.learnVault(&self, &flow, globals[name]?.value)
        return true
    }

    /// An id is what looks like one; null, silence and texts that mean nothing are none (C-03, C-04).
    mutating func learnVault(_ value: JSONValue?, _ flow: inout Flow) {
        if let text = value?.string.map(policy.decoded), ClientTimeline.isUsable(text) {
            flow.vaultID = text
            flow.id = text
            flow.source = "vault"
        }
        // A change that was cut short goes on, whatever the vault holds (C-28).
        if let unfinished = storage.switchingTo {
            flow.id = unfinished
            flow.source = "resume"
        }
    }

    mutating func readHistory(
        _ flow: inout Flow,
        after wait: Wait?,
        at now: Int64
    ) -> Bool {
        guard case .global(let name, _, _)? = wait else {
            guard policy.needsHistory(flow) else { return true }
            flow.wait = watch(
                "getpurchasehistory://",
                "restoredData",
                at: now,
                for: policy.readTime
            )
            return false
        }
        var value = globals[name]?.value
        if case .string(let text)? = value { value = try? JSONValue(parsing: text) }
        flow.history = value?.array?.compactMap(\.object)
        return true
    }

    /// The store account is asked only when the phone does not know (C-02).
    static func needsHistory(_ flow: Flow) -> Bool { flow.id == nil }

    /// The one rule by which purchases name a user, at the start and at the button (C-06).
    func chosen(_ history: [JSONObject]?, isButton: Bool) -> String? {
        let entries = (history ?? []).filter { entry in
            guard let user = entry["externalUserId"]?.string else { return false }
            return policy.isOwner(user) && policy.isNamed(entry, user)
                && policy.isReal(entry)
        }
        return policy.ordered(entries, isButton).first?["externalUserId"]?.string
    }

    static func isNamed(_ entry: JSONObject, user: String) -> Bool {
        entry["isAnonymous"] != true && !user.hasPrefix("$RCAnonymousID:")
    }

    static func isReal(_ entry: JSONObject) -> Bool { entry["environment"] != "sandbox" }

    /// What is active before what is not, the latest first.
    static func ordered(_ entries: [JSONObject], isButton: Bool) -> [JSONObject] {
        func rank(_ entry: JSONObject) -> (Int, String) {
            (entry["isActive"] == true ? 1 : 0, entry["purchaseDate"]?.string ?? "")
        }
        return entries.sorted { rank($0) > rank($1) }
    }

    mutating func resolve(_ flow: inout Flow, at now: Int64) {
        if flow.id == nil, let found = chosen(flow.history, isButton: false) {
            flow.id = found
            flow.source = "restore"
            flow.isFromHistory = true
        }
        if flow.id == nil, let kept = policy.keptID(self) {
            flow.id = kept
            flow.source = "stored"
        }
        if flow.id == nil {
            flow.id = policy.newID(&self)
            flow.source = "new"
        }
    }

    /// What the page kept, when the vault has lost it.
    var keptID: String? { storage.currentID.flatMap { ClientTimeline.isUsable($0) ? $0 : nil } }

    /// The install id, unless somebody has logged out of it: then it is nobody's again (C-31).
    mutating func newID() -> String {
        storage.retired.contains(installID()) ? ids.uuid() : installID()
    }

    /// Reads back what was written, and writes it again when it was lost (C-09).
    mutating func confirm(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        if policy.isWritten(flow) { return true }
        guard case .global(let name, _, _)? = wait else {
            flow.wait = watch(read(.id), key(.id), at: now, for: policy.readTime)
            return false
        }
        if globals[name]?.value.string.map(policy.decoded) == flow.id {
            flow.vaultID = flow.id
            return true
        }
        flow.tries += 1
        if flow.tries > 3 { return true }
        if let id = flow.id { write(.id, id, at: now) }
        flow.wait = watch(read(.id), key(.id), at: now, for: policy.readTime)
        return false
    }

    static func isWritten(_ flow: Flow) -> Bool { flow.id == flow.vaultID }

    /// The phone keeps the id before anybody is told of it (C-08).
    mutating func write(_ flow: Flow, at now: Int64) {
        if let id = flow.id, id != flow.vaultID { write(.id, id, at: now) }
    }

    /// OneSignal learns of every change of the id (C-10).
    mutating func alias(_ id: String?, at now: Int64) {
        send("setonesignalplayerid://?user_id=\(policy.encoded(id ?? ""))", at: now)
    }

    mutating func ready(_ flow: Flow) {
        id = flow.id
        storage.currentID = flow.id
        storage.switchingTo = nil
        isStarted = true
        isLoading = false
    }
}
