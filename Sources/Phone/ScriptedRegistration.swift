internal import Values

/// The scripted app's registrations at its backend.
///
/// They are complete, and failed registrations are recognized and retried (C-12 to C-14).
extension ScriptedApp {
    func registrationValues(_ id: String, source: String) -> [String: String] {
        [
            "id": id, "device": bridge.installID,
            "platform": policy.registration.platform(userAgent), "source": source,
        ]
    }

    mutating func register(
        _ flow: inout ScriptedFlow,
        after wait: ScriptedFlow.Wait?,
        at now: Int64
    ) -> Bool {
        guard let id = flow.id else { return true }
        guard case .response(let number, _)? = wait else {
            guard policy.registration.needsRegistration(self, flow) else { return true }
            flow.wait = bridge.call(
                "register",
                policy.registration.registrationValues(self, id, flow.source),
                at: now
            )
            return false
        }
        recordRegistrationResult(number, id, at: now)
        return true
    }

    /// Records the result of a registration, and schedules a retry if the backend did not confirm
    /// the registration.
    mutating func recordRegistrationResult(_ number: Int, _ id: String, at now: Int64) {
        let response = bridge.responses.removeValue(forKey: number)
        if policy.registration.isConfirmed(
            response?.status,
            response?.body["appUserId"]?.string,
            id
        ) {
            // The registration of a previous user ID does not confirm the current user ID.
            guard policy.registration.isCurrentUserID(self, id) else {
                storage.pendingRegistrationIDs.removeAll { $0 == id }
                return
            }
            registeredID = id
            storage.pendingRegistrationIDs = []
            return
        }
        policy.registration.addPendingRegistration(&self, id)
        if !flows.contains(.retry) {
            policy.registration.scheduleRetry(&self, now)
        }
    }

    /// Returns whether the backend may not know a user ID or its latest state.
    ///
    /// A login registers a known user ID again.
    func isUnconfirmed(_ id: String) -> Bool {
        registeredID != id || storage.pendingRegistrationIDs.contains(id)
    }

    mutating func retry(_ flow: inout ScriptedFlow, after wait: ScriptedFlow.Wait?, at now: Int64)
        -> Bool
    {
        guard let registrationID = flow.id ?? storage.pendingRegistrationIDs.last else {
            return true
        }
        guard case .response(let number, _)? = wait else {
            guard policy.registration.isCurrentUserID(self, registrationID),
                policy.registration.needsRetry(self, registrationID)
            else {
                // The registration of a newer user ID may have failed while this retry waited.
                if flow.id != nil, policy.registration.hasNextPendingRegistration(self) {
                    (flow.id, flow.attemptCount) = (nil, 0)
                    flow.actions = [.retry, .retry]
                }
                return true
            }
            flow.id = registrationID
            guard !flows.isRegistering(registrationID) else {
                flow.actions = [.retry, .retryPause, .retry]
                return true
            }
            flow.wait = bridge.call(
                "register",
                policy.registration.registrationValues(self, registrationID, "retry"),
                at: now
            )
            return false
        }
        policy.registration.recordRetryResult(&self, number, registrationID, now)
        if !policy.registration.isCurrentUserID(self, registrationID),
            policy.registration.hasNextPendingRegistration(self)
        {
            // The user ID changed while the registration was in progress.
            (flow.id, flow.attemptCount) = (nil, 0)
            flow.actions = [.retry, .retryPause, .retry]
            return true
        }
        guard isUnconfirmed(registrationID), flow.attemptCount < Policy.Registration.retryCountMax
        else {
            return true
        }
        flow.attemptCount += 1
        flow.actions = [.retry, .retryPause, .retry]
        return true
    }
}
