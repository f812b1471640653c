import Contracts
import Judging
internal import Providers
import Redaction
import Reports
import Testing
import Values

/// The page is built from texts that strangers wrote, and opens in a browser.
@Suite("HTML report")
struct HTMLReportTests {
    /// Every tag of a page with its attributes; nil where a text broke out of its place.
    private struct Page {
        struct Tag { let name: String, attributes: [String: String] }

        var tags: [Tag] = []
        var text = ""
        var isWellFormed = true

        init(_ page: String) {
            var rest = Array(page.unicodeScalars)[...]
            while let scalar = rest.popFirst() {
                if scalar == ">" { isWellFormed = isWellFormed && isInStyle }
                guard scalar == "<" else {
                    text.unicodeScalars.append(scalar)
                    continue
                }
                var inside = ""
                while let next = rest.popFirst(), next != ">" { inside.unicodeScalars.append(next) }
                add(inside)
            }
        }

        private var isInStyle: Bool { ["style", "script"].contains(tags.last?.name) }

        private mutating func add(_ inside: String) {
            let parts = inside.split(separator: " ", maxSplits: 1).map(String.init)
            guard let name = parts.first else { return isWellFormed = false }
            var attributes: [String: String] = [:]
            var rest = parts.count > 1 ? parts[1] : ""
            while !rest.isEmpty {
                let name = String(rest.prefix { !"= ".contains($0) })
                rest = String(rest.dropFirst(name.count))
                var value = ""
                if rest.hasPrefix("=\"") {
                    value = String(rest.dropFirst(2).prefix { $0 != "\"" })
                    rest = String(rest.dropFirst(value.count + 3))
                } else if rest.hasPrefix("=") {
                    value = String(rest.dropFirst().prefix { $0 != " " })
                    rest = String(rest.dropFirst(value.count + 1))
                }
                attributes[name] = value
                rest = String(rest.drop { $0 == " " })
            }
            tags.append(Tag(name: name, attributes: attributes))
        }
    }

    private static let tags: Set<String> = [
        "!doctype", "html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "p",
        "span", "section", "div", "b", "ul", "li", "details", "summary", "code", "dl", "dt", "dd",
        "pre", "table", "thead", "tbody", "tr", "td", "th", "br", "a", "button", "input", "i",
        "mark", "script", "time", "main", "ol", "h3", "label",
    ]
    private static let attributes: Set<String> = [
        "class", "title", "lang", "charset", "name", "content", "open", "html", "id", "href",
        "type",
        "style", "http-equiv", "aria-label", "placeholder", "role", "tabindex", "aria-hidden",
        "aria-pressed", "autocomplete", "data-status", "data-attention", "data-cause",
    ]

    @Test("planted markup stays text", arguments: ReportFixtures.hostile)
    func markup(text: String) {
        let page = Page(HTMLReport.render(ReportFixtures.planted(text).redacted()))
        #expect(page.isWellFormed)
        for tag in page.tags {
            let name = tag.name.hasPrefix("/") ? String(tag.name.dropFirst()) : tag.name
            #expect(Self.tags.contains(name.lowercased()), "a tag of its own: \(tag.name)")
            for attribute in tag.attributes.keys {
                #expect(Self.attributes.contains(attribute), "an attribute: \(attribute)")
            }
        }
    }

    @Test("hostile text does not change the tags of the page", arguments: ReportFixtures.hostile)
    func shape(text: String) {
        let plain = Page(HTMLReport.render(ReportFixtures.planted("plain").redacted()))
        let page = Page(HTMLReport.render(ReportFixtures.planted(text).redacted()))
        #expect(page.tags.map(\.name) == plain.tags.map(\.name))
    }

    @Test("texts of any kind break nothing", arguments: 0..<UInt64(60))
    func anything(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let pieces = ["<", ">", "\"", "&", "'", "\u{301}", "a", " ", "=", "/", "-", "\n", "é"]
        let text = (0..<12).map { _ in pieces.randomElement(using: &generator) ?? "x" }.joined()
        let plain = Page(HTMLReport.render(ReportFixtures.planted("plain").redacted()))
        let page = Page(HTMLReport.render(ReportFixtures.planted(text).redacted()))
        #expect(page.isWellFormed)
        #expect(page.tags.map(\.name) == plain.tags.map(\.name))
    }

    @Test func `planted markup is escaped and remains readable`() {
        let page = HTMLReport.render(ReportFixtures.planted("<b>&\"bold\"</b>").redacted())
        #expect(page.contains("&lt;b&gt;&amp;&quot;bold&quot;&lt;/b&gt;"))
        #expect(!page.contains("<b>&\"bold"))
    }

    @Test func `nothing is loaded from elsewhere`() {
        let page = HTMLReport.render(
            ReportFixtures.report(Verdict.allCases.map { ReportFixtures.result($0) }).redacted()
        )
        for part in ["<script ", "<link", "src=", "href=\"h", "url(", "@import"] {
            #expect(!page.contains(part), "\(part)")
        }
        #expect(page.contains("default-src 'none'"))
        #expect(page.ranges(of: "<script").count == 1)
    }

