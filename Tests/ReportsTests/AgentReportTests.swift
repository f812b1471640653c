import Contracts
import Judging
import Providers
import Redaction
import Reports
import TestSupport
import Testing
import Values

/// The report for coding agents: short in every case, and complete for the first cause.
@Suite("The report for coding agents")
struct AgentReportTests {
    private static let replay = ReplayCommand(["assay", "verify", "--seed", "7"])
        .redacted(SecretDeclaration())

    private static func render(_ report: RunReport) -> String {
        AgentReport.render(report.redacted(), replay: replay)
    }

    /// A case in which the backend refuses an event.
    private static func refusal(_ id: String, status: Int = 500) -> CaseResult {
        ReportFixtures.result(.failed, id) { result in
            result.findings = [
                Finding(.wrongStateValue, expected: "access true", actual: "access false")
            ]
            result.base = ReportFixtures.base
            result.timeline = [
                ReportFixtures.exchange(
                    .app,
                    .backend,
                    .registration(user: "ada"),
                    "POST /api/register",
                    number: 1
                ),
                ReportFixtures.exchange(
                    .revenueCat,
                    .backend,
                    .delivery(name: "purchase", attempt: 1),
                    "POST /api/webhook",
                    body: ["event": ["id": "event-9", "type": "RENEWAL"]],
                    number: 2,
                    outcome: .answered(
                        HTTPMessage.Response(status, body: Array(#"{"error":"no column"}"#.utf8))
                    )
                ),
            ]
            result.backendOutput = "ready\nTypeError: no column 'grace'\n    at line 7\nGET 200\n"
        }
    }

    @Test func `the first cause has everything that leads to the fix`() {
        let text = Self.render(ReportFixtures.report([Self.refusal("a/b/c")]))
        let expectedLines = [
            "Assay: not green; 1 failed; seed 7", "1 cause; fix cause 1 first: 1 of 1 case",
            "   case a/b/c (S-03 must, E302): A redelivered event takes effect once",
            "   - app→backend register ada POST /api/register: 200",
            #"   > revenuecat→backend purchase #1 RENEWAL: 500 {"error":"no column"}"#,
            #"     request POST /api/webhook {"event":{"id":"event-9","type":"RENEWAL"}}"#,
            "   expected access true", "   actual access false",
            "   log TypeError: no column 'grace'", "   log GET 200",
            "   replay assay verify --seed 7 --only a/b/c",
            "explain a code or a clause: assay explain E302",
        ]
        let lines = text.split(separator: "\n").map(String.init)
        for line in expectedLines { #expect(lines.contains(line), "\(line)\nis not in\n\(text)") }
        #expect(text.contains("   remedy "))
    }

    @Test func `an error in the log comes before the last lines`() {
        let result = ReportFixtures.result(.failed) {
            let requests = (1...20).map { "GET /\($0) 200" }.joined(separator: "\n")
            $0.backendOutput = "start\npanic: nil map\n" + requests
        }
        let lines = Self.render(ReportFixtures.report([result])).split(separator: "\n")
        #expect(
            lines.filter { $0.contains("   log ") }
                == [
                    "   log panic: nil map", "   log GET /18 200", "   log GET /19 200",
                    "   log GET /20 200",
                ]
        )
    }

    @Test func `the innermost frame of a stack trace stays with its error`() {
        let result = ReportFixtures.result(.failed) {
            let frames = (1...20).map { "\tat Library\($0).exception(L.java:\($0))" }
            $0.backendOutput =
                "NullPointerException: event\n\tat App.parse(App.java:26)\n"
                + frames.joined(separator: "\n")
        }
        let lines = Self.render(ReportFixtures.report([result])).split(separator: "\n")
        #expect(
            lines.filter { $0.contains("   log ") }.prefix(2)
                == ["   log NullPointerException: event", "   log at App.parse(App.java:26)"]
        )
    }

    @Test func `equal requests in a row are one line`() {
        let result = ReportFixtures.result(.failed) {
            $0.timeline = (1...8).map {
                ReportFixtures.exchange(
                    .revenueCat,
                    .backend,
                    .delivery(name: "copy", attempt: $0),
                    number: $0
                )
            }
        }
        let text = Self.render(ReportFixtures.report([result]))
        #expect(text.contains("copy #1 POST /x: 200 (8 times)\n"))
        #expect(!text.contains("copy #2"))
    }

    @Test func `a request that decides is shown in the middle of a long case`() {
        let result = ReportFixtures.result(.failed) {
            $0.timeline = (1...60).map {
                ReportFixtures.exchange(
                    .app,
                    .backend,
                    .appCall("call-\($0)"),
                    number: $0,
                    outcome: .answered(HTTPMessage.Response($0 == 30 ? 500 : 200))
                )
            }
            $0.findings = [
                Finding(.responseStatus, expected: "200", actual: "500", evidence: [30])
            ]
        }
        let text = Self.render(ReportFixtures.report([result]))
        #expect(text.contains("   > app→backend call-30 "))
        #expect(text.contains("   … 18 more requests\n"))
        #expect(text.contains("   … 24 more requests\n"))
    }

    /// A case in which the backend accepts an event and then refuses another one, without a finding
    /// about a status.
    private static func lateDeviation(
        _ kind: FindingCode,
        _ status: Int,
        body: String
    ) -> CaseResult {
        ReportFixtures.result(.failed) {
            $0.timeline = (1...3).map { number in
                var exchange = ReportFixtures.exchange(
                    .revenueCat,
                    .backend,
                    .delivery(name: "event-\(number)", attempt: 1),
                    "POST /hook",
                    number: number,
                    outcome: .answered(HTTPMessage.Response(number == 1 ? status : 200))
                )
                exchange.request.body = Array(body.utf8)
                return exchange
            }
            $0.contract.steps = (1...3).map { number in
                let event = EventSpec(type: .documented(.renewal), user: "ada")
                return .deliver(Delivery(name: "event-\(number)", subject: .event(event)))
            }
            var finding = Finding(kind, expected: "true", actual: "false", evidence: [3])
            if kind == .wrongStateValue {
                finding.firstDifference = ValueDifference(path: "x", expected: "1", actual: "2")
            }
            $0.findings = [finding]
        }
    }

    @Test(
        "an earlier refusal decides, unless the finding is about a status",
        arguments: [200, 500]
    )
    func decidingRequest(status: Int) {
        func marked(_ result: CaseResult) -> String {
            let text = Self.render(ReportFixtures.report([result]))
            return String(text.split(separator: "\n").first { $0.hasPrefix("   > ") } ?? "")
        }
        let wrongValue = marked(Self.lateDeviation(.wrongStateValue, status, body: "{}"))
        #expect(wrongValue.contains(status == 500 ? " event-1 " : " event-3 "), "\(wrongValue)")
        let wrongStatus = marked(Self.lateDeviation(.responseStatus, status, body: "{}"))
        #expect(wrongStatus.contains(" event-3 "), "\(wrongStatus)")
    }

    @Test("the body of a refused request is longer than that of an accepted one")
    func requestLengths() {
        let body = "{\"event\":{\"type\":\"" + String(repeating: "x", count: 3_000) + "\"}}"
        func length(_ result: CaseResult) -> Int {
            let text = Self.render(ReportFixtures.report([result]))
            return text.split(separator: "\n").first { $0.hasPrefix("     request ") }?.count ?? 0
        }
        #expect(
            (1_300...1_500).contains(length(Self.lateDeviation(.wrongStateValue, 500, body: body)))
        )
        #expect((300...500).contains(length(Self.lateDeviation(.effectMissing, 200, body: body))))
        #expect(length(Self.lateDeviation(.wrongStateValue, 200, body: body)) == 0)
    }

