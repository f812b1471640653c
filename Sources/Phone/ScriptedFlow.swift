internal import Contracts
internal import Values

/// The execution of the scripted app's flows: one action after the other, until every flow waits or
/// ends.
extension ScriptedApp {
    /// One action of a flow, such as a read of the vault or a registration.
    enum FlowAction: Hashable {
        case readInstallID, readVault, readPurchaseHistory, chooseID, lock, write, confirmWrite,
            sendAlias
        case register, finishStart, markBusy, readLock, login, decideReplacement, unlock, createID,
            selectHistoryUser, adoptID, markIdle
        case waitForPaywall, openPaywall, retryPause, retry, requestAccessStatus, showStatus
    }

    /// The condition for which an action of a flow waits.
    ///
    /// Times are in milliseconds.
    enum Wait: Hashable {
        case global(String, since: Int64, until: Int64)
        case response(Int, until: Int64)
        case time(Int64)
    }

    /// A running flow of the app, such as a login: its remaining actions in order, and its data.
    struct Flow: Hashable {
        var actions: [FlowAction]
        var wait: Wait?
        var source = ""
        var id: String?
        var vaultID: String?
        var history: [JSONObject]?
        var isIDFromHistory = false
        var attemptCount = 0
        var account: String?
        var password = ""
        var agreesToReplacement = false
        var isIdentityLocked = false
        var startedAtMilliseconds: Int64 = 0

        init(_ actions: [FlowAction], at now: Int64) {
            self.actions = actions
            startedAtMilliseconds = now
        }
    }

    mutating func runFlows(at now: Int64) -> [Output] {
        var hasAnyFlowAdvanced = true
        while hasAnyFlowAdvanced {
            hasAnyFlowAdvanced = false
            for index in flows.indices where index < flows.count {
                while index < flows.count, isWaitOver(flows[index].wait, at: now) {
                    hasAnyFlowAdvanced = true
                    var flow = flows[index]
                    let wait = flow.wait
                    flow.wait = nil
                    guard let action = flow.actions.first else { break }
                    if carryOut(action, &flow, after: wait, at: now) { flow.actions.removeFirst() }
                    flows[index] = flow
                    if flow.actions.isEmpty { break }
                }
            }
            flows.removeAll { $0.actions.isEmpty }
        }
        nextWakeTime = flows.compactMap { Self.wakeTime($0.wait, globals, at: now) }.min()
        defer { output = [] }
        return output
    }

    func isWaitOver(_ wait: Wait?, at now: Int64) -> Bool {
        switch wait {
        case nil: true
        case .time(let wakeTime): now >= wakeTime
        case .response(let number, let until): responses[number] != nil || now >= until
        case .global(let name, let since, let until):
            now >= until
                || Self.valueAvailableTime(globals[name], since: since).map { now >= $0 } ?? false
        }
    }

    /// Returns the time at which the app notices that a global variable has a value.
    ///
    /// The app polls the variable every 100 ms, starting with the command (Despia fact sheet,
    /// section 1.4).
    static func valueAvailableTime(_ global: (value: JSONValue, at: Int64)?, since: Int64) -> Int64?
    {
        guard let global, isValueReady(global.value) else { return nil }
        return since + (max(0, global.at - since) + 99) / 100 * 100
    }

    /// Returns whether the `despia-native` package accepts a value as the reply to a command
    /// (Despia fact sheet, section 1.4).
    static func isValueReady(_ value: JSONValue) -> Bool {
        switch value {
        case .string(let text): text != "n/a"
        case .array(let elements): !elements.isEmpty
        case .object(let object): !object.members.isEmpty
        case .null, .bool, .number: true
        }
    }

    static func wakeTime(
        _ wait: Wait?,
        _ globals: [String: (value: JSONValue, at: Int64)],
        at now: Int64
    ) -> Int64? {
        switch wait {
        case nil: nil
        case .time(let wakeTime): wakeTime
        case .response(_, let until): until
        case .global(let name, let since, let until):
            min(until, valueAvailableTime(globals[name], since: since) ?? until)
        }
    }

    /// Carries out an action of a flow, or the rest of the action after a wait.
    ///
    /// Returns whether the action is complete.
    mutating func carryOut(
        _ action: FlowAction,
        _ flow: inout Flow,
        after wait: Wait?,
        at now: Int64
    ) -> Bool {
        switch action {
        case .readInstallID: return readInstallID(&flow, after: wait, at: now)
        case .readVault: return readVault(&flow, after: wait, at: now)
        case .readPurchaseHistory: return readPurchaseHistory(&flow, after: wait, at: now)
        case .chooseID: chooseID(&flow, at: now)
        case .lock: if policy.mustLockID(flow) { write(.lock, "true", at: now) }
        case .write: policy.write(&self, flow, now)
        case .confirmWrite: return confirmWrite(&flow, after: wait, at: now)
        case .sendAlias: policy.sendAlias(&self, flow, now)
        case .register: return register(&flow, after: wait, at: now)
        case .finishStart: policy.finishStart(&self, flow)
        case .markBusy:
            isBusy = true
            error = nil
        case .readLock:
            guard case .global(let name, _, _)? = wait else {
                flow.wait = sendCommandAndWait(
                    readVaultCommand(.lock),
                    key(.lock),
                    at: now,
                    for: policy.vaultReadTimeoutMilliseconds
                )
                return false
            }
            flow.isIdentityLocked = globals[name]?.value == "true"
        case .login: return login(&flow, after: wait, at: now)
        case .decideReplacement: decideReplacement(&flow)
        case .unlock: policy.unlock(&self, now)
        case .createID: createID(&flow, at: now)
        case .selectHistoryUser: selectHistoryUser(&flow)
        case .adoptID: policy.adoptID(&self, flow)
        case .markIdle: isBusy = false
        case .waitForPaywall: return waitForPaywall(&flow, at: now)
        case .openPaywall: openPaywall(flow, at: now)
        case .retryPause:
            guard wait != nil else {
                flow.wait = .time(now + policy.retryPause(flow.attemptCount))
                return false
            }
        case .retry: return retry(&flow, after: wait, at: now)
        case .requestAccessStatus: return requestAccessStatus(&flow, after: wait, at: now)
        case .showStatus: showStatus(flow)
        }
        return true
    }
}
