internal import Contracts
internal import Grammar
internal import Providers
internal import Values

/// Judges one device scenario (a contract for an app on a simulated phone): its invariants, its
/// commands, its final ID and its page.
struct DeviceScenarioJudge {
    let device: DeviceEvidence
    let expected: AppExpectation

    var timeline: ClientTimeline { device.timeline }

    init(_ evidence: CaseEvidence, _ expected: AppExpectation) {
        device = DeviceEvidence(evidence)
        self.expected = expected
    }

    func findings(for requiredInvariant: AppExpectation.RequiredInvariant) -> [Finding] {
        let location = requiredInvariant.location
        let identity = IdentityInvariants(device: device)
        let registration = RegistrationInvariants(device: device)
        let paywall = PaywallInvariants(device: device)
        let bridge = BridgeInvariants(device: device)
        return switch requiredInvariant.name {
        case .silent: bridge.checkSilent(at: location)
        case .usableIDs: identity.checkUsableIDs(at: location)
        case .writesLockBeforeRegistering: identity.checkWritesLockBeforeRegistering(at: location)
        case .writesIDBeforeRegistering: identity.checkWritesIDBeforeRegistering(at: location)
        case .aliased: identity.checkAliased(at: location)
        case .endsWithOneUserID: identity.checkEndsWithOneUserID(at: location)
        case .retriesFailedRegistrations: registration.checkRetriesFailedRegistrations(at: location)
        case .repeatsNoRegistration: registration.checkRepeatsNoRegistration(at: location)
        case .completeRegistrations: registration.checkCompleteRegistrations(at: location)
        case .usesInstallIDAsDeviceID: registration.checkUsesInstallIDAsDeviceID(at: location)
        case .registeredBeforePaywall: paywall.checkRegisteredBeforePaywall(at: location)
        case .paywallUsesCurrentID: paywall.checkPaywallUsesCurrentID(at: location)
        case .gated: paywall.checkGated(at: location)
        case .singlePaywall: paywall.checkSinglePaywall(at: location)
        case .encoded: bridge.checkEncoded(at: location)
        case .delayedRepliesKeepUserID: identity.checkDelayedRepliesKeepUserID(at: location)
        case .registersSameUserID: identity.checkRegistersSameUserID(at: location)
        case .unchanged: identity.checkUnchanged(at: location)
        case .loginSendsCurrentID: identity.checkLoginSendsCurrentID(at: location)
        case .unguessable: identity.checkUnguessable(at: location)
        case .vaultReadsNeverOverlap: bridge.checkVaultReadsNeverOverlap(at: location)
        case .vaultHoldsNoPrivateValues: bridge.checkVaultHoldsNoPrivateValues(at: location)
        case .sendsOneCommandPerTask: bridge.checkSendsOneCommandPerTask(at: location)
        case .unbroken: bridge.checkUnbroken(at: location)
        case .definesNativeCallbacks: bridge.checkDefinesNativeCallbacks(at: location)
        case .determinesUserIDOncePerPage: identity.checkDeterminesUserIDOncePerPage(at: location)
        case .logoutClearsLockFirst: identity.checkLogoutClearsLockFirst(at: location)
        case .registrationPausesGrow: registration.checkRegistrationPausesGrow(at: location)
        }
    }

    /// Reports a user action that had no effect, because the page does not have the element to tap.
    ///
    /// A missing upgrade button is accepted, because an app may hide it to prevent purchases.
    var missingElementFinding: Finding? {
        let userAction = timeline.userActions.first {
            $0.missingElement != nil && $0.name != "upgrade"
        }
        guard let userAction else { return nil }
        return Finding(
            .unobservable,
            expected: "the page has an element to tap for '\(userAction.name)'",
            actual: "the page has no element '\(userAction.missingElement ?? "")'",
            remedy: "Correct the selector 'app: taps: \(userAction.name)' in assay.yaml, or skip "
                + "the case.",
            location: expected.location,
            evidence: [userAction.sequence]
        )
    }

