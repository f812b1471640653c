import Recording
import Testing
import TestSupport
import Values

@Suite("Possible secrets in a recording")
struct RecordingCheckTests {
    private static func recording(_ exchange: Exchange) -> Recording {
        Recording(header: RecordingFileTests.header, exchanges: [exchange])
    }

    private static let open: Exchange = {
        var exchange = RecordingFileTests.exchange(
            7,
            "POST",
            "/login?access_token=ya29.planted-token-0123456789",
            body: ["user": ["password": "planted-password-1"], "plan": "premium"],
            answer: ["session": ["token": "planted-token-22222222"], "ok": true]
        )
        exchange.request.fields = [
            .init("Accept", "*/*"), .init("Authorization", "Bearer planted-bearer-3333"),
        ]
        return exchange
    }()

    @Test func `each secret is reported by its location without its value`() {
        let findings = RecordingCheck.findings(in: Self.recording(Self.open))
        #expect(
            findings.map(\.location) == [
                "target", "request header authorization", "request body /user/password",
                "response body /session/token",
            ]
        )
        #expect(findings.allSatisfy { $0.sequence == 7 && !$0.kind.isEmpty })
        #expect(!"\(findings)".contains("planted"))
    }

    @Test func `a redacted recording is clean, except for custom secret names`() {
        let clean = Redactor(key: [1]).exchange(Self.open)
        #expect(RecordingCheck.findings(in: Self.recording(clean)).isEmpty)
        let own = RecordingCheck.findings(in: Self.recording(clean), names: ["plan"])
        #expect(own.map(\.location) == ["request body /plan"])
    }

    /// The profile of the day it was recorded declared them; they count for ever.
    @Test func `the names in the header count`() {
        var recording = Self.recording(Redactor(key: [1]).exchange(Self.open))
        recording.header.redaction = ["plan"]
        #expect(RecordingCheck.findings(in: recording).map(\.location) == ["request body /plan"])
    }

    @Test("nothing looks secret in what ships", arguments: ShippedRecordingsTests.scenarios)
    func shipped(scenario: String) throws {
        let recording = try ShippedRecordingsTests.recording(scenario)
        #expect(RecordingCheck.findings(in: recording).isEmpty)
    }

    @Test func `lines of a golden contract that look secret are reported`() {
        let text = """
            steps:
              - request: post-login
                body: {"password":"{{some.password1}}","user":"{{user.ada}}"}
              - request: post-other
                body: {"password":"planted-1","note":"mail ada@mail.example"}
                response: {"ok":true}
            """
        let found = RecordingCheck.lines(of: text)
        #expect(found.map(\.number) == [5])
        #expect(
            RecordingCheck.lines(of: "x-shop: abc", names: ["X-Shop"]).map(\.kind) == ["secret"]
        )
    }

    @Test func `no line of a shipped golden looks secret`() {
        for (path, text) in Repository.files(below: "recordings", ending: "yaml") {
            let found = RecordingCheck.lines(of: text).map { "\(path):\($0.number) \($0.kind)" }
            #expect(found.isEmpty)
        }
    }
}
