internal import Contracts
internal import Providers
internal import Values

/// Invariants of an app's paywalls: when a paywall may open, and for which user ID (clauses C-16 to
/// C-19).
struct PaywallInvariants {
    let device: DeviceEvidence

    private var timeline: ClientTimeline { device.timeline }

    private var paywalls: [ClientTimeline.Command] { timeline.commands.filter(\.isPaywall) }

    func checkRegisteredBeforePaywall(at location: SourceLocation) -> [Finding] {
        for paywall in paywalls {
            let buyerID = paywall.bridge["external_id"]
            let isBuyerRegistered = timeline.registrations.contains {
                $0.phone == paywall.phone && $0.id == buyerID && $0.isAcknowledged
                    && ($0.answered ?? .max) <= paywall.time
            }
            if isBuyerRegistered { continue }
            return [
                Finding(
                    .paywallTooEarly,
                    expected:
                        "\(device.idDescription(buyerID)) is registered before a paywall opens for it",
                    actual: "the paywall opened; "
                        + (timeline.registrations.contains { $0.id == buyerID && $0.isAcknowledged }
                            ? "the registration was acknowledged later"
                            : "no registration of that ID was acknowledged"),
                    location: location,
                    evidence: [paywall.sequence]
                        + timeline.registrations.filter { $0.id == buyerID }.map(\.sequence),
                    isFinal: true
                )
            ]
        }
        return []
    }

