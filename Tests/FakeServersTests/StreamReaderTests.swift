import Conformance
import FakeServers
import Providers
import TestSupport
import Testing

/// Readers of `/journal/stream` that do not read.
@Suite("Slow readers of the journal's stream")
struct StreamReaderTests {
    private func push(_ stage: ControlStage, _ number: Int, bytes: Int) {
        stage.ask(
            .oneSignal,
            "POST",
            "/notifications",
            [
                "app_id": .string(OneSignalState.standardApp), "included_segments": ["All"],
                "contents": ["en": .string(String(repeating: "x", count: bytes))],
            ],
            fields: [HTTPMessage.Field("x-number", "\(number)")]
        )
    }

    private func stream(_ stage: ControlStage) async throws -> AsyncStream<String> {
        let request = HTTPMessage.Request(
            "GET",
            "/assay/v1/journal/stream?all=true",
            fields: [HTTPMessage.Field("host", "127.0.0.1")]
        )
        guard case .lines(let lines) = await stage.control.respond(to: request) else {
            return AsyncStream { nil }
        }
        return lines
    }

    /// 24 MB of exchanges pass a journal of 4 MiB: a stream that keeps lines shows all of them.
    @Test func `a reader that falls behind is cut off with a last line that says so`() async throws
    {
        let stage = ControlStage()
        let lines = try await stream(stage)
        for number in 0..<2000 { push(stage, number, bytes: 6000) }
        var all: [JSONValue] = []
        for await line in lines { all.append(try JSONValue(parsing: line)) }
        #expect(all.count < 1000, "\(all.count) lines were kept for a reader that did not read")
        let reason = all.last?["cut_off"]?.string ?? ""
        #expect(reason.contains("dropped entry"), "\(reason)")
        #expect(all.dropLast().allSatisfy { $0["cut_off"] == nil })
        #expect(
            stage.world.journal.notes == ["a client of /journal/stream was disconnected: \(reason)"]
        )
        let page = await stage.call("GET", "/journal?limit=1")
        #expect(page["notes"]?.array?.count == 1)
    }

    @Test func `a reader that keeps up is shown every entry once, past and coming`() async throws {
        let stage = ControlStage()
        for number in 0..<100 { push(stage, number, bytes: 10) }
        var lines = try await stream(stage).makeAsyncIterator()
        var sequences: [Int64] = []
        for number in 0..<200 {
            if number >= 100 { push(stage, number, bytes: 10) }
            let line = try JSONValue(parsing: try #require(await lines.next()))
            sequences.append(try #require(line["sequence"]?.int64))
        }
        #expect(sequences == (0..<200).map(Int64.init))
        #expect(stage.world.journal.notes.isEmpty)
    }

    @Test func `the end of the server is no fault of the reader`() async throws {
        let stage = ControlStage()
        push(stage, 0, bytes: 10)
        let lines = try await stream(stage)
        stage.world.journal.endFollowing()
        var count = 0
        for await _ in lines { count += 1 }
        #expect(count == 1)
        #expect(stage.world.journal.notes.isEmpty)
    }

    @Test func `a follower that misses a number is ended`() async {
        let journal = LiveJournal(bytesMax: 1 << 20)
        let numbers = journal.follow()
        let exchange = Exchange(
            from: .backend,
            to: .oneSignal,
            namespace: "",
            purpose: .call,
            at: Instant(milliseconds: 1),
            request: HTTPMessage.Request("GET", "/")
        )
        for _ in 0..<70_000 { journal.write(exchange, invoked: 0) }
        var heard: [Int] = []
        for await number in numbers { heard.append(number) }
        #expect(heard == Array(0..<65_536))
    }
}
