import Contracts
import Judging
internal import Providers
import Values

/// Reports made by hand, so that a renderer is tested without a run.
enum ReportFixtures {
    static let base = Instant(milliseconds: 1_790_000_000_000)

    static let location = SourceLocation(
        path: "contracts/a/b.yaml",
        line: 7,
        column: 3,
        text: "  like: once",
        length: 4
    )

    static func contract(
        _ id: String = "a/b/c",
        variant: String = "",
        clause: String = "S-03",
        level: Contract.Level = .must,
        title: String = "A redelivered event takes effect once"
    ) -> Contract {
        Contract(
            id: id,
            variant: variant,
            title: title,
            clause: clause,
            level: level,
            source: "a test",
            needs: [],
            given: [],
            steps: [],
            expectation: Contracts.Expectation(responses: .statuses([200])),
            location: location
        )
    }

    static func result(
        _ verdict: Verdict,
        _ id: String = "a/b/c",
        _ change: (inout CaseResult) -> Void = { _ in }
    ) -> CaseResult {
        var result = CaseResult(contract: contract(id), verdict: verdict)
        switch verdict {
        case .failed, .knownFailure:
            result.findings = [
                Finding(.unexpectedEffect, expected: "one", actual: "two", location: location)
            ]
        case .inconclusive:
            result.findings = [
                Finding(.requestsNotConcurrent, expected: "two copies", actual: "one copy")
            ]
        case .notRun, .unexpectedPass: result.note = "because of a reason"
        case .passed: break
        }
        change(&result)
        return result
    }

    /// Failed cases of one clause, each with another wrong value after another event, so that the
    /// first deviation is a cause and the others are listed in it.
    static func deviations(_ count: Int) -> [CaseResult] {
        RevenueCatEventType.Documented.allCases.prefix(count).enumerated().map { index, type in
            result(.failed, "a/case-\(index)") {
                var finding = Finding(.stateDiffers, expected: "true", actual: "false")
                finding.firstDifference = ValueDifference(
                    path: "user/access",
                    expected: "true",
                    actual: "false"
                )
                $0.findings = [finding]
                $0.contract.steps = [
                    RevenueCatEventType.documented(.initialPurchase), .documented(type),
                ].map {
                    let event = EventSpec(type: $0, user: "ada")
                    return .deliver(Delivery(name: "\(index)", subject: .event(event)))
                }
            }
        }
    }

    static func report(
        _ cases: [CaseResult],
        coversWholeSuite: Bool = false,
        notes: [String] = []
    ) -> RunReport {
        var report = RunReport(
            version: "0.1.0",
            suite: "sha256:0123456789abcdef",
            seed: "7",
            target: "http://127.0.0.1:8080",
            began: base,
            seconds: 1.25,
            jobs: 2,
            cases: cases,
            isInterrupted: false,
            notes: notes
        )
        report.coversWholeSuite = coversWholeSuite
        return report
    }

    static func exchange(
        _ from: Exchange.Party,
        _ to: Exchange.Party,
        _ purpose: Exchange.Purpose = .call,
        _ line: String = "POST /x",
        body: JSONValue? = nil,
        phone: String? = nil,
        number: Int = 0,
        at offset: Duration = .zero,
        outcome: Exchange.Outcome = .answered(HTTPMessage.Response(200))
    ) -> Exchange {
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        return Exchange(
            from: from,
            to: to,
            namespace: "n",
            purpose: purpose,
            at: base + offset,
            request: HTTPMessage.Request(words[0], words[1], body: body?.bytes ?? []),
            phone: phone.map { PhoneRef($0) },
            sequence: number,
            outcome: outcome
        )
    }

    /// Texts that a backend, a contract or a person may plant, each a danger to some format.
    static let hostile = [
        "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onmouseover='x",
        "]]>", "<!--", "&lt;b&gt;", "a\u{0}b\u{1b}[2Jc\u{7f}", "::error::planted\n::warning::two",
        "100%\r\nnext,line:two", "\"\u{301} onload=x", "<\u{301}b>", "e\u{301}\u{202e}desrever",
        "\u{fffe}\u{ffff}", "--><svg/onload=x>", "{{7*7}}", "a\tb", "\\u001b[31m",
    ]

    /// A report that holds a text wherever one can be.
    static func planted(_ text: String) -> RunReport {
        let place = SourceLocation(path: text, line: 1, column: 1, text: text, length: 1)
        var finding = Finding(
            .unexpectedEffect,
            expected: text,
            actual: text,
            remedy: text,
            location: place
        )
        finding.nearMiss = [text, text]
        let cases = Verdict.allCases.map { verdict in
            result(verdict, "a/" + verdict.rawValue) { result in
                result.contract.title = text
                result.contract.clause = text
                result.contract.variant = text
                result.contract.location = place
                if !result.findings.isEmpty { result.findings = [finding, finding] }
                result.note = text
                result.volatilePaths = ["subscription/" + text]
                result.backendOutput = text + "\n" + text
                result.base = base
                result.timeline = [
                    exchange(.revenueCat, .backend, .delivery(name: text, attempt: 1)),
                    exchange(.app, .despia, body: ["command": .string(text)], number: 1),
                    exchange(
                        .app,
                        .backend,
                        .appCall(text),
                        body: ["a": .string(text)],
                        phone: text,
                        number: 2
                    ),
                    exchange(
                        .assay,
                        .app,
                        .userAction(text),
                        body: ["text": .string(text)],
                        number: 3
                    ),
                ]
            }
        }
        var report = report(cases, coversWholeSuite: true, notes: [text])
        report.target = text
        report.seed = text
        report.suite = text
        report.version = text
        return report
    }
}
