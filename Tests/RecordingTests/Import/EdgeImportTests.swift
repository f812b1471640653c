import Foundation
internal import Providers
import Recording
import Testing
import TestSupport
import Values

/// Edge values for every importer and for recordings: each file is read or refused.
@Suite("Files with values at the edge of their types", .serialized)
struct EdgeImportTests {
    private static let now = Instant(milliseconds: 1_790_000_000_000)
    private static let context = Importer.Context(
        webhooks: [.revenueCat: "POST /hooks/rc", .purchasely: "POST /hooks/ply"],
        now: now
    )

    /// A small file of each format.
    private static let files: [(format: Importer.Format, text: String)] = [
        (
            .har,
            #"{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[{"#
                + #""startedDateTime":"2026-11-21T10:00:00.000Z","time":12.5,"request":{"#
                + #""method":"POST","url":"https://shop.example:8080/hooks/rc?x=1","#
                + #""httpVersion":"HTTP/1.1","headers":[{"name":"X-A","value":"1"}],"#
                + #""queryString":[{"name":"x","value":"1"}],"headersSize":100,"bodySize":7,"#
                + #""postData":{"mimeType":"application/json","text":"{\"a\":1}","#
                + #""params":[{"name":"a","value":"1"}]}},"response":{"status":200,"#
                + #""statusText":"OK","headers":[{"name":"content-length","value":"11"}],"#
                + #""content":{"size":11,"compression":0,"text":"eyJvayI6dHJ1ZX0=","#
                + #""encoding":"base64"},"redirectURL":"","headersSize":-1,"bodySize":11},"#
                + #""cache":{},"timings":{"send":0,"wait":12.5,"receive":0}}]}}"#
        ),
        (
            .ndjson,
            #"{"method":"POST","url":"/a?x=1","status":200,"at":"2026-11-21T10:00:00Z","#
                + #""headers":{"X-A":"1"},"body":{"a":1},"response":{"ok":true}}"# + "\n"
                + #"{"method":"GET","url":"http://h:80/b","status":404,"at":1790000000000}"#
        ),
        (
            .events,
            #"{"event":{"type":"RENEWAL","id":"E1","event_timestamp_ms":1790000000000,"#
                + #""app_user_id":"ada","purchased_at_ms":1790000000000,"#
                + #""expiration_at_ms":1792000000000,"price":9.99}}"#
        ),
        (
            .events,
            #"{"event_name":"ACTIVATE","event_id":"E2","event_created_at_ms":1790000000000,"#
                + #""event_created_at":"2026-09-21T14:13:20.000Z","user_id":"ada"}"#
        ),
        (
            .pact,
            #"{"interactions":[{"type":"Synchronous/HTTP","request":{"method":"POST","#
                + #""path":"/a","query":{"q":["x y"]},"headers":{"X-A":["1"]},"#
                + #""body":{"contentType":"application/json","encoded":false,"content":{"n":1}}},"#
                + #""response":{"status":201,"body":{"content":{"id":7}}}}],"#
                + #""metadata":{"pactSpecification":{"version":"4.0"}}}"#
        ),
        (
            .postman,
            #"{"info":{"schema":"https://schema.getpostman.com/json/collection/v2.1.0/c.json"},"#
                + #""variable":[{"key":"base","value":"http://h:80"}],"#
                + #""item":[{"name":"f","item":[{"request":{"method":"POST","#
                + #""header":[{"key":"X-A","value":"1"}],"url":{"raw":"{{base}}/a?x=1","#
                + #""host":["{{base}}"],"port":"80","path":["a"],"#
                + #""query":[{"key":"x","value":"1"}]},"body":{"mode":"raw","raw":"{}"}},"#
                + #""response":[{"code":200,"responseTime":12,"body":"{}","#
                + #""header":[{"key":"Date","value":"x"}]}]}]}]}"#
        ),
        (
            .openapi,
            ##"{"openapi":"3.0.0","servers":[{"url":"http://h:80/v1"}],"paths":{"/a/{id}":{"post":{"##
                + ##""parameters":[{"name":"id","in":"path","required":true,"##
                + ##""schema":{"type":"integer","minimum":1,"maximum":9,"example":5}},"##
                + ##"{"name":"q","in":"query","schema":{"type":"string","minLength":2,"##
                + ##""maxLength":4,"format":"date-time"}}],"requestBody":{"content":{"##
                + ##""application/json":{"schema":{"$ref":"#/components/schemas/s"}}}},"##
                + ##""responses":{"200":{"content":{"application/json":{"example":{"a":1}}}}}}}},"##
                + ##""components":{"schemas":{"s":{"type":"object","properties":{"n":{"##
                + ##""type":"number","minimum":1.5,"multipleOf":0.5},"l":{"type":"array","##
                + ##""minItems":2,"items":{"type":"string","enum":["x"]}},"o":{"oneOf":[{"##
                + ##""type":"boolean"}]}}}}}}"##
        ),
        (
            .openapi,
            """
            openapi: 3.0.0
            paths:
              /a:
                get:
                  responses:
                    '200': {content: {application/json: {example: {a: 1, at: 2026-01-01}}}}

            """
        ),
        (
            .curl,
            """
            curl 'http://127.0.0.1:8080/a b' -X PUT --max-time 5 --retry 3 \\
              -H 'X-Name: O'\\''Brien' --data-raw $'{"a":"it\\'s \\x41\\u00e9"}' --compressed
            $ curl -s http://h:80/login -d user=ada -d "pass=\\"x\\"" -u ada:pw -m 12.5
            curl -G 127.0.0.1:8080/find --data-urlencode 'q=1 2'
            curl http://h:80/up --max-time 5 -F 'f=x;type=text/plain'

            """
        ),
        (.mitmproxy, flow),
    ]

