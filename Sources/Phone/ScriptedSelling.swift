internal import Values

/// The scripted app's paywalls and purchases (C-16 to C-25).
extension ScriptedApp {
    /// Waits until a paywall may open, because no change of the user ID is in progress.
    ///
    /// The app gives up after `paywallWaitMaxMilliseconds` (C-16 to C-20).
    mutating func waitForPaywall(_ flow: inout ScriptedFlow, at now: Int64) -> Bool {
        if policy.selling.mayOpenPaywall(self) { return true }
        guard now < flow.startedAtMilliseconds + Policy.Selling.paywallWaitMaxMilliseconds else {
            page.error = "Please try again later"
            flow.actions = [.waitForPaywall]
            return true
        }
        flow.wait = .time(
            min(now + 50, flow.startedAtMilliseconds + Policy.Selling.paywallWaitMaxMilliseconds)
        )
        return false
    }

    mutating func openPaywall(_ flow: ScriptedFlow, at now: Int64) {
        isPaywallOpen = true
        let paywallUserID = bridge.policy.encoded(policy.selling.paywallUserID(self))
        bridge.sendCommand(
            "revenuecat://launchPaywall?external_id=\(paywallUserID)&offering=default",
            at: now
        )
    }

    /// Whether a paywall may open: the app has started, no change of the user ID is in progress,
    /// and the backend knows the user ID (C-16, C-18).
    var mayOpenPaywall: Bool {
        hasFinishedStart && !isBusy && registeredID != nil && registeredID == id
    }

    /// Starts a flow that asks the backend for access after a purchase, unless one is running.
    ///
    /// Only the backend decides about access (C-23).
    mutating func requestAccess(at now: Int64) {
        guard !flows.contains(.requestAccessStatus) else { return }
        flows.append(ScriptedFlow([.requestAccessStatus], at: now))
    }

    /// Asks the backend up to six times whether the user has access.
    ///
    /// Only the backend decides about access (C-23).
    mutating func requestAccessStatus(
        _ flow: inout ScriptedFlow,
        after wait: ScriptedFlow.Wait?,
        at now: Int64
    ) -> Bool {
        switch wait {
        case .response(let number, _)?:
            let response = bridge.responses.removeValue(forKey: number)
            if response?.body["access"] == true {
                page.hasAccess = true
                return true
            }
            flow.attemptCount += 1
            if flow.attemptCount >= 6 { return true }
            flow.wait = .time(now + 500)
        case .time?, .global?, nil:
            flow.wait = bridge.call("access", ["id": id ?? ""], at: now)
        }
        return false
    }

    /// Shows the subscription status from the purchase history on the page.
    ///
    /// The native side sends no reply for an empty history, so the status is then unknown (Despia
    /// fact sheet, section 1.4).
    mutating func showStatus(_ flow: ScriptedFlow) {
        let entry = flow.history?.first { $0["isActive"] == true }
        guard let entry else {
            page.subscription = (policy.selling.statusWithoutActivePurchase(flow.history), nil)
            return
        }
        page.subscription = ("active", policy.selling.product(entry))
    }
}
