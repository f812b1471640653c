import Contracts
import FakeServers
import Foundation
import Grammar
import Judging
import Providers
import Recording
import Redaction
import Replay
import Reports
import Testing
import TestSupport
import Values

/// Whatever leaves the program, by whichever way: none of the planted secrets is in it.
@Suite("Secrets in every output")
struct SecretSinkTests {
    private static let base = Instant(milliseconds: 1_790_000_000_000)

    private func expectClean(_ text: String, _ sink: String) {
        #expect(!text.isEmpty)
        for planted in PlantedSecret.all where text.contains(planted.secret) {
            let line = text.split(separator: "\n").first { $0.contains(planted.secret) } ?? ""
            Issue.record("\(sink) shows \(planted.name): \(line.prefix(400))")
        }
    }

    @Test
    func `at least 118 kinds of secrets are planted, and each is distinct from the others`() {
        #expect(PlantedSecret.all.count >= 118)
        for planted in PlantedSecret.all {
            let others = PlantedSecret.all.filter { $0.secret.contains(planted.secret) }
            // The same value may stand in two places.
            #expect(Set(others.map(\.secret)) == [planted.secret], "\(planted.name)")
        }
    }

    // MARK: The control API

    private func fakes() -> FakeRegistry {
        let fakes = FakeRegistry(
            journalBytesMax: 1 << 22,
            keys: [.revenueCat: Secret("sk_planted_4436")],
            wallClock: { Self.base }
        )
        fakes.edit("") { services, _ in
            services.revenueCat.webhooks = [
                .init(
                    id: "main",
                    url: "http://127.0.0.1:1/x",
                    authorization: Secret("Bearer declared-value-9917")
                )
            ]
        }
        for planted in PlantedSecret.all { fakes.journal.write(planted.exchange, invoked: 0) }
        return fakes
    }

    private func call(_ fakes: FakeRegistry, _ target: String) async -> ControlAPI.ControlResponse {
        let control = ControlAPI(
            fakes: fakes,
            dispatcher: WebhookDispatcher(fakes: fakes, webhookTransport: WebhookMessenger()),
            version: "test",
            servers: [],
            declared: SecretDeclaration(PlantedSecret.declared)
        )
        let host = HTTPMessage.Field("host", "127.0.0.1:1")
        return await control.respond(to: HTTPMessage.Request("GET", target, fields: [host]))
    }

    @Test func `the journal, a page at a time`() async throws {
        guard case .completeResponse(let page) = await call(fakes(), "/assay/v1/journal?limit=1000")
        else {
            Issue.record("no page")
            return
        }
        let entries = try JSONValue(parsing: page.body)["entries"]?.array
        #expect(entries?.count == PlantedSecret.all.count)
        expectClean(String(decoding: page.body, as: UTF8.self), "the journal")
    }

    @Test func `the journal as it grows`() async throws {
        guard case .lines(let lines) = await call(fakes(), "/assay/v1/journal/stream") else {
            Issue.record("no stream")
            return
        }
        var text = ""
        var count = 0
        for await line in lines {
            text += line + "\n"
            count += 1
            if count == PlantedSecret.all.count { break }
        }
        expectClean(text, "the stream")
    }

    @Test func `refusals by the control API contain no planted secret`() async throws {
        let target = "/assay/v1/journal?party=a&party=token%3Dquery-4423"
        guard case .completeResponse(let page) = await call(fakes(), target) else { return }
        expectClean(String(decoding: page.body, as: UTF8.self), "a refusal")
        let wrong = "/assay/v1/journal?party=password%3Dquery-4426"
        guard case .completeResponse(let refusal) = await call(fakes(), wrong) else { return }
        #expect(refusal.status == 400)
        expectClean(String(decoding: refusal.body, as: UTF8.self), "a refusal")
    }

    // MARK: Files

    @Test(
        "a packed file is kept when nothing secret is in it",
        arguments: [
            ("H4sIAAAAAAACAytILC4uzy9KsS3IScwrSU3RLUhMzgZShgCE2CDbGQAAAA==", false),
            ("H4sIAAAAAAACA8vLL8nIzEtXKMlXyMhMSVXISC1KBQAeBWqiFAAAAA==", true),
            ("H4sIAAAAAAACA8vLL8nIzEtX", false),
        ]
    )
    func packed(base64: String, isKept: Bool) throws {
        let folder = try TemporaryFolder()
        let writer = try RecordingWriter(
            path: folder.path + "/recording.ndjson",
            header: RecordingHeader(version: "1", began: Self.base, target: "http://127.0.0.1:1"),
            redactor: Redactor(key: Array("key".utf8))
        )
        var exchange = PlantedSecret.all[0].exchange
        exchange.request.fields = [HTTPMessage.Field("content-type", "application/gzip")]
        exchange.request.body = Array(try #require(Data(base64Encoded: base64)))
        writer.began(exchange)
        writer.close()
        let text = try #require(folder.read("recording.ndjson"))
        let mode = try FileManager.default.attributesOfItem(
            atPath: folder.path + "/recording.ndjson"
        )
        #expect(mode[.posixPermissions] as? Int == 0o600)
        #expect(text.contains("\"base64\"") == isKept)
        #expect(text.contains("\"omitted\"") == !isKept)
    }

    /// As it is, and with the bodies of requests that were on their way before all of them was known.
    @Test("a recording", arguments: [false, true])
    func recording(isBodyRecordedLater: Bool) throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/recording.ndjson"
        let profile = PlantedSecret.declared
        let writer = try RecordingWriter(
            path: path,
            header: RecordingHeader(version: "1", began: Self.base, target: "http://127.0.0.1:1"),
            redactor: Redactor(
                key: Array("key".utf8),
                secrets: Array(profile.secrets.values),
                names: profile.allSecretNames
            ),
            proof: { _ in SenderProof(authorization: .wrong, signature: .stale) }
        )
        for (number, planted) in PlantedSecret.all.enumerated() {
            var exchange = planted.exchange
            exchange.sequence = number
            let (fields, body) = (exchange.request.fields, exchange.request.body)
            if isBodyRecordedLater {
                exchange.request.fields.append(HTTPMessage.Field(":assay-later", "1"))
                exchange.request.body = []
            }
            writer.began(exchange)
            if isBodyRecordedLater { writer.sent(number, fields, body) }
            writer.completed(number, exchange.outcome, exchange.effects, namespace: nil, at: 1)
        }
        writer.close()
        let text = try #require(folder.read("recording.ndjson"))
        expectClean(text, "the recording")
        let (recording, notes) = try Recording.parse(Array(text.utf8))
        #expect(recording.exchanges.count == PlantedSecret.all.count, "\(notes)")
        #expect(notes.isEmpty)
        #expect(!text.contains(":assay"), "what is ours stays ours")
        #expect(recording.exchanges.allSatisfy { $0.proof?.signature == .stale })
    }

