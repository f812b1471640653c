/// How the app speaks to the native side (C-01, C-21, C-24, C-34, C-35).
extension ClientView {
    func silent(_ at: SourceLocation) -> [Finding] {
        guard let first = timeline.commands.first else { return [] }
        return [
            Finding(
                .commandUnwanted,
                expected: "no bridge command outside the native runtime",
                actual: first.bridge.text.shown(80),
                location: at,
                evidence: timeline.commands.map(\.sequence),
                isFinal: true
            )
        ]
    }

    /// The parameters of the commands that carry ids (Despia fact sheet, section 3.1).
    private static let parameters: [String: Set<String>] = [
        "setvault": ["key", "value", "locked"], "readvault": ["key"],
        "setonesignalplayerid": ["user_id"],
        "revenuecat://launchPaywall": ["external_id", "offering"],
        "revenuecat://purchase": ["external_id", "product", "offer"],
        "revenuecat://center": ["external_id"],
    ]

    func encoded(_ at: SourceLocation) -> [Finding] {
        for command in timeline.commands {
            let notes = command.bridge.notes.filter { $0 != "unknown scheme" }
            let known =
                Self.parameters[command.name] ?? Self.parameters[command.bridge.scheme]
            let extra = known.flatMap { known in
                command.bridge.parameters.first { !known.contains($0.name) }
            }
            let problem =
                notes.first
                ?? extra.map { "a parameter that was not meant: '\($0.name.shown(60))'" }
            guard let problem else { continue }
            return [
                Finding(
                    .badCommand,
                    expected: "every part of a command is percent-encoded once",
                    actual: "\(problem); in "
                        + command.bridge.text.shown(80),
                    location: at,
                    evidence: [command.sequence],
                    isFinal: true
                )
            ]
        }
        return encodedTwice.map { command, id in
            [
                Finding(
                    .badCommand,
                    expected: "\(named(id)) is percent-encoded once",
                    actual: "it was encoded before it was encoded; in "
                        + command.bridge.text.shown(80),
                    location: at,
                    evidence: [command.sequence],
                    isFinal: true
                )
            ]
        } ?? []
    }

    /// A command whose id is nobody's, and the encoded form of somebody's.
    private var encodedTwice: (ClientTimeline.Command, String)? {
        let users = record.plan.users.map { record.namespace.id(of: $0) }
        let known = Set(users + timeline.registrations.compactMap(\.id))
        return timeline.commands.lazy.compactMap { command in
            let buyer = command.isPaywall ? command.bridge["external_id"] : nil
            let id = timeline.writtenID(command) ?? timeline.aliasedID(command) ?? buyer
            guard let id, !users.contains(id) else { return nil }
            let plain = FormText.decoded(id, plusIsBlank: false)
            return plain != id && known.contains(plain) ? (command, plain) : nil
        }.first
    }

    /// A reply carries no number: two reads of one name cannot be told apart (section 1.4).
    func readsInTurn(_ at: SourceLocation) -> [Finding] {
        let latency = Int64(1_000_000)
        var pending: [String: (sequence: Int, until: Int64)] = [:]
        for command in timeline.commands where command.bridge.scheme == "readvault" {
            let name = command.phone + "/" + command.load + "/" + (command.bridge["key"] ?? "")
            if let first = pending[name], command.time < first.until,
                // A new document has nothing to do with what the one before it asked.
                !timeline.isRenewed(command.phone, from: first.sequence, to: command.sequence)
            {
                return [
                    Finding(
                        .badCommand,
                        expected: "one read of a key at a time",
                        actual: "a second read of '\(command.bridge["key"] ?? "")' before the "
                            + "first was answered",
                        location: at,
                        evidence: [first.sequence, command.sequence],
                        isFinal: true
                    )
                ]
            }
            let delay = timeline.replyDelays[command.sequence]
            guard let delay, delay < latency else { continue }
            pending[name] = (command.sequence, command.time + delay)
        }
        return []
    }

    func privateVault(_ at: SourceLocation) -> [Finding] {
        let allowed = Set(timeline.keys.values).union(profile.app.otherKeys)
        for command in timeline.commands {
            guard ["setvault", "readvault"].contains(command.bridge.scheme) else { continue }
            let key = command.bridge["key"] ?? ""
            let value = command.bridge["value"] ?? ""
            let isOpen =
                command.bridge.scheme == "setvault" && command.bridge["locked"] != "true"
            let problem: String? =
                if WindowNames.all.contains(key) {
                    "the key '\(key)' is a name of the window"
                } else if isOpen, value.contains("@") && value.contains(".") {
                    "an email address lies open under '\(key)'"
                } else if isOpen, Self.looksSecret(value) {
                    "a credential lies open under '\(key)'"
                } else if isOpen, !allowed.contains(key) {
                    "the key '\(key.shown(40))' is none that the "
                        + "profile knows"
                } else {
                    nil
                }
            guard let problem else { continue }
            return [
                Finding(
                    .openSecret,
                    expected: "only ids and the lock lie in the open vault",
                    actual: problem,
                    location: at,
                    evidence: [command.sequence],
                    isFinal: true
                )
            ]
        }
        return []
    }

    /// A JSON web token, or a name that says what it is.
    private static func looksSecret(_ value: String) -> Bool {
        value.hasPrefix("eyJ") && value.count > 40
            || ["password", "secret", "token="].contains { value.lowercased().contains($0) }
    }

    func calledBack(_ at: SourceLocation) -> [Finding] {
        let missed: Finding? =
            if timeline.callbacks.isEmpty {
                Finding(
                    .disturbanceMissed,
                    expected: "the native side calls a function of the page",
                    actual: "it called none",
                    location: at
                )
            } else if !timeline.callbacks.contains(where: \.isHeard) {
                Finding(
                    .pageBroken,
                    expected: "the page has a function for the end of a purchase",
                    actual: "the window has no "
                        + Self.list(timeline.callbacks.map(\.function)),
                    location: at,
                    evidence: timeline.callbacks.map(\.sequence)
                )
            } else {
                nil
            }
        return missed.map { [$0] } ?? []
    }

    func unbroken(_ at: SourceLocation) -> [Finding] {
        guard let first = timeline.errors.first else { return [] }
        return [
            Finding(
                .pageBroken,
                expected: "the page reports no error",
                actual: first.text.shown(160),
                location: at,
                evidence: timeline.errors.map(\.sequence),
                isFinal: true
            )
        ]
    }
}
