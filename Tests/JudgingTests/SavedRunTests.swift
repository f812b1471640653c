import Contracts
import Judging
import TestSupport
import Testing
import Values

/// A run that was written down is read as it was, whole or cut.
@Suite("Saved runs")
struct SavedRunTests {
    /// A report with cases of every kind; those with evidence are judged again.
    private static func report(_ count: Int = 4, id: String? = nil) -> RunReport {
        let cases = (0..<count).map { index -> CaseResult in
            var builder = EvidenceBuilder(expectation: SampleContract.expectation())
            builder.contract.id = id ?? "test/case-\(index)"
            builder.subject = [
                EvidenceBuilder.delivery(
                    "purchase",
                    .answered(HTTPMessage.Response(index.isMultiple(of: 2) ? 200 : 500)),
                    body: ["event": ["id": .string("E\(index)"), "name": "caf\u{e9} e\u{301} ‹x›"]]
                )
            ]
            return CaseResult(judging: builder.evidence)
        }
        var report = RunReport(of: cases, notes: ["a note"])
        report.coversWholeSuite = true
        return report
    }

    private static func lines(_ count: Int = 4) throws -> [String] {
        try SavedRun.lines(report(count), profile: Profile())
    }

    private func judged(_ text: String) throws -> RunReport {
        try SavedRun(parsing: text).judged(knownFailures: KnownFailures())
    }

    @Test func `a complete run is not truncated and gets the same verdicts`() throws {
        let text = try Self.lines().joined(separator: "\n") + "\n"
        let saved = try SavedRun(parsing: text)
        #expect(saved.truncationMessage == nil)
        #expect(saved.head.caseCount == 4)
        let report = try judged(text)
        #expect(!report.isInterrupted)
        #expect(report.cases.map(\.verdict) == [.passed, .failed, .passed, .failed])
        #expect(report.notes == ["a note"])
        #expect(report.exitCode == 1)
    }

    @Test(
        "line ends and empty lines are ignored",
        arguments: ["\n", "\r\n", "\n\n", "\r\n\r\n"]
    )
    func lineEnds(separator: String) throws {
        let lines = try Self.lines()
        for text in [
            lines.joined(separator: separator), lines.joined(separator: separator) + separator,
        ] {
            let saved = try SavedRun(parsing: text)
            #expect(saved.entries.count == 4 && saved.truncationMessage == nil)
        }
    }

    /// Wherever a kill or a full disk cuts the file, the cases before it are read.
    @Test func `a truncated run is read up to the cut and reported as truncated`() throws {
        let lines = try Self.lines(3)
        let whole = Array((lines.joined(separator: "\n") + "\n").utf8)
        let ends = whole.indices.filter { whole[$0] == 10 }
        for end in stride(from: ends[0] + 1, to: whole.count - 1, by: 7) {
            let text = String(decoding: whole[..<end], as: UTF8.self)
            let saved = try SavedRun(parsing: text)
            // A line that lacks but its line feed is whole.
            let count = ends.dropFirst().count { $0 <= end }
            #expect(saved.entries.count == count, "cut at \(end)")
            let report = saved.judged(knownFailures: KnownFailures())
            #expect(saved.truncationMessage != nil && report.isInterrupted, "cut at \(end)")
            #expect(report.notes.last == saved.truncationMessage)
            #expect(report.exitCode == 130)
            #expect(report.scorecard.grade == nil, "a part has no grade")
        }
    }

