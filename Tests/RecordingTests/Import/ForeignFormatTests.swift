import Contracts
import Foundation
internal import Providers
import Recording
import Testing
import TestSupport
import Values

/// Flows of mitmproxy, the examples of API descriptions, and events outside deliveries.
@Suite("Sessions and examples of others")
struct ForeignFormatTests {
    private static let now = Instant(milliseconds: 1_790_000_000_000)

    private func read(
        _ bytes: [UInt8],
        _ format: Importer.Format? = nil,
        hosts: [String] = []
    ) throws -> (exchanges: [Exchange], notes: [String]) {
        let context = Importer.Context(
            webhooks: [.revenueCat: "POST /hooks/rc", .purchasely: "POST /hooks/ply"],
            now: Self.now,
            hosts: hosts
        )
        let format = try #require(format ?? Importer.format(of: bytes))
        return try Importer.exchanges(bytes, format: format, context)
    }

    // MARK: Flows

    /// Values as mitmproxy writes them.
    private enum Tnetstring {
        static func value(_ payload: [UInt8], _ sign: Character) -> [UInt8] {
            Array("\(payload.count):".utf8) + payload + Array(String(sign).utf8)
        }
        static func bytes(_ text: String) -> [UInt8] { value(Array(text.utf8), ",") }
        static func text(_ text: String) -> [UInt8] { value(Array(text.utf8), ";") }
        static func int(_ number: Int) -> [UInt8] { value(Array("\(number)".utf8), "#") }
        static func double(_ number: Double) -> [UInt8] { value(Array("\(number)".utf8), "^") }
        static let null = value([], "~")
        static func list(_ values: [[UInt8]]) -> [UInt8] { value(values.flatMap(\.self), "]") }
        static func table(_ members: [(String, [UInt8])]) -> [UInt8] {
            value(members.flatMap { text($0.0) + $0.1 }, "}")
        }
    }

    private static func flow(
        _ method: String = "POST",
        _ path: String = "/a?x=1",
        host: String = "shop.example",
        body: String = #"{"k":1}"#,
        answer: [UInt8]? = nil
    ) -> [UInt8] {
        let headers = Tnetstring.list([
            Tnetstring.list([
                Tnetstring.bytes("Content-Type"), Tnetstring.bytes("application/json"),
            ]),
            Tnetstring.list([Tnetstring.bytes(":authority"), Tnetstring.bytes("x")]),
            Tnetstring.list([
                Tnetstring.bytes("Content-Length"), Tnetstring.bytes("\(body.utf8.count)"),
            ]),
        ])
        let request = Tnetstring.table([
            ("method", Tnetstring.bytes(method)), ("host", Tnetstring.text(host)),
            ("port", Tnetstring.int(443)),
            ("path", Tnetstring.bytes(path)), ("headers", headers),
            ("content", Tnetstring.bytes(body)),
            ("timestamp_start", Tnetstring.double(1_790_000_000.25)),
        ])
        let response =
            answer
            ?? Tnetstring.table([
                ("status_code", Tnetstring.int(201)), ("headers", headers),
                ("content", Tnetstring.bytes(#"{"ok":true}"#)),
                ("timestamp_end", Tnetstring.double(1_790_000_000.5)),
            ])
        return Tnetstring.table([
            ("type", Tnetstring.text("http")), ("version", Tnetstring.int(21)),
            ("request", request),
            ("response", response), ("websocket", Tnetstring.null),
        ])
    }

    @Test func `flows are imported as requests with their responses and times`() throws {
        let found = try read(Self.flow() + Self.flow("GET", "/b", body: "")).exchanges
        #expect(found.map(\.request.target) == ["/a?x=1", "/b"])
        #expect(
            found[0].request.method == "POST" && found[0].request.body == Array(#"{"k":1}"#.utf8)
        )
        #expect(found[0].request.fields == [.init("Content-Type", "application/json")])
        #expect(found[0].response?.status == 201)
        #expect(found[0].response?.body == Array(#"{"ok":true}"#.utf8))
        #expect(found[0].at == Instant(milliseconds: 1_790_000_000_250))
        #expect(found[0].completed.map { $0 - found[0].invoked } == 250_000)
    }

    @Test func `flows of other hosts and kinds are noted, and flows without a response are kept`()
        throws
    {
        let other = Self.flow(host: "cdn.example")
        let dns = Tnetstring.table([
            ("type", Tnetstring.text("dns")), ("request", Tnetstring.table([])),
        ])
        let open = Self.flow("GET", "/open", answer: Tnetstring.null)
        let (found, notes) = try read(Self.flow() + Self.flow() + other + dns + open, .mitmproxy)
        #expect(found.map(\.request.target) == ["/a?x=1", "/a?x=1", "/open"])
        #expect(found[2].response == nil)
        #expect(notes.contains { $0.contains("cdn.example") })
        #expect(notes.contains { $0.contains("flow 4 is not HTTP") })
    }

    @Test func `a file of flows that is cut or changed is an error with its place`() throws {
        let whole = Self.flow()
        for count in 0..<whole.count {
            let cut = Array(whole.prefix(count))
            if count == 0 { continue }
            #expect(throws: RecordingError.self) { try read(cut, .mitmproxy) }
        }
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<2000 {
            var bytes = whole
            for _ in 0..<3 {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] =
                    UInt8.random(in: 0...255, using: &generator)
            }
            // Whatever it is, it is read or refused.
            _ = try? read(bytes, .mitmproxy)
        }
        let deep = (0..<100).reduce(Tnetstring.null) { inner, _ in Tnetstring.list([inner]) }
        #expect(throws: RecordingError.self) { try read(deep, .mitmproxy) }
        #expect(throws: RecordingError.self) {
            try read(Array("999999999999999999999:x".utf8), .mitmproxy)
        }
    }