    /// Reports a tap that had no effect, so that missing calls of the app prove nothing.
    var ineffectiveTapFinding: Finding? {
        let names: Set<String> = ["login", "logout", "restore"]
        let userAction = timeline.userActions.first { userAction in
            // An app without an acknowledged registration could not start, so it may ignore taps.
            let isAppRegistered = timeline.registrations.contains {
                $0.phone == userAction.phone && $0.sequence < userAction.sequence
                    && $0.isAcknowledged
            }
            guard names.contains(userAction.name), isAppRegistered else { return false }
            let endSequence = timeline.userActions.first {
                $0.phone == userAction.phone && $0.sequence > userAction.sequence
                    && (names.contains($0.name) || $0.isLaunch)
            }?.sequence
            return !timeline.isActive(
                userAction.phone,
                from: userAction.sequence,
                to: endSequence ?? .max
            )
        }
        guard let userAction else { return nil }
        return Finding(
            .unobservable,
            expected: "a tap on '\(userAction.name)' has an effect",
            actual: "the app sent no command and made no call",
            remedy: "Check the selector 'app: taps: \(userAction.name)' in assay.yaml; "
                + "if a menu has to be opened first, list both: [\"#menu\", \"#log-out\"].",
            location: expected.location,
            evidence: [userAction.sequence]
        )
    }

    /// Reports a callback of the native side that had no effect, because the page does not have the
    /// function.
    var missingCallbackFinding: Finding? {
        let isInvariantRequired = expected.requiredInvariants.contains {
            $0.name == .definesNativeCallbacks
        }
        guard !isInvariantRequired,
            let userAction = timeline.userActions.first(where: { $0.name == "callback" })
        else { return nil }
        let calls = timeline.callbacks.filter { $0.sequence > userAction.sequence }
        guard !calls.isEmpty, !calls.contains(where: \.isFunctionDefined) else { return nil }
        return Finding(
            .unobservable,
            expected: "the page has a function that the native side can call",
            actual: "the page's window has no function "
                + DeviceEvidence.commaSeparatedList(calls.map(\.function)),
            remedy: "Define the function before the first paywall opens (C-24).",
            location: expected.location,
            evidence: [userAction.sequence]
        )
    }

    // MARK: Commands, identities, screens

    /// Returns an expected string of the contract with its templates filled in.
    private func filledTemplateText(_ text: String) -> String {
        var values = TemplateValues(namespace: device.record.namespace, base: device.record.base)
        return values.fill(text)
    }

    /// A note about the first user action whose element the page does not have; empty without one.
    private var missingElementNote: String {
        let missingElement = timeline.userActions.first { $0.missingElement != nil }
        return missingElement.map {
            "; no element to tap for '\($0.name)': \($0.missingElement ?? "")"
        } ?? ""
    }

    func finding(for expected: AppExpectation.Command) -> Finding? {
        let key = expected.role.flatMap { timeline.keys[$0] }
        let value = expected.value.map(filledTemplateText)
        let phone = expected.phone
        let idWrite = timeline.commands.first {
            (phone == nil || $0.phone == phone) && timeline.idWrittenToVault($0) != nil
        }
        let found = timeline.commands.filter { command in
            (command.name == expected.name || command.bridge.scheme == expected.name)
                && (phone == nil || command.phone == phone)
                && (key == nil || command.bridge["key"] == key)
                && (value == nil || command.bridge["value"] == value)
                && (!expected.countsOnlyBeforeIDWrite || idWrite == nil
                    || command.sequence < idWrite?.sequence ?? .max)
        }
        let commandDescription = [
            "command \(expected.name)", key.map { "for key '\($0)'" }, value.map { "with '\($0)'" },
            expected.countsOnlyBeforeIDWrite ? "before the ID is written" : nil,
        ].compactMap { $0 }.joined(separator: " ")
        if found.count < expected.countMin {
            return Finding(
                .commandMissing,
                expected: "\(commandDescription), "
                    + (expected.countMin == 1 ? "once" : "\(expected.countMin) times"),
                actual: (found.isEmpty
                    ? "the app never sent this command"
                    : "the app sent this command \(found.count) times")
                    + missingElementNote,
                location: expected.location,
                evidence: found.map(\.sequence)
            )
        }
        if let max = expected.countMax, found.count > max {
            return Finding(
                .unexpectedCommand,
                expected: "\(commandDescription), \(max == 0 ? "never" : "at most \(max) times")",
                actual: "the app sent this command \(found.count) times, first: "
                    + (found.first?.bridge.text.shown(80) ?? ""),
                location: expected.location,
                evidence: found.map(\.sequence),
                isFinal: true
            )
        }
        return nil
    }

