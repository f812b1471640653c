internal import Contracts
internal import Providers
internal import Values

/// Invariants of the app's user ID in the vault, at OneSignal and at the backend (clauses C-03,
/// C-07 to C-11, C-26 to C-28, C-30, C-34).
struct IdentityInvariants {
    let device: DeviceEvidence

    private var timeline: ClientTimeline { device.timeline }

    /// The time in microseconds within which the order of a bridge command and a network call is
    /// unknown.
    ///
    /// Each command waits in a queue for a millisecond, and browsers limit the precision of timers
    /// (identity rules, A0).
    static let commandOrderTolerance: Int64 = 50_000

    func checkUsableIDs(at location: SourceLocation) -> [Finding] {
        let idWrite: [(sequence: Int, id: String, holder: String)] =
            timeline.commands.compactMap { command in
                if let id = timeline.idWrittenToVault(command) {
                    return (command.sequence, id, "the vault")
                }
                if let id = timeline.idSetAsAlias(command) {
                    return (command.sequence, id, "OneSignal's alias")
                }
                guard command.isPaywall else { return nil }
                return (command.sequence, command.bridge["external_id"] ?? "", "a paywall")
            } + timeline.registrations.map { ($0.sequence, $0.id ?? "", "a registration") }
        guard let entryWithUnusableID = idWrite.first(where: { !ClientTimeline.isUsable($0.id) })
        else { return [] }
        return [
            Finding(
                .unusableID,
                expected: "every ID identifies exactly one user",
                actual:
                    "\(entryWithUnusableID.holder) contained '\(entryWithUnusableID.id.shown(60))'",
                location: location,
                evidence: [entryWithUnusableID.sequence],
                isFinal: true
            )
        ]
    }

    func checkWritesLockBeforeRegistering(at location: SourceLocation) -> [Finding] {
        guard let key = timeline.keys[.lock] else { return [] }
        var phones: Set<String> = []
        let firstRegistrations = timeline.registrations.filter {
            $0.isAcknowledged && phones.insert($0.phone).inserted
        }
        if firstRegistrations.isEmpty { return [missingRegistrationFinding(location)] }
        for first in firstRegistrations {
            // Each phone has its own vault, so only the lock (the vault entry that marks the user
            // ID as final) of this phone counts.
            let lock = timeline.commands.first {
                $0.phone == first.phone && $0.bridge.scheme == "setvault"
                    && $0.bridge["key"] == key && $0.bridge["value"] == "true"
            }
            guard let lock else {
                return [
                    Finding(
                        .commandMissing,
                        expected: "the lock '\(key)' is written as true on \(first.phone) "
                            + "before the registration",
                        actual: "the lock was never written",
                        location: location,
                        evidence: [first.sequence]
                    )
                ]
            }
            if lock.time > first.sendTime + Self.commandOrderTolerance {
                return [wrongOrder("the lock", lock.time, first, location, lock.sequence)]
            }
        }
        return []
    }

    func checkWritesIDBeforeRegistering(at location: SourceLocation) -> [Finding] {
        guard timeline.registrations.contains(where: \.isAcknowledged) else {
            return [missingRegistrationFinding(location)]
        }
        for call in timeline.registrations where call.isAcknowledged {
            let id = call.id
            if timeline.initialVaultValue(.id, by: call.phone) == id { continue }
            let written = timeline.commands.first {
                $0.phone == call.phone && timeline.idWrittenToVault($0) == id
            }
            guard let written else {
                return [
                    Finding(
                        .commandMissing,
                        expected:
                            "\(device.idDescription(id)) is written to the vault before it is registered",
                        actual: "the ID was registered and never written to the vault",
                        location: location,
                        evidence: [call.sequence]
                    )
                ]
            }
            if written.time > call.sendTime + Self.commandOrderTolerance {
                return [wrongOrder("the ID", written.time, call, location, written.sequence)]
            }
        }
        return []
    }

    private func wrongOrder(
        _ subject: String,
        _ time: Int64,
        _ call: ClientTimeline.Registration,
        _ location: SourceLocation,
        _ sequence: Int
    ) -> Finding {
        Finding(
            .wrongOrder,
            expected: "\(subject) is written before the registration is sent",
            actual: "it was written \((time - call.sendTime) / 1000) ms after the registration",
            location: location,
            evidence: [call.sequence, sequence],
            isFinal: true
        )
    }

    private func missingRegistrationFinding(_ location: SourceLocation) -> Finding {
        Finding(
            .registrationLost,
            expected: "a registration that the backend acknowledges",
            actual: "acknowledged attempts: 0 of \(timeline.registrations.count)",
            location: location,
            evidence: timeline.registrations.map(\.sequence)
        )
    }

