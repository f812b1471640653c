import Contracts
import Judging
import Providers
import Redaction
import Reports
import Testing
import Values

/// What a person reads: a hundred columns, nothing that moves the cursor, one cause once.
@Suite("Terminal report")
struct TerminalReportTests {
    private let terminal = TerminalReport(
        style: TerminalStyle(isColored: false),
        replay: ReplayCommand(["assay", "verify"]).redacted(SecretDeclaration())
    )

    private func text(_ report: RunReport) -> String {
        terminal.blocks(report.redacted()).joined() + terminal.summary(report.redacted())
    }

    // MARK: The worst in full, the rest in a line

    private static func many(_ verdict: Verdict, _ count: Int, _ clause: String) -> [CaseResult] {
        (0..<count).map { number in
            ReportFixtures.result(verdict, "a/\(clause)/\(number)") { $0.contract.clause = clause }
        }
    }

    @Test func `the shortest case of each cause is shown in full, and the others are named`() {
        let report = ReportFixtures.report(
            Self.many(.inconclusive, 2, "S-01") + Self.many(.failed, 5, "S-03")
                + Self.many(.passed, 3, "S-09")
        )
        let shown = terminal.blocks(report.redacted(), fullCaseMax: 2).joined()
        #expect(shown.hasPrefix("cause 1 of 2: 5 of 7 cases, fix this first\n"))
        #expect(shown.contains("FAIL  a/S-03/0\n"))
        #expect(shown.contains("also      4 more cases with the same cause: a/S-03/1, a/S-03/2"))
        #expect(shown.contains("cause 2 of 2: 2 of 7 cases\n"))
        #expect(shown.contains("INCONCLUSIVE  a/S-01/0\n"))
        #expect(shown.ranges(of: "  replay ").count == 2)
        #expect(shown.contains("--verbose lists every case"))
        #expect(!shown.contains("S-09"))
        let less = terminal.blocks(report.redacted(), fullCaseMax: 1).joined()
        #expect(less.ranges(of: "  replay ").count == 1)
        #expect(less.contains("INCONCL. E901 S-01  a/S-01/0\n"))
        #expect(
            terminal.blocks(report.redacted(), fullCaseMax: 7) == terminal.blocks(report.redacted())
        )
    }

    @Test func `a report line fits the terminal width for case names of any length`() {
        let long = String(repeating: "x", count: 300)
        let report = ReportFixtures.report(
            [
                ReportFixtures.result(.failed),
                ReportFixtures.result(.failed, long) {
                    $0.findings = [Finding(.noResponse, expected: "one", actual: "none")]
                    $0.contract.clause = "S-04"
                },
            ]
        )
        let lines = terminal.blocks(report.redacted(), fullCaseMax: 1).joined().split(
            separator: "\n"
        )
        #expect(lines.contains { $0.hasPrefix("FAIL     E") })
        for line in lines where line.hasPrefix("FAIL     ") { #expect(line.count <= 98) }
    }

    // MARK: Width and characters

    @Test("nothing planted moves the cursor", arguments: ReportFixtures.hostile)
    func cursor(text planted: String) {
        var report = ReportFixtures.planted(planted)
        // The line to paste names the case as it is.
        for index in report.cases.indices { report.cases[index].contract.variant = "" }
        let shown = text(report)
        let bad = shown.unicodeScalars.filter {
            $0 != "\n" && ($0.value < 0x20 || (0x7f..<0xa0).contains($0.value))
        }
        #expect(bad.isEmpty, "\(bad.map { String($0.value, radix: 16) })")
    }

    @Test(
        "a line has at most a hundred columns, however long the texts",
        arguments: [60, 98, 99, 100, 250, 3000]
    )
    func width(count: Int) {
        for unit in ["x", "word ", "ä", "/path"] {
            let long = String(String(repeating: unit, count: count).prefix(count))
            var report = ReportFixtures.planted(long)
            // Ids, places and commands are copied from here, and stay in one piece.
            for index in report.cases.indices {
                report.cases[index].contract.variant = ""
                report.cases[index].contract.clause = "S-03"
                report.cases[index].findings = report.cases[index].findings.map { finding in
                    var short = Finding(
                        finding.code,
                        expected: long,
                        actual: long,
                        remedy: long,
                        location: ReportFixtures.location
                    )
                    short.nearMiss = finding.nearMiss
                    return short
                }
            }
            report.seed = "7"
            for line in text(report).split(separator: "\n") {
                #expect(line.count <= 100, "\(line.count): \(line.prefix(40))…")
            }
        }
    }

    @Test("a wrapped text keeps its words and its width", arguments: 0..<UInt64(200))
    func wrapping(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let width = Int.random(in: 1...40, using: &generator)
        let words = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
            String(repeating: "w", count: Int.random(in: 1...(width * 2), using: &generator))
        }
        let text = words.joined(separator: " ")
        let lines = text.wrapped(width)
        #expect(lines.allSatisfy { $0.count <= width })
        #expect(lines.joined().filter { $0 == "w" } == text.filter { $0 == "w" })
        let short = words.filter { $0.count <= width }
        if short.count == words.count {
            #expect(lines.joined(separator: " ") == text, "no word is broken that fits")
            for (line, next) in zip(lines, lines.dropFirst()) {
                let first = next.prefix { $0 != " " }
                #expect(line.count + 1 + first.count > width, "a line is filled before the next")
            }
        }
    }

    @Test(
        "line breaks in a string are kept when it is wrapped",
        arguments: [
            ("", [""]), ("a\nb", ["a", "b"]), ("a\n\nb", ["a", "", "b"]), ("a b", ["a b"]),
            ("abcdef", ["abcde", "f"]), ("abcde f", ["abcde", "f"]), ("a bcdef", ["a", "bcdef"]),
        ]
    )
    func breaks(text: String, lines: [String]) {
        #expect(text.wrapped(5) == lines)
    }

    // MARK: Blocks

    @Test("only what is not green has a block", arguments: Verdict.allCases)
    func blocks(verdict: Verdict) {
        let block = terminal.block(ReportFixtures.result(verdict).redacted(SecretDeclaration()))
        #expect(block.isEmpty == [.passed, .knownFailure].contains(verdict))
        if !block.isEmpty {
            #expect(block.contains("a/b/c"))
            #expect(block.contains("A redelivered event takes effect once"))
        }
        let quiet = ReportFixtures.result(verdict) { $0.isDeclaredUnsupported = true }
        if verdict == .notRun {
            #expect(terminal.block(quiet.redacted(SecretDeclaration())).isEmpty)
        }
    }

    @Test func `a failure says what, where, why and how to see it again`() {
        let block = terminal.block(ReportFixtures.result(.failed).redacted(SecretDeclaration()))
        for part in [
            "FAIL  a/b/c\n", "E202 effect-extra  S-03  MUST\n", "contracts/a/b.yaml:7\n",
            "  expected  one\n", "  actual    two\n", "  replay    assay verify --only a/b/c\n",
            "  explain   assay explain E202 S-03\n",
        ] {
            #expect(block.contains(part), "\(part)")
        }
    }

    @Test func `four of many findings are shown and the others counted`() {
        let many = ReportFixtures.result(.failed) { result in
            result.findings = (0..<7).map {
                Finding(.noResponse, expected: "e\($0)", actual: "a\($0)")
            }
        }
        let block = terminal.block(many.redacted(SecretDeclaration()))
        #expect(block.contains("e3") && !block.contains("e4"))
        #expect(block.contains("… and 3 more findings"))
        let one = terminal.block(ReportFixtures.result(.failed).redacted(SecretDeclaration()))
        #expect(!one.contains("more findings"))
    }

    @Test func `one cause that stops many cases is shown once`() {
        let gone = (0..<3).map { index in
            ReportFixtures.result(.inconclusive, "a/b/c\(index)") {
                $0.findings = [Finding(.backendGone, expected: "the backend answers", actual: "no")]
            }
        }
        let blocks = terminal.blocks(ReportFixtures.report(gone).redacted())
        #expect(blocks.count == 1)
        #expect(blocks[0].contains("expected  the backend answers"))
        #expect(
            blocks[0].hasSuffix("  also      2 more cases with the same cause: a/b/c1, a/b/c2\n\n")
        )
    }

    @Test func `a busy machine is reported once`() {
        let busy = (0..<3).map { index in
            ReportFixtures.result(.inconclusive, "a/b/c\(index)") {
                $0.findings = [Finding(.machineBusy, expected: "e\(index)", actual: "a\(index)")]
            }
        }
        let other = ReportFixtures.result(.inconclusive, "d") {
            $0.findings = [Finding(.settleTimeoutExpired, expected: "e0", actual: "a0")]
        }
        let blocks = terminal.blocks(ReportFixtures.report(busy + [other]).redacted())
        #expect(blocks.count == 2)
        #expect(
            blocks[0].hasSuffix("  also      2 more cases with the same cause: a/b/c1, a/b/c2\n\n")
        )
    }

    private static func failed(
        _ id: String,
        _ types: [String],
        _ actual: String = "false",
        _ change: (inout Delivery) -> Void = { _ in }
    ) -> CaseResult {
        ReportFixtures.result(.failed, id) { result in
            result.findings = [
                Finding(.wrongStateValue, expected: "access is true", actual: actual)
            ]
            result.contract.steps = types.enumerated().map { index, type in
                let spec = EventSpec(type: RevenueCatEventType(rawValue: type), user: "ada")
                var delivery = Delivery(name: "d\(index)", subject: .event(spec))
                if index == 0 { change(&delivery) }
                return .deliver(delivery)
            }
        }
    }

    @Test func `the shortest case leads the cases that contain its steps`() {
        let cases = [
            Self.failed("long", ["INITIAL_PURCHASE", "BILLING_ISSUE", "RENEWAL"]),
            Self.failed("renewal", ["INITIAL_PURCHASE", "RENEWAL"]),
            Self.failed("otherwise", ["INITIAL_PURCHASE", "RENEWAL"], "null"),
            Self.failed("swapped", ["RENEWAL", "INITIAL_PURCHASE"]),
            Self.failed("twice", ["INITIAL_PURCHASE", "RENEWAL"]) { $0.times = 2 },
            Self.failed("same", ["INITIAL_PURCHASE", "RENEWAL"]),
        ]
        let report = ReportFixtures.report(cases).redacted()
        let blocks = terminal.blocks(report)
        #expect(blocks.count == 3)
        #expect(blocks[0].contains("FAIL  renewal\n"))
        #expect(
            blocks[0].contains("also      3 more cases with the same cause: long, twice, same\n")
        )
        // The actual value differs, because later steps may change it again.
        #expect(blocks[1].contains("  actual    null\n"))
        #expect(blocks[1].contains("  see       renewal, a case with the same cause\n"))
        #expect(blocks[1].contains("  replay    assay verify --only otherwise\n"))
        #expect(blocks[2].contains("FAIL  swapped\n"))
        #expect(terminal.summary(report).contains("2 causes; fix this first: 5 of 6 cases\n"))
        #expect(!terminal.summary(ReportFixtures.report([]).redacted()).contains("cause"))
    }

    @Test func `of many others the first are named and the rest counted`() {
        let cases = (0..<20).map { index in
            ReportFixtures.result(.notRun, "a/\(index)") { $0.note = "no login" }
        }
        let blocks = terminal.blocks(ReportFixtures.report(cases).redacted())
        #expect(blocks.count == 1)
        let text = blocks[0].split(separator: "\n").joined(separator: " ")
        #expect(text.contains("19 more cases with the same cause: a/1, a/2,"))
        #expect(text.contains("a/6 and 13 more"))
        #expect(!text.contains("a/7"))
    }

    @Test func `cases that did not run for two reasons have two blocks`() {
        let cases = [("x", "one"), ("y", "two"), ("z", "one")].map { id, note in
            ReportFixtures.result(.notRun, id) { $0.note = note }
        }
        let blocks = terminal.blocks(ReportFixtures.report(cases).redacted())
        #expect(
            blocks.map { $0.contains("also      1 more case with the same cause: z") } == [
                true, false,
            ]
        )
    }

    @Test func `a case with the same texts as the block of its cause is only named`() {
        let refused = ["x", "y"].map { id in
            ReportFixtures.result(.failed, id) {
                $0.findings = [Finding(.responseStatus, expected: "200", actual: "401")]
            }
        }
        #expect(terminal.blocks(ReportFixtures.report(refused).redacted()).count == 1)
        var withMore = refused
        withMore[1].findings.append(Finding(.stateDiffers, expected: "one", actual: "two"))
        #expect(terminal.blocks(ReportFixtures.report(withMore).redacted()).count == 2)
    }

    @Test func `the reason for a stopped run is shown only in its summary`() {
        var report = ReportFixtures.report(
            ["x", "y"].map { id in
                ReportFixtures.result(.notRun, id) { $0.note = "the webhook is gone" }
            }
        )
        report.skipReasons = ["the webhook is gone"]
        #expect(terminal.blocks(report.redacted()).isEmpty)
        let summary = terminal.summary(report.redacted())
        #expect(summary.hasPrefix("summary  stopped before any case ran (2 selected)\n"))
        #expect(summary.contains("  stop   the webhook is gone\n"))
        #expect(!summary.contains("unproven"))
        #expect(GitHubReport.render(report.redacted()).split(separator: "\n").count == 2)
        #expect(JSONReport.render(report.redacted()).contains("\"stopped\": ["))
        #expect(HTMLReport.render(report.redacted()).contains("Stopped before the first case"))
        #expect(report.exitCode == 6)
    }

    @Test func `the backend's output is shown whole, the line with the error first`() {
        for end in ["\n", "\r\n"] {
            let long = "KeyError: " + String(repeating: "reason ", count: 30) + "end"
            let output = ["Traceback (most recent call last):", "line 1", long].joined(
                separator: end
            )
            let block = terminal.block(
                ReportFixtures.result(.failed) { $0.backendOutput = output }.redacted(
                    SecretDeclaration()
                )
            )
            let lines = block.split(separator: "\n").map(String.init)
            let title = "  output of the backend, the line with the error first:"
            let start = lines.firstIndex(of: title) ?? lines.endIndex
            #expect(lines.dropFirst(start + 1).first?.hasPrefix("    KeyError: reason") == true)
            #expect(lines.contains { $0.hasSuffix(" end") } && lines.contains("    line 1"))
            #expect(lines.allSatisfy { $0.count <= TerminalStyle.standardWidth })
            #expect(!block.contains("\\u{d}"))
        }
        let silent = terminal.block(
            ReportFixtures.result(.failed) { $0.backendOutput = "" }.redacted(SecretDeclaration())
        )
        #expect(!silent.contains("output of the backend"))
    }

    @Test func `the closest message is shown next to the finding`() {
        let block = terminal.block(
            ReportFixtures.result(.failed) {
                $0.findings[0].nearMiss = ["GET /x", "  - a", "  + b"]
            }
            .redacted(SecretDeclaration())
        )
        #expect(block.contains("  closest   GET /x\n              - a\n              + b\n"))
    }

    @Test func `a note is shown unless it equals the observation`() {
        let told = terminal.block(
            ReportFixtures.result(.failed) { $0.note = "listed otherwise" }.redacted(
                SecretDeclaration()
            )
        )
        #expect(told.contains("  note      listed otherwise"))
        let same = terminal.block(
            ReportFixtures.result(.failed) { $0.note = "two" }.redacted(SecretDeclaration())
        )
        #expect(!same.contains("  note "))
    }

    // MARK: Summary

    @Test func `the summary counts what there is and leaves out what there is not`() {
        let summary = terminal.summary(
            ReportFixtures.report([
                ReportFixtures.result(.passed), ReportFixtures.result(.passed, "d"),
                ReportFixtures.result(.knownFailure, "e"),
            ]).redacted()
        )
        #expect(summary.contains("3 cases in 1.25 s\n"))
        #expect(summary.contains("2 passed · 1 known failure\n"))
        #expect(!summary.contains("inconclusive") && !summary.contains("grade"))
        #expect(summary.contains("clauses proven 0 of 1"))
        #expect(summary.contains("failed clauses: S-03"))
    }

    @Test(
        "seconds have two digits behind the point",
        arguments: [
            (0.0, "0.00"), (0.004, "0.00"), (0.05, "0.05"), (0.996, "1.00"), (75.5, "75.50"),
        ]
    )
    func seconds(seconds: Double, text: String) {
        var report = ReportFixtures.report([])
        report.seconds = seconds
        #expect(terminal.summary(report.redacted()).contains(" in \(text) s\n"))
    }

    @Test func `at most eight uncompared locations are listed`() {
        func list(_ count: Int) -> String {
            let result = ReportFixtures.result(.passed) { result in
                result.volatilePaths = (0..<count).map { "p/\($0)" }
            }
            return terminal.summary(ReportFixtures.report([result]).redacted())
        }
        #expect(!list(0).contains("not compared"))
        #expect(list(8).contains("p/7\n"))
        #expect(list(9).contains("p/7 and 1 more; --verbose names all\n"))
        #expect(!list(9).contains("p/8"))
    }

    @Test func `a run that was stopped or out of time says so`() {
        var report = ReportFixtures.report([ReportFixtures.result(.passed)])
        #expect(!terminal.summary(report.redacted()).contains("the report covers the cases"))
        report.isInterrupted = true
        #expect(
            terminal.summary(report.redacted()).contains(
                "interrupted; the report covers the cases that had finished"
            )
        )
        report.hasTimedOut = true
        #expect(
            terminal.summary(report.redacted()).contains("time limit reached, 0 cases not run\n")
        )
        report.cases += (0..<3).map { ReportFixtures.result(.notRun, "cut-\($0)") }
        #expect(
            terminal.summary(report.redacted()).contains("time limit reached, 3 cases not run\n")
        )
    }

    @Test func `each missing feature is reported once with its number of cases`() {
        let cases = [("x", "no push"), ("y", "no push"), ("z", "no login")].map { id, note in
            ReportFixtures.result(.notRun, id) {
                $0.note = note
                $0.isDeclaredUnsupported = true
            }
        }
        let summary = terminal.summary(ReportFixtures.report(cases).redacted())
        #expect(summary.contains("1 case not run: no login\n"))
        #expect(summary.contains("2 cases not run: no push\n"))
    }

    @Test("colours change no word", arguments: Verdict.allCases)
    func colours(verdict: Verdict) {
        let coloured = TerminalReport(
            style: TerminalStyle(isColored: true),
            replay: ReplayCommand(["assay", "verify"]).redacted(SecretDeclaration())
        )
        let report = ReportFixtures.report([ReportFixtures.result(verdict)])
        let text = coloured.blocks(report.redacted()).joined() + coloured.summary(report.redacted())
        let plain = text.replacing(#/\u{1b}\[[0-9]*m/#, with: "")
        #expect(plain == self.text(report))
        #expect(text != plain)
    }
}
