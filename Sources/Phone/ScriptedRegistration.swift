internal import Conformance

/// Registrations: complete, honest about failures, and tried again (C-12 to C-14).
extension ScriptedApp {
    func registration(_ id: String, source: String) -> [String: String] {
        ["id": id, "device": installID(), "platform": policy.platform(userAgent), "source": source]
    }

    /// An iPad in desktop mode says Macintosh (section 2); what says nothing is unknown (C-14).
    static func platform(_ userAgent: String) -> String {
        let agent = userAgent.lowercased()
        if agent.contains("android") { return "android" }
        return ["iphone", "ipad", "macintosh"].contains { agent.contains($0) } ? "ios" : "unknown"
    }

    mutating func register(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        guard let id = flow.id else { return true }
        guard case .answer(let number, _)? = wait else {
            guard policy.needsRegistration(self, flow) else { return true }
            flow.wait = call("register", policy.registration(self, id, flow.source), at: now)
            return false
        }
        conclude(number, id, at: now)
        return true
    }

    /// What was not confirmed is tried again.
    mutating func conclude(_ number: Int, _ id: String, at now: Int64) {
        let answer = answers.removeValue(forKey: number)
        if policy.isConfirmed(answer?.status, answer?.body["appUserId"]?.string, id) {
            // What was under way for who was there before says nothing of who is there now.
            guard policy.isCurrent(self, id) else {
                storage.pending.removeAll { $0 == id }
                return
            }
            registeredID = id
            storage.pending = []
            return
        }
        policy.keepPending(&self, id)
        if !flows.contains(where: { $0.acts.contains(.retry) }) { policy.tryAgain(&self, now) }
    }

    /// Whether a start or a change of identity is registering that id: of one id one call is under way
    /// (C-13).
    private func isTelling(of id: String) -> Bool {
        flows.contains { flow in
            guard case .answer? = flow.wait else { return false }
            return flow.acts.first == .register && flow.id == id
        }
    }

    /// A registration is done when a 2xx names the id, and not before (C-12).
    static func isConfirmed(_ status: Int?, named: String?, id: String) -> Bool {
        (200..<300).contains(status ?? 0) && named == id
    }

    /// Whether the backend may not know it, or not what was told of it last: a login tells anew of an
    /// id that was registered before.
    func isUnconfirmed(_ id: String) -> Bool {
        registeredID != id || storage.pending.contains(id)
    }

    mutating func keepPending(_ id: String) {
        if !storage.pending.contains(id) { storage.pending.append(id) }
    }

    mutating func tryAgain(at now: Int64) { flows.append(Flow([.pause, .retry], at: now)) }

    mutating func retry(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        guard let current = flow.id ?? storage.pending.last else { return true }
        guard case .answer(let number, _)? = wait else {
            guard policy.isCurrent(self, current), policy.isWanted(self, current) else {
                // Whoever has come meanwhile may have failed while this waited.
                if flow.id != nil, policy.isNextPending(self) {
                    (flow.id, flow.tries) = (nil, 0)
                    flow.acts = [.retry, .retry]
                }
                return true
            }
            flow.id = current
            guard !isTelling(of: current) else {
                flow.acts = [.retry, .pause, .retry]
                return true
            }
            flow.wait = call("register", policy.registration(self, current, "retry"), at: now)
            return false
        }
        policy.concludeRetry(&self, number, current, now)
        if !policy.isCurrent(self, current), policy.isNextPending(self) {
            // Or while it was under way.
            (flow.id, flow.tries) = (nil, 0)
            flow.acts = [.retry, .pause, .retry]
            return true
        }
        guard isUnconfirmed(current), flow.tries < Self.retryCountMax else { return true }
        flow.tries += 1
        flow.acts = [.retry, .pause, .retry]
        return true
    }
}
