/// One scenario as its promises look at it.
struct ClientView {
    let timeline: ClientTimeline
    let expected: AppExpectation
    let profile: Profile
    let record: RunRecord

    init(_ evidence: CaseEvidence, _ expected: AppExpectation) {
        timeline = ClientTimeline(evidence.subject, profile: evidence.profile)
        self.expected = expected
        profile = evidence.profile
        record = evidence.subject
    }

    func findings(for promise: AppExpectation.Promise) -> [Finding] {
        let at = promise.location
        return switch promise.name {
        case .silent: silent(at)
        case .usableIDs: usableIDs(at)
        case .lockedFirst: lockedFirst(at)
        case .writtenFirst: writtenFirst(at)
        case .aliased: aliased(at)
        case .oneIdentity: oneIdentity(at)
        case .registersHonestly: registersHonestly(at)
        case .registersOnce: registersOnce(at)
        case .wholeRegistrations: wholeRegistrations(at)
        case .steadyDevice: steadyDevice(at)
        case .registeredBeforePaywall: registeredBeforePaywall(at)
        case .onePurchaser: onePurchaser(at)
        case .gated: gated(at)
        case .singlePaywall: singlePaywall(at)
        case .encoded: encoded(at)
        case .steadyID: steadyID(at)
        case .sameID: sameID(at)
        case .unchanged: unchanged(at)
        case .loginNamesCurrent: loginNamesCurrent(at)
        case .unguessable: unguessable(at)
        case .readsInTurn: readsInTurn(at)
        case .privateVault: privateVault(at)
        case .unbroken: unbroken(at)
        case .calledBack: calledBack(at)
        case .resolvesOnce: resolvesOnce(at)
        case .unlocksFirst: unlocksFirst(at)
        case .backsOff: backsOff(at)
        }
    }

    /// A tap that the profile describes and the page has no place for: nothing follows from it.
    ///
    /// An upgrade may be missing, because hiding it is a way to keep it shut.
    var untouched: Finding? {
        let gesture = timeline.gestures.first { $0.missing != nil && $0.name != "upgrade" }
        guard let gesture else { return nil }
        return Finding(
            .unobservable,
            expected: "something to tap for '\(gesture.name)'",
            actual: "the page has no element '\(gesture.missing ?? "")'",
            remedy: "Name it under 'app: taps:' in assay.yaml, or skip the case.",
            location: expected.location,
            evidence: [gesture.sequence]
        )
    }

    /// A tap by which nothing happened at all: whatever is missing afterwards says nothing about what
    /// the app does when it is really asked.
    var deadTap: Finding? {
        let names: Set<String> = ["login", "logout", "restore"]
        let gesture = timeline.gestures.first { gesture in
            // An app that could not start has a reason to do nothing.
            let isStarted = timeline.registrations.contains {
                $0.phone == gesture.phone && $0.sequence < gesture.sequence && $0.isAcknowledged
            }
            guard names.contains(gesture.name), isStarted else { return false }
            let end = timeline.gestures.first {
                $0.phone == gesture.phone && $0.sequence > gesture.sequence
                    && (names.contains($0.name) || $0.isLaunch)
            }?.sequence
            return !timeline.isActive(gesture.phone, from: gesture.sequence, to: end ?? .max)
        }
        guard let gesture else { return nil }
        return Finding(
            .unobservable,
            expected: "a tap on '\(gesture.name)' leads to something",
            actual: "no command and no call came of it",
            remedy: "See that 'app: taps: \(gesture.name)' in assay.yaml names what a person taps; "
                + "where something has to be opened first, list both: [\"#menu\", \"#log-out\"].",
            location: expected.location,
            evidence: [gesture.sequence]
        )
    }

    /// A callback for which the page has no function: nothing follows from what it did then.
    var unheard: Finding? {
        let isAsked = expected.promises.contains { $0.name == .calledBack }
        guard !isAsked, let gesture = timeline.gestures.first(where: { $0.name == "callback" })
        else { return nil }
        let calls = timeline.callbacks.filter { $0.sequence > gesture.sequence }
        guard !calls.isEmpty, !calls.contains(where: \.isHeard) else { return nil }
        return Finding(
            .unobservable,
            expected: "a function of the page that the native side can call",
            actual: "the window has no " + Self.list(calls.map(\.function)),
            remedy: "Install it before the first paywall opens (C-24).",
            location: expected.location,
            evidence: [gesture.sequence]
        )
    }

