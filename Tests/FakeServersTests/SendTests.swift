import FakeServers
import Foundation
import Providers
import Testing
import TestSupport
import Values

/// `assay send` to a URL: what arrives there.
@Suite("Send")
struct SendTests {
    /// What arrived at `/hook`, when those arguments are sent there.
    private func sent(
        _ arguments: [String],
        file: String? = nil
    ) async throws -> (status: Int32, errors: String, requests: [HTTPMessage.Request]) {
        let fakes = FakeRegistry(
            journalBytesMax: 64 << 20,
            wallClock: { Instant(milliseconds: 1_790_000_000_000) }
        )
        let server = try await FakeServer(.oneSignal, fakes: fakes)
        let folder = try TemporaryFolder()
        if let file {
            try Data(file.utf8).write(to: URL(fileURLWithPath: folder.path + "/events"))
        }
        let words: [String] = ["send"] + arguments + ["--to", server.baseURL + "/hook"]
        let result = try await Program(words, folder: folder.path).wait()
        await server.stop()
        // Whatever namespace an id belongs to, it arrived.
        let requests = fakes.journal.read { $0.exchanges }.map(\.request)
        return (result.status, result.errors, requests.filter { $0.target == "/hook" })
    }

    @Test func `copies are sent at the same time, each over its own connection`()
        async throws
    {
        let sent = try await self.sent(["RENEWAL", "--times", "5", "--together"])
        #expect(sent.status == 1, "whoever answers 404 has not taken it")
        #expect(sent.requests.count == 5)
        #expect(Set(sent.requests.map(\.body)).count == 1)
    }

    private static let files: [(text: String, users: [String])] = [
        (
            """
            {"api_version": "1.0", "event": {"type": "RENEWAL", "id": "1", "app_user_id": "ada"}}
            {"event": {"type": "EXPIRATION", "id": "2", "app_user_id": "bob"}}

            """, ["ada", "bob"]
        ),
        (
            #"[{"type": "TEST", "app_user_id": "a"}, {"type": "X", "app_user_id": "b"}]"#,
            ["a", "b"]
        ),
        (#"{"event": {"type": "TEST", "app_user_id": "c"}}"#, ["c"]),
    ]

    @Test("events of a log are sent in their order", arguments: files)
    func events(text: String, users: [String]) async throws {
        let sent = try await self.sent(
            ["--events", "events", "--set", "event.seen=true"],
            file: text
        )
        let events = sent.requests.compactMap { (try? $0.json())?["event"] }
        #expect(events.map { $0["app_user_id"]?.string } == users)
        #expect(events.allSatisfy { $0["seen"] == true })
    }

    private static let brokenFiles: [(text: String, status: Int32, part: String)] = [
        ("{\n", 3, "events:1: this line is not JSON"), ("[]", 4, "contains no event"),
        ("", 4, "contains no event"), ("{\"a\": 1}", 3, "value 1 is neither a webhook body"),
        ("{\"event\": {\"type\": \"A\"}}\n7", 3, "value 2 is neither a webhook body"),
    ]

    @Test("a file without valid events is reported, and nothing is sent", arguments: brokenFiles)
    func broken(text: String, status: Int32, part: String) async throws {
        let sent = try await self.sent(["--events", "events"], file: text)
        #expect(sent.status == status)
        #expect(sent.errors.contains(part), "\(sent.errors)")
        #expect(sent.requests.isEmpty)
    }

    @Test func `a file's bytes are sent as they are`() async throws {
        let sent = try await self.sent(["--body", "events"], file: "{not json \u{e4}")
        #expect(sent.requests.map(\.body) == [Array("{not json \u{e4}".utf8)])
        let edited = try await self.sent(["--body", "events", "--set", "a=1"], file: "{")
        #expect(edited.status == 2)
        #expect(edited.requests.isEmpty)
    }
}