    // MARK: The law about the length

    /// A report of a run with many failures of many kinds, with long texts from a backend.
    private static func generatedReport(seed: UInt64) -> RunReport {
        var arbitrary = ArbitraryValues(seed: seed)
        // A few texts of every length are enough, and generating a text takes long.
        let pool = [0, 1, 3, 20, 60, 250].map { count in
            (0..<count).map { _ in arbitrary.text(countMax: 6) }.joined(separator: " ")
        }
        func words(_ countMax: Int) -> String {
            arbitrary.one(of: Array(pool.prefix { $0.count <= 8 * countMax }))
                + " \(arbitrary.int(0...9))"
        }
        let cases = (0..<arbitrary.int(0...250)).map { number in
            let verdict = arbitrary.one(of: Verdict.allCases)
            return ReportFixtures.result(verdict, "a/case-\(number)/" + words(3)) { result in
                result.contract.title = words(60)
                result.contract.clause = arbitrary.one(of: ["S-03", "S-05", "A-01", words(20)])
                result.note = words(40)
                result.hints = (0..<arbitrary.int(0...5)).map { _ in words(40) }
                result.backendOutput = words(400)
                result.replayedCaseIDs = arbitrary.int(0...9) > 0 ? nil : [words(400)]
                for index in result.findings.indices {
                    let code = arbitrary.one(of: FindingCode.allCases)
                    var finding = Finding(
                        code,
                        expected: words(100),
                        actual: words(100),
                        remedy: words(100),
                        evidence: [arbitrary.int(0...25)]
                    )
                    finding.nearMiss = (0..<arbitrary.int(0...9)).map { _ in words(40) }
                    result.findings[index] = finding
                }
                result.timeline = (0..<arbitrary.int(0...10)).map { number in
                    ReportFixtures.exchange(
                        .revenueCat,
                        .backend,
                        .delivery(name: words(3), attempt: number),
                        body: arbitrary.json(),
                        number: number,
                        outcome: .answered(
                            HTTPMessage.Response(
                                arbitrary.one(of: [200, 404, 500]),
                                body: Array(words(200).utf8)
                            )
                        )
                    )
                }
            }
        }
        var report = ReportFixtures.report(cases, notes: (0..<5).map { _ in words(80) })
        report.seed = words(40)
        report.hasTimedOut = arbitrary.bool()
        if arbitrary.int(0...9) == 0 { report.skipReasons = (0..<9).map { _ in words(300) } }
        return report
    }

