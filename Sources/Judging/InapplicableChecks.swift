internal import Contracts
internal import Values

extension CaseEvidence {
    /// The reason why the case judged nothing of the backend; nil when it judged something.
    ///
    /// Some contracts describe how an effect must be, not that there must be one: two messages
    /// differ, a message reaches only its user. A backend that causes no such effect neither obeys
    /// nor violates them, so the case has no verdict.
    package var inapplicableReason: String? {
        guard !inapplicableChecks.isEmpty,
            inapplicableChecks.count == expectation.effects.count,
            !expectation.judgesMoreThanResponsesAndEffects
        else { return nil }
        return inapplicableChecks.first
    }

    /// The reasons why expectations about effects had nothing to judge, one for each such
    /// expectation.
    package var inapplicableChecks: [String] {
        expectation.effects.compactMap(inapplicableReason)
    }

    private func inapplicableReason(_ expected: EffectExpectation) -> String? {
        guard expected.countMin == 0, expected.countMax == nil, expected.attemptsMax == nil,
            expected.countMaxAboveBaseline == nil
        else { return nil }
        if let user = expected.user, expected.countsOnlyEffectsOfSteps,
            let effectsOfSteps = EffectsOfSteps(expected, in: self)
        {
            let hasOtherContent =
                expected.userWithOtherContent.map {
                    !effectsOfSteps.sequencesByContent(for: $0).isEmpty
                } ?? false
            let hasAddedEffect =
                expected.userWithSameAddedCount.map {
                    effectsOfSteps.addedCount(for: user) != 0
                        || effectsOfSteps.addedCount(for: $0) != 0
                } ?? false
            return hasOtherContent || hasAddedEffect
                ? nil : "not applicable: the steps caused no \(expected.kind) to compare"
        }
        let hasAttempt = subject.exchanges.contains {
            $0.from == .backend && $0.call?.kind == expected.kind
        }
        guard expected.describesAttempts, !hasAttempt else { return nil }
        return "not applicable: the backend sent no \(expected.kind) to check"
    }
}

extension EffectExpectation {
    /// Whether the expectation describes how the attempts at an effect must be.
    fileprivate var describesAttempts: Bool {
        allowedAddresses != nil || idempotencyKeyCount != nil
    }
}

extension Expectation {
    /// Whether the case is judged by more than the responses to its deliveries and its effects.
    fileprivate var judgesMoreThanResponsesAndEffects: Bool {
        relation != nil && !compared.isEmpty || !states.isEmpty || !deletedUserNames.isEmpty
            || !calls.isEmpty || !callsWithSameResponse.isEmpty || race != nil || hidesSecrets
            || concurrentRequestCountMin != nil || signingKeyFetchCountMax != nil || app != nil
    }
}

extension CaseEvidence {
    /// Returns whether all findings say only that no probe shows whether a user exists, and no probe
    /// of the profile can show it.
    ///
    /// The case then does not apply to a backend with these probes. The list of findings is not
    /// empty.
    func areAboutInvisibleUsers(_ findings: [Finding]) -> Bool {
        let existenceLocations = expectation.states.flatMap(\.fields)
            .filter { $0.name == "exists" }.map(\.location)
        return !findings.isEmpty && invisibleUserReason != nil
            && findings.allSatisfy {
                $0.code == .unobservable && $0.location.map(existenceLocations.contains) == true
            }
    }

    /// The reason why no probe of the profile can show whether a user exists; nil if one can.
    ///
    /// Before the first case, each probe returned the same response about a registered user without
    /// purchases as about an unknown ID.
    var invisibleUserReason: String? {
        guard let probe = observability.probesNotShowingExistence?.first,
            observability.probesShowingExistence?.isEmpty == true
        else { return nil }
        return "no probe shows whether a user exists, because '\(probe)' returns the same response "
            + "for an unknown ID; add a probe 'user' under 'probes' in assay.yaml, whose route "
            + "returns 404 for an unknown ID"
    }
}