    // MARK: Descriptions

    private static let description = """
        openapi: 3.0.3
        info: {title: Shop, version: "1"}
        paths:
          /users/{id}:
            parameters:
              - {name: id, in: path, required: true, example: ada 1}
            get:
              parameters:
                - {name: verbose, in: query, schema: {type: boolean, default: true}}
              responses:
                "200":
                  content:
                    application/json: {schema: {$ref: "#/components/schemas/User"}}
            delete:
              responses: {"204": {description: gone}}
          /users:
            post:
              requestBody:
                required: true
                content:
                  application/json:
                    examples: {one: {value: {name: Ada, age: 36}}}
              responses:
                "400": {content: {application/json: {example: {error: no}}}}
                "201": {content: {application/json: {example: {id: 7}}}}
          /nothing:
            post:
              requestBody: {required: true, content: {application/json: {schema: {type: object}}}}
              responses: {"200": {description: ok}}
        components:
          schemas:
            User:
              type: object
              required: [id]
              properties:
                id: {type: string, example: ada}
                tags: {type: array, items: {type: string, enum: [gold, blue]}}
                friend: {$ref: "#/components/schemas/User"}
        """

    @Test func `examples in an API description are imported as requests with their responses`()
        throws
    {
        let (found, notes) = try read(Array(Self.description.utf8))
        let lines = found.map {
            "\($0.request.method) \($0.request.target) \($0.response?.status ?? 0)"
        }
        #expect(
            lines == [
                "GET /users/ada%201?verbose=true 200", "DELETE /users/ada%201 204",
                "POST /users 201",
            ]
        )
        let user = try JSONValue(parsing: found[0].response?.body ?? [])
        #expect(user["id"] == "ada" && user["tags"] == ["gold"])
        #expect(try JSONValue(parsing: found[2].request.body) == ["name": "Ada", "age": 36])
        #expect(notes == ["left out because examples are missing: POST /nothing"])
    }

    @Test func `a description without examples says so`() {
        let text = #"{"openapi":"3.1.0","paths":{"/a":{"post":{"responses":{}}}}}"#
        let error = #expect(throws: RecordingError.self) { try read(Array(text.utf8)) }
        #expect(error?.problem.contains("no operation has examples") == true)
        #expect(throws: RecordingError.self) { try read(Array("openapi: [".utf8), .openapi) }
    }

    // MARK: Events

    private static let bare =
        #"{"type":"RENEWAL","id":"E1","app_user_id":"a","event_timestamp_ms":1790000000000}"#

    @Test(
        "an event is read in any notation",
        arguments: [
            bare, "[\(bare)]", #"{"event":\#(bare)}"#, #"{"events":[\#(bare)]}"#,
            #"{"object":"list","items":[\#(bare)]}"#, "\(bare)\n",
        ]
    )
    func shown(text: String) throws {
        let found = try #require(try read(Array(text.utf8)).exchanges.first)
        #expect(found.from == .revenueCat && found.request.target == "/hooks/rc")
        #expect(try JSONValue(parsing: found.request.body)["event"]?["id"] == "E1")
        #expect(found.at == Self.now)
    }

    @Test func `events of two senders go to where each of them is taken`() throws {
        let other =
            #"{"event_name":"ACTIVATE","event_id":"P1","event_created_at_ms":1790000000001}"#
        let found = try read(Array("[\(Self.bare),\(other)]".utf8)).exchanges
        #expect(found.map(\.from) == [.revenueCat, .purchasely])
        #expect(found[1].request.body == Array(other.utf8))
    }

    @Test func `every published body of both services is taken`() throws {
        let shared = Repository.root.deletingLastPathComponent().appendingPathComponent("shared")
        for folder in ["revenuecat", "purchasely"] {
            let place = shared.appendingPathComponent("samples/\(folder)")
            let files = try? FileManager.default.contentsOfDirectory(
                at: place,
                includingPropertiesForKeys: nil
            )
            for file in files ?? [] where file.pathExtension == "json" {
                let bytes = Array(try Data(contentsOf: file))
                let value = try JSONValue(parsing: bytes, options: .init(duplicateKeys: .keep))
                // Beside the bodies stand headers and signatures.
                guard
                    value["event"] != nil || value["event_name"] != nil
                        || value["properties"] != nil
                else { continue }
                #expect(try read(bytes, .events).exchanges.count == 1, "\(file.lastPathComponent)")
            }
        }
    }
}
