import Contracts
import Judging
import Redaction
import Reports
import Testing
import Values

/// Reports that programs read: whatever stands in them, they keep their form.
@Suite("Reports for machines")
struct MachineReportsTests {
    // MARK: JUnit

    /// XML as a strict reader sees it: elements with attributes, and the text in them.
    private struct XML {
        var elements: [(name: String, attributes: [String: String], text: String)] = []
        var problem: String?

        init(_ document: String) {
            var open: [Int] = []
            var rest = Array(document.unicodeScalars)[...]
            while let scalar = rest.popFirst(), problem == nil {
                guard scalar == "<" else {
                    if let last = open.last { elements[last].text.unicodeScalars.append(scalar) }
                    if scalar.value < 0x20, scalar != "\n" { problem = "a control character" }
                    continue
                }
                var inside = ""
                var isQuoted = false
                while let next = rest.popFirst() {
                    if next == "\"" { isQuoted.toggle() }
                    if next == "<" { problem = "a tag in a tag" }
                    if next == ">", !isQuoted { break }
                    inside.unicodeScalars.append(next)
                }
                if inside.hasPrefix("?") { continue }
                if inside.hasPrefix("/") {
                    guard let last = open.popLast(), "/" + elements[last].name == inside else {
                        problem = "\(inside) closes nothing"
                        return
                    }
                    continue
                }
                let isClosed = inside.hasSuffix("/")
                read(isClosed ? String(inside.dropLast()) : inside)
                if !isClosed { open.append(elements.count - 1) }
            }
            if !open.isEmpty { problem = problem ?? "an element is not closed" }
        }

        private mutating func read(_ inside: String) {
            let name = String(inside.prefix { $0 != " " })
            var attributes: [String: String] = [:]
            var rest = String(inside.dropFirst(name.count))
            while let sign = rest.firstRange(of: "=\"") {
                let key = rest[..<sign.lowerBound].drop { $0 == " " }
                let value = rest[sign.upperBound...].prefix { $0 != "\"" }
                if attributes.updateValue(Self.plain(String(value)), forKey: String(key)) != nil {
                    problem = "\(key) stands twice"
                }
                rest = String(rest[value.endIndex...].dropFirst())
            }
            if !rest.allSatisfy({ $0 == " " }) { problem = "'\(rest)' is no attribute" }
            elements.append((name, attributes, ""))
        }

        static func plain(_ text: String) -> String {
            [
                ("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&#10;", "\n"), ("&#9;", "\t"),
                ("&amp;", "&"),
            ].reduce(text) { $0.replacing($1.0, with: $1.1) }
        }
    }

    @Test("JUnit stays XML", arguments: ReportFixtures.hostile)
    func junit(text: String) {
        let document = JUnitReport.render(ReportFixtures.planted(text).redacted())
        let xml = XML(document)
        #expect(xml.problem == nil)
        #expect(xml.elements.count { $0.name == "testcase" } == Verdict.allCases.count)
        #expect(!document.unicodeScalars.contains { $0.value == 0xfffe || $0.value == 0xffff })
    }

    @Test func `findings can be read back from JUnit output`() throws {
        let text = "<two> & \"more\"\n\tthan 'one'"
        let failed = ReportFixtures.result(.failed) {
            $0.findings = [Finding(.unexpectedEffect, expected: "one", actual: text)]
        }
        let xml = XML(JUnitReport.render(ReportFixtures.report([failed]).redacted()))
        let failure = try #require(xml.elements.first { $0.name == "failure" })
        #expect(failure.attributes["message"] == "E202 effect-extra: " + text)
        #expect(failure.attributes["type"] == "E202")
        #expect(XML.plain(failure.text).contains("actual: " + text))
    }

    private static let kinds: [(Verdict, Bool, String?)] = [
        (.passed, false, nil), (.failed, false, "failure"), (.unexpectedPass, false, "failure"),
        (.knownFailure, false, "skipped"), (.inconclusive, false, "error"),
        (.notRun, false, "error"), (.notRun, true, "skipped"),
    ]

