/// All that is known about one case: the judged run, its twins, and how well the backend is seen.
package struct CaseEvidence: Hashable, Sendable {
    package let plan: CasePlan
    package let subject: RunRecord
    /// Runs of the same twin plan; two of them show which fields differ by themselves.
    package let twins: [RunRecord]
    package let profile: Profile
    package let sight: RunRecord.Sight

    package init(
        plan: CasePlan,
        subject: RunRecord,
        twins: [RunRecord],
        profile: Profile,
        sight: RunRecord.Sight
    ) {
        self.plan = plan
        self.subject = subject
        self.twins = twins
        self.profile = profile
        self.sight = sight
    }

    package var expectation: Expectation { plan.contract.expectation }
}

/// A rule is a pure function from evidence to findings; it never fails and never does I/O.
package protocol Rule: Sendable {
    static func findings(in evidence: CaseEvidence) -> [Finding]
}

/// Judges one case by every rule.
package enum Judge {
    package static var rules: [any Rule.Type] {
        [
            AnswerRule.self, CallRule.self, OverlapRule.self, EffectRule.self, PushRule.self,
            RelationRule.self, StateRule.self, SecretRule.self, DisturbanceRule.self,
            GoldenRule.self, ClientRule.self, ForgetRule.self,
        ]
    }

    /// The verdict before the known-failing list is looked at.
    ///
    /// Findings against the backend win over doubts: a case that failed one expectation has
    /// failed, even when another could not be observed.
    package static func judge(_ evidence: CaseEvidence) -> (verdict: Verdict, findings: [Finding]) {
        if let trouble = trouble(in: evidence) { return (.inconclusive, [trouble]) }
        if let exit = evidence.subject.backendExit {
            let finding = Finding(
                .backendExited,
                expected: "the backend keeps running",
                actual: exit,
                location: evidence.plan.contract.location
            )
            return (.failed, [finding])
        }
        let findings = heedingStarvation(rules.flatMap { $0.findings(in: evidence) }, in: evidence)
        let failures = findings.filter { !$0.code.isInconclusive }
        if !failures.isEmpty { return (.failed, failures) }
        return findings.isEmpty ? (.passed, []) : (.inconclusive, findings)
    }

    private static func trouble(in evidence: CaseEvidence) -> Finding? {
        for (name, record) in [("the case", evidence.subject)]
            + evidence.twins.map({ ("its twin", $0) })
        {
            switch record.trouble {
            case nil: break
            case .registrationFailed(let user, let text):
                return Finding(
                    .setupFailed,
                    expected: "user '\(user)' is created before \(name)",
                    actual: text
                )
            case .backendGone(let text):
                return Finding(.backendGone, expected: "the backend answers", actual: text)
            case .journalGap:
                return Finding(
                    .journalGap,
                    expected: "every exchange of \(name) is in the journal",
                    actual: "the journal was full and forgot the oldest entries"
                )
            case .restartFailed(let text):
                return Finding(
                    .setupFailed,
                    expected: "the backend comes back after a restart",
                    actual: text
                )
            case .probeFailed(let text):
                return Finding(.setupFailed, expected: "the probes answer", actual: text)
            case .pageUnusable(let text):
                return Finding(
                    .setupFailed,
                    expected: "the page loads and reacts",
                    actual: text,
                    remedy: "Open the page by hand; its URL is given by --url or 'app: url:'."
                )
            case .disturbanceMissed(let text):
                return Finding(
                    .disturbanceMissed,
                    expected: "something to disturb in \(name)",
                    actual: text
                )
            }
        }
        return nil
    }
}

extension RunRecord {
    /// The attempts of one delivery, in the order they were sent.
    package func attempts(of delivery: String) -> [Exchange] {
        exchanges.filter {
            if case .delivery(delivery, _) = $0.purpose { true } else { false }
        }
    }

    /// Effects that providers saw during this run, with the exchange that caused each.
    package var effects: [(effect: Effect, exchange: Exchange)] {
        exchanges.flatMap { exchange in exchange.effects.map { ($0, exchange) } }
    }

    /// The event that the named delivery carried.
    package func event(of delivery: String) -> JSONValue? {
        guard let attempt = attempts(of: delivery).first,
            let body = try? JSONValue(
                parsing: attempt.request.body,
                options: .init(depthMax: 100_000, duplicateKeys: .keep)
            )
        else { return nil }
        return body["event"]
    }

    /// What the probes last said about a user.
    package func state(of user: String, probe: String) -> ObservedState? {
        exchanges.last {
            guard $0.completed != nil, case .probe(probe, user) = $0.purpose else { return false }
            return true
        }.map(ObservedState.init)
    }
}

/// A probe's answer, understood.
package enum ObservedState: Hashable, Sendable {
    case document(JSONValue)
    /// 404 or 410: there is no such thing.
    case missing
    case unreadable(String)

    package init(_ exchange: Exchange) {
        guard let response = exchange.response else {
            self = .unreadable("no answer to \(exchange.request.method) \(exchange.request.target)")
            return
        }
        switch response.status {
        case 404, 410: self = .missing
        case 200..<300:
            do throws(JSONError) {
                self = .document(try JSONValue(parsing: response.body))
            } catch {
                self = .unreadable("the probe's answer is not JSON: \(error)")
            }
        default: self = .unreadable("the probe answered \(response.status)")
        }
    }
}

extension Judge {
    /// Whether time alone could turn these findings into none: something is missing that may
    /// still come, and nothing is there that cannot go away.
    package static func mayImprove(_ findings: [Finding]) -> Bool {
        !findings.isEmpty
            && findings.allSatisfy { finding in
                if finding.isFinal { return false }
                return switch finding.code {
                case .effectMissing, .effectCount, .stateDiffers, .stateValue, .userMissing,
                    .keyChanged, .effectContent, .commandMissing, .identitySplit, .registrationLost,
                    .startTooSlow, .wrongPerson, .screenDiffers, .personalDataKept,
                    // The backend may not have written it yet.
                    .readingAbsent:
                    true
                case .answerStatus, .intruderAccepted, .noAnswer, .answerLate, .backendExited,
                    .effectExtra, .effectDiffers, .userUnwanted, .noOverlap, .journalGap,
                    .allVolatile, .throttled, .backendGone, .twinFailed, .setupFailed, .notRun,
                    .unobservable, .callRefused, .sameText, .wrongAddress, .tooManyAttempts,
                    .tooEarly,
                    .wrongID, .tellingAnswer, .wrongWinners, .secretShown, .tooManyFetches,
                    .answerDiffers, .expired, .commandUnwanted, .unusableID, .paywallTooEarly,
                    .paywallRepeated, .registrationRepeated, .registrationIncomplete, .badCommand,
                    .wrongOrder, .guessableID, .openSecret, .pageBroken, .machineBusy:
                    false
                // The call may still come.
                case .disturbanceMissed: true
                }
            }
    }

    /// Whether a finding rests on what a twin showed, or did not show.
    package static func dependsOnTwin(_ findings: [Finding]) -> Bool {
        dependsOnVolatility(findings)
            || findings.contains {
                [.effectMissing, .effectExtra].contains($0.code)
                    || $0.code == .effectCount && $0.isFinal
            }
    }

    /// Whether a finding rests on the belief that a place is steady.
    package static func dependsOnVolatility(_ findings: [Finding]) -> Bool {
        findings.contains { $0.code == .stateDiffers || $0.code == .effectDiffers }
    }
}
