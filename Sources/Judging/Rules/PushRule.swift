internal import Contracts
internal import Providers
internal import Values

/// Judges the recipients of pushes, their content for different events, and the number and timing
/// of retries.
///
/// Source: OneSignal fact sheet, sections 3, 4, 9 and 13; RevenueCat fact sheet, section 6.
package struct PushRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        guard evidence.areMessagesReadable else { return [] }
        return evidence.expectation.effects.flatMap { expected -> [Finding] in
            recipientFindings(expected, in: evidence) + contentFindings(expected, in: evidence)
                + attemptCountFindings(expected, in: evidence)
                + retryPauseFindings(expected, in: evidence)
                + reservedTagFindings(expected, in: evidence)
        }
    }

    /// Returns the backend's attempts at the expected effect, whether the provider accepted them or
    /// not.
    private static func calls(
        _ expected: EffectExpectation,
        _ evidence: CaseEvidence
    ) -> [Exchange] {
        evidence.subject.exchanges.filter {
            $0.from == .backend && $0.call?.kind == expected.kind
        }
    }

    private static func recipientFindings(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        guard let allowedAddresses = expected.allowedAddresses else { return [] }
        let record = evidence.subject
        let ids = record.plan.users.flatMap(record.namespace.ids(of:))
        let anonymousIDs = record.plan.users.map {
            ExactText(record.namespace.anonymousID(of: $0))
        }
        let allowedRecipientIDs =
            switch allowedAddresses {
            case .personal: Set(ids + anonymousIDs)
            // A user without a registration has the anonymous ID as the usual ID.
            case .registered: Set(ids)
            }
        let misaddressedPushes = record.effects.filter { effect, _ in
            effect.kind == expected.kind
                && (effect.recipients.isEmpty
                    || !allowedRecipientIDs.isSuperset(of: effect.recipients.map(ExactText.init)))
        }
        if let (effect, exchange) = misaddressedPushes.first {
            let unknownUsers = effect.recipients.filter {
                !allowedRecipientIDs.contains(ExactText($0))
            }
            return [
                Finding(
                    .wrongRecipient,
                    expected: allowedAddresses == .personal
                        ? "every push is addressed only to users of this case"
                        : "every push is addressed only to registered IDs of this case",
                    actual: unknownUsers.isEmpty
                        ? "the push names no user"
                        : "the push also names: " + unknownUsers.joined(separator: ", "),
                    location: expected.location,
                    evidence: [exchange.sequence]
                )
            ]
        }
        // A push that the provider rejected as invalid reached no user.
        if let refusedCall = calls(expected, evidence).first(where: { $0.call?.refusal == .form }) {
            let body = refusedCall.response.map { String(decoding: $0.body, as: UTF8.self) } ?? ""
            return [
                Finding(
                    .wrongRecipient,
                    expected: "the provider accepts the format of the push",
                    actual: "400 \(body.prefix(120))",
                    location: expected.location,
                    evidence: [refusedCall.sequence]
                )
            ]
        }
        return []
    }

    private static func contentFindings(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        guard let user = expected.user, let otherUser = expected.userWithOtherContent else {
            return []
        }
        guard let effectsOfSteps = EffectsOfSteps(expected, in: evidence) else {
            return [EffectsOfSteps.missingBaseline(of: expected)]
        }
        let messagesToUser = effectsOfSteps.sequencesByContent(for: user)
        let messagesToOtherUser = effectsOfSteps.sequencesByContent(for: otherUser)
        // Pushes that were sent while the events of the two users were still equal have equal
        // content. A finding is reported only when all contents are equal.
        let sharedContents = Set(messagesToUser.keys).intersection(messagesToOtherUser.keys)
        guard !messagesToUser.isEmpty, sharedContents.count == messagesToUser.count,
            messagesToUser.count == messagesToOtherUser.count
        else { return [] }
        return [
            Finding(
                .identicalMessages,
                expected: "\(user) gets a different message than \(otherUser)",
                actual: sharedContents.sorted().joined(separator: "; "),
                location: expected.location,
                evidence: messagesToUser.values.flatMap(\.self).sorted()
            )
        ]
    }

    private static func attemptCountFindings(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        guard let max = expected.attemptsMax else { return [] }
        let calls = calls(expected, evidence)
        guard calls.count > max else { return [] }
        return [
            Finding(
                .tooManyAttempts,
                expected: "attempts at a rejected push: at most \(max)",
                actual: "attempts: \(calls.count) (\(evidence.subject.settleEvidence))",
                location: expected.location,
                evidence: calls.map(\.sequence)
            )
        ]
    }

    private static func retryPauseFindings(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        guard expected.obeysRetryAfter else { return [] }
        let calls = calls(expected, evidence)
        for (index, call) in calls.enumerated() {
            guard case .rate(let requiredPause) = call.call?.refusal else { continue }
            guard calls.indices.contains(index + 1) else {
                return [
                    Finding(
                        .wrongEffectCount,
                        expected: "the backend tries the push again after the 429",
                        actual: "there was no further attempt",
                        location: expected.location,
                        evidence: [call.sequence]
                    )
                ]
            }
            let nextAttempt = calls[index + 1]
            let pauseInMicroseconds = nextAttempt.invoked - (call.completed ?? call.invoked)
            // A tolerance of 10 % allows for differences between the clocks.
            guard pauseInMicroseconds < requiredPause.milliseconds * 900 else { continue }
            return [
                Finding(
                    .retriedTooEarly,
                    expected:
                        "the next attempt no earlier than \(requiredPause.milliseconds / 1000) s after "
                        + "the 429",
                    actual: "the next attempt came after \(pauseInMicroseconds / 1000) ms",
                    location: expected.location,
                    evidence: [call.sequence, nextAttempt.sequence]
                )
            ]
        }
        return []
    }

    /// Reports tags that the backend writes although RevenueCat's integration maintains them.
    private static func reservedTagFindings(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        let callWithReservedTags = calls(expected, evidence).first {
            $0.call?.reservedNames.isEmpty == false
        }
        guard let callWithReservedTags, let names = callWithReservedTags.call?.reservedNames else {
            return []
        }
        return [
            Finding(
                .unexpectedEffect,
                expected: "the backend does not write the tags that RevenueCat maintains",
                actual: "the backend wrote " + names.joined(separator: ", "),
                location: expected.location,
                evidence: [callWithReservedTags.sequence],
                isFinal: true
            )
        ]
    }
}