    @Test("each verdict is what JUnit has for it, and is counted so", arguments: kinds)
    func verdicts(verdict: Verdict, isUnsupported: Bool, element: String?) throws {
        let result = ReportFixtures.result(verdict) { $0.isDeclaredUnsupported = isUnsupported }
        let xml = XML(
            JUnitReport.render(
                ReportFixtures.report([result, ReportFixtures.result(.passed)]).redacted()
            )
        )
        #expect(xml.problem == nil)
        let inner = xml.elements.map(\.name).filter {
            ["failure", "skipped", "error"].contains($0)
        }
        #expect(inner == (element.map { [$0] } ?? []))
        for name in ["testsuites", "testsuite"] {
            let counts = try #require(xml.elements.first { $0.name == name }).attributes
            #expect(counts["tests"] == "2")
            #expect(counts["failures"] == (element == "failure" ? "1" : "0"))
            #expect(counts["errors"] == (element == "error" ? "1" : "0"))
            // The schema that Jenkins publishes has that count for a suite alone.
            let skipped = name == "testsuites" ? nil : element == "skipped" ? "1" : "0"
            #expect(counts["skipped"] == skipped)
        }
    }

    @Test func `a folder of contracts is a suite, and its cases are named without it`() {
        let xml = XML(
            JUnitReport.render(
                ReportFixtures.report([
                    ReportFixtures.result(.passed, "b/two/x"),
                    ReportFixtures.result(.passed, "a/one/y"),
                    ReportFixtures.result(.passed, "b/two/z") { $0.contract.variant = "copies:2" },
                    ReportFixtures.result(.passed, "alone"),
                ]).redacted()
            )
        )
        let suites = xml.elements.filter { $0.name == "testsuite" }
        #expect(suites.map { $0.attributes["name"] } == ["", "a/one", "b/two"])
        let cases = xml.elements.filter { $0.name == "testcase" }
        #expect(cases.map { $0.attributes["name"] } == ["alone", "y", "x", "z/copies:2"])
        #expect(cases.map { $0.attributes["classname"] } == ["", "a.one", "b.two", "b.two"])
    }

    // MARK: GitHub

    /// The commands of a text, taken apart as a forge does.
    private func commands(
        _ text: String
    ) throws -> [(level: String, properties: [String: String], message: String)] {
        try text.split(separator: "\n").map { line in
            let parts = line.dropFirst(2).split(separator: "::", maxSplits: 1)
            try #require(line.hasPrefix("::") && parts.count == 2, "no command: \(line)")
            let words = parts[0].split(separator: " ", maxSplits: 1)
            var properties: [String: String] = [:]
            for pair in (words.count > 1 ? words[1] : "").split(separator: ",") {
                let sides = pair.split(
                    separator: "=",
                    maxSplits: 1,
                    omittingEmptySubsequences: false
                )
                properties[String(sides[0])] = Self.unescaped(String(sides[1]))
            }
            return (String(words[0]), properties, Self.unescaped(String(parts[1])))
        }
    }

    private static func unescaped(_ text: String) -> String {
        [("%3A", ":"), ("%2C", ","), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")]
            .reduce(text) { $0.replacing($1.0, with: $1.1) }
    }

    @Test(
        "an annotation remains a single command with any content",
        arguments: ReportFixtures.hostile
    )
    func annotations(text: String) throws {
        let plain = try commands(GitHubReport.render(ReportFixtures.planted("plain").redacted()))
        let found = try commands(GitHubReport.render(ReportFixtures.planted(text).redacted()))
        #expect(found.map(\.level) == plain.map(\.level))
        #expect(
            found.map { $0.properties.keys.sorted() } == plain.map { $0.properties.keys.sorted() }
        )
        #expect(found.dropLast().allSatisfy { $0.properties["title"]?.isEmpty == false })
    }

