import Contracts
import Judging
import Providers
import TestBackend
import Testing
import Values

@testable import Replay

@Suite("Record judge")
struct RecordJudgeTests {
    private static let plan = CasePlan(SimulatedContracts.contract("c", []))

    private static func record(_ runProblem: RunRecord.RunProblem? = nil) -> RunRecord {
        RunRecord(
            plan: plan.subject,
            namespace: Namespace(name: "n", idForm: .string),
            base: SimulatedClock.start,
            began: SimulatedClock.start,
            ended: SimulatedClock.start,
            exchanges: [],
            settleEvidence: .notNeeded,
            runProblem: runProblem
        )
    }

    private static func evidence(_ record: RunRecord, appliesEventsLater: Bool? = nil)
        -> CaseEvidence
    {
        var observability = SimulationBench.observability
        observability.appliesEventsLater = appliesEventsLater
        return CaseEvidence(
            plan: plan,
            subject: record,
            baselines: [],
            profile: Profile(),
            observability: observability
        )
    }

    @Test func `each record gets its own judgment, even after another one`() {
        let judge = RecordJudge { Self.evidence($0) }
        for runProblem in [nil, .journalGap, .journalGap, nil, .probeFailed("no"), .journalGap]
            as [RunRecord.RunProblem?]
        {
            let record = Self.record(runProblem)
            #expect(judge.judgment(of: record) == CaseJudgment(Self.evidence(record)))
            #expect(judge.judgment(of: record).evidence.subject == record)
        }
    }

    @Test func `a judgment contains what is known at its time`() {
        let isLate = Locked(false)
        let judge = RecordJudge {
            Self.evidence($0, appliesEventsLater: isLate.withLock { $0 })
        }
        let record = Self.record()
        #expect(judge.judgment(of: record).evidence.observability.appliesEventsLater == false)
        isLate.withLock { $0 = true }
        #expect(judge.judgment(of: record).evidence.observability.appliesEventsLater == true)
    }
}