    @Test(arguments: 0..<12)
    func `every run has a report of less than 4,000 tokens`(seed: UInt64) {
        let report = Self.generatedReport(seed: seed).redacted()
        let text = AgentReport.render(report, replay: Self.replay)
        #expect(text.utf8.count <= AgentReport.lengthMax)
        #expect(AgentReport.lengthMax < 4 * 4_000)
        #expect(text == AgentReport.render(report, replay: Self.replay))
        for scalar in text.unicodeScalars where scalar != "\n" {
            #expect(!scalar.isUnprintable, "\(scalar.visibleEscape)")
        }
        let causes = FailureCauses(report.value)
        #expect(text.contains("\n1. ") == !causes.all.isEmpty)
    }

    @Test func `hundreds of equal failures are one cause with one case`() {
        let cases = (1...300).map { Self.refusal("a/case-\($0)") }
        let text = Self.render(ReportFixtures.report(cases))
        #expect(text.contains("fix cause 1 first: 300 of 300 cases"))
        #expect(text.split(separator: "\n").count { $0.hasPrefix("   case ") } == 1)
        #expect(text.utf8.count < 2_000)
    }

    @Test("every cause of a usual run is named, with the events and the remedy")
    func everyCauseNamed() {
        let cases = RevenueCatEventType.Documented.allCases.prefix(14).enumerated().map {
            index,
            type in
            ReportFixtures.result(.failed, "a/case-\(index)") { result in
                var finding = Finding(.wrongStateValue, expected: "access is true", actual: "false")
                finding.firstDifference = ValueDifference(
                    path: "user/value-\(index)",
                    expected: "true",
                    actual: "false"
                )
                result.findings = [finding]
                let spec = EventSpec(type: .documented(type), user: "ada")
                let purchase = EventSpec(type: .documented(.initialPurchase), user: "ada")
                result.contract.steps = [
                    .deliver(Delivery(name: "first", subject: .event(purchase))),
                    .deliver(Delivery(name: "buy", subject: .event(spec))),
                ]
                let body = #"{"event":{"type":"\#(type.rawValue)","product_id":"p"}}"#
                var delivery = ReportFixtures.exchange(
                    .revenueCat,
                    .backend,
                    .delivery(name: "buy", attempt: 1),
                    "POST /hook"
                )
                delivery.request.body = Array(body.utf8)
                result.timeline = [delivery]
            }
        }
        let text = Self.render(ReportFixtures.report(cases))
        let lines = text.split(separator: "\n").map(String.init)
        let causeCount = FailureCauses(ReportFixtures.report(cases)).all.count
        #expect(causeCount == cases.count)
        let headings = lines.filter { line in
            line.first?.isNumber == true && line.drop { $0.isNumber }.hasPrefix(". ")
        }
        #expect(headings.count == causeCount)
        #expect(lines.count { $0.hasPrefix("   remedy ") } == causeCount)
        #expect(lines.contains { $0.hasPrefix("   events ") && $0.contains(" p") })
        #expect(!text.contains("… and "))
    }