    /// A flow as mitmproxy writes it.
    private static let flow: String = {
        func value(_ payload: String, _ sign: Character) -> String {
            "\(payload.utf8.count):\(payload)\(sign)"
        }
        func text(_ text: String) -> String { value(text, ";") }
        func table(_ members: [(String, String)]) -> String {
            value(members.map { text($0.0) + $0.1 }.joined(), "}")
        }
        let headers = value(value(value("Content-Length", ",") + value("7", ","), "]"), "]")
        let request = table([
            ("method", value("POST", ",")), ("host", text("h")), ("port", value("443", "#")),
            ("path", value("/a?x=1", ",")), ("headers", headers),
            ("content", value(#"{"k":1}"#, ",")), ("timestamp_start", value("1790000000.25", "^")),
            ("timestamp_end", value("1790000000.5", "^")),
        ])
        let response = table([
            ("status_code", value("201", "#")), ("headers", headers),
            ("content", value(#"{"k":1}"#, ",")), ("timestamp_start", value("1790000001.25", "^")),
            ("timestamp_end", value("1790000001.5", "^")),
        ])
        return table([
            ("type", text("http")), ("version", value("21", "#")), ("request", request),
            ("response", response), ("websocket", value("", "~")),
        ])
    }()

    private static func changed(
        _ file: (format: Importer.Format, text: String),
        _ edges: inout EdgeValues
    ) -> [UInt8] {
        let bytes = Array(file.text.utf8)
        guard !edges.isOnce(in: 3), let json = try? JSONValue(parsing: bytes) else {
            return edges.changed(text: bytes)
        }
        return edges.changed(json)
    }

    @Test("every importer reads or refuses every file", arguments: EdgeValues.seeds)
    func importers(seed: UInt64) async throws {
        var edges = EdgeValues(seed: seed, text: "importers")
        let folder = try TemporaryFolder()
        var readCount = 0
        for (format, text) in Self.files {
            #expect(throws: Never.self) {
                try Importer.exchanges(Array(text.utf8), format: format, Self.context)
            }
        }
        for number in 0..<EdgeValues.inputCount(500) {
            let file = edges.pick(Self.files)
            let bytes = Self.changed(file, &edges)
            let isInTime = await EdgeValues.run(bytes) {
                _ = Importer.format(of: bytes)
                let found = try? Importer.exchanges(bytes, format: file.format, Self.context)
                guard let found else { return }
                readCount += 1
                guard number % 16 == 0 else { return }
                let recording = try? RecordingFileTests.written(found.exchanges, in: folder)
                    .recording
                #expect(recording?.exchanges.count == found.exchanges.count)
            }
            #expect(isInTime, "\(String(decoding: bytes, as: UTF8.self))")
        }
        #expect(readCount > 0)
        #expect(EdgeValues.isWithinMemory)
    }

    @Test(
        "a changed recording is read, exported and distilled, or refused",
        arguments: EdgeValues.seeds
    )
    func recordings(seed: UInt64) async throws {
        var edges = EdgeValues(seed: seed, text: "recordings")
        let folder = try TemporaryFolder()
        var exchanges: [Exchange] = []
        for file in Self.files {
            let bytes = Array(file.text.utf8)
            exchanges += try Importer.exchanges(bytes, format: file.format, Self.context).exchanges
        }
        for index in exchanges.indices { exchanges[index].sequence = index + 1 }
        _ = try RecordingFileTests.written(exchanges, in: folder)
        let lines = try #require(folder.read("recording.ndjson")).split(separator: "\n")
            .map { try JSONValue(parsing: Array($0.utf8)) }
        var readCount = 0
        for number in 0..<EdgeValues.inputCount(100, divisor: 4) {
            let chosen = edges.pick(Array(lines.indices))
            var bytes: [UInt8] = []
            for (index, line) in lines.enumerated() {
                bytes += index == chosen ? edges.changed(line) : line.bytes
                bytes.append(UInt8(ascii: "\n"))
            }
            let isInTime = await EdgeValues.run(bytes) {
                guard let (recording, _) = try? Recording.parse(bytes) else { return }
                readCount += 1
                guard number % 4 == 0 else { return }
                for format in Exporter.Format.allCases {
                    #expect(!Exporter.text(recording, format, base: "http://h").isEmpty)
                }
                let options = Distiller.Options(id: "a/b", source: "x")
                _ = Distiller.contracts(recording, options)
            }
            #expect(isInTime)
        }
        #expect(readCount > 0)
        #expect(EdgeValues.isWithinMemory)
    }
}