    @Test func `the truncation point and the number of complete results are reported`() throws {
        let lines = try Self.lines()
        func truncationMessage(_ text: String) throws -> String? {
            try SavedRun(parsing: text).truncationMessage
        }
        #expect(
            try truncationMessage(lines[...2].joined(separator: "\n") + "\n" + lines[3].prefix(40))
                == "the file is cut off in line 4; cases in the file: 2 of 4"
        )
        #expect(
            try truncationMessage(lines[...2].joined(separator: "\n") + "\n")
                == "the file is cut off after line 3; cases in the file: 2 of 4"
        )
        #expect(
            try truncationMessage(lines[0])
                == "the file is cut off after line 1; cases in the file: 0 of 4"
        )
        #expect(try truncationMessage(lines.joined(separator: "\n")) == nil)
    }

    @Test func `an old run without counts is complete unless its last line is broken`()
        throws
    {
        var lines = try Self.lines()
        #expect(lines[0].contains("\"caseCount\":4,"))
        lines[0] = lines[0].replacing("\"caseCount\":4,", with: "")
        #expect(try SavedRun(parsing: lines.joined(separator: "\n")).truncationMessage == nil)
        #expect(try SavedRun(parsing: lines[...2].joined(separator: "\n")).truncationMessage == nil)
        let broken = lines[...1].joined(separator: "\n") + "\n" + lines[2].dropLast(3)
        let saved = try SavedRun(parsing: broken)
        #expect(saved.truncationMessage == "the file is cut off in line 3; cases in the file: 1")
        #expect(saved.judged(knownFailures: KnownFailures()).isInterrupted)
    }

    @Test("a modified line is not a truncation", arguments: 1...3)
    func changed(index: Int) throws {
        var lines = try Self.lines()
        let good = lines[index]
        for bad in [
            "{\"contract\":1}", "not JSON", good.replacing("\"verdict\":", with: "\"verdict\""),
        ] {
            lines[index] = bad
            let error = #expect(throws: SavedRun.ReadError.self) {
                try SavedRun(parsing: lines.joined(separator: "\n") + "\n")
            }
            #expect(error?.line == index + 1, "\(bad)")
            #expect(error?.problem.isEmpty == false)
        }
    }

    @Test func `a broken line in the middle is not a truncation`() throws {
        var lines = try Self.lines()
        lines[2] = String(lines[2].dropLast(10))
        for text in [lines.joined(separator: "\n"), lines.joined(separator: "\n") + "\n"] {
            let error = #expect(throws: SavedRun.ReadError.self) { try SavedRun(parsing: text) }
            #expect(error?.line == 3)
        }
    }

    @Test func `a truncated header is not a run`() throws {
        let head = try Self.lines()[0]
        for count in [0, 1, 20, head.count / 2, head.count - 1] {
            #expect(throws: SavedRun.ReadError.self) {
                try SavedRun(parsing: String(head.prefix(count)))
            }
        }
    }

    @Test func `the run of another version is refused by name`() throws {
        let text = try Self.lines().joined(separator: "\n")
            .replacing("\"assay\":3,", with: "\"assay\":2,")
        let error = #expect(throws: SavedRun.ReadError.self) { try SavedRun(parsing: text) }
        #expect(
            error?.description
                == "line 1: this file was written by an incompatible version of Assay"
        )
    }

    @Test func `merging a truncated shard gives an interrupted run`() throws {
        let lines = try Self.lines()
        let whole = try judged(lines.joined(separator: "\n"))
        let part = try judged(lines[...2].joined(separator: "\n"))
        let joined = try #require(RunReport.joined([whole, part]))
        #expect(joined.isInterrupted)
        #expect(joined.notes.contains { $0.hasPrefix("the file is cut off") })
    }

    // MARK: Written and read

    @Test("a saved run round-trips", arguments: 0..<UInt64(60))
    func identity(seed: UInt64) throws {
        var made = ArbitraryValues(seed: seed)
        var builder = EvidenceBuilder(expectation: SampleContract.expectation(.once))
        let documents = (0..<3).map { _ in JSONValue.object(made.object()) }
        builder.subject = [
            EvidenceBuilder.delivery(
                "purchase",
                body: ["event": ["id": "E1", "extra": made.json()]]
            ),
            EvidenceBuilder.push(to: builder.id(of: "ada"), "Welcome"),
            EvidenceBuilder.probe(documents[0]),
        ]
        builder.baselines = [
            [EvidenceBuilder.delivery(), EvidenceBuilder.probe(documents[1])],
            [EvidenceBuilder.delivery(), EvidenceBuilder.probe(documents[2])],
        ]
        let evidence = builder.evidence
        let result = CaseResult(judging: evidence)
        var report = Self.report(0)
        report.cases = [result]
        let text = try SavedRun.lines(report, profile: builder.profile, key: seed)
            .joined(separator: "\n")
        let entry = try #require(try SavedRun(parsing: text).entries.first)
        let again = try judged(text)
        #expect(again.cases.map(\.verdict) == [result.verdict])
        #expect(again.cases.first?.findings.map(\.code) == result.findings.map(\.code))
        // What is read and written once more stays as it is.
        let read = try #require(entry.judgment(builder.profile))
        #expect(read.evidence.plan == evidence.plan)
        #expect(read.evidence.subject.exchanges.count == evidence.subject.exchanges.count)
        var second = report
        second.cases[0].judgment = read
        let rewritten = try SavedRun.lines(second, profile: builder.profile, key: seed)
            .joined(separator: "\n")
        #expect(rewritten == text, "secrets are marked once")
    }

    // MARK: While the run goes on

    private static func running(_ results: [CaseResult], planned: [String]?) throws -> String {
        let writer = try SavedRunWriter(profile: Profile())
        var header = report(0)
        header.notes = []
        let head = try writer.head(running: header, planned: planned)
        return try ([head] + results.map(writer.line)).joined(separator: "\n") + "\n"
    }

    @Test func `a killed run names the missing cases`() throws {
        let results = Self.report(3).cases
        let planned = (0..<14).map { "test/case-\($0)" }
        let text = try Self.running([results[2], results[0]], planned: planned)
        let saved = try SavedRun(parsing: text)
        #expect(
            saved.truncationMessage
                == "the run did not finish; cases in the file: 2 of 14; missing: "
                + "test/case-1, test/case-3, test/case-4, test/case-5, test/case-6, test/case-7, "
                + "test/case-8, test/case-9 and 4 more"
        )
        // In the order of the plan, not in the order in which they finished.
        #expect(saved.entries.map(\.contract.caseID) == ["test/case-0", "test/case-2"])
        let report = saved.judged(knownFailures: KnownFailures())
        #expect(report.isInterrupted && report.exitCode == 130)
        #expect(report.cases.map(\.verdict) == [.passed, .passed])
    }

    @Test func `the last result of a rerun case counts`() throws {
        let results = Self.report(2, id: "test/case").cases
        let saved = try SavedRun(parsing: Self.running(results, planned: ["test/case"]))
        #expect(saved.entries.count == 1)
        #expect(
            saved.judged(knownFailures: KnownFailures()).cases.map(\.verdict) == [.failed]
        )
        #expect(saved.truncationMessage == "the run did not finish; cases in the file: 1 of 1")
    }

    @Test func `a killed campaign counts its results`() throws {
        let saved = try SavedRun(parsing: Self.running(Self.report(2).cases, planned: nil))
        #expect(saved.truncationMessage == "the run did not finish; cases in the file: 2")
    }

    @Test("a case without evidence keeps its trace, the backend's output and its long wait")
    func caseWithoutEvidence() throws {
        var failed = Self.report(2).cases[1]
        failed.judgment = nil
        failed.timeline = [EvidenceBuilder.delivery()]
        failed.backendOutput = "a line"
        var slow = Self.report(1).cases[0]
        slow.neededLongWait = true
        let report = RunReport(of: [failed, slow])
        let text = try SavedRun.lines(report, profile: Profile()).joined(separator: "\n")
        let again = try judged(text)
        #expect(again.cases[0].timeline.map(\.purpose) == failed.timeline.map(\.purpose))
        #expect(again.cases[0].base == failed.base)
        #expect(again.cases[0].backendOutput == "a line")
        #expect(
            again.notesWithSummaries.first?.hasPrefix(
                "1 case passed only after a long wait, such as test/case-0; "
            ) == true
        )
    }

    @Test func `a saved run gets the same verdicts and contains no secret`() throws {
        var builder = EvidenceBuilder(expectation: SampleContract.expectation())
        builder.subject = [
            EvidenceBuilder.delivery(
                "purchase",
                .answered(HTTPMessage.Response(500, body: Array("Bearer assay-test-token".utf8)))
            )
        ]
        var result = CaseResult(judging: builder.evidence)
        result.backendOutput = "refused Bearer assay-test-token"
        let report = RunReport(of: [result])
        let text = try SavedRun.lines(report, profile: builder.profile).joined(separator: "\n")
        #expect(!text.contains("assay-test-token") && text.contains("refused "))
        let again = try SavedRun(parsing: text).judged(knownFailures: KnownFailures())
        #expect(again.cases.map(\.verdict) == [.failed])
        #expect(again.cases.first?.findings == result.findings)
        #expect(throws: SavedRun.ReadError.self) { try SavedRun(parsing: "{}") }
        #expect(throws: SavedRun.ReadError.self) { try SavedRun(parsing: String(text.prefix(80))) }
    }
}
