import Contracts
import Judging
import Replay
import Testing

/// What several machines have played of one campaign.
struct CampaignJoinTests {
    private static func result(
        _ id: String,
        _ clause: String,
        _ verdict: Verdict,
        runs: Int? = nil
    ) -> CaseResult {
        var result = CampaignCasesTests.result(verdict)
        result.contract.id = id
        result.contract.clause = clause
        result.runCount = runs
        return result
    }

    @Test func `histories of all shards count, and one failure revokes a proof of another shard`() {
        let joined = Campaign.joined([
            [
                Self.result("histories/S-09", "S-09", .passed, runs: 100),
                Self.result("histories/S-10", "S-10", .passed, runs: 7),
            ],
            [
                Self.result("found/purchase-late-1", "S-09", .failed, runs: 20),
                Self.result("histories/S-10", "S-10", .passed, runs: 5),
            ],
            [
                Self.result("found/purchase-late-1", "S-09", .failed, runs: 22),
                Self.result("histories/S-11", "S-11", .passed, runs: 3),
            ],
        ])
        #expect(
            joined.map(\.contract.id) == [
                "found/purchase-late-1", "histories/S-10", "histories/S-11",
            ]
        )
        #expect(joined.map(\.verdict) == [.failed, .passed, .passed])
        #expect(joined.map(\.runCount) == [42, 12, 3])
        #expect(joined[1].contract.title == "Generated histories that test S-10: 12")
    }

    @Test("the worst shard decides the merged verdict", arguments: Verdict.allCases)
    func worst(verdict: Verdict) {
        for other in Verdict.allCases {
            let joined = Campaign.joined([
                [Self.result("histories/S-10", "S-10", verdict)],
                [Self.result("histories/S-10", "S-10", other)],
            ])
            let expected: Verdict? =
                [.failed, .unexpectedPass, .inconclusive, .notRun, .knownFailure, .passed]
                .first { [verdict, other].contains($0) }
            #expect(joined.map(\.verdict) == [expected])
        }
    }

    @Test func `races of all shards are reported`() {
        let race = Self.result("histories/unsteady-1", "S-03", .failed)
        let joined = Campaign.joined([[race], [race], []])
        #expect(joined.map(\.contract.id) == ["histories/unsteady-1", "histories/unsteady-2"])
    }

    @Test func `merging no shards gives no result`() {
        #expect(Campaign.joined([]).isEmpty)
        #expect(Campaign.joined([[], []]).isEmpty)
    }
}