    /// The part of a scenario from one user action that may change the user ID to the next such
    /// action.
    private struct IdentityFlow {
        let userAction: ClientTimeline.UserAction
        let endSequence: Int

        func includes(_ sequence: Int) -> Bool {
            sequence > userAction.sequence && sequence < endSequence
        }
    }

    private func identityFlows(of phone: String) -> [IdentityFlow] {
        let documentStarts = timeline.userActions.filter {
            $0.phone == phone
                && ["launch", "reload", "login", "logout", "restore"].contains($0.name)
        }
        let flowEndSequences = documentStarts.dropFirst().map(\.sequence) + [Int.max]
        return zip(documentStarts, flowEndSequences).map {
            IdentityFlow(userAction: $0, endSequence: $1)
        }
    }

    func checkAliased(at location: SourceLocation) -> [Finding] {
        for phone in timeline.names {
            for flow in identityFlows(of: phone) {
                let aliasCommands = timeline.commands.filter {
                    $0.phone == phone && flow.includes($0.sequence)
                        && timeline.idSetAsAlias($0) != nil
                }
                let registered = timeline.registrations.last {
                    $0.phone == phone && flow.includes($0.sequence) && $0.isAcknowledged
                }
                // A part of the scenario without a registration is judged by another invariant.
                guard let registered else { continue }
                let last = aliasCommands.last.flatMap { timeline.idSetAsAlias($0) }
                guard last != registered.id else { continue }
                // When a registration is retried, the app has set the alias at the first attempt.
                let earlierRegistration = timeline.registrations.last {
                    $0.phone == phone && $0.sequence < flow.userAction.sequence
                        && $0.id == registered.id
                }
                if last == nil, let earlierRegistration, !earlierRegistration.isAcknowledged {
                    continue
                }
                return [
                    Finding(
                        last == nil ? .commandMissing : .identitySplit,
                        expected: "the \(flow.userAction.name) ends with the command "
                            + "setonesignalplayerid for " + device.idDescription(registered.id),
                        actual: last == nil
                            ? "the command was not sent" : device.idDescription(last),
                        location: location,
                        evidence: [flow.userAction.sequence, registered.sequence]
                            + aliasCommands.suffix(1).map(\.sequence)
                    )
                ]
            }
        }
        return []
    }

    func checkEndsWithOneUserID(at location: SourceLocation) -> [Finding] {
        for phone in timeline.names {
            guard timeline.phones[phone] != nil else {
                return [
                    Finding(
                        .unobservable,
                        expected: "the stored state of \(phone)",
                        actual: "the state was not read",
                        location: location
                    )
                ]
            }
            let finalVaultValue = timeline.finalVaultValue(.id, of: phone)
            let aliasID = timeline.externalID(of: phone)
            let last = timeline.lastAcknowledgedRegistration(of: phone)
            let registered = last?.id
            if finalVaultValue == aliasID, aliasID == registered, registered != nil { continue }
            return [
                Finding(
                    .identitySplit,
                    expected: "one ID in the vault of \(phone), at OneSignal and at the backend",
                    actual:
                        "vault \(device.idDescription(finalVaultValue)), OneSignal \(device.idDescription(aliasID)), backend "
                        + device.idDescription(registered),
                    location: location,
                    evidence: (last.map { [$0.sequence] } ?? [])
                )
            ]
        }
        return []
    }

    func checkRegistersSameUserID(at location: SourceLocation) -> [Finding] {
        let acknowledgedRegistrations = timeline.registrations.filter(\.isAcknowledged)
        guard let first = acknowledgedRegistrations.first else {
            return [missingRegistrationFinding(location)]
        }
        let other = acknowledgedRegistrations.first { $0.id != first.id }
        guard let other else { return [] }
        return [
            Finding(
                .wrongUser,
                expected: "every launch and every page registers \(device.idDescription(first.id))",
                actual: "one of them registered \(device.idDescription(other.id))",
                location: location,
                evidence: [first.sequence, other.sequence],
                isFinal: true
            )
        ]
    }