    func checkPaywallUsesCurrentID(at location: SourceLocation) -> [Finding] {
        for paywall in paywalls {
            let buyerID = paywall.bridge["external_id"]
            let earlierCommands = timeline.commands.filter {
                $0.phone == paywall.phone && $0.sequence < paywall.sequence
            }
            let vaultID =
                earlierCommands.compactMap { timeline.idWrittenToVault($0) }.last
                ?? timeline.initialVaultValue(.id, by: paywall.phone)
            let aliasID = earlierCommands.compactMap { timeline.idSetAsAlias($0) }.last
            let registeredID = timeline.registrations.last {
                $0.phone == paywall.phone && $0.isAcknowledged
                    && ($0.answered ?? .max) <= paywall.time
            }?.id
            let idsByHolder = [
                ("the vault", vaultID), ("OneSignal", aliasID), ("the backend", registeredID),
            ]
            guard let differingID = idsByHolder.first(where: { $0.1 != buyerID }) else { continue }
            return [
                Finding(
                    .identitySplit,
                    expected: "a paywall opens for the ID that vault, OneSignal and backend have",
                    actual:
                        "it opened for \(device.idDescription(buyerID)), and \(differingID.0) has \(device.idDescription(differingID.1))",
                    location: location,
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
    private struct IdentityChange {
        let userAction: ClientTimeline.UserAction
        let endSequence: Int
        /// The time of the response to each call that the login, logout or restore made; nil for a
        /// call without a response.
        let responseTimes: [Int64?]
    }

    private static let identityChanges: Set<String> = ["login", "logout", "restore"]

    private var identityChanges: [IdentityChange] {
        timeline.userActions.filter { Self.identityChanges.contains($0.name) }.map { userAction in
            let nextAction = timeline.userActions.first {
                $0.phone == userAction.phone && $0.sequence > userAction.sequence
                    && (Self.identityChanges.contains($0.name) || $0.isLaunch)
            }
            let nextPageStart = timeline.documentStarts.first {
                $0.phone == userAction.phone && $0.sequence > userAction.sequence
            }
            let endSequence = min(nextAction?.sequence ?? .max, nextPageStart?.sequence ?? .max)
            let registrationAndLoginCalls =
                timeline.registrations.map { ($0.phone, $0.sequence, $0.answered) }
                + timeline.logins.map { ($0.phone, $0.sequence, $0.answered) }
            let callsOfChange = registrationAndLoginCalls.filter { phone, sequence, _ in
                phone == userAction.phone && sequence > userAction.sequence
                    && sequence < endSequence
            }
            return IdentityChange(
                userAction: userAction,
                endSequence: endSequence,
                responseTimes: callsOfChange.map(\.2)
            )
        }
    }

    func checkGated(at location: SourceLocation) -> [Finding] {
        for identityChange in identityChanges {
            let userAction = identityChange.userAction
            // The login, logout or restore is complete when its last call has a response.
            let completionTime = identityChange.responseTimes.map { $0 ?? .max }.max()
            let upgradeTap = timeline.userActions.first {
                $0.phone == userAction.phone && $0.sequence > userAction.sequence
                    && $0.sequence < identityChange.endSequence && $0.name == "upgrade"
            }
            let earlyPaywall = paywalls.first { paywall in
                paywall.phone == userAction.phone && paywall.sequence > userAction.sequence
                    && paywall.sequence < identityChange.endSequence
                    && completionTime.map { paywall.time < $0 } ?? false
            }
            if let earlyPaywall {
                return [
                    Finding(
                        .paywallTooEarly,
                        expected: "no paywall while the \(userAction.name) is in progress",
                        actual: "a paywall opened for "
                            + "\(device.idDescription(earlyPaywall.bridge["external_id"])), before the \(userAction.name) was complete",
                        location: location,
                        evidence: [userAction.sequence, earlyPaywall.sequence],
                        isFinal: true
                    )
                ]
            }
            // Only a tap during the login, logout or restore can show whether the app blocks the
            // paywall. A later tap is reported as a fault that did not occur.
            guard let upgradeTap, completionTime.map({ upgradeTap.time >= $0 }) ?? true else {
                continue
            }
            return [
                Finding(
                    .faultNotApplied,
                    expected: "the \(userAction.name) is in progress when the upgrade button is "
                        + "tapped",
                    actual: completionTime == nil
                        ? "the \(userAction.name) made no call to the backend"
                        : "the last call of the \(userAction.name) was answered before the tap",
                    location: location,
                    evidence: [userAction.sequence, upgradeTap.sequence]
                )
            ]
        }
        return []
    }

    /// The maximum time in microseconds between the taps of a double tap.
    private static let doubleTapIntervalMax: Int64 = 1_000_000

    func checkSinglePaywall(at location: SourceLocation) -> [Finding] {
        for (index, paywall) in paywalls.enumerated() {
            let secondPaywall = paywalls.dropFirst(index + 1).first { $0.phone == paywall.phone }
            guard let secondPaywall else { continue }
            let isFirstPaywallClosed = timeline.userActions.contains {
                $0.phone == paywall.phone && $0.sequence > paywall.sequence
                    && $0.sequence < secondPaywall.sequence
                    && (["complete", "cancel", "fail"].contains($0.name) || $0.isLaunch)
            }
            if isFirstPaywallClosed { continue }
            let tapTimes = [paywall, secondPaywall].map { command in
                timeline.userActions.last {
                    $0.phone == command.phone && $0.sequence < command.sequence
                        && $0.name == "upgrade"
                }?.time
            }
            // Older runtimes do not report that a paywall was closed. When the second tap comes
            // later than a double tap, the first paywall may have been closed.
            if let first = tapTimes[0], let last = tapTimes[1],
                last - first > Self.doubleTapIntervalMax
            {
                return [
                    Finding(
                        .faultNotApplied,
                        expected: "two taps on the upgrade button within "
                            + "\(Self.doubleTapIntervalMax / 1000) ms",
                        actual: "the second tap came \((last - first) / 1000) ms after the first",
                        location: location,
                        evidence: [paywall.sequence, secondPaywall.sequence]
                    )
                ]
            }
            return [
                Finding(
                    .paywallRepeated,
                    expected: "one paywall at a time",
                    actual:
                        "a second paywall opened \((secondPaywall.time - paywall.time) / 1000) ms "
                        + "after the first, which was still open",
                    location: location,
                    evidence: [paywall.sequence, secondPaywall.sequence],
                    isFinal: true
                )
            ]
        }
        return []
    }
}