    func finding(for expected: AppExpectation.Identity) -> Finding? {
        let found = timeline.finalID(of: expected.phone)
        let (isMet, expectedValue): (Bool, String) =
            switch expected.expectedValue {
            case .user(let user):
                (found == device.record.namespace.id(of: user), "the ID of \(user)")
            case .notUser(let user):
                (
                    found != nil && found != device.record.namespace.id(of: user),
                    "an ID other than that of \(user)"
                )
            case .sameAsPhone(let phone):
                (
                    found != nil && found == timeline.finalID(of: phone),
                    "the same ID as \(phone): \(device.idDescription(timeline.finalID(of: phone)))"
                )
            case .differentFromPhone(let phone):
                (
                    found != nil && found != timeline.finalID(of: phone),
                    "an ID other than that of \(phone)"
                )
            case .changed:
                (
                    found != nil && found != timeline.firstID(of: expected.phone),
                    "an ID other than its first one"
                )
            }
        guard !isMet else { return nil }
        return Finding(
            .wrongUser,
            expected: "\(expected.phone) ends with \(expectedValue)",
            actual: device.idDescription(found),
            location: expected.location,
            evidence: timeline.commands.filter { timeline.idWrittenToVault($0) != nil }.map(
                \.sequence
            )
        )
    }

    func finding(for expected: AppExpectation.Screen) -> Finding? {
        let name = expected.element.rawValue
        let screenContent = timeline.screensByPhone["phone"]
        guard let screenContent else {
            return Finding(
                .unobservable,
                expected: "the content of the page",
                actual: "the page could not be read",
                location: expected.location
            )
        }
        guard let value = screenContent[name] else {
            return Finding(
                .unobservable,
                expected: "the content that the page shows for '\(name)'",
                actual: "the profile has no selector for this element",
                remedy: "Add '\(name): \"#selector\"' to 'app: shows:' in assay.yaml.",
                location: expected.location
            )
        }
        let expectedValue: JSONValue =
            if case .string(let text) = expected.expectedValue {
                .string(filledTemplateText(text))
            } else {
                expected.expectedValue
            }
        let isEqual =
            switch (value, expectedValue) {
            case (.string(let text), .string(let expectedValue)):
                text.lowercased().contains(expectedValue.lowercased())
            // An element that is missing on the page shows no text.
            case (.null, .string): false
            case (.null, .bool(let expectedValue)): !expectedValue
            case (.string(let text), .bool(let expectedValue)): !text.isEmpty == expectedValue
            default: value == expectedValue
            }
        guard isEqual == expected.isNegated else { return nil }
        return Finding(
            .screenDiffers,
            expected: "the page's '\(name)' "
                + (expected.isNegated ? "is not " : "is ") + expectedValue.text,
            actual: value.text,
            location: expected.location
        )
    }

    // MARK: Startup and counts

    /// Judges the time from a ready first page to the first registration that the backend confirms
    /// (clause C-05).
    var startupTimeFindings: [Finding] {
        guard expected.requiresTimelyRegistration,
            let launch = timeline.userActions.first(where: \.isLaunch)
        else { return [] }
        let startTimeLimit = device.profile.app.startupTimeout
        let firstAcknowledged = timeline.registrations.first {
            $0.isAcknowledged && $0.phone == launch.phone
        }
        let startTime = timeline.readyTime(of: launch.phone) ?? launch.time
        let sendTime = firstAcknowledged.map { Duration.microseconds($0.sendTime - startTime) }
        if let sendTime, sendTime <= startTimeLimit { return [] }
        return [
            Finding(
                .startTooSlow,
                expected: "a registration within \(startTimeLimit.milliseconds) ms of the launch",
                actual: sendTime.map { "the registration came after \($0.milliseconds) ms" }
                    ?? "the backend acknowledged no registration",
                location: expected.location,
                evidence: [launch.sequence] + (firstAcknowledged.map { [$0.sequence] } ?? [])
            )
        ]
    }

    var registrationCountFindings: [Finding] {
        let acknowledgedRegistrations = timeline.registrations.filter(\.isAcknowledged)
        let evidence = timeline.registrations.map(\.sequence)
        if let min = expected.registrationCountMin, acknowledgedRegistrations.count < min {
            return [
                Finding(
                    .registrationLost,
                    expected: "at least \(min) acknowledged registration\(min == 1 ? "" : "s")",
                    actual:
                        "\(acknowledgedRegistrations.count) of \(timeline.registrations.count) acknowledged",
                    location: expected.location,
                    evidence: evidence
                )
            ]
        }
        if let max = expected.registrationCountMax, acknowledgedRegistrations.count > max {
            return [
                Finding(
                    .registrationRepeated,
                    expected: "at most \(max) acknowledged registration\(max == 1 ? "" : "s")",
                    actual: "\(acknowledgedRegistrations.count)",
                    location: expected.location,
                    evidence: evidence,
                    isFinal: true
                )
            ]
        }
        return []
    }
}
