internal import Conformance

/// Paywalls and what was bought (C-16 to C-25).
extension ScriptedApp {
    /// Waits until nobody's identity is in question; gives up after a while (C-16 to C-20).
    mutating func gate(_ flow: inout Flow, at now: Int64) -> Bool {
        if policy.mayOpen(self) { return true }
        guard now < flow.startedAt + Self.gateTime else {
            error = "Please try again later"
            flow.acts = [.gate]
            return true
        }
        flow.wait = .time(min(now + 50, flow.startedAt + Self.gateTime))
        return false
    }

    mutating func paywall(_ flow: Flow, at now: Int64) {
        isPaywallOpen = true
        let buyer = policy.encoded(policy.buyer(self))
        send("revenuecat://launchPaywall?external_id=\(buyer)&offering=default", at: now)
    }

    /// The app has started, nothing is changing, and the backend knows this id (C-16, C-18).
    var mayOpen: Bool { isStarted && !isBusy && registeredID != nil && registeredID == id }

    /// Once for each purchase, and from the backend alone (C-23).
    mutating func learnAccess(at now: Int64) {
        guard !flows.contains(where: { $0.acts.contains(.askAccess) }) else { return }
        flows.append(Flow([.askAccess], at: now))
    }

    /// Asks the backend, which alone decides (C-23).
    mutating func askAccess(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
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
    mutating func show(_ flow: Flow) {
        let entry = flow.history?.first { $0["isActive"] == true }
        guard let entry else {
            subscription = (policy.withoutActive(flow.history), nil)
            return
        }
        subscription = ("active", policy.product(entry))
    }

    /// An empty list says that there is nothing, silence says nothing (C-25).
    static func withoutActive(_ history: [JSONObject]?) -> String {
        history == nil ? "unknown" : "none"
    }

    /// Runtimes name the field in two ways.
    static func product(_ entry: JSONObject) -> String? {
        (entry["productId"] ?? entry["productIdentifier"])?.string
    }
}
