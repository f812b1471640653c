/// When the app may sell, and to whom (C-16 to C-19).
extension ClientView {
    private var paywalls: [ClientTimeline.Command] { timeline.commands.filter(\.isPaywall) }

    func registeredBeforePaywall(_ at: SourceLocation) -> [Finding] {
        for paywall in paywalls {
            let buyer = paywall.bridge["external_id"]
            let isKnown = timeline.registrations.contains {
                $0.phone == paywall.phone && $0.id == buyer && $0.isAcknowledged
                    && ($0.answered ?? .max) <= paywall.time
            }
            if isKnown { continue }
            return [
                Finding(
                    .paywallTooEarly,
                    expected: "\(named(buyer)) is registered before a paywall opens for it",
                    actual: "the paywall opened; "
                        + (timeline.registrations.contains { $0.id == buyer && $0.isAcknowledged }
                            ? "the registration was acknowledged later"
                            : "no registration of that id was acknowledged"),
                    location: at,
                    evidence: [paywall.sequence]
                        + timeline.registrations.filter { $0.id == buyer }.map(\.sequence),
                    isFinal: true
                )
            ]
        }
        return []
    }

    func onePurchaser(_ at: SourceLocation) -> [Finding] {
        for paywall in paywalls {
            let buyer = paywall.bridge["external_id"]
            let earlier = timeline.commands.filter {
                $0.phone == paywall.phone && $0.sequence < paywall.sequence
            }
            let vault =
                earlier.compactMap { timeline.writtenID($0) }.last
                ?? timeline.heldAtFirst(.id, by: paywall.phone)
            let alias = earlier.compactMap { timeline.aliasedID($0) }.last
            let registered = timeline.registrations.last {
                $0.phone == paywall.phone && $0.isAcknowledged
                    && ($0.answered ?? .max) <= paywall.time
            }?.id
            let others = [("the vault", vault), ("OneSignal", alias), ("the backend", registered)]
            guard let other = others.first(where: { $0.1 != buyer }) else { continue }
            return [
                Finding(
                    .identitySplit,
                    expected: "a paywall opens for the id that vault, OneSignal and backend have",
                    actual: "it opened for \(named(buyer)), and \(other.0) has \(named(other.1))",
                    location: at,
                    evidence: [paywall.sequence],
                    isFinal: true
                )
            ]
        }
        return []
    }

    /// A login, logout or restore, from its gesture to the next one that changes the identity.
    ///
    /// A page that loads itself anew is done with it: what it registers then belongs to its start.
    private struct Change {
        let gesture: ClientTimeline.Gesture
        let end: Int
        /// When each of its calls to the backend was answered; never: none was.
        let answers: [Int64?]
    }

    private static let changes: Set<String> = ["login", "logout", "restore"]

    private var changes: [Change] {
        timeline.gestures.filter { Self.changes.contains($0.name) }.map { gesture in
            let next = timeline.gestures.first {
                $0.phone == gesture.phone && $0.sequence > gesture.sequence
                    && (Self.changes.contains($0.name) || $0.isLaunch)
            }
            let renewal = timeline.starts.first {
                $0.phone == gesture.phone && $0.sequence > gesture.sequence
            }
            let end = min(next?.sequence ?? .max, renewal?.sequence ?? .max)
            let calls =
                timeline.registrations.map { ($0.phone, $0.sequence, $0.answered) }
                + timeline.logins.map { ($0.phone, $0.sequence, $0.answered) }
            let own = calls.filter { phone, sequence, _ in
                phone == gesture.phone && sequence > gesture.sequence && sequence < end
            }
            return Change(gesture: gesture, end: end, answers: own.map(\.2))
        }
    }

    func gated(_ at: SourceLocation) -> [Finding] {
        for change in changes {
            let gesture = change.gesture
            // It is over when the last call that it made has been answered.
            let end = change.answers.map { $0 ?? .max }.max()
            let tap = timeline.gestures.first {
                $0.phone == gesture.phone && $0.sequence > gesture.sequence
                    && $0.sequence < change.end && $0.name == "upgrade"
            }
            let early = paywalls.first { paywall in
                paywall.phone == gesture.phone && paywall.sequence > gesture.sequence
                    && paywall.sequence < change.end && end.map { paywall.time < $0 } ?? false
            }
            if let early {
                return [
                    Finding(
                        .paywallTooEarly,
                        expected: "no paywall while the \(gesture.name) goes on",
                        actual: "one opened for \(named(early.bridge["external_id"])), before "
                            + "the \(gesture.name) was over",
                        location: at,
                        evidence: [gesture.sequence, early.sequence],
                        isFinal: true
                    )
                ]
            }
            // A gate is seen shut only by who comes to it in time.
            guard let tap, end.map({ tap.time >= $0 }) ?? true else { continue }
            return [
                Finding(
                    .disturbanceMissed,
                    expected: "the \(gesture.name) is under way when the upgrade is tapped",
                    actual: end == nil
                        ? "it called nobody" : "its last call was answered before the tap",
                    location: at,
                    evidence: [gesture.sequence, tap.sequence]
                )
            ]
        }
        return []
    }

    /// Two taps that lie further apart, in microseconds, are two wishes.
    private static let doubleTapMax: Int64 = 1_000_000

    func singlePaywall(_ at: SourceLocation) -> [Finding] {
        for (index, paywall) in paywalls.enumerated() {
            let second = paywalls.dropFirst(index + 1).first { $0.phone == paywall.phone }
            guard let second else { continue }
            let isClosed = timeline.gestures.contains {
                $0.phone == paywall.phone && $0.sequence > paywall.sequence
                    && $0.sequence < second.sequence
                    && (["complete", "cancel", "fail"].contains($0.name) || $0.isLaunch)
            }
            if isClosed { continue }
            let taps = [paywall, second].map { command in
                timeline.gestures.last {
                    $0.phone == command.phone && $0.sequence < command.sequence
                        && $0.name == "upgrade"
                }?.time
            }
            // Older runtimes tell nobody that a paywall was closed: after a while it may have been.
            if let first = taps[0], let last = taps[1], last - first > Self.doubleTapMax {
                return [
                    Finding(
                        .disturbanceMissed,
                        expected: "two taps at once",
                        actual: "the second came \((last - first) / 1000) ms after the first",
                        location: at,
                        evidence: [paywall.sequence, second.sequence]
                    )
                ]
            }
            return [
                Finding(
                    .paywallRepeated,
                    expected: "one paywall at a time",
                    actual: "a second one \((second.time - paywall.time) / 1000) ms later, while "
                        + "the first was open",
                    location: at,
                    evidence: [paywall.sequence, second.sequence],
                    isFinal: true
                )
            ]
        }
        return []
    }
}
