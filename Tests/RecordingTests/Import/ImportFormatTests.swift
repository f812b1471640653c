internal import Providers
import Recording
import Testing
import Values

/// Files of other tools, and what is wrong with them, place by place.
@Suite("Formats of other tools")
struct ImportFormatTests {
    private static let now = Instant(milliseconds: 1_790_000_000_000)
    private static let context = Importer.Context(
        webhooks: [.revenueCat: "POST /hooks/rc", .purchasely: "POST /hooks/ply"],
        now: now
    )

    private func read(
        _ text: String,
        _ format: Importer.Format
    ) throws -> (exchanges: [Exchange], notes: [String]) {
        try Importer.exchanges(Array(text.utf8), format: format, Self.context)
    }

    private func curl(_ text: String) throws -> [HTTPMessage.Request] {
        try read(text, .curl).exchanges.map(\.request)
    }

    // MARK: Which format

    private static let formats: [(String, Importer.Format?)] = [
        ("curl http://x", .curl), ("$ curl http://x", .curl), ("# hello\ncurl http://x", .curl),
        ("\n\n  \ncurl http://x", .curl), ("{\"log\":{\"entries\":[]}}", .har),
        ("{\"interactions\":[]}", .pact), ("{\"event\":{}}", .events),
        ("[{\"event\":{}}]", .events),
        ("{\"event\":{}}\n{\"event\":{}}", .events), ("{\"method\":\"GET\"}", .ndjson),
        ("{\"method\":\"GET\"}\n{\"method\":\"GET\"}", .ndjson), ("", nil), ("hello", nil),
        ("[]", nil), ("{}", nil), ("{}\n{}", nil), ("{\"log\":1}", nil), ("curly", nil),
    ]

    @Test("the file format is detected from the beginning of the file", arguments: formats)
    func format(text: String, expected: Importer.Format?) {
        #expect(Importer.format(of: Array(text.utf8)) == expected)
    }

    // MARK: curl

    private static let methods: [(String, String)] = [
        ("curl http://x/a", "GET"), ("curl http://x/a -d 1", "POST"),
        ("curl -I http://x/a", "HEAD"),
        ("curl -X DELETE http://x/a", "DELETE"), ("curl --request PATCH http://x/a -d 1", "PATCH"),
        ("curl -G http://x/a -d 1", "GET"), ("curl --json '{}' http://x/a", "POST"),
        ("curl --url http://x/a -o out -m 5 --retry 3", "GET"), ("curl -s -k http://x/a", "GET"),
    ]

    @Test("curl's method follows from its flags", arguments: methods)
    func method(command: String, method: String) throws {
        let request = try #require(try curl(command).first)
        #expect(request.method == method)
        #expect(request.path == "/a")
    }

    private static let words: [(String, String)] = [
        ("'a b'", "a b"), ("\"a b\"", "a b"), ("a\\ b", "a b"), ("'a'\"b\"c", "abc"),
        ("'a'\\''b'", "a'b"), ("\"a\\\"b\"", "a\"b"), ("$'a\\nb'", "a\nb"), ("$'it\\'s'", "it's"),
        ("'a\\nb'", "a\\nb"), ("'#x'", "#x"), ("a#x", "a#x"), ("'é'", "é"), ("''", ""),
        // A quotation mark is one, whatever mark stands behind it.
        ("'\u{301}a b'", "\u{301}a b"), ("\"\u{301}a b\"", "\u{301}a b"),
        ("'line one\nline two'", "line one\nline two"), ("'a\r\nb'", "a\r\nb"),
        ("\\\n  joined", "joined"), ("\\\r\n  joined", "joined"),
    ]

    @Test("words are taken as a shell takes them", arguments: words)
    func word(written: String, expected: String) throws {
        let request = try #require(try curl("curl http://x/a --data-raw \(written) -X PUT").first)
        #expect(String(decoding: request.body, as: UTF8.self).isExactly(expected))
        #expect(request.method == "PUT", "what follows the word is still read")
    }

