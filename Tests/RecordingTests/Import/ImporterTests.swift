import Contracts
internal import Providers
import Recording
import Testing
import Values

@Suite("Import and export")
struct ImporterTests {
    private static let context = Importer.Context(
        webhooks: [.revenueCat: "POST /hooks/rc"],
        now: Instant(milliseconds: 1_790_000_000_000)
    )

    private func read(
        _ text: String,
        _ format: Importer.Format? = nil
    ) throws -> (exchanges: [Exchange], notes: [String]) {
        let bytes = Array(text.utf8)
        let chosen = try #require(format ?? Importer.format(of: bytes))
        return try Importer.exchanges(bytes, format: chosen, Self.context)
    }

    private static let har = """
        {"log": {"version": "1.2", "entries": [
          {"startedDateTime": "2026-11-21T10:00:00.000Z", "time": 12.5,
           "request": {"method": "POST", "url": "https://shop.example/hooks/rc?x=1#top",
             "headers": [{"name": ":authority", "value": "x"}, {"name": "X-A", "value": "1"}],
             "postData": {"mimeType": "application/json", "text": "{\\"a\\":1}"}},
           "response": {"status": 200, "headers": [{"name": "content-encoding", "value": "gzip"}],
             "content": {"text": "eyJvayI6dHJ1ZX0=", "encoding": "base64"}}}]}}
        """

    @Test func `a browser's archive`() throws {
        let one = try #require(try read(Self.har).exchanges.first)
        #expect(one.request.method == "POST")
        #expect(one.request.target == "/hooks/rc?x=1")
        #expect(one.request.fields.map(\.name) == ["X-A"])
        #expect(one.from == .revenueCat, "the path says whose it is")
        #expect(one.response?.body == Array(#"{"ok":true}"#.utf8))
        #expect(one.response?.fields.isEmpty == true)
    }

    @Test func `curl commands as shells and browsers write them`() throws {
        let text = """
            # a comment
            curl 'http://127.0.0.1:8080/a b' -X PUT \\
              -H 'X-Name: O'\\''Brien' --data-raw $'{"a":"it\\'s"}' --compressed
            $ curl -s http://127.0.0.1:8080/login -d user=ada -d "pass=\\"x\\"" -u ada:pw
            curl -G 127.0.0.1:8080/find -d q=1
            """
        let found = try read(text).exchanges
        #expect(found.map(\.request.method) == ["PUT", "POST", "GET"])
        #expect(found[0].request[field: "x-name"] == "O'Brien")
        #expect(found[0].request.body == Array(#"{"a":"it's"}"#.utf8))
        #expect(found[1].request.body == Array("user=ada&pass=\"x\"".utf8))
        #expect(found[1].request[field: "authorization"] == "Basic YWRhOnB3")
        #expect(found[2].request.target == "/find?q=1")
    }

    @Test func `events as RevenueCat's dashboard shows them, one or many`() throws {
        let event = #"{"event":{"type":"RENEWAL","id":"E1","event_timestamp_ms":1790000000000}}"#
        for text in [event, "[\(event),\(event)]", event + "\n" + event + "\n"] {
            let found = try read(text).exchanges
            #expect(!found.isEmpty)
            #expect(found.allSatisfy { $0.from == .revenueCat && $0.request.target == "/hooks/rc" })
        }
        #expect(throws: RecordingError.self) { try read(#"{"event":{"id":"E1"}}"#, .events) }
    }

    @Test(
        "a Pact of either version",
        arguments: [
            (
                "3.0.0",
                #"{"request":{"method":"post","path":"/a","query":{"q":["x y"]},"body":{"n":1}},"response":{"status":201,"body":{"id":7}}}"#
            ),
            (
                "4.0",
                #"{"type":"Synchronous/HTTP","request":{"method":"POST","path":"/a","query":{"q":["x y"]},"body":{"contentType":"application/json","content":{"n":1}}},"response":{"status":201,"body":{"contentType":"application/json","content":{"id":7}}}}"#
            ),
        ]
    )
    func pact(version: String, interaction: String) throws {
        let text =
            #"{"interactions":[\#(interaction)],"metadata":{"pactSpecification":{"version":"\#(version)"}}}"#
        let one = try #require(try read(text).exchanges.first)
        #expect(one.request.method == "POST")
        #expect(one.request.target == "/a?q=x%20y")
        #expect(one.request.body == Array(#"{"n":1}"#.utf8))
        #expect(one.response?.status == 201)
        #expect(one.response?.body == Array(#"{"id":7}"#.utf8))
        let old = text.replacing(version, with: "2.0.0")
        #expect(throws: RecordingError.self) { try read(old) }
    }

    @Test func `an exported recording can be imported again`() throws {
        let recording = try Recording.parse(RecordingFileTests.bytes()).recording
        let har = Exporter.text(recording, .har, base: "http://127.0.0.1:8080")
        let again = try read(har, .har).exchanges
        // The one that had no answer has status 0 there, and an archive cannot say more.
        #expect(again.map(\.request.target) == ["/api/user/register", "/api/user/register"])
        #expect(again[0].request.body == recording.exchanges[0].request.body)
        #expect(again[0].response?.body == recording.exchanges[0].response?.body)
        let curl = Exporter.text(recording, .curl, base: "http://127.0.0.1:8080")
        let commands = try read(curl, .curl).exchanges
        #expect(commands.map(\.request.method) == ["POST", "PUT", "POST"])
        #expect(commands[0].request.body == recording.exchanges[0].request.body)
    }

    /// Near-valid files of every format: an error or exchanges, never a crash.
    @Test(arguments: Importer.Format.allCases)
    func `broken files of every format never crash`(format: Importer.Format) {
        var generator = SeededGenerator(seed: 11)
        let seeds = [
            Self.har, "curl 'x' -d '{\"a\": 1}' -H 'A: b' \\\n -X PUT",
            #"{"event":{"type":"A","id":"b"}}"#, #"{"method":"GET","url":"/a","status":200}"#,
            #"{"interactions":[{"request":{"method":"GET","path":"/"}}],"metadata":{"pactSpecification":{"version":"3"}}}"#,
        ]
        for _ in 0..<1500 {
            var bytes = Array(seeds[Int(generator.next() % UInt64(seeds.count))].utf8)
            for _ in 0..<(1 + generator.next() % 6) {
                let index = Int(generator.next() % UInt64(bytes.count))
                switch generator.next() % 3 {
                case 0: bytes[index] = UInt8(truncatingIfNeeded: generator.next())
                case 1: bytes.remove(at: index)
                default: bytes.insert(contentsOf: bytes.prefix(index / 2), at: index)
                }
                if bytes.isEmpty { bytes = [0] }
            }
            do throws(RecordingError) {
                _ = try Importer.exchanges(bytes, format: format, Self.context)
            } catch {
                #expect(error.line >= 1 && !error.problem.isEmpty && !error.remedy.isEmpty)
            }
            _ = Importer.format(of: bytes)
        }
    }
}
