/// Invariants of an app's paywalls: when a paywall may open, and for which user ID (clauses C-16 to
/// C-19).
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
                            : "no registration of that ID was acknowledged"),
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
                    expected: "a paywall opens for the ID that vault, OneSignal and backend have",
                    actual: "it opened for \(named(buyer)), and \(other.0) has \(named(other.1))",
                    location: at,
                    evidence: [paywall.sequence],
                    isFinal: true
                )
            ]
        }
        return []
    }

    /// A login, logout or restore, from the tap of the user to the next user action that may change
    /// the user ID.
    ///
    /// A reload of the page ends the change: a registration after the reload belongs to the page's
    /// start.
    private struct Change {
        let gesture: ClientTimeline.Gesture
        let end: Int
        /// The time of the response to each call that the login, logout or restore made; nil for a
        /// call without a response.
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
            // The login, logout or restore is complete when its last call has a response.
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
                        expected: "no paywall while the \(gesture.name) is in progress",
                        actual: "a paywall opened for "
                            + "\(named(early.bridge["external_id"])), before the \(gesture.name) was complete",
                        location: at,
                        evidence: [gesture.sequence, early.sequence],
                        isFinal: true
                    )
                ]
            }
            // Only a tap during the login, logout or restore can show that the paywall is blocked.
            guard let tap, end.map({ tap.time >= $0 }) ?? true else { continue }
            return [
                Finding(
                    .disturbanceMissed,
                    expected: "the \(gesture.name) is in progress when the upgrade button is "
                        + "tapped",
                    actual: end == nil
                        ? "the \(gesture.name) made no call to the backend"
                        : "the last call of the \(gesture.name) was answered before the tap",
                    location: at,
                    evidence: [gesture.sequence, tap.sequence]
                )
            ]
        }
        return []
    }

    /// The maximum time in microseconds between the taps of a double tap.
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
            // Older runtimes do not report that a paywall was closed. After this time, the first
            // paywall may have been closed.
            if let first = taps[0], let last = taps[1], last - first > Self.doubleTapMax {
                return [
                    Finding(
                        .disturbanceMissed,
                        expected: "two taps on the upgrade button within "
                            + "\(Self.doubleTapMax / 1000) ms",
                        actual: "the second tap came \((last - first) / 1000) ms after the first",
                        location: at,
                        evidence: [paywall.sequence, second.sequence]
                    )
                ]
            }
            return [
                Finding(
                    .paywallRepeated,
                    expected: "one paywall at a time",
                    actual: "a second paywall opened \((second.time - paywall.time) / 1000) ms "
                        + "after the first, which was still open",
                    location: at,
                    evidence: [paywall.sequence, second.sequence],
                    isFinal: true
                )
            ]
        }
        return []
    }
}
