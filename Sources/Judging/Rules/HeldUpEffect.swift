internal import Contracts
internal import Providers
internal import Values

/// Judges whether an effect for one user waits for a call for another user that gets no response.
///
/// One worker that sends all messages one after the other passes every case about a single user.
/// A provider that does not respond to one call then delays the messages of all users (S-06).
enum HeldUpEffect {
    /// The shortest delay that is reported, as a percentage of the settle timeout.
    ///
    /// With the default of 10 s, a backend may wait 5 s for a response, a common timeout of
    /// clients. A delay of 10 s, the next common timeout, is reported for certain.
    private static let delayPercentMin: Int64 = 70

    /// Returns the findings about an effect that had to wait; nil if the effect is to be judged as
    /// any other effect.
    ///
    /// A backend that sends messages in parallel may make the call of either user first. The other
    /// user's effect is judged. The result is then not nil, because the expected effect itself
    /// waits for the end of the call.
    static func findings(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> [Finding]? {
        guard let user = expected.user, let otherUser = expected.userWithHangingCall else {
            return nil
        }
        let record = evidence.subject
        guard let hangingCall = record.exchanges.first(where: \.isUnansweredCall) else {
            return [
                Finding(
                    .faultNotApplied,
                    expected: "a call of the backend for \(otherUser) gets no response",
                    actual: "every call of the backend got a response",
                    location: expected.location
                )
            ]
        }
        let isCallForUser =
            hangingCall.concerns(record.namespace.ids(of: user))
            && !hangingCall.concerns(record.namespace.ids(of: otherUser))
        let (caller, recipient) = isCallForUser ? (user, otherUser) : (otherUser, user)
        let recipientIDs = record.namespace.ids(of: recipient)
        let effect = record.effects.first { effect, _ in
            effect.kind == expected.kind && effect.reaches(recipientIDs)
        }?.exchange
        func findings(_ actual: String, isFinal: Bool) -> [Finding] {
            [
                Finding(
                    .effectHeldUp,
                    expected: "\(expected.kind) to \(recipient) while a call for \(caller) gets no "
                        + "response",
                    actual: actual,
                    location: expected.location,
                    evidence: [hangingCall.sequence] + (effect.map { [$0.sequence] } ?? []),
                    isFinal: isFinal
                )
            ]
        }
        let noFindings: [Finding]? = isCallForUser ? [] : nil
        guard let end = hangingCall.completed else {
            guard effect == nil else { return noFindings }
            let wait = record.unsuccessfulWaitTime.map { " within \($0.milliseconds) ms" } ?? ""
            return findings("none\(wait)", isFinal: false)
        }
        let longestDelay = evidence.profile.settleTimeout.milliseconds * delayPercentMin / 100
        guard let effect, effect.invoked > end,
            effect.invoked - hangingCall.invoked >= longestDelay * 1000
        else { return noFindings }
        let delay = (effect.invoked - hangingCall.invoked) / 1000
        return findings("\(delay) ms after that call began, when it had ended", isFinal: true)
    }
}

extension Exchange {
    /// Whether a planned fault leaves the call of the backend without a response.
    fileprivate var isUnansweredCall: Bool {
        guard from == .backend, case .failed(.timedOut, _) = outcome else { return false }
        return true
    }

    /// Whether the body or the target of the request contains one of the IDs.
    fileprivate func concerns(_ ids: Set<ExactText>) -> Bool {
        let strings = request.parsedBody?.strings ?? JSONValue(ifValid: request.body)?.strings ?? []
        return strings.contains { ids.contains(ExactText($0)) }
            || ids.contains { request.target.hasSuffix("/" + $0.text) }
    }
}
