import FakeServers
import Grammar
import Providers
import Testing
import TestSupport
import Values

/// Readers of `/journal/stream` that do not read.
@Suite("Slow readers of the journal's stream")
struct StreamReaderTests {
    private func push(_ fixture: ControlFixture, _ number: Int, bytes: Int) {
        fixture.ask(
            .oneSignal,
            "POST",
            "/notifications",
            [
                "app_id": .string(OneSignalState.defaultAppID), "included_segments": ["All"],
                "contents": ["en": .string(String(repeating: "x", count: bytes))],
            ],
            fields: [HTTPMessage.Field("x-number", "\(number)")]
        )
    }

    private func stream(_ fixture: ControlFixture) async throws -> AsyncStream<String> {
        let request = HTTPMessage.Request(
            "GET",
            "/assay/v1/journal/stream?all=true",
            fields: [HTTPMessage.Field("host", "127.0.0.1")]
        )
        guard case .lines(let lines) = await fixture.control.respond(to: request) else {
            return AsyncStream { nil }
        }
        return lines
    }

    /// 24 MB of exchanges pass a journal of 4 MiB: a stream that keeps lines shows all of them.
    @Test func `a reader that falls behind is disconnected with a final message`() async throws {
        let fixture = ControlFixture()
        let lines = try await stream(fixture)
        for number in 0..<2000 { push(fixture, number, bytes: 6000) }
        var all: [JSONValue] = []
        for await line in lines { all.append(try JSONValue(parsing: line)) }
        #expect(all.count < 1000, "\(all.count) lines were kept for a reader that did not read")
        let reason = all.last?["cut_off"]?.string ?? ""
        #expect(reason.contains("dropped entry"), "\(reason)")
        #expect(all.dropLast().allSatisfy { $0["cut_off"] == nil })
        #expect(
            fixture.fakes.journal.notes == [
                "a client of /journal/stream was disconnected: \(reason)"
            ]
        )
        let page = await fixture.call("GET", "/journal?limit=1")
        #expect(page["notes"]?.array?.count == 1)
    }

    @Test func `a reader that keeps up receives every entry once`() async throws {
        let fixture = ControlFixture()
        for number in 0..<100 { push(fixture, number, bytes: 10) }
        var lines = try await stream(fixture).makeAsyncIterator()
        var sequences: [Int64] = []
        for number in 0..<200 {
            if number >= 100 { push(fixture, number, bytes: 10) }
            let line = try JSONValue(parsing: try #require(await lines.next()))
            sequences.append(try #require(line["sequence"]?.int64))
        }
        #expect(sequences == (0..<200).map(Int64.init))
        #expect(fixture.fakes.journal.notes.isEmpty)
    }

    @Test func `the server's end is not the reader's fault`() async throws {
        let fixture = ControlFixture()
        push(fixture, 0, bytes: 10)
        let lines = try await stream(fixture)
        fixture.fakes.journal.endFollowing()
        var count = 0
        for await _ in lines { count += 1 }
        #expect(count == 1)
        #expect(fixture.fakes.journal.notes.isEmpty)
    }

    @Test func `a follower that misses a number is disconnected`() async {
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
