internal import Contracts
internal import Providers
internal import Values

/// The effects of one kind that the steps of a case caused: those of the judged run without those
/// of a baseline run that contains only the `given` steps (`like: before`).
///
/// Effects are subtracted by number, not only by content: a message that `given` caused once and
/// the case twice is an effect of the steps once.
struct EffectsOfSteps {
    private let kind: String
    private let subject: RunRecord
    private let baseline: RunRecord

    /// Creates the effects of the steps of a case; nil without a baseline run of the `given` steps.
    init?(_ expected: EffectExpectation, in evidence: CaseEvidence) {
        guard evidence.expectation.relation == .before, let baseline = evidence.baselines.first
        else { return nil }
        (kind, subject, self.baseline) = (expected.kind, evidence.subject, baseline)
    }

    /// Returns the finding for an expectation about effects of steps in a case without a baseline
    /// run of the `given` steps.
    static func missingBaseline(of expected: EffectExpectation) -> Finding {
        Finding(
            .baselineFailed,
            expected: "a baseline run without the steps, to subtract the effects of 'given'",
            actual: "there was no baseline run, because the contract has no 'like: before'",
            location: expected.location
        )
    }

    /// Returns the exchanges of the judged run with effects that reached a user, including those of
    /// `given`.
    func exchanges(for user: String?) -> [Exchange] {
        Self.effects(kind, for: user, in: subject).map(\.exchange)
    }

    /// Returns the number of effects that the steps added for a user; negative if the judged run
    /// has fewer effects than the baseline run; without a user, the number for all users.
    func addedCount(for user: String?) -> Int {
        exchanges(for: user).count - Self.effects(kind, for: user, in: baseline).count
    }

    /// Returns the exchanges of the effects that the steps caused for a user, by the content of the
    /// effect.
    ///
    /// The user's ID is masked, because it is not a difference in content. The exchanges are given
    /// by their sequence numbers in the journal; the latest ones of equal content are those of the
    /// steps.
    func sequencesByContent(for user: String) -> [String: [Int]] {
        let baselineSequences = Self.sequencesByContent(kind, for: user, in: baseline)
        return Self.sequencesByContent(kind, for: user, in: subject).reduce(into: [:]) {
            result,
            entry in
            let addedSequences = entry.value.dropFirst(baselineSequences[entry.key]?.count ?? 0)
            if !addedSequences.isEmpty { result[entry.key] = Array(addedSequences) }
        }
    }

    private static func sequencesByContent(
        _ kind: String,
        for user: String,
        in record: RunRecord
    ) -> [String: [Int]] {
        let masking = Masking(record, reader: user)
        return Dictionary(
            grouping: effects(kind, for: user, in: record),
            by: { masking.masked($0.effect.content).text }
        )
        .mapValues { $0.map(\.exchange.sequence) }
    }

    private static func effects(
        _ kind: String,
        for user: String?,
        in record: RunRecord
    ) -> [(effect: Effect, exchange: Exchange)] {
        let ids = user.map(record.namespace.ids(of:))
        return record.effects.filter { effect, _ in
            effect.kind == kind && (ids.map(effect.reaches) ?? true)
        }
    }
}
