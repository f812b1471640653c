internal import Contracts
internal import Values

/// Judges that every effect source of the profile could be read, in a case that judges messages.
///
/// A message that cannot be read is not a missing message.
package struct EffectSourceRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        guard evidence.judgesMessages else { return [] }
        return unreadableSources(in: evidence)
    }

    /// Returns the findings about the sources whose messages could not be read.
    ///
    /// The rules about messages judge nothing then.
    static func unreadableSources(in evidence: CaseEvidence) -> [Finding] {
        let records = [evidence.subject] + evidence.baselines
        return evidence.profile.effectSources.compactMap { source in
            records.lazy.compactMap { finding(source, in: $0) }.first
        }
    }

    private static func finding(_ source: Profile.EffectSource, in record: RunRecord) -> Finding? {
        for user in record.plan.users where record.plan.observesFinalState {
            let expected = "effect source '\(source.name)' lists the messages of \(user)"
            guard let state = record.state(of: user, probe: source.probe.name) else {
                if record.runProblem != nil { return nil }
                return Finding(.setupFailed, expected: expected, actual: "it was not read")
            }
            guard let reason = ListedEffects(state, of: source).unreadableReason else { continue }
            return Finding(
                .unobservable,
                expected: expected,
                actual: reason,
                remedy: "Correct 'effects: \(source.name)' in assay.yaml."
            )
        }
        return nil
    }
}

extension CaseEvidence {
    /// Whether every message of the runs was recorded, so that missing messages are faults.
    var areMessagesReadable: Bool { EffectSourceRule.unreadableSources(in: self).isEmpty }

    /// Whether the contract counts or compares messages.
    fileprivate var judgesMessages: Bool {
        !expectation.effects.isEmpty
            || expectation.relation != nil && expectation.compared.contains(.effects)
    }

    /// The evidence once for each effect source, with the messages of this source only; the evidence
    /// itself without such a choice.
    ///
    /// Each source alone shows one message for an event, so the sources are counted separately.
    var viewsOfMessages: [CaseEvidence] {
        let sources = profile.effectSources
        guard sources.count > 1 else { return [self] }
        return sources.map { source in
            let otherNames = Set(sources.map(\.probe.name)).subtracting([source.probe.name])
            return replacing(
                subject: subject.withoutEffects(ofProbes: otherNames),
                baselines: baselines.map { $0.withoutEffects(ofProbes: otherNames) }
            )
        }
    }
}

extension RunRecord {
    fileprivate func withoutEffects(ofProbes names: Set<String>) -> RunRecord {
        var record = self
        for index in exchanges.indices {
            guard case .probe(let name, _) = exchanges[index].purpose, names.contains(name) else {
                continue
            }
            record.exchanges[index].effects = []
        }
        return record
    }
}
