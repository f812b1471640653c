internal import Conformance

/// The execution of the scripted app's flows: one action after the other, until every flow waits or
/// ends.
extension ScriptedApp {
    /// One action of a flow, such as a read of the vault or a registration.
    enum Act: Hashable {
        case install, readVault, readHistory, resolve, lock, write, confirm, alias
        case register, ready, busy, readLock, login, decide, unlock, mint, select, take, idle
        case gate, paywall, pause, retry, askAccess, show
    }

    /// The condition for which an action of a flow waits.
    ///
    /// Times are in milliseconds.
    enum Wait: Hashable {
        case global(String, since: Int64, until: Int64)
        case answer(Int, until: Int64)
        case time(Int64)
    }

    /// A running flow of the app, such as a login: its remaining actions in order, and its data.
    struct Flow: Hashable {
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

    mutating func pump(at now: Int64) -> [Output] {
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

    func isDue(_ wait: Wait?, at now: Int64) -> Bool {
        switch wait {
        case nil: true
        case .time(let moment): now >= moment
        case .answer(let number, let until): answers[number] != nil || now >= until
        case .global(let name, let since, let until):
            now >= until || Self.seen(globals[name], since: since).map { now >= $0 } ?? false
        }
    }

    /// Returns the time at which the app notices that a global variable has a value.
    ///
    /// The app polls the variable every 100 ms, starting with the command (Despia fact sheet,
    /// section 1.4).
    static func seen(_ global: (value: JSONValue, at: Int64)?, since: Int64) -> Int64? {
        guard let global, isReady(global.value) else { return nil }
        return since + (max(0, global.at - since) + 99) / 100 * 100
    }

    /// Returns whether the `despia-native` package accepts a value as the reply to a command
    /// (Despia fact sheet, section 1.4).
    static func isReady(_ value: JSONValue) -> Bool {
        switch value {
        case .string(let text): text != "n/a"
        case .array(let elements): !elements.isEmpty
        case .object(let object): !object.members.isEmpty
        case .null, .bool, .number: true
        }
    }

    static func moment(
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

    /// Carries out an action of a flow, or the rest of the action after a wait.
    ///
    /// Returns whether the action is complete.
    mutating func carryOut(
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
        case .lock: if policy.locks(flow) { write(.lock, "true", at: now) }
        case .write: policy.write(&self, flow, now)
        case .confirm: return confirm(&flow, after: wait, at: now)
        case .alias: policy.alias(&self, flow, now)
        case .register: return register(&flow, after: wait, at: now)
        case .ready: policy.ready(&self, flow)
        case .busy:
            isBusy = true
            error = nil
        case .readLock:
            guard case .global(let name, _, _)? = wait else {
                flow.wait = watch(read(.lock), key(.lock), at: now, for: policy.readTime)
                return false
            }
            flow.isLocked = globals[name]?.value == "true"
        case .login: return login(&flow, after: wait, at: now)
        case .decide: decide(&flow)
        case .unlock: policy.unlock(&self, now)
        case .mint: mint(&flow, at: now)
        case .select: select(&flow)
        case .take: policy.take(&self, flow)
        case .idle: isBusy = false
        case .gate: return gate(&flow, at: now)
        case .paywall: paywall(flow, at: now)
        case .pause:
            guard wait != nil else {
                flow.wait = .time(now + policy.pause(flow.tries))
                return false
            }
        case .retry: return retry(&flow, after: wait, at: now)
        case .askAccess: return askAccess(&flow, after: wait, at: now)
        case .show: show(flow)
        }
        return true
    }
}