    @Test(
        "only failed and inconclusive cases have a block, and only failures are open",
        arguments: Verdict.allCases
    )
    func blocks(verdict: Verdict) {
        let page = HTMLReport.render(
            ReportFixtures.report([ReportFixtures.result(verdict)]).redacted()
        )
        #expect(page.contains("<details class=case") == (verdict != .passed))
        #expect(page.contains(" open><summary>") == (verdict == .failed))
        #expect(page.contains("<code>a/b/c</code>"), "every case stands in the table")
    }

    @Test func `a case that is declared unsupported is quiet`() {
        let quiet = ReportFixtures.result(.notRun) { $0.isDeclaredUnsupported = true }
        let page = HTMLReport.render(ReportFixtures.report([quiet]).redacted())
        #expect(!page.contains("<details class=case") && !page.contains("to look at"))
    }

    @Test func `the page counts clauses and verdicts`() {
        let page = HTMLReport.render(
            ReportFixtures.report([
                ReportFixtures.result(.passed), ReportFixtures.result(.failed, "a/b/d"),
                ReportFixtures.result(.passed, "a/b/e") { $0.contract.clause = "S-04" },
            ]).redacted()
        )
        #expect(page.contains("1 of 2 clauses proven"))
        for tab in ["to look at <b>1", "passed <b>2", "failed <b>1", "all <b>3"] {
            #expect(page.contains("\(tab)</b></button>"), "\(tab)")
        }
        for (clause, state) in [("S-03", "failed"), ("S-04", "proven")] {
            let title = Clause.named(clause)?.title ?? ""
            let chip = "<span class=\"chip \(state)\">\(state)</span>"
            #expect(page.contains("<code>\(clause)</code><td>\(title)<td>\(chip)"))
            #expect(page.contains("<span class=clause>\(clause), \(title), must</span>"))
        }
        #expect(!page.contains("grade "), "a part of the suite has no grade")
    }

    @Test func `a whole suite has its grade`() {
        let page = HTMLReport.render(
            ReportFixtures.report([ReportFixtures.result(.passed)], coversWholeSuite: true)
                .redacted()
        )
        #expect(page.contains("<p class=lead>grade None"))
    }

    private static let headlines: [([Verdict], String)] = [
        ([.passed], "The case passes"), ([.passed, .passed], "All 2 cases pass"),
        ([.failed, .passed], "1 of 2 cases fails"),
        ([.failed, .unexpectedPass, .inconclusive], "2 of 3 cases fail"),
        ([.passed, .inconclusive], "No case fails; 1 of 2 cases has no verdict"),
        ([.passed, .knownFailure], "No case fails; 1 of 2 cases pass"), ([], "No case ran"),
    ]

    @Test("the headline states the result in words", arguments: headlines)
    func headline(verdicts: [Verdict], text: String) {
        let results = verdicts.enumerated().map { ReportFixtures.result($1, "a/b/c\($0)") }
        #expect(page(results).contains("<h1>\(text)</h1>"))
    }

    @Test func `a run without cases gives its reason`() {
        var report = ReportFixtures.report([ReportFixtures.result(.notRun)])
        report.skipReasons = ["the backend does not start"]
        let page = HTMLReport.render(report.redacted())
        #expect(page.contains("<h1>Stopped before the first case</h1>"))
        #expect(page.contains("<li>the backend does not start</li>"))
    }

    @Test func `the commit of the backend is shown when it is known`() {
        var report = ReportFixtures.report([ReportFixtures.result(.passed)])
        #expect(!HTMLReport.render(report.redacted()).contains("<dt>commit"))
        report.commit = "0123456789ab"
        #expect(HTMLReport.render(report.redacted()).contains("<dt>commit<dd>0123456789ab"))
    }

    @Test(
        "times have three digits behind the point",
        arguments: [
            (0.0, "0.000"), (0.0004, "0.000"), (0.0125, "0.013"), (1.5, "1.500"),
            (61.0499, "61.050"), (0.9996, "1.000"),
        ]
    )
    func seconds(seconds: Double, text: String) {
        let page = HTMLReport.render(
            ReportFixtures.report([ReportFixtures.result(.passed) { $0.seconds = seconds }])
                .redacted()
        )
        #expect(page.contains("<span class=num>\(text) s</span>"))
    }

    @Test func `at most six findings of one case are shown`() {
        let many = ReportFixtures.result(.failed) { result in
            result.findings = (0..<9).map { Finding(.noResponse, expected: "e\($0)", actual: "a") }
        }
        let page = HTMLReport.render(ReportFixtures.report([many]).redacted())
        #expect(page.contains("<dd>e5") && !page.contains("<dd>e6"))
        #expect(page.contains("and 3 more findings"))
    }

    // MARK: Causes, diagrams, differences

