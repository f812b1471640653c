internal import Contracts
internal import Providers
internal import Values

/// Invariants of an app's commands to the native side (clauses C-01, C-21, C-24, C-34 to C-36).
struct BridgeInvariants {
    let device: DeviceEvidence

    private var timeline: ClientTimeline { device.timeline }

    func checkSilent(at location: SourceLocation) -> [Finding] {
        guard let first = timeline.commands.first else { return [] }
        return [
            Finding(
                .unexpectedCommand,
                expected: "no bridge command outside the native runtime",
                actual: first.bridge.text.shown(80),
                location: location,
                evidence: timeline.commands.map(\.sequence),
                isFinal: true
            )
        ]
    }

    /// The names of the allowed parameters of each command with a vault key or an ID (Despia fact
    /// sheet, section 3.1).
    private static let parameters: [String: Set<String>] = [
        "setvault": ["key", "value", "locked"], "readvault": ["key"],
        "setonesignalplayerid": ["user_id"],
        "revenuecat://launchPaywall": ["external_id", "offering"],
        "revenuecat://purchase": ["external_id", "product", "offer"],
        "revenuecat://center": ["external_id"],
    ]

    func checkEncoded(at location: SourceLocation) -> [Finding] {
        for command in timeline.commands {
            let notes = command.bridge.notes.filter { $0 != "unknown scheme" }
            let known =
                Self.parameters[command.name] ?? Self.parameters[command.bridge.scheme]
            let unexpectedParameter = known.flatMap { known in
                command.bridge.parameters.first { !known.contains($0.name) }
            }
            let problem =
                notes.first
                ?? unexpectedParameter.map { "an unexpected parameter: '\($0.name.shown(60))'" }
            guard let problem else { continue }
            return [
                Finding(
                    .malformedCommand,
                    expected: "every part of a bridge command is percent-encoded once",
                    actual: "\(problem); in "
                        + command.bridge.text.shown(80),
                    location: location,
                    evidence: [command.sequence],
                    isFinal: true
                )
            ]
        }
        return doublyEncodedCommand.map { command, id in
            [
                Finding(
                    .malformedCommand,
                    expected: "\(device.idDescription(id)) is percent-encoded once",
                    actual: "the ID was encoded twice, in "
                        + command.bridge.text.shown(80),
                    location: location,
                    evidence: [command.sequence],
                    isFinal: true
                )
            ]
        } ?? []
    }

    /// The first command whose ID is a user's ID in percent-encoded form, with that user's ID; nil
    /// without one.
    private var doublyEncodedCommand: (ClientTimeline.Command, String)? {
        let users = device.record.plan.users.map { device.record.namespace.id(of: $0) }
        let known = Set(users + timeline.registrations.compactMap(\.id))
        return timeline.commands.lazy.compactMap { command in
            let buyerID = command.isPaywall ? command.bridge["external_id"] : nil
            let id = timeline.idWrittenToVault(command) ?? timeline.idSetAsAlias(command) ?? buyerID
            guard let id, !users.contains(id) else { return nil }
            let decodedID = FormText.decoded(id, decodesPlusAsSpace: false)
            return decodedID != id && known.contains(decodedID) ? (command, decodedID) : nil
        }.first
    }

    /// Reports two concurrent reads of one vault key, whose replies cannot be distinguished (Despia
    /// fact sheet, section 1.4).
    func checkVaultReadsNeverOverlap(at location: SourceLocation) -> [Finding] {
        let consideredDelayMax = Int64(1_000_000)
        var pendingReadsByKey: [String: (sequence: Int, repliedAt: Int64)] = [:]
        for command in timeline.commands where command.bridge.scheme == "readvault" {
            let name = command.phone + "/" + command.load + "/" + (command.bridge["key"] ?? "")
            if let first = pendingReadsByKey[name], command.time < first.repliedAt,
                // A new document of the page does not know the reads of the previous document, so
                // their overlap is not an error.
                !timeline.hasLoadedNewDocument(
                    command.phone,
                    from: first.sequence,
                    to: command.sequence
                )
            {
                return [
                    Finding(
                        .malformedCommand,
                        expected: "one read of a vault key at a time",
                        actual: "a second read of '\(command.bridge["key"] ?? "")' was sent before "
                            + "the reply to the first",
                        location: location,
                        evidence: [first.sequence, command.sequence],
                        isFinal: true
                    )
                ]
            }
            let delay = timeline.replyDelaysInMicroseconds[command.sequence]
            guard let delay, delay < consideredDelayMax else { continue }
            pendingReadsByKey[name] = (command.sequence, command.time + delay)
        }
        return []
    }