    /// Cases with a wrong value, each after an event of another type, so that each is a cause.
    private static func causes(_ count: Int, transactions: [String]) -> [CaseResult] {
        RevenueCatEventType.Documented.allCases.prefix(count).enumerated().map { number, type in
            ReportFixtures.result(.failed, "a/case-\(number)") { result in
                var finding = Finding(.wrongStateValue, expected: "true", actual: "false")
                finding.firstDifference = ValueDifference(
                    path: "user/value-\(number)",
                    expected: "true",
                    actual: "false"
                )
                result.findings = [finding]
                result.contract.steps = [
                    RevenueCatEventType.documented(.initialPurchase), .documented(type),
                ].enumerated().map { index, type in
                    let event = EventSpec(type: type, user: "ada")
                    return .deliver(Delivery(name: "event-\(index)", subject: .event(event)))
                }
                result.timeline = transactions.enumerated().map { index, id in
                    var delivery = ReportFixtures.exchange(
                        .revenueCat,
                        .backend,
                        .delivery(name: "event-\(index)", attempt: 1),
                        "POST /hook",
                        number: index
                    )
                    let body = #"{"event":{"type":"RENEWAL","transaction_id":"\#(id)"}}"#
                    delivery.request.body = Array(body.utf8)
                    return delivery
                }
            }
        }
    }

    @Test("a brief cause says whether its events share a transaction")
    func sharedTransaction() {
        func line(_ transactions: [String]) -> String {
            let report = ReportFixtures.report(Self.causes(9, transactions: transactions))
            let lines = Self.render(report).split(separator: "\n")
            return lines.last { $0.hasPrefix("   events ") }.map(String.init) ?? ""
        }
        #expect(line(["400000000000001", "400000000000001"]).hasSuffix(" (one transaction)"))
        #expect(line(["400000000000001", "400000000000002"]).hasSuffix(" (several transactions)"))
        #expect(line(["400000000000001"]).hasSuffix("RENEWAL"))
    }

    @Test("every cause has at least its heading", arguments: [0, 40, 80, 120, 300])
    func headings(titleLength: Int) {
        let types = RevenueCatEventType.Documented.allCases.count
        let cases = Self.causes(types, transactions: ["1", "2"]).map { result in
            var result = result
            result.contract.title = String(repeating: "ab ", count: titleLength / 3)
            result.contract.id += String(repeating: "x", count: titleLength)
            return result
        }
        let lines = Self.render(ReportFixtures.report(cases)).split(separator: "\n")
        let headings = lines.filter { line in
            line.first?.isNumber == true && line.drop { $0.isNumber }.hasPrefix(". ")
        }
        #expect(headings.count == types)
        #expect(!lines.contains { $0.hasPrefix("… and ") })
    }

    @Test func `a long replay command is not cut`() {
        let start = String(repeating: "x", count: 5_000)
        let replay = ReplayCommand(["assay", "verify", "--start", start])
            .redacted(SecretDeclaration())
        let report = ReportFixtures.report([Self.refusal("a/b/c")]).redacted()
        let text = AgentReport.render(report, replay: replay)
        #expect(text.contains("   replay your command with --only a/b/c, with the seed above\n"))
    }

    // MARK: Other runs

    @Test func `a green run is one line`() {
        let text = Self.render(ReportFixtures.report([ReportFixtures.result(.passed)]))
        #expect(text.hasPrefix("Assay: green; 1 passed; seed 7\n"))
        #expect(text.utf8.count < 600)
    }

    @Test func `a run that stopped before its first case names the reasons`() {
        var report = ReportFixtures.report([ReportFixtures.result(.notRun)])
        report.skipReasons = ["the backend does not start:\nENOENT"]
        let text = Self.render(report)
        #expect(text.contains("stopped: the backend does not start: ENOENT\n"))
    }

    @Test(arguments: ReportFixtures.hostile)
    func `hostile text stays text`(text: String) {
        let rendered = Self.render(ReportFixtures.planted(text))
        #expect(rendered.unicodeScalars.allSatisfy { $0 == "\n" || !$0.isUnprintable })
        #expect(!rendered.split(separator: "\n").contains { $0.hasPrefix("::") })
    }

    @Test func `a declared secret is masked`() {
        let secret = "os-app-key-assay-77"
        var result = Self.refusal("a/b/c")
        result.backendOutput = "Error: the key \(secret) is refused"
        result.timeline[1].request.body = Array(#"{"key":"\#(secret)"}"#.utf8)
        result.findings = [
            Finding(.wrongStateValue, expected: "key", actual: secret, remedy: "remove \(secret)")
        ]
        var report = ReportFixtures.report([result], notes: ["the key is \(secret)"])
        report.declared.values = ["onesignal-key": Secret(secret)]
        let text = Self.render(report)
        #expect(!text.contains(secret))
        #expect(text.contains("log Error: the key ‹secret:onesignal-key› is refused"))
    }
}