    private static let faults: [(String, Int, String)] = [
        ("wget x", 1, "not a curl command"), ("curl http://x\nls", 2, "not a curl command"),
        ("curl", 1, "no URL"), ("curl -X", 1, "'-X' has no value"),
        ("curl -H", 1, "'-H' has no value"),
        ("curl 'http://x", 1, "not closed"), ("curl http://x\n\ncurl \"a\nb", 3, "not closed"),
        ("curl -X get http://x", 1, "'get' is not a method"), ("", 1, "no curl command"),
        ("# only a comment\n", 1, "no curl command"),
        ("curl http://x -d 'a\nb'\ncurl", 3, "no URL"),
        ("curl http://x -d 'a\r\nb'\r\ncurl", 3, "no URL"),
        ("curl \\\n  http://x\nls", 3, "not a curl command"),
        ("curl \\\r\n http://x\r\nls", 3, "not a curl command"),
    ]

    @Test("a command that cannot be parsed is reported with its line number", arguments: faults)
    func fault(text: String, line: Int, problem: String) throws {
        do {
            // A bad command among others is left out with a note.
            let notes = try read(text, .curl).notes
            #expect(notes.count == 1)
            #expect(notes[0].contains(problem) && notes[0].contains("(line \(line))"), "\(notes)")
        } catch let error as RecordingError {
            #expect(error.line == line)
            #expect(error.problem.contains(problem), "\(error.problem)")
            #expect(!error.remedy.isEmpty)
        }
    }

