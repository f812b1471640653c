internal import Contracts
internal import Providers
internal import Values

/// The execution of the scripted app's flows: one action after the other, until every flow waits or
/// ends.
extension ScriptedApp {
    mutating func runFlows(at now: Int64) -> [Output] {
        var hasAnyFlowAdvanced = true
        while hasAnyFlowAdvanced {
            hasAnyFlowAdvanced = false
            for index in flows.indices where index < flows.count {
                while index < flows.count, bridge.isWaitOver(flows[index].wait, at: now) {
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
        nextWakeTime = flows.compactMap { bridge.wakeTime($0.wait) }.min()
        defer { bridge.output = [] }
        return bridge.output
    }

    /// Carries out an action of a flow, or the rest of the action after a wait.
    ///
    /// Returns whether the action is complete.
    mutating func carryOut(
        _ action: ScriptedFlow.Action,
        _ flow: inout ScriptedFlow,
        after wait: ScriptedFlow.Wait?,
        at now: Int64
    ) -> Bool {
        switch action {
        case .readInstallID: return readInstallID(&flow, after: wait, at: now)
        case .readVault: return readVault(&flow, after: wait, at: now)
        case .readPurchaseHistory: return readPurchaseHistory(&flow, after: wait, at: now)
        case .chooseID: chooseID(&flow, at: now)
        case .lock: if policy.launch.mustLockID(flow) { bridge.write(.lock, "true", at: now) }
        case .write: policy.launch.write(&self, flow, now)
        case .confirmWrite: return confirmWrite(&flow, after: wait, at: now)
        case .sendAlias: policy.launch.sendAlias(&self, flow, now)
        case .register: return register(&flow, after: wait, at: now)
        case .finishStart: policy.launch.finishStart(&self, flow)
        case .markBusy:
            isBusy = true
            page.error = nil
        case .readLock:
            guard case .global(let name, _, _)? = wait else {
                flow.wait = bridge.readVault(.lock, at: now)
                return false
            }
            flow.isIdentityLocked = bridge.globals[name]?.value == "true"
        case .login: return login(&flow, after: wait, at: now)
        case .decideReplacement: decideReplacement(&flow)
        case .unlock: policy.userChange.unlock(&self, now)
        case .createID: createID(&flow, at: now)
        case .selectHistoryUser: selectHistoryUser(&flow)
        case .adoptID: policy.userChange.adoptID(&self, flow)
        case .markIdle: isBusy = false
        case .waitForPaywall: return waitForPaywall(&flow, at: now)
        case .openPaywall: openPaywall(flow, at: now)
        case .retryPause:
            guard wait != nil else {
                flow.wait = .time(now + policy.registration.retryPause(flow.attemptCount))
                return false
            }
        case .retry: return retry(&flow, after: wait, at: now)
        case .requestAccessStatus: return requestAccessStatus(&flow, after: wait, at: now)
        case .showStatus: showStatus(flow)
        }
        return true
    }
}
