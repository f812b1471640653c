import Contracts
import Foundation
internal import Providers
import Recording
import Testing
import TestSupport
import Values

/// Laws of all importers: a recording holds what is imported, and one bad entry costs no other.
@Suite("Imported recordings can be read again")
struct ImportPropertyTests {
    private static let now = Instant(milliseconds: 1_790_000_000_000)
    private static let context = Importer.Context(
        webhooks: [.revenueCat: "POST /hooks/rc"],
        now: now
    )
    private static let statuses = [
        "0", "1", "99", "100", "200", "404", "599", "999", "1000", "-1", "9223372036854775807",
        "1e400", "2.5", "null", "\"200\"", "true", "{}",
    ]
    private static let times = [
        "2026-11-21T10:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1999-12-31",
        "1970-01-01T00:00:00Z", "tomorrow", "",
    ]
    private static let names = ["X-A", ":status", ":assay-later", ":assay-omitted", ""]
    private static let targets = ["/a", "/b?c=d", "http://h/x", "a", "*", "", "/\u{1}", "//"]
    private static let formats: [Importer.Format] = [
        .har, .ndjson, .pact, .postman, .openapi, .events,
    ]

    /// One entry of a format, with values at the edges of their types.
    private static func entry(
        _ format: Importer.Format,
        _ generator: inout SeededGenerator
    ) -> String {
        func pick(_ values: [String]) -> String {
            values[Int(generator.next() % UInt64(values.count))]
        }
        let status = pick(statuses)
        let time = pick(times)
        let name = pick(names)
        let target = JSONValue.string(pick(targets)).text
        let depth = Int(generator.next() % 200)
        let deep = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let body = JSONValue.string(deep).text
        switch format {
        case .har:
            return #"{"startedDateTime":"\#(time)","time":\#(pick(["1", "-1", "1e300"])),"#
                + #""request":{"method":"POST","url":\#(target),"#
                + #""headers":[{"name":"\#(name)","value":"1 x"}],"postData":{"text":\#(body)}},"#
                + #""response":{"status":\#(status),"content":{"text":\#(body)}}}"#
        case .ndjson:
            return #"{"method":"POST","url":\#(target),"status":\#(status),"at":"\#(time)","#
                + #""headers":{"\#(name)":"1 x"},"body":\#(body),"response":\#(body)}"#
        case .pact:
            return #"{"request":{"method":"post","path":\#(target),"headers":{"\#(name)":"1"}},"#
                + #""response":{"status":\#(status),"body":\#(body)}}"#
        case .postman:
            return #"{"request":{"method":"POST","url":\#(target)},"#
                + #""response":[{"code":\#(status),"body":\#(body)}]}"#
        case .events:
            let moment = pick(["0", "1790000000000", "9223372036854775807", "-9000000000000000"])
            return #"{"event":{"type":"RENEWAL","id":"E","event_timestamp_ms":\#(moment)}}"#
        case .openapi, .curl, .mitmproxy:
            return #"{"get":{"responses":{"\#(status)":{"content":"#
                + #"{"application/json":{"example":\#(body)}}}}}}"#
        }
    }

    private static func file(_ format: Importer.Format, _ entries: [String]) -> String {
        let list = entries.joined(separator: ",")
        return switch format {
        case .har: #"{"log":{"entries":[\#(list)]}}"#
        case .pact:
            #"{"interactions":[\#(list)],"metadata":{"pactSpecification":{"version":"3"}}}"#
        case .postman:
            #"{"info":{"schema":"https://schema.getpostman.com/json/collection/v2.1.0/c.json"},"#
                + #""item":[\#(list)]}"#
        case .ndjson, .events, .curl, .mitmproxy: entries.joined(separator: "\n")
        case .openapi:
            #"{"openapi":"3.0.0","paths":{"#
                + entries.enumerated().map { #""/p\#($0.offset)":\#($0.element)"# }
                .joined(separator: ",") + "}}"
        }
    }

    private func write(_ exchanges: [Exchange]) throws -> (recording: Recording, notes: [String]) {
        try RecordingFileTests.written(exchanges, in: TemporaryFolder())
    }

    @Test("every imported file is readable as a recording", arguments: formats)
    func readable(format: Importer.Format) throws {
        var generator = SeededGenerator(seed: 46)
        var importedCount = 0
        for _ in 0..<40 {
            let entries = (0..<12).map { _ in Self.entry(format, &generator) }
            let text = Self.file(format, entries)
            guard
                let found = try? Importer.exchanges(
                    Array(text.utf8),
                    format: format,
                    Self.context
                )
            else { continue }
            importedCount += found.exchanges.count
            let (recording, notes) = try write(found.exchanges)
            #expect(notes.isEmpty, "\(notes)")
            #expect(recording.exchanges.count == found.exchanges.count)
            #expect(recording.exchanges.map(\.at) == found.exchanges.map(\.at))
            #expect(
                recording.exchanges.map { $0.response?.status }
                    == found.exchanges.map { $0.response?.status }
            )
        }
        #expect(importedCount > 0)
    }