    func checkVaultHoldsNoPrivateValues(at location: SourceLocation) -> [Finding] {
        let allowedVaultKeys = Set(timeline.keys.values).union(device.profile.app.otherVaultKeys)
        for command in timeline.commands {
            guard ["setvault", "readvault"].contains(command.bridge.scheme) else { continue }
            let key = command.bridge["key"] ?? ""
            let value = command.bridge["value"] ?? ""
            let isStoredUnlocked =
                command.bridge.scheme == "setvault" && command.bridge["locked"] != "true"
            let problem: String? =
                if WindowPropertyNames.all.contains(key) {
                    "the vault key '\(key)' is a property of the page's window"
                } else if isStoredUnlocked, value.contains("@") && value.contains(".") {
                    "an email address is stored unlocked under '\(key)'"
                } else if isStoredUnlocked, Self.mayBeCredential(value) {
                    "a credential is stored in the vault without a lock, under '\(key)'"
                } else if isStoredUnlocked, !allowedVaultKeys.contains(key) {
                    "the profile does not list the vault key '\(key.shown(40))'"
                } else {
                    nil
                }
            guard let problem else { continue }
            return [
                Finding(
                    .unprotectedSecret,
                    expected: "the unlocked vault entries contain only IDs and the lock",
                    actual: problem,
                    location: location,
                    evidence: [command.sequence],
                    isFinal: true
                )
            ]
        }
        return []
    }

    /// Whether a vault value looks like a credential: a JSON web token, or a string with a word
    /// such as "password".
    private static func mayBeCredential(_ value: String) -> Bool {
        value.hasPrefix("eyJ") && value.count > 40
            || ["password", "secret", "token="].contains { value.lowercased().contains($0) }
    }

    func checkDefinesNativeCallbacks(at location: SourceLocation) -> [Finding] {
        let callbackFinding: Finding? =
            if timeline.callbacks.isEmpty {
                Finding(
                    .faultNotApplied,
                    expected: "the native side calls a function of the page",
                    actual: "the native side called no function",
                    location: location
                )
            } else if !timeline.callbacks.contains(where: \.isFunctionDefined) {
                Finding(
                    .pageBroken,
                    expected: "the page has a function that is called at the end of a purchase",
                    actual: "the page's window has no function "
                        + DeviceEvidence.commaSeparatedList(timeline.callbacks.map(\.function)),
                    location: location,
                    evidence: timeline.callbacks.map(\.sequence)
                )
            } else {
                nil
            }
        return callbackFinding.map { [$0] } ?? []
    }

    /// Reports commands that the page assigned in the same task as the command before (Despia fact
    /// sheet, section 1.2).
    func checkSendsOneCommandPerTask(at location: SourceLocation) -> [Finding] {
        guard let first = timeline.commandsInTaskOfOther.first else { return [] }
        return [
            Finding(
                .commandSwallowed,
                expected: "one command to the native side in each task of the page",
                actual: "\(first.text.shown(80)) was sent in the same task as the command before",
                location: location,
                evidence: timeline.commandsInTaskOfOther.map(\.sequence),
                isFinal: true
            )
        ]
    }

    func checkUnbroken(at location: SourceLocation) -> [Finding] {
        guard let first = timeline.pageErrors.first else { return [] }
        return [
            Finding(
                .pageBroken,
                expected: "the page reports no error",
                actual: first.text.shown(160),
                location: location,
                evidence: timeline.pageErrors.map(\.sequence),
                isFinal: true
            )
        ]
    }
}