    /// Names in their order, each once.
    static func list(_ names: [String]) -> String {
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted }.joined(separator: ", ")
    }

    /// How an id is called in a report: the user it belongs to, or itself, cut to what is readable.
    func named(_ id: String?) -> String {
        guard let id else { return "none" }
        if let user = record.plan.users.first(where: { record.namespace.id(of: $0) == id }) {
            return "the id of \(user)"
        }
        for phone in timeline.names where timeline.installID(of: phone) == id {
            return "the install id of \(phone)"
        }
        return "'\(id.shown(60))'"
    }

    // MARK: Commands, identities, screens

    /// An expected text with its templates replaced.
    private func filled(_ text: String) -> String {
        var values = TemplateValues(namespace: record.namespace, base: record.base)
        return values.fill(text)
    }

    /// What there was nothing to tap for.
    private var untapped: String {
        let missing = timeline.gestures.first { $0.missing != nil }
        return missing.map { "; nobody could tap '\($0.name)': \($0.missing ?? "")" } ?? ""
    }

    func finding(for expected: AppExpectation.Command) -> Finding? {
        let key = expected.role.flatMap { timeline.keys[$0] }
        let value = expected.value.map(filled)
        let phone = expected.phone
        let written = timeline.commands.first {
            (phone == nil || $0.phone == phone) && timeline.writtenID($0) != nil
        }
        let found = timeline.commands.filter { command in
            (command.name == expected.name || command.bridge.scheme == expected.name)
                && (phone == nil || command.phone == phone)
                && (key == nil || command.bridge["key"] == key)
                && (value == nil || command.bridge["value"] == value)
                && (!expected.isBeforeIDWritten || written == nil
                    || command.sequence < written?.sequence ?? .max)
        }
        let what = [
            expected.name, key.map { "of \($0)" }, value.map { "with '\($0)'" },
            expected.isBeforeIDWritten ? "before the id is written" : nil,
        ].compactMap { $0 }.joined(separator: " ")
        if found.count < expected.countMin {
            return Finding(
                .commandMissing,
                expected: "\(what), "
                    + (expected.countMin == 1 ? "once" : "\(expected.countMin) times"),
                actual: (found.isEmpty ? "never" : "\(found.count) times") + untapped,
                location: expected.location,
                evidence: found.map(\.sequence)
            )
        }
        if let max = expected.countMax, found.count > max {
            return Finding(
                .commandUnwanted,
                expected: "\(what), \(max == 0 ? "never" : "at most \(max) times")",
                actual: "\(found.count) times, first: "
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
        let (isMet, wanted): (Bool, String) =
            switch expected.wanted {
            case .user(let user):
                (found == record.namespace.id(of: user), "the id of \(user)")
            case .notUser(let user):
                (
                    found != nil && found != record.namespace.id(of: user),
                    "another id than that of \(user)"
                )
            case .sameAs(let phone):
                (
                    found != nil && found == timeline.finalID(of: phone),
                    "the id that \(phone) has: \(named(timeline.finalID(of: phone)))"
                )
            case .otherThan(let phone):
                (
                    found != nil && found != timeline.finalID(of: phone),
                    "another id than \(phone) has"
                )
            case .changed:
                (
                    found != nil && found != timeline.firstID(of: expected.phone),
                    "another id than it began with"
                )
            }
        guard !isMet else { return nil }
        return Finding(
            .wrongPerson,
            expected: "\(expected.phone) ends with \(wanted)",
            actual: named(found),
            location: expected.location,
            evidence: timeline.commands.filter { timeline.writtenID($0) != nil }.map(\.sequence)
        )
    }

    func finding(for expected: AppExpectation.Screen) -> Finding? {
        let name = expected.element.rawValue
        let shown = timeline.screens["phone"]
        guard let shown else {
            return Finding(
                .unobservable,
                expected: "a look at the page",
                actual: "the page could not be looked at",
                location: expected.location
            )
        }
        guard let value = shown[name] else {
            return Finding(
                .unobservable,
                expected: "what the page shows as '\(name)'",
                actual: "the profile does not say where",
                remedy: "Add '\(name): \"#selector\"' to 'app: shows:' in assay.yaml.",
                location: expected.location
            )
        }
        let wanted: JSONValue =
            if case .string(let text) = expected.wanted { .string(filled(text)) } else {
                expected.wanted
            }
        let isEqual =
            switch (value, wanted) {
            case (.string(let text), .string(let wanted)):
                text.lowercased().contains(wanted.lowercased())
            // An element that is not there says nothing.
            case (.null, .string): false
            case (.null, .bool(let wanted)): !wanted
            case (.string(let text), .bool(let wanted)): !text.isEmpty == wanted
            default: value == wanted
            }
        guard isEqual == expected.isNot else { return nil }
        return Finding(
            .screenDiffers,
            expected: "the page's '\(name)' "
                + (expected.isNot ? "is not " : "is ") + wanted.text,
            actual: value.text,
            location: expected.location
        )
    }

    // MARK: Startup and counts

    /// C-05: from when the first page's scripts have run to the first acknowledged registration.
    var startFindings: [Finding] {
        guard expected.isBounded,
            let launch = timeline.gestures.first(where: \.isLaunch)
        else { return [] }
        let budget = profile.app.startup
        let done = timeline.registrations.first { $0.isAcknowledged && $0.phone == launch.phone }
        let start = timeline.readiness(of: launch.phone) ?? launch.time
        let sent = done.map { Duration.microseconds($0.sent - start) }
        if let sent, sent <= budget { return [] }
        return [
            Finding(
                .startTooSlow,
                expected: "a registration within \(budget.milliseconds) ms of the launch",
                actual: sent.map { "after \($0.milliseconds) ms" } ?? "none at all",
                location: expected.location,
                evidence: [launch.sequence] + (done.map { [$0.sequence] } ?? [])
            )
        ]
    }

    var countFindings: [Finding] {
        let acknowledged = timeline.registrations.filter(\.isAcknowledged)
        let evidence = timeline.registrations.map(\.sequence)
        if let min = expected.registeredMin, acknowledged.count < min {
            return [
                Finding(
                    .registrationLost,
                    expected: "at least \(min) acknowledged registration\(min == 1 ? "" : "s")",
                    actual: "\(acknowledged.count) of \(timeline.registrations.count) attempts",
                    location: expected.location,
                    evidence: evidence
                )
            ]
        }
        if let max = expected.registeredMax, acknowledged.count > max {
            return [
                Finding(
                    .registrationRepeated,
                    expected: "at most \(max) acknowledged registration\(max == 1 ? "" : "s")",
                    actual: "\(acknowledged.count)",
                    location: expected.location,
                    evidence: evidence,
                    isFinal: true
                )
            ]
        }
        return []
    }
}

extension String {
    /// The beginning of it, on one line and without control characters.
    func shown(_ countMax: Int) -> String {
        let line = prefix(countMax).unicodeScalars.map { $0.value < 32 ? " " : $0 }
        return String(String.UnicodeScalarView(line))
    }
}
