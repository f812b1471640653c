import Contracts
import Judging
import Testing
import Values

@testable import AssayCLI

/// The progress of a run never names a running case as a failed one, and its numbers are explained.
@Suite("Progress of a run")
struct RunProgressTests {
    @Test("a progress line separates failures from the running case", arguments: [0, 1, 12])
    func line(failedCount: Int) throws {
        let text = ProgressLine.text(
            finishedCount: 12,
            totalCount: 608,
            failedCount: failedCount,
            runningCaseID: "billing/refund"
        )
        let failures = failedCount == 0 ? "" : "  \(failedCount) failed"
        #expect(text == "12/608\(failures)  running: billing/refund")
        let line = try #require(ProgressLine(parsing: "assay: \(text)"))
        #expect((line.finishedCount, line.totalCount) == (12, 608))
        #expect(line.text == text)
    }

    @Test func `a line after the last case names none`() {
        #expect(
            ProgressLine.text(
                finishedCount: 2,
                totalCount: 2,
                failedCount: 0,
                runningCaseID: nil
            ) == "2/2"
        )
    }

    private static func result(_ id: String) -> CaseResult {
        CaseResult(
            contract: Contract(
                id: id,
                variant: "",
                title: id,
                clause: "S-03",
                level: .must,
                source: "a test",
                needs: [],
                given: [],
                steps: [],
                expectation: Contracts.Expectation(responses: .statuses([200])),
                location: SourceLocation(path: id, line: 1, column: 1)
            ),
            verdict: .passed
        )
    }

    @Test(
        "more cases than selected ones are explained, checks of the whole run are not counted",
        arguments: [(3, 0, nil), (3, 2, "3 cases selected, and 2 more"), (1, 1, "1 case selected")]
    )
    func crashPoints(selectedCount: Int, addedCount: Int, start: String?) {
        let cases = (0..<(selectedCount + addedCount)).map { Self.result("a/\($0)") }
        let notes = SuiteRun.crashPointNote(
            cases + [Self.result("run/check")],
            selectedCount: selectedCount
        )
        #expect(notes.count == (start == nil ? 0 : 1))
        if let start { #expect(notes.first?.hasPrefix(start) == true) }
    }
}