    @Test func `bytes that are not UTF-8 are refused as commands`() {
        #expect(throws: RecordingError.self) {
            try Importer.exchanges([0x63, 0xff, 0xfe], format: .curl, Self.context)
        }
    }

    private static let bodies: [(String, String, String?)] = [
        ("-d a=1 -d b=2", "a=1&b=2", "application/x-www-form-urlencoded"),
        // curl does not look into what it sends.
        ("-d '{\"a\":1}'", "{\"a\":1}", "application/x-www-form-urlencoded"),
        ("--json '{\"a\":1}'", "{\"a\":1}", "application/json"),
        ("-d x -H 'Content-Type: text/plain'", "x", "text/plain"), ("-b 'sid=1'", "", nil),
    ]

    @Test("a body says what it is", arguments: bodies)
    func body(flags: String, body: String, type: String?) throws {
        let request = try #require(try curl("curl http://x/a \(flags)").first)
        #expect(request.body == Array(body.utf8))
        #expect(request[field: "content-type"] == type)
    }

    @Test func `credentials and cookies are headers`() throws {
        let request = try #require(
            try curl("curl -u 'ada:p w' -b 'sid=1; x=2' -H 'X-A:  b:c ' http://x").first
        )
        #expect(request[field: "authorization"] == "Basic YWRhOnAgdw==")
        #expect(request[field: "cookie"] == "sid=1; x=2")
        #expect(request[field: "x-a"] == "b:c ")
        #expect(request.target == "/")
    }

    @Test(
        "the data of a GET command is added to its query",
        arguments: [("/a", "/a?q=1&r=2"), ("/a?p=0", "/a?p=0&q=1&r=2")]
    )
    func query(target: String, expected: String) throws {
        #expect(try curl("curl -G 'http://x\(target)' -d q=1 -d r=2").first?.target == expected)
    }

    // MARK: HAR

    private func har(_ entry: String) -> String { "{\"log\":{\"entries\":[\(entry)]}}" }

    private static let brokenEntries: [(String, String)] = [
        ("{}", "/log/entries/0/request has no method or no URL"),
        ("{\"request\":{\"method\":\"get\",\"url\":\"http://x\"}}", "no method or no URL"),
        ("{\"request\":{\"method\":\"GET\",\"url\":\"nowhere\"}}", "no method or no URL"),
        (
            "{\"request\":{\"method\":\"GET\",\"url\":\"/a\",\"headers\":[{\"name\":1}]}}",
            "/log/entries/0/request/headers"
        ),
        (
            "{\"request\":{\"method\":\"GET\",\"url\":\"/a\"},\"response\":{\"status\":200,\"content\":{\"text\":\"%%\",\"encoding\":\"base64\"}}}",
            "/log/entries/0/response/content/text is not base64"
        ),
        (
            "{\"request\":{\"method\":\"GET\",\"url\":\"/a\"},\"response\":{\"status\":200,\"headers\":[7]}}",
            "/log/entries/0/response/headers"
        ),
    ]

    @Test("a broken archive entry is reported with its position", arguments: brokenEntries)
    func brokenEntry(entry: String, problem: String) {
        let error = #expect(throws: RecordingError.self) { try read(har(entry), .har) }
        #expect(error?.problem.contains(problem) == true, "\(error?.problem ?? "")")
        #expect(throws: RecordingError.self) { try read("{\"log\":{}}", .har) }
    }

    @Test(
        "an archive entry without a response is left out and noted",
        arguments: [
            "", ",\"response\":{}", ",\"response\":{\"status\":0}",
        ]
    )
    func unanswered(response: String) throws {
        let entry = "{\"request\":{\"method\":\"GET\",\"url\":\"/a\"}\(response)}"
        let good = "{\"request\":{\"method\":\"GET\",\"url\":\"/b\"},\"response\":{\"status\":204}}"
        let (exchanges, notes) = try read(har(entry + "," + good), .har)
        #expect(exchanges.map(\.request.target) == ["/b"])
        #expect(notes == ["/log/entries/0 has no response and is left out"])
    }

    @Test func `times of an archive are kept, and those that are missing are made up in order`()
        throws
    {
        func entry(_ target: String, _ time: String) -> String {
            "{\"request\":{\"method\":\"GET\",\"url\":\"\(target)\"},\"response\":{\"status\":200}\(time)}"
        }
        let text = har(
            [
                entry("/a", ",\"startedDateTime\":\"2026-11-21T10:00:00.000Z\",\"time\":12.5"),
                entry("/b", ",\"startedDateTime\":\"2026-11-21T10:00:01.250Z\",\"time\":-1"),
                entry("/c", ",\"startedDateTime\":\"2026-11-21T10:00:00.500Z\",\"time\":1e300"),
            ].joined(separator: ",")
        )
        let found = try read(text, .har).exchanges
        #expect(found.map(\.invoked) == [0, 1_250_000, 500_000])
        #expect(found.map { ($0.completed ?? 0) - $0.invoked } == [12_500, 0, 1_000_000_000_000])
        let bare = try read(har(entry("/a", "") + "," + entry("/b", "")), .har).exchanges
        #expect(bare.map(\.at) == [Self.now, Self.now + .milliseconds(1)])
    }

    // MARK: What a browser's archive holds beside

    private static func entry(
        _ url: String,
        method: String = "GET",
        _ more: String = "",
        content: String = ""
    ) -> String {
        "{\"request\":{\"method\":\"\(method)\",\"url\":\"\(url)\"},"
            + "\"response\":{\"status\":200,\"content\":{\(content)}}\(more)}"
    }

    private func read(_ entries: [String], hosts: [String] = []) throws -> ([String], [String]) {
        var context = Self.context
        context.hosts = hosts
        let text = har(entries.joined(separator: ","))
        let found = try Importer.exchanges(Array(text.utf8), format: .har, context)
        return (found.exchanges.map(\.request.target), found.notes)
    }

    private static let browser = [
        entry("https://api.shop.example/a"), entry("https://api.shop.example/b", method: "POST"),
        entry("https://tracker.example/t"),
        entry("https://api.shop.example/logo", ",\"_resourceType\":\"image\""),
        entry("https://api.shop.example/app", content: "\"mimeType\":\"text/javascript\""),
        entry("wss://api.shop.example/live", ",\"_webSocketMessages\":[]"), entry("/c"),
    ]

    @Test func `images, sockets and foreign hosts are left out and reported`() throws {
        let (targets, notes) = try read(Self.browser)
        #expect(targets == ["/a", "/b", "/c"])
        #expect(
            notes == [
                "2 requests are left out: files, such as images",
                "the WebSocket wss://api.shop.example/live is left out: only requests are imported",
                "1 request is left out: sent to tracker.example, not to api.shop.example; "
                    + "use --host to choose other hosts",
            ]
        )
    }

    @Test func `an explicit host list selects the hosts`() throws {
        let hosts = ["Tracker.example", "api.shop.example"]
        #expect(try read(Self.browser, hosts: hosts).0 == ["/a", "/b", "/t", "/c"])
        #expect(try read(Self.browser, hosts: ["tracker.example"]).0 == ["/t", "/c"])
    }

    @Test func `a form that holds its parameters alone is sent as it was`() throws {
        func entry(_ type: String) -> String {
            "{\"request\":{\"method\":\"POST\",\"url\":\"/a\",\"postData\":{\"mimeType\":\"\(type)\","
                + "\"params\":[{\"name\":\"a\",\"value\":\"1%202\"},{\"name\":\"b\"}]}},"
                + "\"response\":{\"status\":200}}"
        }
        let form = "application/x-www-form-urlencoded; charset=utf-8"
        let request = try read(har(entry(form)), .har).exchanges.first?.request
        #expect(request?.body == Array("a=1%202&b".utf8))
        let error = #expect(throws: RecordingError.self) {
            try read(har(entry("multipart/form-data")), .har)
        }
        #expect(error?.problem.contains("/log/entries/0/request/postData") == true)
    }

    private static let targets: [(String, String?)] = [
        ("https://x.example", "/"), ("https://x.example/", "/"),
        ("https://x.example/a?b#c", "/a?b"),
        ("https://x.example?b", "/?b"), ("https://x.example#c", "/"), ("/a?b", "/a?b"),
        ("http://", nil),
        ("x.example/a", nil), ("", nil), ("ftp://h/a//b", "/a//b"),
    ]

    @Test("path and query of a URL", arguments: targets)
    func target(url: String, expected: String?) throws {
        let line = JSONValue.object(["method": "GET", "url": .string(url), "status": 200]).text
        #expect((try? read(line, .ndjson))?.exchanges.first?.request.target == expected)
    }

    // MARK: Lines and events

    @Test func `lines of requests, with all that they may say`() throws {
        let text = """
            {"method":"POST","path":"/a","headers":{"X-A":"1","X-N":2},"body":{"k":1},"status":201,\
            "response-headers":{"Location":"/b"},"response":"text","at":"2026-11-21T10:00:00Z"}

            {"method":"POST","url":"http://h/hooks/ply","body":"raw","status":200}\r
            {"method":"GET","url":"/c"}
            """
        let found = try read(text, .ndjson).exchanges
        #expect(found.map(\.from) == [.app, .purchasely, .app])
        #expect(found[0].request.fields == [.init("X-A", "1"), .init("X-N", "2")])
        #expect(found[0].request.body == Array("{\"k\":1}".utf8))
        #expect(found[0].response?.status == 201 && found[0].response?.body == Array("text".utf8))
        #expect(found[0].at == Instant(iso8601: "2026-11-21T10:00:00Z"))
        #expect(found[1].request.body == Array("raw".utf8))
        #expect(found[2].response == nil)
        #expect(found.map(\.sequence) == [0, 1, 2])
    }

    private static let brokenLines: [(String, Importer.Format, Int)] = [
        ("{\"method\":\"GET\",\"url\":\"/a\"}\n{\"url\":\"/a\"}", .ndjson, 2),
        ("{\"method\":\"GET\",\"url\":\"/a\"}\n\nnot JSON", .ndjson, 3), ("", .ndjson, 1),
        ("", .events, 1),
        ("{\"event\":{\"type\":\"A\",\"id\":\"1\"}}\n{\"event\":{\"type\":\"A\"}}", .events, 2),
        ("{\"event\":{\"id\":\"1\"}}", .events, 1), ("[1]", .events, 1), ("{}", .pact, 1),
        ("{\"metadata\":{\"pactSpecification\":{\"version\":\"3.0\"}}}", .pact, 1),
    ]

    @Test("a broken line is reported with its line number", arguments: brokenLines)
    func brokenLine(text: String, format: Importer.Format, line: Int) throws {
        do {
            let notes = try read(text, format).notes
            #expect(notes.count == 1 && notes[0].contains("(line \(line)) is left out"))
        } catch let error as RecordingError {
            #expect(error.line == line)
            #expect(!error.remedy.isEmpty)
        }
    }

    @Test func `events need a webhook that accepts them`() {
        let event = Array("{\"event\":{\"type\":\"A\",\"id\":\"1\"}}".utf8)
        let nobody = Importer.Context(webhooks: [:], now: Self.now)
        let error = #expect(throws: RecordingError.self) {
            try Importer.exchanges(event, format: .events, nobody)
        }
        #expect(error?.remedy.contains("revenuecat-webhook") == true)
    }

    @Test func `of a Pact only what is HTTP is read`() throws {
        let text = """
            {"metadata":{"pactSpecification":{"version":"4.0"}},"interactions":[
             {"type":"Asynchronous/Messages"},
             {"type":"Synchronous/HTTP","request":{"method":"get","path":"/a",
              "headers":{"Accept":["x","y"]}},"response":{}}]}
            """
        let (exchanges, notes) = try read(text, .pact)
        #expect(exchanges.count == 1 && exchanges[0].response?.status == 200)
        #expect(exchanges[0].request.fields == [.init("Accept", "x, y")])
        #expect(notes == ["/interactions/0 is Asynchronous/Messages, not HTTP, and is left out"])
    }

    private static let collection = """
        {"info":{"name":"Shop","schema":"https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
         "auth":{"type":"bearer","bearer":[{"key":"token","value":"{{token}}","type":"string"}]},
         "variable":[{"key":"token","value":"T-1"},{"key":"user","value":"ada 1"}],
         "item":[
          {"name":"people","item":[
           {"name":"register","request":{"method":"POST","header":[{"key":"X-A","value":"{{user}}"},
             {"key":"X-B","value":"no","disabled":true}],
             "url":{"raw":"{{base}}/people/:id?q={{user}}&debug=1","variable":[{"key":"id","value":"a/b"}],
                    "query":[{"key":"q","value":"{{user}}"},{"key":"debug","value":"1","disabled":true}]},
             "body":{"mode":"raw","raw":"{\\"user\\":\\"{{user}}\\"}","options":{"raw":{"language":"json"}}}},
            "response":[{"name":"ok","code":201,"header":[{"key":"X-R","value":"1"}],"body":"{\\"ok\\":true}"},
                        {"name":"again","code":409,"header":[],"body":""}]}]},
          {"name":"form","request":{"method":"POST","auth":{"type":"noauth"},"url":"https://shop.example/login",
            "body":{"mode":"urlencoded","urlencoded":[{"key":"a","value":"1 &"},{"key":"b","value":"2","disabled":true}]}}},
          {"name":"plain","request":"http://shop.example/health"},
          {"name":"query","request":{"method":"POST","auth":{"type":"apikey","apikey":[{"key":"key","value":"k"},
            {"key":"value","value":"v 1"},{"key":"in","value":"query"}]},"url":{"raw":"localhost:8080/graphql"},
            "body":{"mode":"graphql","graphql":{"query":"{ me }","variables":"{\\"n\\": 1}"}}}}
         ]}
        """

    @Test func `a Postman collection is imported with folders, variables and saved responses`()
        throws
    {
        #expect(Importer.format(of: Array(Self.collection.utf8)) == .postman)
        let (found, notes) = try read(Self.collection, .postman)
        #expect(
            found.map { "\($0.request.method) \($0.request.target)" } == [
                "POST /people/a%2Fb?q=ada%201", "POST /login", "GET /health",
                "POST /graphql?k=v%201",
            ]
        )
        #expect(
            found[0].request.fields == [
                .init("X-A", "ada 1"), .init("Content-Type", "application/json"),
                .init("Authorization", "Bearer T-1"),
            ]
        )
        #expect(found[0].request.body == Array(#"{"user":"ada 1"}"#.utf8))
        #expect(found[0].response?.status == 201)
        #expect(found[0].response?.fields == [.init("X-R", "1")])
        #expect(found[0].response?.body == Array(#"{"ok":true}"#.utf8))
        #expect(found[1].request.body == Array("a=1%20%26".utf8))
        #expect(found[1].request[field: "authorization"] == nil && found[1].response == nil)
        #expect(found[2].request[field: "authorization"] == "Bearer T-1")
        #expect(found[3].request.body == Array(#"{"query":"{ me }","variables":{"n":1}}"#.utf8))
        #expect(notes.count == 1 && notes[0].contains("/item/0/item/0/response/1, 409"))
    }

    @Test(
        "missing or unsupported content in a collection is an error with its location",
        arguments: [
            (
                "v2.1.0", #"{"request":{"url":"/x","header":[{"key":"A","value":"{{who}}"}]}}"#,
                "{{who}}"
            ),
            ("v2.1.0", #"{"request":{"url":"/x","body":{"mode":"formdata"}}}"#, "formdata"),
            ("v2.1.0", #"{"request":{"url":"/x","body":{"mode":"file"}}}"#, "file"),
            ("v2.1.0", #"{"request":{"url":"/x","auth":{"type":"oauth2"}}}"#, "oauth2"),
            ("v2.1.0", #"{"request":{"url":"/x"},"response":[{"name":"no code"}]}"#, "response/0"),
            ("v2.1.0", #"{"request":{"method":"GET"}}"#, "/item/0"), ("v2.1.0", "{}", "/item/0"),
            ("v2.1.0", "1", "/item/0"), ("v1.0.0", #"{"request":"/x"}"#, "v1.0.0"),
        ]
    )
    func brokenCollection(version: String, item: String, place: String) {
        let text =
            #"{"info":{"schema":"https://schema.getpostman.com/json/collection/\#(version)/collection.json"},"item":[\#(item)]}"#
        let error = #expect(throws: RecordingError.self) { try read(text, .postman) }
        #expect(error?.description.contains(place) == true, "\(error.map(\.description) ?? "")")
    }

    // MARK: Export

    @Test(
        "an exported curl command is imported again unchanged, with any content",
        arguments: 0..<UInt64(120)
    )
    func exportedCurl(seed: UInt64) throws {
        var session = MadeUpSession(seed: seed)
        let body = session.text() + "'" + session.text()
        var exchange = RecordingFileTests.exchange(0, "POST", "/a?x=\(seed)", body: nil)
        exchange.request.fields = [.init("X-Name", "O'Brien \(seed)"), .init("Host", "h")]
        exchange.request.body = Array(body.utf8)
        let recording = Recording(header: RecordingFileTests.header, exchanges: [exchange])
        let text = Exporter.text(recording, .curl, base: "http://127.0.0.1:1")
        let request = try #require(try curl(text).first)
        #expect(request.body == exchange.request.body, "\(text)")
        #expect(request.target == exchange.request.target)
        #expect(request[field: "x-name"] == "O'Brien \(seed)")
        #expect(request[field: "host"] == nil)
    }

    @Test(
        "an exported archive is imported again unchanged, with any content",
        arguments: 0..<UInt64(60)
    )
    func exportedHAR(seed: UInt64) throws {
        let exchanges = MadeUpSession(seed: seed).exchanges
        let recording = Recording(header: RecordingFileTests.header, exchanges: exchanges)
        let text = Exporter.text(recording, .har, base: "http://127.0.0.1:1")
        let found = try read(text, .har).exchanges
        let inbound = exchanges.filter { $0.to == .backend }
        #expect(found.map(\.request.body) == inbound.map(\.request.body))
        #expect(found.map(\.request.target) == inbound.map(\.request.target))
        #expect(found.map { $0.response?.body } == inbound.map { $0.response?.body })
        #expect(found.map { $0.response?.status } == inbound.map { $0.response?.status })
    }

    @Test func `an archive shows the query taken apart`() throws {
        let exchange = RecordingFileTests.exchange(0, "GET", "/a?x=1%202&y&=z&q=a%3Db", body: nil)
        let recording = Recording(header: RecordingFileTests.header, exchanges: [exchange])
        let har = try JSONValue(parsing: Exporter.text(recording, .har, base: "http://h"))
        let query = har[JSONPointer("/log/entries/0/request/queryString") ?? JSONPointer()]
        #expect(
            query == [
                ["name": "x", "value": "1 2"], ["name": "y", "value": ""],
                ["name": "", "value": "z"], ["name": "q", "value": "a=b"],
            ]
        )
    }
}
