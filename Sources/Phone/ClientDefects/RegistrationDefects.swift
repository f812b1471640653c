/// Defects of the scripted app in its registrations at the backend.
extension ClientDefect {
    static let registration: [ClientDefect] = [
        ClientDefect(
            "no-register-on-login",
            "a login sends no registration",
            breaks: "C-11",
            "C-28",
            guideID: "X-54"
        ) {
            $0.skipRegistration(of: "login")
        },
        ClientDefect(
            "no-register-on-restore",
            "a restore sends no registration",
            breaks: "C-11"
        ) {
            $0.skipRegistration(of: "restore_button")
        },
        ClientDefect(
            "status-ignored",
            "any response to a registration counts as success",
            breaks: "C-12",
            guideID: "X-38"
        ) {
            let originalBehavior = $0.registration.isConfirmed
            $0.registration.isConfirmed = { status, responseID, id in
                status != nil || originalBehavior(status, responseID, id)
            }
        },
        ClientDefect(
            "answer-unread",
            "the user ID in the response to a registration is not checked",
            breaks: "C-12"
        ) {
            $0.registration.isConfirmed = { status, _, _ in (200..<300).contains(status ?? 0) }
        },
        ClientDefect(
            "failure-counts",
            "a failed registration is treated as successful",
            breaks: "C-12",
            "C-16",
            guideID: "X-37"
        ) {
            $0.registration.isConfirmed = { _, _, _ in true }
        },
        ClientDefect(
            "never-retries",
            "a failed registration is queued but never sent again",
            breaks: "C-13",
            guideID: "X-39"
        ) {
            $0.registration.scheduleRetry = { _, _ in }
        },
        ClientDefect(
            "queue-replayed",
            "every failed registration is sent again, even for a previous user",
            breaks: "C-13"
        ) {
            $0.registration.addPendingRegistration = { app, id in
                app.storage.pendingRegistrationIDs.append(id)
            }
            $0.registration.needsRetry = { _, _ in true }
            let originalBehavior = $0.registration.recordRetryResult
            $0.registration.recordRetryResult = { app, number, id, now in
                let pendingCount = app.storage.pendingRegistrationIDs.count
                originalBehavior(&app, number, id, now)
                guard app.registeredID == id else { return }
                for _ in 0..<pendingCount {
                    let values = app.policy.registration.registrationValues(app, id, "retry")
                    _ = app.bridge.call("register", values, at: now)
                }
            }
        },
        ClientDefect(
            "registers-new-only",
            "a user ID that the app already had is not registered again",
            breaks: "C-13"
        ) {
            $0.registration.needsRegistration = { app, flow in app.storage.currentID != flow.id }
        },
        ClientDefect(
            "no-platform",
            "the registrations after a restore and after a logout omit the platform",
            breaks: "C-14"
        ) {
            $0.changeRegistration { values, _ in
                guard ["restore_button", "logout"].contains(values["source"]) else { return }
                values["platform"] = nil
            }
        },
        ClientDefect(
            "anything-is-ios",
            "registrations name every platform except Android as iOS",
            breaks: "C-14",
            guideID: "X-61"
        ) {
            let originalBehavior = $0.registration.platform
            $0.registration.platform = { originalBehavior($0) == "android" ? "android" : "ios" }
        },
        ClientDefect(
            "device-per-launch",
            "every launch registers a new device ID",
            breaks: "C-15"
        ) {
            $0.changeRegistration { values, app in
                values["device"] = "device-\(app.bridge.callCount)"
            }
        },
        ClientDefect(
            "stale-retry",
            "a registration retry registers a user who has logged out",
            breaks: "C-11"
        ) {
            $0.registration.isCurrentUserID = { _, _ in true }
        },
        ClientDefect(
            "retry-during-login",
            "a registration retry continues for the previous user ID during a login",
            breaks: "C-11"
        ) {
            $0.registration.isCurrentUserID = { $1 == ($0.id ?? $1) }
        },
        ClientDefect(
            "retry-blocks-next",
            "a registration that fails during the retry for another user ID is lost",
            breaks: "C-13"
        ) {
            $0.registration.hasNextPendingRegistration = { _ in false }
        },
        ClientDefect(
            "hot-retries",
            "the delays between registration retries do not grow",
            breaks: "C-13"
        ) {
            $0.registration.retryPause = { _ in 300 }
        },
    ]
}

extension ScriptedApp.Policy {
    fileprivate mutating func skipRegistration(of source: String) {
        let originalBehavior = registration.needsRegistration
        registration.needsRegistration = { app, flow in
            flow.source != source && originalBehavior(app, flow)
        }
    }

    fileprivate mutating func changeRegistration(
        _ change: @escaping @Sendable (inout [String: String], ScriptedApp) -> Void
    ) {
        let originalBehavior = registration.registrationValues
        registration.registrationValues = { app, id, source in
            var values = originalBehavior(app, id, source)
            change(&values, app)
            return values
        }
    }
}
