internal import Values

/// Invariants of an app's registrations at its backend (clauses C-12 to C-15).
struct RegistrationInvariants {
    let device: DeviceEvidence

    private var timeline: ClientTimeline { device.timeline }

    func checkRetriesFailedRegistrations(at location: SourceLocation) -> [Finding] {
        let calls = timeline.registrations
        let failedRegistrations = calls.filter { !$0.isAcknowledged }
        guard !failedRegistrations.isEmpty else {
            return [
                Finding(
                    .faultNotApplied,
                    expected: "a registration that fails as planned",
                    actual: calls.isEmpty
                        ? "no registration was sent"
                        : "none of \(calls.count) registrations failed",
                    location: location,
                    evidence: calls.map(\.sequence)
                )
            ]
        }
        let lostRegistration = failedRegistrations.first { call in
            !calls.contains { other in
                other.phone == call.phone
                    && (other.sequence > call.sequence || Self.isSuccessfulRetry(other, call))
            }
        }
        guard let lostRegistration else { return [] }
        return [
            Finding(
                .registrationLost,
                expected:
                    "the registration of \(device.idDescription(lostRegistration.id)) is tried again",
                actual: lostRegistration.status.map { "it was not tried again after \($0)" }
                    ?? "it was not tried again after it got no response",
                location: location,
                evidence: [lostRegistration.sequence]
            )
        ]
    }

    /// Whether the backend confirmed another registration of the same ID, with a response that came
    /// after the response to the failed registration.
    private static func isSuccessfulRetry(
        _ call: ClientTimeline.Registration,
        _ failedRegistrations: ClientTimeline.Registration
    ) -> Bool {
        guard call.isAcknowledged, call.id == failedRegistrations.id, let answered = call.answered
        else {
            return false
        }
        return failedRegistrations.answered.map { $0 < answered } ?? false
    }

    func checkRepeatsNoRegistration(at location: SourceLocation) -> [Finding] {
        let acknowledgedRegistrations = timeline.registrations.filter(\.isAcknowledged)
        for (index, call) in acknowledgedRegistrations.enumerated() {
            let repeatedRegistration = acknowledgedRegistrations.dropFirst(index + 1).first {
                other in
                other.phone == call.phone && other.id == call.id
                    && !timeline.userActions.contains {
                        $0.phone == call.phone && $0.sequence > call.sequence
                            && $0.sequence < other.sequence
                    }
                    // A page that reloaded itself may register again, as every start of a page may.
                    && !timeline.hasLoadedNewDocument(
                        call.phone,
                        from: call.sequence,
                        to: other.sequence
                    )
            }
            guard let repeatedRegistration else { continue }
            return [
                Finding(
                    .registrationRepeated,
                    expected: "\(device.idDescription(call.id)) is registered once",
                    actual:
                        "it was registered again \((repeatedRegistration.sendTime - call.sendTime) / 1000) ms later, "
                        + "without a reason",
                    location: location,
                    evidence: [call.sequence, repeatedRegistration.sequence],
                    isFinal: true
                )
            ]
        }
        return []
    }

    /// Judges that the pauses between failed attempts at a registration grow (clause C-13).
    ///
    /// The last pauses are compared with the first ones, so that random variation (jitter) does not
    /// matter. An app that makes only a few attempts passes.
    func checkRegistrationPausesGrow(at location: SourceLocation) -> [Finding] {
        let failedRegistrations = timeline.registrations.filter { !$0.isAcknowledged }
        guard let first = failedRegistrations.first else {
            return checkRetriesFailedRegistrations(at: location)
        }
        let attempts = failedRegistrations.filter { $0.phone == first.phone && $0.id == first.id }
        let pausesInMicroseconds = zip(attempts, attempts.dropFirst()).map {
            $1.sendTime - $0.sendTime
        }
        guard attempts.count > 1 else { return checkRetriesFailedRegistrations(at: location) }
        guard pausesInMicroseconds.count >= Self.comparedPauseCount,
            let shortestFirstPause = pausesInMicroseconds.prefix(2).min(),
            let longestLastPause = pausesInMicroseconds.suffix(2).max(),
            Double(longestLastPause) < Double(shortestFirstPause) * Self.pauseGrowthFactorMin
        else { return [] }
        return [
            Finding(
                .registrationRepeated,
                expected:
                    "pauses that grow while the registration of \(device.idDescription(first.id)) fails",
                actual:
                    "\(attempts.count) attempts with pauses of \(shortestFirstPause / 1000) ms at first "
                    + "and \(longestLastPause / 1000) ms at the end",
                location: location,
                evidence: attempts.map(\.sequence),
                isFinal: true
            )
        ]
    }

