package import Conformance
internal import Providers

/// A correct app on a Despia phone, as a value: inputs in, commands and calls out.
///
/// It follows flows A1 to A9 of the identity rules and keeps C-01 to C-35; its defects are selected
/// by name. A flow is a list of acts; an act may wait for a reply, an answer or a moment. Bridge
/// calls behave as those of the `despia-native` package do (Despia fact sheet, section 1): unwatched
/// ones wait for nothing, watched ones are polled every 100 ms.
package struct ScriptedApp: Sendable {
    package enum Input: Hashable, Sendable {
        /// The native side assigned a global.
        case assigned(String, JSONValue)
        /// The native side called a function of the page.
        case called(String, [JSONValue])
        /// The backend answered a call; no status: no answer.
        case answered(Int, status: Int?, JSONValue)
        case upgrade, restore, logout, status
        case login(account: String, password: String, agrees: Bool)
        /// Time has passed.
        case tick
    }

    package enum Output: Hashable, Sendable {
        /// A text for the bridge, at that millisecond: the package sends one each millisecond.
        case command(String, at: Int64)
        /// A call to the backend: its number, its route, and what its templates stand for.
        case call(Int, route: String, values: [String: String])
        /// The page failed by itself.
        case error(String)
    }

    /// What the page keeps in its web storage: it survives the page and a kill, not a reinstall.
    package struct Storage: Hashable, Sendable {
        var currentID: String?
        var account: String?
        /// An id that everybody is being told of; set while that is not finished.
        var switchingTo: String?
        /// Ids that were given up, and must not come back.
        var retired: Set<String> = []
        /// Registrations that failed.
        var pending: [String] = []
        /// A start is going on; only a defect reads it.
        var isStarting = false

        package init() {}
    }

    // MARK: State

    package var storage: Storage
    package private(set) var wakeAt: Int64?
    private let defects: Set<ClientDefect>
    private let keys: [PhoneChange.VaultRole: String]
    private let userAgent: String
    private var ids: IDSource
    private var globals: [String: (value: JSONValue, at: Int64)] = [:]
    private var flows: [Flow] = []
    private var output: [Output] = []
    private var lastCommandAt = Int64.min
    private var callCount = 0
    private var answers: [Int: (status: Int?, body: JSONValue)] = [:]

    private var id: String?
    private var registeredID: String?
    private var hasRegistered = false
    private var isStarted = false
    private var isBusy = false
    private var isPaywallOpen = false
    private var isLoading = true
    private var hasAccess = false
    private var error: String?
    private var subscription: (status: String, product: String?)?

    /// How long a read of the bridge may take (C-05), in milliseconds.
    private static let readTime: Int64 = 1_500
    /// How long a call may take before the app goes on without it (C-20).
    private static let callTime: Int64 = 4_000
    /// How long a tap waits for the app to be ready.
    private static let gateTime: Int64 = 8_000
    private static let retryCountMax = 6

    private enum Act: Hashable {
        case install, readVault, readHistory, resolve, lock, write, confirm, alias
        case register, ready, busy, readLock, login, decide, unlock, mint, select, take, idle
        case gate, paywall, pause, retry, askAccess, show
    }

    private enum Wait: Hashable {
        case global(String, since: Int64, until: Int64)
        case answer(Int, until: Int64)
        case time(Int64)
    }

    private struct Flow: Hashable {
        var acts: [Act]
        var wait: Wait?
        var source = ""
        var id: String?
        var vaultID: String?
        var history: [JSONObject]?
        var isFromHistory = false
        var tries = 0
        var account: String?
        var password = ""
        var agrees = false
        var isLocked = false
        var startedAt: Int64 = 0

        init(_ acts: [Act], at now: Int64) {
            self.acts = acts
            startedAt = now
        }
    }

    // MARK: Life

    /// A page that opens.
    ///
    /// - Parameters:
    ///   - globals: What the runtime has put on the window.
    ///   - userAgent: What the page sees of the device.
    ///   - keys: The keys of the vault by role.
    ///   - storage: What an earlier page has kept.
    ///   - defects: How it deviates from a correct app.
    ///   - seed: What its random ids are drawn from.
    package init(
        globals: JSONObject,
        userAgent: String,
        keys: [PhoneChange.VaultRole: String],
        storage: Storage,
        defects: Set<ClientDefect>,
        seed: UInt64
    ) {
        self.storage = storage
        self.defects = defects
        self.keys = keys
        self.userAgent = userAgent
        ids = IDSource(seed: seed, text: "scripted-app")
        for member in globals.members { self.globals[member.key] = (member.value, 0) }
    }

    private func has(_ defect: ClientDefect) -> Bool { defects.contains(defect) }

    // Defect: commands-in-browser
    private var isNative: Bool {
        userAgent.lowercased().contains("despia") || has(.commandsInBrowser)
    }

    /// Starts the app.
    package mutating func start(at now: Int64) -> [Output] {
        guard isNative else {
            isLoading = false
            isStarted = true
            return []
        }
        var acts: [Act] = [
            .install, .readVault, .readHistory, .resolve, .lock, .write, .confirm, .alias,
            .register, .ready,
        ]
        // Defect: history-first
        if has(.historyFirst) { acts.swapAt(1, 2) }
        // Defect: register-before-write
        if has(.registerBeforeWrite) {
            acts = [
                .install, .readVault, .readHistory, .resolve, .lock, .register, .write, .alias,
                .ready,
            ]
        }
        // Defect: lock-after-register
        if has(.lockAfterRegister) {
            acts.removeAll { $0 == .lock }
            acts.insert(.lock, at: acts.count - 1)
        }
        // Defect: stuck-after-reload
        if has(.stuckAfterReload), storage.isStarting { return [] }
        storage.isStarting = true
        flows.append(Flow(acts, at: now))
        // Defect: reads-at-once
        if has(.readsAtOnce) { _ = watch(read(.id), key(.id), at: now, for: Self.readTime) }
        return pump(at: now)
    }

    /// What the page shows, by the names of `AppExpectation.Screen.Element`.
    package var screen: JSONValue {
        [
            "loading": .bool(isLoading), "access": .bool(hasAccess),
            "error": .bool(error != nil),
            "status": subscription.map { .string($0.status) } ?? .null,
            "product": subscription?.product.map(JSONValue.string) ?? .null,
        ]
    }

    package mutating func handle(_ input: Input, at now: Int64) -> [Output] {
        switch input {
        case .assigned(let name, let value): assign(name, value, at: now)
        case .called(let name, let arguments): called(name, arguments, at: now)
        case .answered(let number, let status, let body): answers[number] = (status, body)
        case .upgrade: upgrade(at: now)
        case .restore: begin(.restore, at: now)
        case .logout: begin(.logout, at: now)
        case .status: if isNative { flows.append(Flow([.readHistory, .show], at: now)) }
        case .login(let account, let password, let agrees):
            begin(.login(account, password, agrees), at: now)
        case .tick: break
        }
        return pump(at: now)
    }

    private enum Change {
        case restore, logout
        case login(String, String, Bool)
    }

    private mutating func begin(_ change: Change, at now: Int64) {
        guard isNative, isStarted, !isBusy else { return }
        let tail: [Act] = [.write, .confirm, .alias, .register, .take, .idle]
        var flow: Flow
        switch change {
        case .restore:
            flow = Flow([.busy, .readHistory, .select, .lock] + tail, at: now)
            flow.source = "restore_button"
        case .logout:
            flow = Flow([.busy, .unlock, .mint] + tail, at: now)
            flow.source = "logout"
        case .login(let account, let password, let agrees):
            flow = Flow([.busy, .readLock, .login, .decide] + tail, at: now)
            flow.source = "login"
            flow.account = account
            flow.password = password
            flow.agrees = agrees
            // Defect: lock-unread
            if has(.lockUnread) { flow.acts.removeAll { $0 == .readLock } }
        }
        flows.append(flow)
    }

    private mutating func upgrade(at now: Int64) {
        guard isNative else {
            error = "Buy on the web"
            return
        }
        // Defect: double-tap
        let isOpening = flows.contains { $0.acts.contains(.paywall) } || isPaywallOpen
        guard !isOpening || has(.doubleTap) else { return }
        flows.append(Flow([.gate, .paywall], at: now))
    }

    // MARK: What the native side says

    private mutating func assign(_ name: String, _ value: JSONValue, at now: Int64) {
        globals[name] = (value, now)
        // Defect: late-reply-adopted
        if has(.lateReplyAdopted), name == key(.id), let text = value.string,
            ClientTimeline.isUsable(text), isStarted, text != id,
            !flows.contains(where: { waits($0, for: name) })
        {
            var flow = Flow([.write, .alias, .register, .take], at: now)
            flow.id = text
            flow.source = "vault"
            flows.append(flow)
        }
    }

    private func waits(_ flow: Flow, for name: String) -> Bool {
        if case .global(name, _, _) = flow.wait { true } else { false }
    }

    /// Callbacks may carry nothing, an object, or an object as text (C-24).
    private mutating func called(_ name: String, _ arguments: [JSONValue], at now: Int64) {
        guard ["onRevenueCatPurchase", "onRevenueCatResult", "iapSuccess"].contains(name) else {
            return
        }
        // Defect: callback-needs-object
        if has(.callbackNeedsObject), arguments.first?.object == nil {
            output.append(.error("TypeError: cannot read properties of undefined"))
            return
        }
        isPaywallOpen = false
        var result = arguments.first
        if case .string(let text)? = result { result = try? JSONValue(parsing: text) }
        if result?["cancelled"] == true || result?["ok"] == false { return }
        // Defect: grants-on-callback
        if has(.grantsOnCallback) { hasAccess = true }
        // Defect: never-unlocks
        guard !has(.neverUnlocks), !flows.contains(where: { $0.acts.contains(.askAccess) }) else {
            return
        }
        flows.append(Flow([.askAccess], at: now))
    }

    // MARK: Carrying on

    private mutating func pump(at now: Int64) -> [Output] {
        var isMoving = true
        while isMoving {
            isMoving = false
            for index in flows.indices where index < flows.count {
                while index < flows.count, isDue(flows[index].wait, at: now) {
                    isMoving = true
                    var flow = flows[index]
                    let wait = flow.wait
                    flow.wait = nil
                    guard let act = flow.acts.first else { break }
                    if carryOut(act, &flow, after: wait, at: now) { flow.acts.removeFirst() }
                    flows[index] = flow
                    if flow.acts.isEmpty { break }
                }
            }
            flows.removeAll { $0.acts.isEmpty }
        }
        wakeAt = flows.compactMap { Self.moment($0.wait, globals, at: now) }.min()
        defer { output = [] }
        return output
    }

    private func isDue(_ wait: Wait?, at now: Int64) -> Bool {
        switch wait {
        case nil: true
        case .time(let moment): now >= moment
        case .answer(let number, let until): answers[number] != nil || now >= until
        case .global(let name, let since, let until):
            now >= until || Self.seen(globals[name], since: since).map { now >= $0 } ?? false
        }
    }

    /// When the poll notices a value: every 100 ms from the call on (section 1.4).
    private static func seen(_ global: (value: JSONValue, at: Int64)?, since: Int64) -> Int64? {
        guard let global, isReady(global.value) else { return nil }
        return since + (max(0, global.at - since) + 99) / 100 * 100
    }

    /// What a single watch takes for a result (section 1.4).
    private static func isReady(_ value: JSONValue) -> Bool {
        switch value {
        case .string(let text): text != "n/a"
        case .array(let elements): !elements.isEmpty
        case .object(let object): !object.members.isEmpty
        case .null, .bool, .number: true
        }
    }

    private static func moment(
        _ wait: Wait?,
        _ globals: [String: (value: JSONValue, at: Int64)],
        at now: Int64
    ) -> Int64? {
        switch wait {
        case nil: nil
        case .time(let moment): moment
        case .answer(_, let until): until
        case .global(let name, let since, let until):
            min(until, seen(globals[name], since: since) ?? until)
        }
    }

    // MARK: Bridge

    private func key(_ role: PhoneChange.VaultRole) -> String {
        // Defect: key-of-window
        if has(.keyOfWindow), role == .lock { return "status" }
        return keys[role] ?? role.rawValue
    }

    private func encoded(_ text: String) -> String {
        // Defect: unencoded, encoded-twice
        if has(.unencoded) { return text }
        return has(.encodedTwice) ? text.percentEncoded.percentEncoded : text.percentEncoded
    }

    /// Native sides that do not decode give back what was written (section 5).
    private func decoded(_ text: String) -> String {
        // Defect: reads-raw
        if has(.readsRaw) { return text }
        let plain = FormText.decoded(text, plusIsBlank: false)
        return plain.percentEncoded == text ? plain : text
    }

    private func read(_ role: PhoneChange.VaultRole) -> String {
        "readvault://?key=" + key(role).percentEncoded
    }

    private mutating func send(_ command: String, at now: Int64) {
        lastCommandAt = max(now, lastCommandAt &+ 1)
        output.append(.command(command, at: lastCommandAt))
    }

    /// Sends, clears the global and begins to look for it, in that order.
    private mutating func watch(
        _ command: String,
        _ name: String,
        at now: Int64,
        for time: Int64
    ) -> Wait {
        send(command, at: now)
        globals[name] = nil
        // Defect: waits-for-bridge
        return .global(name, since: now, until: now + (has(.waitsForBridge) ? 30_000 : time))
    }

    private mutating func write(
        _ role: PhoneChange.VaultRole,
        _ value: String,
        at now: Int64
    ) {
        let key = key(role).percentEncoded
        send("setvault://?key=\(key)&value=\(encoded(value))&locked=false", at: now)
    }

    private mutating func call(
        _ route: String,
        _ values: [String: String],
        at now: Int64
    ) -> Wait {
        callCount += 1
        output.append(.call(callCount, route: route, values: values))
        // Defect: spins-for-ever
        let time = has(.spinsForEver) ? 1 << 40 : Self.callTime
        return .answer(callCount, until: now + time)
    }

    // MARK: Acts

    /// Carries out an act, or what is left of it after it has waited; whether it is over.
    private mutating func carryOut(
        _ act: Act,
        _ flow: inout Flow,
        after wait: Wait?,
        at now: Int64
    ) -> Bool {
        switch act {
        case .install: return install(&flow, after: wait, at: now)
        case .readVault: return readVault(&flow, after: wait, at: now)
        case .readHistory: return readHistory(&flow, after: wait, at: now)
        case .resolve: resolve(&flow, at: now)
        case .lock:
            // Defect: no-lock
            if flow.isFromHistory, !has(.noLock) { write(.lock, "true", at: now) }
        case .write:
            if let id = flow.id, id != flow.vaultID { write(.id, id, at: now) }
            // Defect: email-in-vault
            if has(.emailInVault), let account = flow.account {
                send("setvault://?key=mail&value=\(encoded(account))&locked=false", at: now)
            }
        case .confirm: return confirm(&flow, after: wait, at: now)
        case .alias: alias(flow, at: now)
        case .register: return register(&flow, after: wait, at: now)
        case .ready: ready(flow, at: now)
        case .busy:
            isBusy = true
            error = nil
        case .readLock:
            guard case .global(let name, _, _)? = wait else {
                flow.wait = watch(read(.lock), key(.lock), at: now, for: Self.readTime)
                return false
            }
            flow.isLocked = globals[name]?.value == "true"
        case .login: return login(&flow, after: wait, at: now)
        case .decide: decide(&flow)
        // Defect: keeps-lock
        case .unlock: if !has(.keepsLock) { write(.lock, "false", at: now) }
        case .mint: mint(&flow, at: now)
        case .select: select(&flow)
        case .take: take(flow, at: now)
        case .idle: isBusy = false
        case .gate: return gate(&flow, at: now)
        case .paywall: paywall(flow, at: now)
        case .pause:
            guard wait != nil else {
                // Half a second, and twice as long each time.
                flow.wait = .time(now + 500 << min(flow.tries, 4))
                return false
            }
        case .retry: return retry(&flow, after: wait, at: now)
        case .askAccess: return askAccess(&flow, after: wait, at: now)
        case .show: show(flow)
        }
        return true
    }

    /// The install id may come late, and is asked for when it does not come (C-15).
    private mutating func install(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        // Defect: missing-id-written
        if globals["uuid"]?.value.string?.isEmpty == false || has(.missingIDWritten) { return true }
        flow.tries += 1
        guard flow.tries <= 8 else {
            isLoading = false
            error = "This device could not be identified"
            flow.acts = [.idle]
            return true
        }
        // Every other time it is only waited for, so that what comes by itself is not cleared.
        flow.wait =
            flow.tries.isMultiple(of: 2)
            ? watch("get-uuid://", "uuid", at: now, for: 700)
            : .global("uuid", since: now, until: now + 700)
        return false
    }

    private func installID() -> String { globals["uuid"]?.value.string ?? "undefined" }

    private mutating func readVault(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        flow.tries = 0
        guard case .global(let name, _, _)? = wait else {
            flow.wait = watch(read(.id), key(.id), at: now, for: Self.readTime)
            return false
        }
        let value = globals[name]?.value
        // Defect: throws-on-null
        if has(.throwsOnNull), value == .null {
            output.append(.error("TypeError: value is null"))
            isLoading = false
            flow.acts = [.idle]
            return true
        }
        // Defect: believes-vault
        if has(.believesVault), let text = value?.string {
            flow.id = text
            flow.vaultID = text
        }
        if let text = value?.string.map(decoded), ClientTimeline.isUsable(text) {
            flow.vaultID = text
            flow.id = text
            flow.source = "vault"
        }
        // Defect: page-over-vault
        if has(.pageOverVault), let kept = storage.currentID {
            flow.id = kept
            return true
        }
        // A change that was cut short goes on, whatever the vault holds.
        if let unfinished = storage.switchingTo {
            flow.id = unfinished
            flow.source = "resume"
        }
        return true
    }

    private mutating func readHistory(
        _ flow: inout Flow,
        after wait: Wait?,
        at now: Int64
    ) -> Bool {
        guard case .global(let name, _, _)? = wait else {
            // Defect: history-ignored
            if has(.historyIgnored) { return true }
            // Defect: asks-everything
            if flow.id != nil, !has(.asksEverything) { return true }
            flow.wait = watch(
                "getpurchasehistory://",
                "restoredData",
                at: now,
                for: Self.readTime
            )
            return false
        }
        var value = globals[name]?.value
        if case .string(let text)? = value { value = try? JSONValue(parsing: text) }
        flow.history = value?.array?.compactMap(\.object)
        return true
    }

    /// The one rule by which purchases name a user (C-06): what is active before what is not, the
    /// latest first.
    private func chosen(_ history: [JSONObject]?, isButton: Bool) -> String? {
        var entries = (history ?? []).filter { entry in
            guard let user = entry["externalUserId"]?.string, ClientTimeline.isUsable(user) else {
                return false
            }
            // Defect: adopts-anonymous, adopts-sandbox
            let isNamed =
                has(.adoptsAnonymous)
                || entry["isAnonymous"] != true && !user.hasPrefix("$RCAnonymousID:")
            return isNamed && (entry["environment"] != "sandbox" || has(.adoptsSandbox))
        }
        // Defect: first-entry, restore-first-entry
        if !has(.firstEntry), !(has(.restoreFirstEntry) && isButton) {
            entries.sort { left, right in
                func rank(_ entry: JSONObject) -> (Int, String) {
                    (entry["isActive"] == true ? 1 : 0, entry["purchaseDate"]?.string ?? "")
                }
                return rank(left) > rank(right)
            }
        }
        return entries.first?["externalUserId"]?.string
    }

    private mutating func resolve(_ flow: inout Flow, at now: Int64) {
        if flow.id == nil, let found = chosen(flow.history, isButton: false) {
            flow.id = found
            flow.source = "restore"
            flow.isFromHistory = true
        }
        // Defect: install-after-logout
        let forgets = has(.installAfterLogout)
        if flow.id == nil, let kept = storage.currentID, ClientTimeline.isUsable(kept), !forgets {
            flow.id = kept
            flow.source = "stored"
        }
        if flow.id == nil {
            // Defect: each-page-its-own
            let isSpent = storage.retired.contains(installID()) && !forgets
            flow.id = isSpent || has(.eachPageItsOwn) ? ids.uuid() : installID()
            flow.source = "new"
        }
    }

    /// Reads back what was written, and writes it again when it was lost (C-09).
    private mutating func confirm(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        // Defect: write-unconfirmed
        if has(.writeUnconfirmed) || flow.id == flow.vaultID { return true }
        guard case .global(let name, _, _)? = wait else {
            flow.wait = watch(read(.id), key(.id), at: now, for: Self.readTime)
            return false
        }
        if globals[name]?.value.string.map(decoded) == flow.id {
            flow.vaultID = flow.id
            return true
        }
        flow.tries += 1
        if flow.tries > 3 { return true }
        if let id = flow.id { write(.id, id, at: now) }
        flow.wait = watch(read(.id), key(.id), at: now, for: Self.readTime)
        return false
    }

    private mutating func alias(_ flow: Flow, at now: Int64) {
        // Defect: alias-at-launch-only
        if has(.aliasAtLaunchOnly), isStarted { return }
        // Defect: alias-of-before
        let told = has(.aliasOfBefore) ? id ?? flow.id : flow.id
        send("setonesignalplayerid://?user_id=\(encoded(told ?? ""))", at: now)
    }

    // MARK: Registration

    private func registration(_ id: String, source: String) -> [String: String] {
        var values = [
            "id": id, "device": installID(), "platform": platform, "source": source,
        ]
        // Defect: device-per-launch
        if has(.devicePerLaunch) { values["device"] = "device-\(callCount)" }
        // Defect: no-platform
        if has(.noPlatform), ["restore_button", "logout"].contains(source) {
            values["platform"] = nil
        }
        return values
    }

    private var platform: String {
        let agent = userAgent.lowercased()
        if agent.contains("android") { return "android" }
        // An iPad in desktop mode says Macintosh (section 2).
        // Defect: anything-is-ios
        let isApple = ["iphone", "ipad", "macintosh"].contains { agent.contains($0) }
        return isApple || has(.anythingIsIOS) ? "ios" : "unknown"
    }

    private mutating func register(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        guard let id = flow.id else { return true }
        guard case .answer(let number, _)? = wait else {
            // Defect: no-register-on-login, no-register-on-restore
            if has(.noRegisterOnLogin), flow.source == "login" { return true }
            if has(.noRegisterOnRestore), flow.source == "restore_button" { return true }
            // Defect: registers-new-only
            if has(.registersNewOnly), storage.currentID == id { return true }
            flow.wait = call("register", registration(id, source: flow.source), at: now)
            return false
        }
        conclude(number, id, at: now)
        return true
    }

    /// Takes a registration for done only when a 2xx names the id (C-12); else it is tried again.
    private mutating func conclude(_ number: Int, _ id: String, at now: Int64) {
        let answer = answers.removeValue(forKey: number)
        let named = answer?.body["appUserId"]?.string
        var isDone =
            (200..<300).contains(answer?.status ?? 0)
            // Defect: answer-unread
            && (named == id || has(.answerUnread))
        // Defect: status-ignored, failure-counts
        if has(.statusIgnored), answer?.status != nil { isDone = true }
        if has(.failureCounts) { isDone = true }
        if isDone {
            registeredID = id
            hasRegistered = true
            storage.pending = []
            return
        }
        // Defect: queue-replayed
        if !storage.pending.contains(id) || has(.queueReplayed) { storage.pending.append(id) }
        // Defect: never-retries
        if has(.neverRetries) || flows.contains(where: { $0.acts.contains(.retry) }) { return }
        flows.append(Flow([.pause, .retry], at: now))
    }

    private mutating func retry(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        guard let current = flow.id ?? storage.pending.last else { return true }
        guard case .answer(let number, _)? = wait else {
            // Only the id that counts now; the others are nobody's any more.
            guard current == (id ?? current), registeredID != current || has(.queueReplayed) else {
                return true
            }
            flow.id = current
            flow.wait = call("register", registration(current, source: "retry"), at: now)
            return false
        }
        let waiting = storage.pending.count
        conclude(number, current, at: now)
        if has(.queueReplayed), registeredID == current {
            for _ in 0..<waiting {
                _ = call("register", registration(current, source: "retry"), at: now)
            }
        }
        guard registeredID != current, flow.tries < Self.retryCountMax else { return true }
        flow.tries += 1
        flow.acts = [.retry, .pause, .retry]
        return true
    }

    private mutating func ready(_ flow: Flow, at now: Int64) {
        id = flow.id
        storage.currentID = flow.id
        storage.switchingTo = nil
        storage.isStarting = false
        isStarted = true
        isLoading = false
    }

    // MARK: Changes of identity

    private mutating func login(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        guard case .answer(let number, _)? = wait else {
            // Defect: login-names-install
            let current = has(.loginNamesInstall) ? installID() : id ?? ""
            flow.wait = call(
                "login",
                ["account": flow.account ?? "", "password": flow.password, "id": current],
                at: now
            )
            return false
        }
        let answer = answers.removeValue(forKey: number)
        let returned = answer?.body["appUserId"]?.string
        // Defect: login-applies-failure
        if has(.loginAppliesFailure), returned == nil { flow.id = ids.uuid() }
        if (200..<300).contains(answer?.status ?? 0), let returned,
            ClientTimeline.isUsable(returned)
        {
            flow.id = returned
            flow.vaultID = returned == id ? id : nil
        } else if flow.id == nil {
            error = "The login failed"
            flow.acts = [.login, .idle]
        }
        return true
    }

    private mutating func decide(_ flow: inout Flow) {
        // A lock says that purchases hang on the id that would be replaced (C-29).
        // Defect: lock-is-final
        if flow.isLocked, flow.id != id, !flow.agrees || has(.lockIsFinal) {
            error = "This device holds purchases of another user"
            flow.acts = [.decide, .idle]
            return
        }
        // Defect: login-forgotten
        if !has(.loginForgotten) { storage.switchingTo = flow.id }
    }

    private mutating func mint(_ flow: inout Flow, at now: Int64) {
        if let id { storage.retired.insert(id) }
        storage.retired.insert(installID())
        // Defect: logout-by-time, logout-to-install
        flow.id =
            has(.logoutByTime)
            ? "\(installID())-\(now)" : has(.logoutToInstall) ? installID() : ids.uuid()
        storage.switchingTo = flow.id
        storage.account = nil
    }

    private mutating func select(_ flow: inout Flow) {
        let found = chosen(flow.history, isButton: true)
        // Defect: restore-clears
        if found == nil, has(.restoreClears) {
            flow.id = ids.uuid()
            return
        }
        guard let found, found != id else {
            error = found == nil ? "Nothing to restore" : nil
            flow.acts = [.select, .idle]
            return
        }
        // Defect: restore-replaces-account
        if storage.account != nil, !flow.agrees, !has(.restoreReplacesAccount) {
            error = "These purchases belong to another user"
            flow.acts = [.select, .idle]
            return
        }
        flow.id = found
        flow.isFromHistory = true
        storage.switchingTo = found
    }

    private mutating func take(_ flow: Flow, at now: Int64) {
        // Defect: logout-half
        if has(.logoutHalf), registeredID != flow.id {
            registeredID = id
            storage.switchingTo = nil
            return
        }
        id = flow.id
        storage.currentID = flow.id
        if let account = flow.account { storage.account = account }
        storage.switchingTo = nil
    }

    // MARK: Selling

    /// Waits until nobody's identity is in question; gives up after a while (C-16 to C-20).
    private mutating func gate(_ flow: inout Flow, at now: Int64) -> Bool {
        // Defect: paywall-ungated
        if has(.paywallUngated), id != nil || has(.commandsInBrowser) { return true }
        // Defect: commands-in-browser
        if has(.commandsInBrowser), globals["uuid"] == nil { return true }
        // Defect: flag-not-id
        let isKnown = has(.flagNotID) ? hasRegistered : registeredID != nil && registeredID == id
        // Defect: not-gated-in-flight
        let isQuiet = !isBusy || has(.notGatedInFlight)
        // Defect: gate-shut
        if isStarted, isQuiet, isKnown, !has(.gateShut) { return true }
        guard now < flow.startedAt + Self.gateTime else {
            error = "Please try again later"
            flow.acts = [.gate]
            return true
        }
        flow.wait = .time(min(now + 50, flow.startedAt + Self.gateTime))
        return false
    }

    private mutating func paywall(_ flow: Flow, at now: Int64) {
        isPaywallOpen = true
        // Defect: paywall-of-before
        let buyer =
            has(.paywallOfBefore) ? storage.retired.sorted().first ?? installID() : id ?? "null"
        send(
            "revenuecat://launchPaywall?external_id=\(encoded(buyer))&offering=default",
            at: now
        )
    }

    /// Asks the backend, which alone decides (C-23).
    private mutating func askAccess(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        switch wait {
        case .answer(let number, _)?:
            let answer = answers.removeValue(forKey: number)
            if answer?.body["access"] == true {
                hasAccess = true
                return true
            }
            flow.tries += 1
            if flow.tries >= 6 { return true }
            flow.wait = .time(now + 500)
        case .time?, .global?, nil:
            flow.wait = call("access", ["id": id ?? ""], at: now)
        }
        return false
    }

    /// What the store account shows; silence and an empty list cannot be told apart (section 1.4).
    private mutating func show(_ flow: Flow) {
        let entry = flow.history?.first { $0["isActive"] == true }
        guard let entry else {
            // Defect: silence-is-free
            subscription =
                flow.history == nil && !has(.silenceIsFree)
                ? ("unknown", nil) : ("none", nil)
            return
        }
        // Defect: product-identifier
        let product =
            has(.productIdentifier)
            ? entry["productIdentifier"]?.string
            : (entry["productId"] ?? entry["productIdentifier"])?.string
        subscription = ("active", product)
    }
}