    private func page(_ results: [CaseResult], replay: Redacted<ReplayCommand>? = nil) -> String {
        HTMLReport.render(ReportFixtures.report(results).redacted(), replay: replay)
    }

    @Test func `cases with the same cause share a row, and lead to their blocks`() {
        let results = (0..<11).map { ReportFixtures.result(.failed, "a/b/c\($0)") }
        let page = page([ReportFixtures.result(.inconclusive, "a/x")] + results)
        #expect(page.contains("Fix this first: 11 of 12 cases"))
        #expect(page.contains("E202 effect-extra, S-03"))
        #expect(page.contains("<a href=\"#case-0\">a/b/c0</a>"))
        #expect(page.contains("<button type=button data-cause=1>show all 11</button>"))
        #expect(page.ranges(of: "data-attention data-cause=1").count == 11)
        #expect(page.ranges(of: "data-attention data-cause=2").count == 1)
        let places = ["E202", "E9"].map { page.firstRange(of: "class=sub>\($0)")?.lowerBound }
        #expect(places[0].flatMap { first in places[1].map { first < $0 } } == true)
    }

    @Test func `only the first failures are open`() {
        let page = page((0..<9).map { ReportFixtures.result(.failed, "a/b/c\($0)") })
        #expect(page.ranges(of: " open><summary>").count == 3)
    }

    @Test func `the command that shows a case again can be copied`() {
        let replay = ReplayCommand(["assay", "verify", "--seed", "7"])
            .redacted(SecretDeclaration())
        let page = page([ReportFixtures.result(.failed)], replay: replay)
        for command in ["assay verify --seed 7", "assay verify --seed 7 --only a/b/c"] {
            #expect(page.contains("<code>\(command)</code><button type=button class=copy>"))
        }
    }

    private static let lost = Exchange.Outcome.answerLost(HTTPMessage.Response(200))

    @Test(
        "an arrow shows the outcome of its message",
        arguments: [
            (Exchange.Outcome.answered(HTTPMessage.Response(200)), "x", "200"),
            (.answered(HTTPMessage.Response(500)), "x bad", "500"), (lost, "x lost", "lost (200)"),
            (.requestCut, "x lost", "truncated"), (.failed(.refused, "no"), "x lost", "refused"),
            (.pending, "x lost", "no response"),
        ]
    )
    func arrows(outcome: Exchange.Outcome, kind: String, words: String) {
        let page = page([
            ReportFixtures.result(.failed) { result in
                result.base = ReportFixtures.base
                result.timeline = [
                    ReportFixtures.exchange(.backend, .oneSignal, number: 4, outcome: outcome)
                ]
            }
        ])
        #expect(page.contains("class=\"\(kind)\""))
        #expect(page.contains("<i>\(words)</i>"))
        #expect(page.contains("<b>backend</b><b>onesignal</b>"))
        #expect(page.contains("--n:2") && page.contains("--a:0;--w:1"))
    }

    @Test func `evidence of a finding is shown, and long cases are shortened in the middle`() {
        let page = page([
            ReportFixtures.result(.failed) { result in
                result.findings = [
                    Finding(.unexpectedEffect, expected: "one", actual: "two", evidence: [3])
                ]
                result.timeline = (0..<100).map {
                    ReportFixtures.exchange(.backend, .oneSignal, number: $0)
                }
            }
        ])
        #expect(page.ranges(of: "class=\"x seen\"").count == 1)
        #expect(page.contains("40 messages are left out"))
        #expect(page.ranges(of: "<summary class=row>").count == 60)
    }

    @Test func `unusual entries are marked`() {
        let page = page([
            ReportFixtures.result(.failed) { result in
                result.findings = [
                    Finding(.wrongStateValue, expected: "plan is yearly", actual: "plan is monthly")
                ]
                result.timeline = [("a", 0), ("b", 1)].map { plan, number in
                    ReportFixtures.exchange(
                        .revenueCat,
                        .backend,
                        .delivery(name: "x", attempt: number + 1),
                        body: ["plan": .string(plan), "same": 1],
                        number: number
                    )
                }
            }
        ])
        #expect(page.contains("<dd>plan is <mark>year</mark>ly<dt>actual"))
        #expect(page.contains("<dd>plan is <mark>month</mark>ly"))
        #expect(page.contains("<mark>  &quot;plan&quot;: &quot;b&quot;,</mark>"))
        #expect(!page.contains("<mark>  &quot;same"))
        #expect(!page.contains("&quot;a&quot;,</mark>"))
    }

    @Test func `hundreds of cases stay one page that opens at once`() {
        let results = (0..<500).map { number in
            ReportFixtures.result(.failed, "a/b/c\(number)") { result in
                result.timeline = (0..<20).map {
                    ReportFixtures.exchange(
                        .revenueCat,
                        .backend,
                        body: ["text": .string(String(repeating: "x", count: 900))],
                        number: $0
                    )
                }
            }
        }
        #expect(page(results).utf8.count < 8 << 20)
    }
}