    @Test func `findings can be read back from an annotation`() throws {
        let text = "50%: a, b\nand :: more"
        let failed = ReportFixtures.result(.failed) {
            $0.findings = [
                Finding(
                    .unexpectedEffect,
                    expected: "one",
                    actual: text,
                    remedy: "do it",
                    location: ReportFixtures.location
                )
            ]
        }
        let found = try #require(
            try commands(GitHubReport.render(ReportFixtures.report([failed]).redacted())).first
        )
        #expect(found.level == "error")
        #expect(found.message == "expected: one\nactual: \(text)\ndo it")
        #expect(found.properties["file"] == "contracts/a/b.yaml")
        #expect(found.properties["line"] == "7" && found.properties["col"] == "3")
        #expect(found.properties["title"] == "E202 a/b/c")
    }

    private static let levels: [(Verdict, Bool, [String])] = [
        (.passed, false, ["notice"]), (.knownFailure, false, ["notice"]),
        (.failed, false, ["error", "error"]), (.unexpectedPass, false, ["error", "error"]),
        (.inconclusive, false, ["warning", "error"]), (.notRun, false, ["error", "error"]),
        (.notRun, true, ["notice"]),
    ]

    @Test("verdicts have levels, and the last line has that of the run", arguments: levels)
    func level(verdict: Verdict, isUnsupported: Bool, expected: [String]) throws {
        let result = ReportFixtures.result(verdict) { $0.isDeclaredUnsupported = isUnsupported }
        let text = GitHubReport.render(ReportFixtures.report([result]).redacted())
        #expect(try commands(text).map(\.level) == expected)
    }

    @Test func `a forge gets ten lines, the shortest case of each cause first`() throws {
        let many = (0..<30).map { number in
            ReportFixtures.result(.failed, "a/b/c\(number)") {
                $0.contract.clause = number < 28 ? "S-03" : "S-0\(number - 20)"
            }
        }
        let unsure = ReportFixtures.result(.inconclusive, "a/b/unsure")
        let found = try commands(
            GitHubReport.render(ReportFixtures.report([unsure] + many).redacted())
        )
        #expect(found.count == 10)
        let titles = found.map { $0.properties["title"] ?? "" }
        #expect(titles.prefix(3) == ["E202 a/b/c0", "E901 a/b/unsure", "E202 a/b/c1"])
        #expect(found[9].message.hasSuffix("22 more cases in the log"))
    }

    @Test(
        "an annotation points to a file in the repository, else to the profile if there is one",
        arguments: [
            ("mine/b.yaml", "assay.yaml", "app/mine/b.yaml", "7"),
            ("contracts/a/b.yaml", "assay.yaml", "assay.yaml", "1"),
            ("contracts/a/b.yaml", nil, nil, nil),
        ] as [(String, String?, String?, String?)]
    )
    func repositoryFiles(path: String, profile: String?, file: String?, line: String?) throws {
        let location = SourceLocation(path: path, line: 7, column: 3, text: "x", length: 1)
        let failed = ReportFixtures.result(.failed) { result in
            result.findings = [
                Finding(.unexpectedEffect, expected: "one", actual: "two", location: location)
            ]
        }
        let repositoryFiles = GitHubReport.RepositoryFiles(profile: profile) { path in
            path.hasPrefix("mine/") ? "app/" + path : nil
        }
        let text = GitHubReport.render(
            ReportFixtures.report([failed]).redacted(),
            repositoryFiles: repositoryFiles
        )
        let found = try #require(try commands(text).first)
        #expect(found.properties["file"] == file)
        #expect(found.properties["line"] == line)
    }

    private static let profileText = """
        # assay: 9
        assay: 1
        start:
          command: node server.js
          probes: none
        endpoints: {revenuecat-webhook: POST /hook}
        probes:
          user: {get: /u}
        """

    @Test(
        "an inconclusive case points to the profile line of the key in its remedy",
        arguments: [
            (.inconclusive, "Add it under 'probes: … read:' in assay.yaml.", "7"),
            (.inconclusive, "Nothing here names a key.", "6"),
            // A backend that is wrong is no matter of a key that its remedy happens to name.
            (.failed, "Look at your probes.", "6"),
        ] as [(Verdict, String, String)]
    )
    func profileLine(verdict: Verdict, remedy: String, line: String) throws {
        let location = SourceLocation(path: "x.yaml", line: 7, column: 3, text: "x", length: 1)
        let result = ReportFixtures.result(verdict) { result in
            result.findings = [
                Finding(
                    .unobservable,
                    expected: "a",
                    actual: "b",
                    remedy: remedy,
                    location: location
                )
            ]
        }
        let keys = GitHubReport.RepositoryFiles.keys(in: Self.profileText)
        #expect(keys == ["assay": 2, "start": 3, "endpoints": 6, "probes": 7])
        let repositoryFiles = GitHubReport.RepositoryFiles(profile: "assay.yaml", keys: keys) { _ in
            nil
        }
        let text = GitHubReport.render(
            ReportFixtures.report([result]).redacted(),
            repositoryFiles: repositoryFiles
        )
        #expect(try commands(text).first?.properties["line"] == line)
    }

    @Test func `the JSON report contains the command to rerun a case`() throws {
        let cases = [ReportFixtures.result(.passed, "a/p"), ReportFixtures.result(.failed, "a/f")]
        let report = ReportFixtures.report(cases)
        let value = try JSONValue(
            parsing: JSONReport.render(report.redacted(), replay: Self.replay)
        )
        let found = try #require(value["cases"]?.array)
        #expect(found[0]["replay"] == nil)
        #expect(found[1]["replay"] == "assay verify --seed 7 --only a/f")
    }

    // MARK: Markdown

    private static let replay = ReplayCommand(["assay", "verify", "--seed", "7"])
        .redacted(SecretDeclaration())

    @Test func `the other deviations of a cause are in each report`() throws {
        let report = ReportFixtures.report(ReportFixtures.deviations(4))
        let cause = try #require(FailureCauses(report).all.first)
        #expect(cause.otherDeviations.count == 3)
        let json = JSONValue(ifValid: Array(JSONReport.render(report.redacted()).utf8))
        let members = json?["causes"]?.array?.first?["deviations"]?.array ?? []
        let markdown = MarkdownReport.render(report.redacted(), replay: Self.replay)
        let page = HTMLReport.render(report.redacted(), replay: nil)
        #expect(members.count == 3)
        #expect(markdown.contains("Other deviations:\n\n- "))
        #expect(page.contains("<summary>other deviations</summary>"))
        for (deviation, member) in zip(cause.otherDeviations, members) {
            let caseID = report.cases[deviation.representativeIndex].contract.caseID
            #expect(member["title"]?.string == deviation.title)
            #expect(member["first"]?.string == caseID)
            #expect(markdown.contains(", such as in `\(caseID)`\n"))
            #expect(page.contains(", such as in <code>\(caseID)</code></li>"))
        }
        let one = ReportFixtures.report(ReportFixtures.deviations(1))
        #expect(!HTMLReport.render(one.redacted(), replay: nil).contains("other deviations"))
        #expect(!JSONReport.render(one.redacted()).contains("deviations"))
    }

    @Test func `a summary shows counts, causes and the command to rerun`() {
        let text = MarkdownReport.render(
            ReportFixtures.report(
                [
                    ReportFixtures.result(.passed, "a/p"), ReportFixtures.result(.failed),
                    ReportFixtures.result(.failed, "a/d"),
                    ReportFixtures.result(.inconclusive, "a/u"),
                ],
                notes: ["a note"]
            ).redacted(),
            replay: Self.replay
        )
        #expect(text.hasPrefix("## Assay: not green\n"))
        #expect(text.contains("| failed | 2 |\n"))
        #expect(
            text.contains(
                "| effect-extra: expected one, actual two | E202 effect-extra | 2 | S-03 | `a/b/c` |\n"
            )
        )
        #expect(text.contains("- a note\n"))
        #expect(text.hasSuffix("```sh\nassay verify --seed 7\n```\n"))
        let green = MarkdownReport.render(
            ReportFixtures.report([ReportFixtures.result(.passed)]).redacted(),
            replay: Self.replay
        )
        #expect(green.hasPrefix("## Assay: green\n"))
    }

    @Test("planted marks stay text in a summary", arguments: ReportFixtures.hostile)
    func marks(text: String) {
        let plain = MarkdownReport.render(
            ReportFixtures.planted("plain").redacted(),
            replay: Self.replay
        )
        let found = MarkdownReport.render(
            ReportFixtures.planted(text).redacted(),
            replay: Self.replay
        )
        func shape(_ text: String) -> [Int] {
            text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
                line.replacing("\\|", with: "").count { $0 == "|" }
            }
        }
        #expect(shape(found) == shape(plain), "a row more, or a cell")
        // Between backquotes nothing is markup.
        let withoutTags = found.replacing(/<\/?(details|summary)>/, with: "")
        let outside = withoutTags.split(separator: "`").enumerated().filter { $0.offset % 2 == 0 }
        #expect(outside.allSatisfy { !$0.element.contains("<") })
    }

    @Test func `a stopped run's summary shows only the reason`() {
        var report = ReportFixtures.report([ReportFixtures.result(.notRun)])
        report.skipReasons = ["the webhook is gone"]
        let text = MarkdownReport.render(report.redacted(), replay: Self.replay)
        #expect(text.contains("- the webhook is gone\n"))
        #expect(!text.contains("| not run"))
    }

    // MARK: Badge

    /// A whole suite in which so many grades' clauses passed.
    private static func cases(_ grade: Scorecard.Grade) -> [CaseResult] {
        [
            ("S-01", Scorecard.Grade.receives), ("S-03", .idempotent), ("S-04", .resilient),
            ("S-10", .complete),
        ].map { clause, needed in
            ReportFixtures.result(needed <= grade ? .passed : .inconclusive, "a/" + clause) {
                $0.contract.clause = clause
            }
        }
    }

    private static let badges: [(Scorecard.Grade, String, String)] = [
        (.none, "0 of 4 clauses", "red"), (.receives, "Receives · 1 of 4 clauses", "yellow"),
        (.idempotent, "Idempotent · 2 of 4 clauses", "yellow"),
        (.resilient, "Resilient · 3 of 4 clauses", "yellow"),
        (.complete, "Complete · 4 of 4 clauses", "brightgreen"),
    ]

    @Test("a badge shows the grade of a whole suite", arguments: badges)
    func badge(grade: Scorecard.Grade, message: String, color: String) throws {
        let text = BadgeReport.render(
            ReportFixtures.report(Self.cases(grade), coversWholeSuite: true).redacted()
        )
        let badge = try JSONValue(parsing: text)
        #expect(badge["message"]?.string == message)
        #expect(badge["color"]?.string == color)
        #expect(badge["isError"]?.bool == (grade != .complete))
        #expect(badge["schemaVersion"] == 1 && badge["label"] == "assay")
    }

    @Test func `a part of the suite shows its clauses and no grade`() throws {
        let green = try JSONValue(
            parsing: BadgeReport.render(ReportFixtures.report(Self.cases(.complete)).redacted())
        )
        #expect(green["message"] == "4 of 4 clauses" && green["color"] == "green")
        let red = try JSONValue(
            parsing: BadgeReport.render(ReportFixtures.report(Self.cases(.resilient)).redacted())
        )
        #expect(red["message"] == "3 of 4 clauses" && red["color"] == "red")
    }

    @Test func `an unexpected pass limits the badge of a complete backend to yellow`()
        throws
    {
        var report = ReportFixtures.report(Self.cases(.complete), coversWholeSuite: true)
        report.cases.append(
            ReportFixtures.result(.unexpectedPass, "a/x") { $0.contract.level = .should }
        )
        let badge = try JSONValue(parsing: BadgeReport.render(report.redacted()))
        #expect(badge["color"] == "yellow")
    }

    // MARK: JSON

    @Test(
        "the JSON report stays JSON, and says what was planted",
        arguments: ReportFixtures.hostile
    )
    func json(text: String) throws {
        let value = try JSONValue(
            parsing: JSONReport.render(ReportFixtures.planted(text).redacted())
        )
        #expect(value["cases"]?.array?.count == Verdict.allCases.count)
        let plain = try JSONValue(
            parsing: JSONReport.render(ReportFixtures.planted("plain").redacted())
        )
        #expect(value.object?.keys == plain.object?.keys)
    }

    @Test("members are there where there is something to say", arguments: Verdict.allCases)
    func members(verdict: Verdict) throws {
        let bare = ReportFixtures.result(verdict)
        let full = ReportFixtures.result(verdict) {
            $0.note = "a note"
            $0.overlap = 3
            $0.runCount = 9
            $0.volatilePaths = ["p/x"]
            $0.settleEvidence = .window(.milliseconds(5))
            $0.isDeclaredUnsupported = true
            $0.findings = [
                Finding(.noResponse, expected: "e", actual: "a", location: ReportFixtures.location)
            ]
            $0.findings[0].nearMiss = ["near"]
        }
        let cases = try JSONValue(
            parsing: JSONReport.render(ReportFixtures.report([bare, full]).redacted())
        )[
            "cases"
        ]
        let (plain, whole) = (cases?.array?.first, cases?.array?.last)
        for key in ["overlap", "runs", "volatile", "settled"] {
            #expect(plain?[key] == nil && whole?[key] != nil, "\(key)")
        }
        #expect(whole?["note"] == "a note" && whole?["overlap"] == 3 && whole?["runs"] == 9)
        #expect(plain?["verdict"]?.string == verdict.rawValue)
        let finding = whole?["findings"]?.array?.first
        #expect(finding?["file"] == "contracts/a/b.yaml" && finding?["line"] == 7)
        #expect(finding?["nearMiss"] == ["near"] && finding?["code"] == "E103")
    }

    @Test(
        "the exit code of the report is that of the program",
        arguments: [
            ([Verdict.passed], 0), ([.failed], 1), ([.inconclusive], 5), ([.notRun], 5),
            ([.knownFailure], 0), ([.unexpectedPass], 1), ([.passed, .failed, .inconclusive], 1),
            ([], 0),
        ] as [([Verdict], Int64)]
    )
    func exit(verdicts: [Verdict], code: Int64) throws {
        let report = ReportFixtures.report(verdicts.map { ReportFixtures.result($0) })
        let value = try JSONValue(parsing: JSONReport.render(report.redacted()))
        #expect(value["exit"]?.int64 == code)
        for verdict in Verdict.allCases {
            #expect(
                value["summary"]?[verdict.rawValue]?.int64
                    == Int64(verdicts.count { $0 == verdict })
            )
        }
    }
}
