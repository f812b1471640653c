import Contracts
import Judging
import Providers
import TestSupport
import Testing

@Suite("Starvation")
struct StarvationTests {
    private func verdict(
        pushes: Int,
        of wanted: Int,
        _ starvation: RunRecord.Starvation?
    ) -> (verdict: Verdict, findings: [Finding]) {
        var expectation = SampleContract.expectation()
        expectation.effects = [
            EffectExpectation(
                kind: "onesignal.notification",
                user: "ada",
                countMin: wanted,
                countMax: wanted,
                requiresSameIdempotencyKey: false,
                location: SampleContract.location
            )
        ]
        var builder = EvidenceBuilder(expectation: expectation)
        let id = builder.id(of: "ada")
        builder.subject =
            [EvidenceBuilder.delivery()]
            + (0..<pushes).map { EvidenceBuilder.push(to: id, key: "\($0)") }
        let evidence = builder.evidence
        var subject = evidence.subject
        subject.starvation = starvation
        return Judge.judge(
            CaseEvidence(
                plan: evidence.plan,
                subject: subject,
                baselines: evidence.baselines,
                profile: evidence.profile,
                observability: evidence.observability
            )
        )
    }

    private let starvation = RunRecord.Starvation(longestPause: .seconds(3), lostTime: .seconds(4))

    @Test func `a missing effect during a stall of Assay makes the case inconclusive`() {
        #expect(verdict(pushes: 0, of: 1, nil).verdict == .failed)
        let (verdict, findings) = verdict(pushes: 0, of: 1, starvation)
        #expect(verdict == .inconclusive)
        #expect(findings.map(\.code) == [.machineBusy])
        #expect(findings.first?.actual.contains("3000 ms") == true)
    }

    @Test func `a stall before the wait for a push explains no missing push`() {
        let early = RunRecord.Starvation(
            longestPause: .seconds(3),
            lostTime: .seconds(4),
            didUseUpWaitTime: false
        )
        #expect(verdict(pushes: 0, of: 1, early).verdict == .failed)
        let late = RunRecord.Starvation(
            longestPause: .seconds(3),
            lostTime: .seconds(4),
            didUseUpWaitTime: true
        )
        #expect(verdict(pushes: 0, of: 1, late).verdict == .inconclusive)
    }

    @Test(
        "a planned fault whose call is missing is inconclusive because of the stall",
        arguments: [true, false],
        [true, false]
    )
    func missedCall(stallsSubject: Bool, stallsBaseline: Bool) throws {
        var builder = EvidenceBuilder(expectation: SampleContract.expectation())
        builder.contract.given = [
            .provider(ProviderPlan(provider: .oneSignal, responses: [.status(500)]))
        ]
        builder.subject = [EvidenceBuilder.delivery()]
        builder.baselines = [[EvidenceBuilder.delivery()]]
        let evidence = builder.evidence
        var (subject, baselines) = (evidence.subject, evidence.baselines)
        #expect(!baselines.isEmpty)
        if stallsSubject { subject.starvation = starvation }
        if stallsBaseline {
            for index in baselines.indices { baselines[index].starvation = starvation }
        }
        let (verdict, findings) = Judge.judge(
            evidence.replacing(subject: subject, baselines: baselines)
        )
        #expect(verdict == .inconclusive)
        let isStalled = stallsSubject || stallsBaseline
        #expect(findings.map(\.code) == [isStalled ? .machineBusy : .faultNotApplied])
    }

    @Test func `observed effects are judged as usual, even on a busy machine`() {
        #expect(verdict(pushes: 2, of: 1, starvation).verdict == .failed)
        #expect(verdict(pushes: 1, of: 1, starvation).verdict == .passed)
    }
}
