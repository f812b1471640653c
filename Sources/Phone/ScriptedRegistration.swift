internal import Values

/// The scripted app's registrations at its backend.
///
/// They are complete, and failed registrations are recognized and retried (C-12 to C-14).
extension ScriptedApp {
    func registrationValues(_ id: String, source: String) -> [String: String] {
        ["id": id, "device": installID(), "platform": policy.platform(userAgent), "source": source]
    }

    /// Returns the platform that a registration sends for a user agent.
    ///
    /// The user agent of an iPad in desktop mode contains `Macintosh` (Despia fact sheet, section
    /// 2). The result is `unknown` for a user agent without a platform (C-14).
    static func platform(_ userAgent: String) -> String {
        let lowercasedUserAgent = userAgent.lowercased()
        if lowercasedUserAgent.contains("android") { return "android" }
        return ["iphone", "ipad", "macintosh"].contains { lowercasedUserAgent.contains($0) }
            ? "ios" : "unknown"
    }

    mutating func register(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        guard let id = flow.id else { return true }
        guard case .response(let number, _)? = wait else {
            guard policy.needsRegistration(self, flow) else { return true }
            flow.wait = call("register", policy.registrationValues(self, id, flow.source), at: now)
            return false
        }
        recordRegistrationResult(number, id, at: now)
        return true
    }

    /// Records the result of a registration, and schedules a retry if the backend did not confirm
    /// the registration.
    mutating func recordRegistrationResult(_ number: Int, _ id: String, at now: Int64) {
        let response = responses.removeValue(forKey: number)
        if policy.isConfirmed(response?.status, response?.body["appUserId"]?.string, id) {
            // The registration of a previous user ID does not confirm the current user ID.
            guard policy.isCurrentUserID(self, id) else {
                storage.pendingRegistrationIDs.removeAll { $0 == id }
                return
            }
            registeredID = id
            storage.pendingRegistrationIDs = []
            return
        }
        policy.addPendingRegistration(&self, id)
        if !flows.contains(where: { $0.actions.contains(.retry) }) {
            policy.scheduleRetry(&self, now)
        }
    }

    /// Returns whether another flow is registering a user ID.
    ///
    /// Each user ID has at most one registration in progress (C-13).
    private func isRegistrationInFlight(of id: String) -> Bool {
        flows.contains { flow in
            guard case .response? = flow.wait else { return false }
            return flow.actions.first == .register && flow.id == id
        }
    }

    /// Returns whether a response confirms a registration.
    ///
    /// It must have a 2xx status and contain the user ID (C-12).
    static func isConfirmed(_ status: Int?, responseID: String?, id: String) -> Bool {
        (200..<300).contains(status ?? 0) && responseID == id
    }

    /// Returns whether the backend may not know a user ID or its latest state.
    ///
    /// A login registers a known user ID again.
    func isUnconfirmed(_ id: String) -> Bool {
        registeredID != id || storage.pendingRegistrationIDs.contains(id)
    }

    mutating func addPendingRegistration(_ id: String) {
        if !storage.pendingRegistrationIDs.contains(id) {
            storage.pendingRegistrationIDs.append(id)
        }
    }

    mutating func scheduleRetry(at now: Int64) {
        flows.append(Flow([.retryPause, .retry], at: now))
    }

    mutating func retry(_ flow: inout Flow, after wait: Wait?, at now: Int64) -> Bool {
        guard let registrationID = flow.id ?? storage.pendingRegistrationIDs.last else {
            return true
        }
        guard case .response(let number, _)? = wait else {
            guard policy.isCurrentUserID(self, registrationID),
                policy.needsRetry(self, registrationID)
            else {
                // The registration of a newer user ID may have failed while this retry waited.
                if flow.id != nil, policy.hasNextPendingRegistration(self) {
                    (flow.id, flow.attemptCount) = (nil, 0)
                    flow.actions = [.retry, .retry]
                }
                return true
            }
            flow.id = registrationID
            guard !isRegistrationInFlight(of: registrationID) else {
                flow.actions = [.retry, .retryPause, .retry]
                return true
            }
            flow.wait = call(
                "register",
                policy.registrationValues(self, registrationID, "retry"),
                at: now
            )
            return false
        }
        policy.recordRetryResult(&self, number, registrationID, now)
        if !policy.isCurrentUserID(self, registrationID), policy.hasNextPendingRegistration(self) {
            // The user ID changed while the registration was in progress.
            (flow.id, flow.attemptCount) = (nil, 0)
            flow.actions = [.retry, .retryPause, .retry]
            return true
        }
        guard isUnconfirmed(registrationID), flow.attemptCount < Self.retryCountMax else {
            return true
        }
        flow.attemptCount += 1
        flow.actions = [.retry, .retryPause, .retry]
        return true
    }
}
