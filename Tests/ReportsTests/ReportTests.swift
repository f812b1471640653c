import Contracts
import Foundation
import Judging
internal import Providers
import Redaction
import Reports
import Testing
import Values

@Suite("Reports")
struct ReportTests {
    @Test func `the terminal report is as agreed`() {
        let terminal = TerminalReport(
            style: TerminalStyle(isColored: false),
            replay: ReplayCommand([
                "assay", "verify", "--target", "http://127.0.0.1:8080", "--seed", "7",
            ]).redacted(SecretDeclaration())
        )
        let report = SampleReport.report
        let text =
            terminal.blocks(report.redacted()).joined() + terminal.summary(report.redacted())
        expectGolden(text, "terminal.txt")
        for line in text.split(separator: "\n") where !line.hasPrefix("  replay") {
            #expect(line.count <= 100, "\(line)")
        }
        #expect(!text.contains("\u{1b}"))
    }

    @Test func `the JSON report is as agreed, and JSON`() throws {
        let text = JSONReport.render(SampleReport.report.redacted())
        expectGolden(text, "report.json")
        let value = try JSONValue(parsing: text)
        #expect(value["exit"] == 1)
        #expect(value["summary"]?["failed"] == 1)
    }

    @Test func `the JUnit report is as agreed, and XML`() throws {
        let text = JUnitReport.render(SampleReport.report.redacted())
        expectGolden(text, "junit.xml")
        let parser = XMLScan(text)
        #expect(parser.isBalanced)
        #expect(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" })
    }

    @Test func `colour is only where it is asked for`() {
        let plain = TerminalReport(
            style: TerminalStyle(isColored: false),
            replay: ReplayCommand(["assay"]).redacted(SecretDeclaration())
        )
        let coloured = TerminalReport(
            style: TerminalStyle(isColored: true),
            replay: ReplayCommand(["assay"]).redacted(SecretDeclaration())
        )
        #expect(!plain.summary(SampleReport.report.redacted()).contains("\u{1b}["))
        #expect(coloured.summary(SampleReport.report.redacted()).contains("\u{1b}["))
    }

    @Test func `data from a backend cannot move the cursor`() {
        #expect("a\u{1b}[2Jb\r\nc\u{7f}".printable == "a\\u{1b}[2Jb\\u{d}\\u{a}c\\u{7f}")
    }

    private func expectGolden(_ actual: String, _ name: String) {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Golden/\(name)")
        if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] != nil {
            try? Data(actual.utf8).write(to: source)
            return
        }
        let path = Bundle.module.bundlePath + "/Golden/" + name
        let expected = FileManager.default.contents(atPath: path)
            .map { String(decoding: $0, as: UTF8.self) }
        #expect(actual == expected)
    }
}

/// Enough of XML to see that every element is closed by its own name.
private struct XMLScan {
    let isBalanced: Bool

    init(_ text: String) {
        var open: [Substring] = []
        var isBalanced = true
        for part in text.split(separator: "<").dropFirst() {
            guard let end = part.firstIndex(of: ">") else {
                isBalanced = false
                break
            }
            let tag = part[..<end]
            if tag.hasPrefix("?") || tag.hasSuffix("/") { continue }
            if tag.hasPrefix("/") {
                isBalanced = isBalanced && open.popLast() == tag.dropFirst()
            } else {
                open.append(tag.prefix { $0 != " " })
            }
        }
        self.isBalanced = isBalanced && open.isEmpty
    }
}

/// A run with one case of every verdict, all of it fixed.
private enum SampleReport {
    static let base = Instant(milliseconds: 1_790_000_000_000)

    private static func contract(_ id: String, variant: String = "") -> Contract {
        Contract(
            id: id,
            variant: variant,
            title: "A redelivered event takes effect once",
            clause: "S-03",
            level: .must,
            source: "a test",
            needs: [],
            given: [],
            steps: [],
            expectation: Contracts.Expectation(responses: .statuses([200])),
            location: location
        )
    }