    func checkDelayedRepliesKeepUserID(at location: SourceLocation) -> [Finding] {
        for phone in timeline.names {
            let lastUserAction = timeline.userActions.last {
                $0.phone == phone && $0.name != "wait"
            }
            let settledRegistration = timeline.registrations.first {
                $0.phone == phone && $0.sequence > lastUserAction?.sequence ?? 0
                    && $0.isAcknowledged
            }
            guard let settledRegistration else { return [missingRegistrationFinding(location)] }
            let laterCommand = timeline.commands.first { command in
                guard command.phone == phone, command.sequence > settledRegistration.sequence,
                    let id = timeline.idWrittenToVault(command) ?? timeline.idSetAsAlias(command)
                else { return false }
                return id != settledRegistration.id
            }
            let call = timeline.registrations.first {
                $0.phone == phone && $0.sequence > settledRegistration.sequence
                    && $0.id != settledRegistration.id
            }
            guard let sequence = laterCommand?.sequence ?? call?.sequence else { continue }
            let id =
                laterCommand.flatMap { timeline.idWrittenToVault($0) ?? timeline.idSetAsAlias($0) }
                ?? call?.id
            return [
                Finding(
                    .wrongUser,
                    expected: "\(phone) keeps \(device.idDescription(settledRegistration.id))",
                    actual: "the ID changed to \(device.idDescription(id)) without a user action",
                    location: location,
                    evidence: [settledRegistration.sequence, sequence],
                    isFinal: true
                )
            ]
        }
        return []
    }

    func checkUnchanged(at location: SourceLocation) -> [Finding] {
        guard let last = timeline.userActions.last(where: { $0.name != "wait" }) else { return [] }
        let command = timeline.commands.first {
            $0.phone == last.phone && $0.sequence > last.sequence
                && ["setvault", "setonesignalplayerid"].contains($0.bridge.scheme)
        }
        let call = timeline.registrations.first {
            $0.phone == last.phone && $0.sequence > last.sequence
        }
        guard let sequence = command?.sequence ?? call?.sequence else { return [] }
        return [
            Finding(
                .unexpectedCommand,
                expected: "the \(last.name) changes nothing on the phone and sends no registration",
                actual: command.map { $0.bridge.text.shown(80) }
                    ?? "a registration of \(device.idDescription(call?.id))",
                location: location,
                evidence: [last.sequence, sequence],
                isFinal: true
            )
        ]
    }

    func checkLoginSendsCurrentID(at location: SourceLocation) -> [Finding] {
        guard let login = timeline.logins.last else {
            return [
                Finding(
                    .faultNotApplied,
                    expected: "a login reaches the backend",
                    actual: "no login reached the backend",
                    location: location
                )
            ]
        }
        let idWrite =
            timeline.commands.filter { $0.phone == login.phone && $0.sequence < login.sequence }
            .compactMap { timeline.idWrittenToVault($0) }.last
            ?? timeline.initialVaultValue(.id, by: login.phone)
        guard login.currentID != idWrite else { return [] }
        return [
            Finding(
                .wrongUser,
                expected:
                    "the login sends the phone's current ID to the backend: \(device.idDescription(idWrite))",
                actual: device.idDescription(login.currentID),
                location: location,
                evidence: [login.sequence],
                isFinal: true
            )
        ]
    }

    /// Judges that a page reads its user ID once and registers it once (clause C-33).
    func checkDeterminesUserIDOncePerPage(at location: SourceLocation) -> [Finding] {
        for page in pageDocuments {
            let idWrite = page.commands.first { timeline.idWrittenToVault($0) != nil }
            let endSequence = min(
                idWrite?.sequence ?? .max,
                page.registrations.first?.sequence ?? .max
            )
            // The app may repeat a read that got no reply.
            let vaultReads = page.commands.filter {
                $0.bridge.scheme == "readvault" && $0.bridge["key"] == timeline.keys[.id]
                    && $0.sequence < endSequence
                    && timeline.replyDelaysInMicroseconds[$0.sequence] != nil
            }
            let calls = page.registrations.filter(\.isAcknowledged)
            let repeatedRegistration = calls.dropFirst().first { $0.id == calls.first?.id }
            guard vaultReads.count > 1 || repeatedRegistration != nil else { continue }
            return [
                Finding(
                    vaultReads.count > 1 ? .unexpectedCommand : .registrationRepeated,
                    expected: "a page determines the ID of its user once",
                    actual: vaultReads.count > 1
                        ? "the page read the ID \(vaultReads.count) times before it used the ID"
                        : "the page registered \(device.idDescription(repeatedRegistration?.id)) twice",
                    location: location,
                    evidence: vaultReads.map(\.sequence)
                        + [calls.first?.sequence, repeatedRegistration?.sequence].compactMap { $0 },
                    isFinal: true
                )
            ]
        }
        return []
    }

    /// The commands and registrations that one document of a page sent before the first user
    /// action.
    private struct PageDocument {
        var commands: [ClientTimeline.Command] = []
        var registrations: [ClientTimeline.Registration] = []
    }

