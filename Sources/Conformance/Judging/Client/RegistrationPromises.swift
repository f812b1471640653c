/// What the app tells its backend about itself (C-12 to C-15).
extension ClientView {
    func registersHonestly(_ at: SourceLocation) -> [Finding] {
        let calls = timeline.registrations
        let failed = calls.filter { !$0.isAcknowledged }
        guard !failed.isEmpty else {
            return [
                Finding(
                    .disturbanceMissed,
                    expected: "a registration that fails, by plan",
                    actual: calls.isEmpty ? "none was sent" : "none of \(calls.count) did",
                    location: at,
                    evidence: calls.map(\.sequence)
                )
            ]
        }
        let lost = failed.first { call in
            !calls.contains { other in
                other.phone == call.phone
                    && (other.sequence > call.sequence || Self.makesGood(other, call))
            }
        }
        guard let lost else { return [] }
        return [
            Finding(
                .registrationLost,
                expected: "the registration of \(named(lost.id)) is tried again",
                actual: lost.status.map { "after \($0), never" }
                    ?? "after it got no answer, never",
                location: at,
                evidence: [lost.sequence]
            )
        ]
    }

    /// Whether an attempt that was under way when another one failed is acknowledged after that.
    private static func makesGood(
        _ call: ClientTimeline.Registration,
        _ failed: ClientTimeline.Registration
    ) -> Bool {
        guard call.isAcknowledged, call.id == failed.id, let answered = call.answered else {
            return false
        }
        return failed.answered.map { $0 < answered } ?? false
    }

    func registersOnce(_ at: SourceLocation) -> [Finding] {
        let acknowledged = timeline.registrations.filter(\.isAcknowledged)
        for (index, call) in acknowledged.enumerated() {
            let again = acknowledged.dropFirst(index + 1).first { other in
                other.phone == call.phone && other.id == call.id
                    && !timeline.gestures.contains {
                        $0.phone == call.phone && $0.sequence > call.sequence
                            && $0.sequence < other.sequence
                    }
                    // A page that has loaded itself anew starts like any other.
                    && !timeline.isRenewed(call.phone, from: call.sequence, to: other.sequence)
            }
            guard let again else { continue }
            return [
                Finding(
                    .registrationRepeated,
                    expected: "\(named(call.id)) is registered once",
                    actual: "again, \((again.sent - call.sent) / 1000) ms later, for no reason",
                    location: at,
                    evidence: [call.sequence, again.sequence],
                    isFinal: true
                )
            ]
        }
        return []
    }

    /// Attempts that fail come at growing distances (C-13).
    ///
    /// The last pauses are compared with the first, so that chance in them (jitter) does not matter;
    /// whoever makes but a few attempts is slow enough.
    func backsOff(_ at: SourceLocation) -> [Finding] {
        let failed = timeline.registrations.filter { !$0.isAcknowledged }
        guard let first = failed.first else { return registersHonestly(at) }
        let attempts = failed.filter { $0.phone == first.phone && $0.id == first.id }
        let pauses = zip(attempts, attempts.dropFirst()).map { $1.sent - $0.sent }
        guard attempts.count > 1 else { return registersHonestly(at) }
        guard pauses.count >= Self.tellingPauseCount, let shortest = pauses.prefix(2).min(),
            let longest = pauses.suffix(2).max(),
            Double(longest) < Double(shortest) * Self.leastGrowth
        else { return [] }
        return [
            Finding(
                .registrationRepeated,
                expected: "pauses that grow while the registration of \(named(first.id)) fails",
                actual: "\(attempts.count) attempts, the first after \(shortest / 1000) ms, the "
                    + "last after \(longest / 1000) ms",
                location: at,
                evidence: attempts.map(\.sequence),
                isFinal: true
            )
        ]
    }

    /// So many pauses tell whether they grow.
    private static let tellingPauseCount = 3
    /// By less than this a pause has not grown: clocks and machines make as much of a difference.
    private static let leastGrowth = 1.4

    func wholeRegistrations(_ at: SourceLocation) -> [Finding] {
        guard !timeline.registrations.isEmpty else { return [noRegistration(at)] }
        for call in timeline.registrations {
            let fields = [
                ("the id", call.id), ("the device", call.device), ("the platform", call.platform),
                ("the source", call.source),
            ]
            for (name, value) in fields where !Self.isSet(value) {
                return [
                    incomplete("a registration carries \(name)", value ?? "it is missing", call, at)
                ]
            }
            let kind = timeline.phones[call.phone]?["uaPreset"]?.string ?? ""
            let platform = call.platform?.lowercased() ?? ""
            let wrong: [String] =
                switch kind {
                case "android": ["ios", "iphone", "ipad"]
                case "iphone", "ipad", "ipad-desktop": ["android"]
                // Nobody knows it, so nobody may name it.
                case "unknown": ["ios", "android"]
                default: []
                }
            if wrong.contains(platform) {
                return [
                    incomplete("the platform of a phone of kind '\(kind)'", platform, call, at)
                ]
            }
        }
        return []
    }

    func steadyDevice(_ at: SourceLocation) -> [Finding] {
        for call in timeline.registrations {
            guard let install = timeline.installID(of: call.phone) else { continue }
            if call.device != install {
                return [
                    incomplete(
                        "the device of a registration is the install id",
                        call.device ?? "it is missing",
                        call,
                        at
                    )
                ]
            }
        }
        for command in timeline.commands {
            for parameter in command.bridge.parameters where !Self.isSet(parameter.value) {
                // An empty value is how a key of the vault is given up (section 5).
                if parameter.value.isEmpty { continue }
                return [
                    Finding(
                        .unusableID,
                        expected: "no command carries something unset",
                        actual: command.bridge.text.shown(80),
                        location: at,
                        evidence: [command.sequence],
                        isFinal: true
                    )
                ]
            }
        }
        return []
    }

    /// Neither missing nor the text that a missing value becomes.
    private static func isSet(_ text: String?) -> Bool {
        guard let text, !text.isEmpty else { return false }
        return !text.split(whereSeparator: { !$0.isLetter }).contains {
            ["undefined", "null", "NaN"].contains($0)
        }
    }

    private func noRegistration(_ at: SourceLocation) -> Finding {
        Finding(
            .registrationLost,
            expected: "a registration",
            actual: "none was sent",
            location: at
        )
    }

    private func incomplete(
        _ expected: String,
        _ actual: String,
        _ call: ClientTimeline.Registration,
        _ at: SourceLocation
    ) -> Finding {
        Finding(
            .registrationIncomplete,
            expected: expected,
            actual: "'\(actual.shown(60))'",
            location: at,
            evidence: [call.sequence],
            isFinal: true
        )
    }
}