    @Test func `a saved run`() throws {
        var report = report()
        report.cases[0].judgment = CaseJudgment(evidence())
        let lines = try SavedRun.lines(report, profile: PlantedSecret.declared, key: 7)
        let text = lines.joined(separator: "\n")
        expectClean(text, "the saved run")
        let saved = try SavedRun(parsing: text)
        #expect(saved.entries.first?.subject?.exchanges.count == PlantedSecret.all.count)
    }

    private func evidence() -> CaseEvidence {
        let plan = CasePlan(SampleContract.contract([]))
        return CaseEvidence(
            plan: plan,
            subject: RunRecord(
                plan: plan.subject,
                namespace: Namespace(name: "n", idForm: .string),
                base: Self.base,
                began: Self.base,
                ended: Self.base,
                exchanges: PlantedSecret.all.map(\.exchange),
                settleEvidence: .notNeeded
            ),
            baselines: [],
            profile: PlantedSecret.declared,
            observability: .init(
                arePushesObservable: true,
                areProbeChangesObservable: true,
                latency: .milliseconds(1)
            )
        )
    }

    // MARK: Reports

    /// Everything of an exchange as careless words would show it.
    private static func spelled(_ exchange: Exchange) -> String {
        var text = "\(exchange.request.method) \(exchange.request.target)\n"
        for field in exchange.request.fields { text += "\(field.name): \(field.value)\n" }
        text += String(decoding: exchange.request.body, as: UTF8.self)
        switch exchange.outcome {
        case .answered(let response), .answerLost(let response?):
            for field in response.fields { text += "\n\(field.name): \(field.value)" }
            text += "\n" + String(decoding: response.body, as: UTF8.self)
        case .failed(_, let words): text += "\n" + words
        case .pending, .requestCut, .answerLost(nil): break
        }
        return text + exchange.effects.map { " \($0.recipients) \($0.content.text)" }.joined()
    }

    private func report() -> RunReport {
        let findings = PlantedSecret.spoken.map { planted in
            var finding = Finding(
                .responseDiffers,
                expected: Self.spelled(planted.exchange),
                actual: planted.exchange.response?.bodyLine ?? "no answer",
                location: SampleContract.location
            )
            finding.nearMiss = [Self.spelled(planted.exchange)]
            return finding
        }
        let all = PlantedSecret.spoken.map { Self.spelled($0.exchange) }.joined(separator: "\n\n")
        let cases = findings.enumerated().map { index, finding in
            CaseResult(
                contract: SampleContract.contract([]),
                verdict: .failed,
                findings: [finding],
                note: finding.expected,
                timeline: index == 0 ? PlantedSecret.all.map(\.exchange) : [],
                base: Self.base,
                backendOutput: index == 0 ? all : ""
            )
        }
        var report = RunReport(
            version: "1",
            suite: "s",
            seed: "x",
            target: "http://ada:pass-4425@127.0.0.1:8080",
            began: Self.base,
            seconds: 1,
            jobs: 1,
            cases: cases,
            isInterrupted: false,
            notes: [all]
        )
        report.declared = SecretDeclaration(PlantedSecret.declared)
        return report
    }

    @Test func `reports for machines`() {
        expectClean(JSONReport.render(report().redacted()), "the JSON report")
        expectClean(JUnitReport.render(report().redacted()), "the JUnit report")
        expectClean(GitHubReport.render(report().redacted()), "the GitHub report")
        expectClean(BadgeReport.render(report().redacted()), "the badge")
    }

    @Test func `HTML, Markdown and terminal reports contain no planted secret`() {
        expectClean(HTMLReport.render(report().redacted()), "the HTML report")
        expectClean(
            MarkdownReport.render(
                report().redacted(),
                replay: ReplayCommand(["assay"]).redacted(SecretDeclaration())
            ),
            "the Markdown report"
        )
        let terminal = TerminalReport(
            style: TerminalStyle(isColored: false),
            replay: ReplayCommand(["assay", "verify"]).redacted(SecretDeclaration())
        )
        expectClean(terminal.blocks(report().redacted()).joined(), "the terminal")
        expectClean(terminal.summary(report().redacted()), "the summary")
    }

    @Test("an error's text", arguments: PlantedSecret.spoken)
    func errors(planted: PlantedSecret) {
        let redaction = Redaction.forReports(SecretDeclaration(PlantedSecret.declared))
        let text = redaction.text("cannot do this: " + Self.spelled(planted.exchange))
        #expect(!text.contains(planted.secret), "\(text)")
    }
}