    private var pageDocuments: [PageDocument] {
        var pageDocuments: [String: PageDocument] = [:]
        var documentNamesInOrder: [String] = []
        func name(_ phone: String, _ load: String, _ sequence: Int) -> String? {
            let precedingActions = timeline.userActions.filter {
                $0.phone == phone && $0.sequence < sequence && !$0.isLaunch && $0.name != "wait"
            }
            // After a user action, the page may read and register its user again.
            guard precedingActions.isEmpty else { return nil }
            let number = timeline.documentStarts.count {
                $0.phone == phone && $0.sequence < sequence
            }
            let name = load.isEmpty ? "\(phone)/\(number)" : "\(phone)/\(load)"
            if pageDocuments[name] == nil { documentNamesInOrder.append(name) }
            return name
        }
        for command in timeline.commands {
            guard let name = name(command.phone, command.load, command.sequence) else { continue }
            pageDocuments[name, default: PageDocument()].commands.append(command)
        }
        for call in timeline.registrations {
            guard let name = name(call.phone, call.load, call.sequence) else { continue }
            pageDocuments[name, default: PageDocument()].registrations.append(call)
        }
        return documentNamesInOrder.compactMap { pageDocuments[$0] }
    }

    /// Judges that a logout clears the lock of the ID before it writes another ID to the vault
    /// (clause C-30).
    func checkLogoutClearsLockFirst(at location: SourceLocation) -> [Finding] {
        var checkedLogoutCount = 0
        for phone in timeline.names {
            for flow in identityFlows(of: phone) where flow.userAction.name == "logout" {
                let commandsInFlow = timeline.commands.filter {
                    $0.phone == phone && flow.includes($0.sequence)
                }
                let written = commandsInFlow.first { timeline.idWrittenToVault($0) != nil }
                guard let written else { continue }
                checkedLogoutCount += 1
                let unlockCommand = commandsInFlow.first {
                    $0.bridge.scheme == "setvault" && $0.bridge["key"] == timeline.keys[.lock]
                        && $0.bridge["value"] != "true"
                }
                if let unlockCommand, unlockCommand.sequence < written.sequence { continue }
                return [
                    Finding(
                        unlockCommand == nil ? .commandMissing : .wrongOrder,
                        expected: "a logout clears the lock before it writes another ID",
                        actual: unlockCommand == nil
                            ? "the lock was not cleared" : "the logout wrote the ID first",
                        location: location,
                        evidence: [flow.userAction.sequence, written.sequence]
                            + [unlockCommand?.sequence].compactMap { $0 },
                        isFinal: unlockCommand != nil
                    )
                ]
            }
        }
        guard checkedLogoutCount == 0 else { return [] }
        return [
            Finding(
                .commandMissing,
                expected: "a logout writes a new ID to the vault",
                actual: "no logout wrote an ID to the vault",
                location: location
            )
        ]
    }

    func checkUnguessable(at location: SourceLocation) -> [Finding] {
        var checkedLogoutIDCount = 0
        for phone in timeline.names {
            var earlierIDs = Set([timeline.initialVaultValue(.id, by: phone)].compactMap { $0 })
            let lowercasedInstallID = timeline.installID(of: phone)?.lowercased() ?? ""
            for flow in identityFlows(of: phone) {
                let written = timeline.commands.filter {
                    $0.phone == phone && flow.includes($0.sequence)
                }.compactMap { command in
                    timeline.idWrittenToVault(command).map { (command.sequence, $0) }
                }
                defer { earlierIDs.formUnion(written.map(\.1)) }
                guard flow.userAction.name == "logout", let (sequence, id) = written.last else {
                    continue
                }
                checkedLogoutIDCount += 1
                let problem: String? =
                    if earlierIDs.contains(id) {
                        "an ID that was used before"
                    } else if !lowercasedInstallID.isEmpty,
                        id.lowercased().contains(lowercasedInstallID)
                    {
                        "an ID derived from the install ID"
                    } else if id.count < 16 || id.allSatisfy(\.isNumber) {
                        "an ID that is easy to guess"
                    } else {
                        nil
                    }
                guard let problem else { continue }
                return [
                    Finding(
                        .guessableID,
                        expected: "a logout on \(phone) creates a new ID that cannot be guessed",
                        actual: "\(problem): \(device.idDescription(id))",
                        location: location,
                        evidence: [sequence],
                        isFinal: true
                    )
                ]
            }
        }
        guard checkedLogoutIDCount == 0 else { return [] }
        return [
            Finding(
                .commandMissing,
                expected: "a logout writes a new ID to the vault",
                actual: "no logout wrote an ID to the vault",
                location: location
            )
        ]
    }
}
