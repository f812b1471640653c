import Testing
import TestSupport

/// Cases are judged in one place, so that a verdict never exists without its evidence.
@Suite("Judging has one place")
struct JudgingPlaceTests {
    private static func paths(calling call: String) -> [String] {
        Repository.lines(below: "Sources")
            .filter { line in
                line.text.contains(call) && !line.text.drop { $0 == " " }.hasPrefix("//")
                    && !line.path.hasPrefix("Sources/AssayBenchmarks/")
            }
            .map(\.path)
    }

    @Test func `only a judgment asks the judge`() {
        #expect(
            Self.paths(calling: "Judge.judge(") == ["Sources/Judging/CaseJudgment.swift"],
            "create a CaseJudgment, or take the judgment that the caller already has"
        )
    }

    @Test func `few places create a judgment from new evidence`() {
        #expect(
            Self.paths(calling: "CaseJudgment(") == [
                // The first finding of a wrong state in a generated history.
                "Sources/Exploration/Histories/HistoryProbes.swift",
                // The same case with changed records.
                "Sources/Judging/CaseJudgment.swift",
                // The evidence of a saved run.
                "Sources/Judging/Finding/SavedRun.swift",
                // A run.
                "Sources/Replay/Case/RecordJudge.swift",
                // Evidence that came after the case.
                "Sources/Replay/Suite/FinalRecheck.swift",
            ],
            "take the judgment that the caller already has, or let RecordJudge judge the record"
        )
    }
}