    /// The minimum number of pauses between attempts that is needed to judge their growth.
    private static let comparedPauseCount = 3
    /// The minimum factor by which the pauses must grow; smaller differences may come from
    /// imprecise clocks and busy machines.
    private static let pauseGrowthFactorMin = 1.4

    func checkCompleteRegistrations(at location: SourceLocation) -> [Finding] {
        guard !timeline.registrations.isEmpty else { return [missingRegistrationFinding(location)] }
        for call in timeline.registrations {
            let requiredFields = [
                ("the ID", call.id), ("the device", call.deviceID), ("the platform", call.platform),
                ("the source", call.source),
            ]
            for (name, value) in requiredFields where !Self.isSetValue(value) {
                return [
                    incompleteRegistrationFinding(
                        "a registration contains \(name)",
                        value ?? "missing",
                        call,
                        location
                    )
                ]
            }
            let phoneKind = timeline.phones[call.phone]?["uaPreset"]?.string ?? ""
            let platform = call.platform?.lowercased() ?? ""
            let contradictingPlatformWords: [String] =
                switch phoneKind {
                case "android": ["ios", "iphone", "ipad"]
                case "iphone", "ipad", "ipad-desktop": ["android"]
                // On a phone with an unknown platform, the app must send neither `ios` nor
                // `android`, because it cannot know the platform.
                case "unknown": ["ios", "android"]
                default: []
                }
            if contradictingPlatformWords.contains(platform) {
                return [
                    incompleteRegistrationFinding(
                        "a registration contains the platform of the phone, of kind '\(phoneKind)'",
                        platform,
                        call,
                        location
                    )
                ]
            }
        }
        return []
    }

    func checkUsesInstallIDAsDeviceID(at location: SourceLocation) -> [Finding] {
        for call in timeline.registrations {
            guard let installID = timeline.installID(of: call.phone) else { continue }
            if call.deviceID != installID {
                return [
                    incompleteRegistrationFinding(
                        "the device of a registration is the install ID",
                        call.deviceID ?? "missing",
                        call,
                        location
                    )
                ]
            }
        }
        for command in timeline.commands {
            for parameter in command.bridge.parameters where !Self.isSetValue(parameter.value) {
                // An empty value is correct, because it deletes a vault entry (Despia fact sheet,
                // section 5).
                if parameter.value.isEmpty { continue }
                return [
                    Finding(
                        .unusableID,
                        expected: "no bridge command contains an unset value such as 'undefined'",
                        actual: command.bridge.text.shown(80),
                        location: location,
                        evidence: [command.sequence],
                        isFinal: true
                    )
                ]
            }
        }
        return []
    }

    /// Whether the string is present and is not the text of a missing JavaScript value, such as
    /// "undefined".
    private static func isSetValue(_ text: String?) -> Bool {
        guard let text, !text.isEmpty else { return false }
        return !text.split(whereSeparator: { !$0.isLetter }).contains {
            ["undefined", "null", "NaN"].contains($0)
        }
    }

    private func missingRegistrationFinding(_ location: SourceLocation) -> Finding {
        Finding(
            .registrationLost,
            expected: "the app sends a registration",
            actual: "no registration was sent",
            location: location
        )
    }

    private func incompleteRegistrationFinding(
        _ expected: String,
        _ actual: String,
        _ call: ClientTimeline.Registration,
        _ location: SourceLocation
    ) -> Finding {
        Finding(
            .registrationIncomplete,
            expected: expected,
            actual: "'\(actual.shown(60))'",
            location: location,
            evidence: [call.sequence],
            isFinal: true
        )
    }
}