    private static let location = SourceLocation(
        path: "contracts/revenuecat/idempotency/duplicate.yaml",
        line: 24,
        column: 9,
        text: "  like: once",
        length: 4
    )

    private static func exchange(
        _ from: Exchange.Party,
        _ to: Exchange.Party,
        _ purpose: Exchange.Purpose,
        _ target: String,
        after offset: Duration,
        _ outcome: Exchange.Outcome,
        effects: [Effect] = []
    ) -> Exchange {
        Exchange(
            from: from,
            to: to,
            namespace: "n",
            purpose: purpose,
            at: base + offset,
            request: HTTPMessage.Request("POST", target),
            outcome: outcome,
            effects: effects
        )
    }

    static var report: RunReport {
        let push = Effect(kind: "onesignal.notification", recipients: ["ada"], content: [:])
        let answered = Exchange.Outcome.answered(HTTPMessage.Response(200))
        let failed = CaseResult(
            contract: contract("revenuecat/idempotency/duplicate", variant: "copies:2"),
            verdict: .failed,
            findings: [
                Finding(
                    .unexpectedEffect,
                    expected: "1 onesignal.notification to ‹ada›, as if every event had come once",
                    actual: "2",
                    location: location,
                    evidence: [2, 4]
                ),
                Finding(
                    .noResponse,
                    expected: "200 for delivery 'again'",
                    actual: "closed\u{1b}[0m <&>"
                ),
            ],
            seconds: 0.0124,
            settleEvidence: .sentinel(quietDuration: .milliseconds(15)),
            timeline: [
                exchange(
                    .app,
                    .backend,
                    .registration(user: "ada"),
                    "/register",
                    after: .zero,
                    answered
                ),
                exchange(
                    .revenueCat,
                    .backend,
                    .delivery(name: "purchase", attempt: 1),
                    "/api/webhooks/revenuecat",
                    after: .zero,
                    answered
                ),
                exchange(
                    .backend,
                    .oneSignal,
                    .call,
                    "/notifications",
                    after: .zero,
                    answered,
                    effects: [push]
                ),
                exchange(
                    .revenueCat,
                    .backend,
                    .delivery(name: "again", attempt: 1),
                    "/api/webhooks/revenuecat",
                    after: .seconds(300),
                    .failed(.closed, "closed")
                ),
            ],
            base: base
        )
        return RunReport(
            version: "0.1.0",
            suite: "sha256:0123456789abcdef",
            seed: "7",
            target: "http://127.0.0.1:8080",
            began: base,
            seconds: 1.25,
            jobs: 2,
            cases: [
                CaseResult(
                    contract: contract("revenuecat/smoke/first"),
                    verdict: .passed,
                    seconds: 0.004,
                    overlap: 8,
                    volatilePaths: ["subscription/row"]
                ),
                failed,
                CaseResult(
                    contract: contract("revenuecat/idempotency/known"),
                    verdict: .knownFailure,
                    findings: [Finding(.wrongEffectCount, expected: "1", actual: "2")],
                    note: "ticket 12"
                ),
                CaseResult(
                    contract: contract("revenuecat/idempotency/mended"),
                    verdict: .unexpectedPass,
                    note: "the known failure E204 on line 3 passes now; delete that line"
                ),
                CaseResult(
                    contract: contract("revenuecat/retry/race"),
                    verdict: .inconclusive,
                    findings: [
                        Finding(.requestsNotConcurrent, expected: "at least 2 copies", actual: "1")
                    ],
                    note: "1"
                ),
                CaseResult(
                    contract: contract("revenuecat/retry/restart"),
                    verdict: .notRun,
                    note: "only a backend that Assay starts can be restarted"
                ),
                CaseResult(
                    contract: contract("revenuecat/retry/push"),
                    verdict: .notRun,
                    note: "the profile declares 'push' unsupported",
                    isDeclaredUnsupported: true
                ),
            ],
            isInterrupted: false,
            notes: ["2 effects named nobody of this run and were counted for no case"]
        )
    }
}