    @Test("a status that no recording holds costs its entry alone", arguments: [0, 99, 1000])
    func statuses(status: Int) throws {
        let lines = [200, status, 201].map { #"{"method":"GET","url":"/a","status":\#($0)}"# }
        let found = try Importer.exchanges(
            Array(lines.joined(separator: "\n").utf8),
            format: .ndjson,
            Self.context
        )
        #expect(found.exchanges.map { $0.response?.status } == [200, 201])
        #expect(
            found.notes == [
                "entry 2 (line 2) is left out: "
                    + "'status' is \(status), not a status between 100 and 999"
            ]
        )
    }

    @Test func `many bad entries are counted and not listed`() throws {
        let lines = ["{\"method\":\"GET\",\"url\":\"/a\"}"] + Array(repeating: "x", count: 1000)
        let found = try Importer.exchanges(
            Array(lines.joined(separator: "\n").utf8),
            format: .ndjson,
            Self.context
        )
        #expect(found.exchanges.count == 1)
        #expect(found.notes.count == 21 && found.notes.last == "980 more entries are left out")
    }

    /// A hundred flows, each with a body of 1 MiB that is packed into 1 KB.
    @Test func `packed bodies of a file are bounded together`() throws {
        let bomb = try #require(Data(base64Encoded: Self.packedZeros).map(Array.init))
        let plainCount = 1 << 20
        func net(_ payload: [UInt8], _ sign: Character) -> [UInt8] {
            Array("\(payload.count):".utf8) + payload + Array(String(sign).utf8)
        }
        func text(_ text: String) -> [UInt8] { net(Array(text.utf8), ";") }
        func flow(_ path: String) -> [UInt8] {
            let name = net(Array("Content-Encoding".utf8), ",")
            let header = net(name + net(Array("gzip".utf8), ","), "]")
            let request =
                text("method") + text("POST") + text("host") + text("h") + text("path") + text(path)
                + text("headers") + net(header, "]") + text("content") + net(bomb, ",")
            return net(text("type") + text("http") + text("request") + net(request, "}"), "}")
        }
        let flows = (0..<100).flatMap { flow("/\($0)") }
        let found = try Importer.exchanges(flows, format: .mitmproxy, Self.context)
        let total = found.exchanges.reduce(0) { $0 + $1.request.body.count }
        #expect(found.exchanges.allSatisfy { $0.request.body.count == plainCount })
        #expect(total == 64 << 20, "64 MiB for a file that is small")
        #expect(found.notes.count == 21, "each that is left out is noted or counted")
    }

    @Test func `a schema whose references multiply costs no more than its bound`() throws {
        let text = """
            {"openapi":"3.0.0","paths":{"/a":{"get":{"responses":{"200":{"content":{"application/json":
            {"schema":{"$ref":"#/s"}}}}}}},"/b":{"get":{"responses":{"204":{}}}}},
            "s":{"properties":{"a":{"$ref":"#/s"},"b":{"$ref":"#/s"},"c":{"$ref":"#/s"}}}}
            """
        let found = try Importer.exchanges(Array(text.utf8), format: .openapi, Self.context)
        #expect(found.exchanges.map(\.request.target) == ["/b"])
    }

    /// 1 MiB of zeros, by gzip.
    private static let packedZeros =
        "H4sIAAAAAAACA+3BMQEAAADCoPVPbQhfo"
        + String(repeating: "A", count: 1355)
        + "PgMc6jinAAAQAA=="
}
