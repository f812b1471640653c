import Contracts
import Recording
import Testing
import Values

/// Commands as people and browsers write them: the request that `curl` would have sent, or an error
/// that says why nobody can know it.
@Suite("curl commands")
struct CurlCommandTests {
    /// What a command is read as: method, target, headers and body.
    struct ExpectedRequest: Sendable {
        var method = "GET"
        var target = "/a"
        var fields: [String] = []
        var body = ""

        init(
            _ method: String = "GET",
            _ target: String = "/a",
            _ fields: [String] = [],
            _ body: String = ""
        ) {
            (self.method, self.target, self.fields, self.body) = (method, target, fields, body)
        }
    }

    private static let form = "content-type: application/x-www-form-urlencoded"

    private static func requests(_ text: String) throws -> [HTTPMessage.Request] {
        let files = ["body.json": "{\n\"a\": 1\n}\n", "dir/pic.png": "\u{1}png"]
        let context = Importer.Context(webhooks: [:], now: Instant(milliseconds: 0)) {
            files[$0].map { Array($0.utf8) }
        }
        return try Importer.exchanges(Array(text.utf8), format: .curl, context).exchanges
            .map(\.request)
    }

    private static func expect(_ text: String, _ wanted: [ExpectedRequest]) throws {
        let found = try requests(text)
        #expect(found.map(\.method) == wanted.map(\.method), "\(text)")
        #expect(found.map(\.target) == wanted.map(\.target), "\(text)")
        let bodies = found.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies == wanted.map(\.body), "\(text)")
        for (request, wanted) in zip(found, wanted) {
            let fields = request.fields.map { "\($0.name.lowercased()): \($0.value)" }
            #expect(fields == wanted.fields, "\(text)")
        }
    }

    // MARK: Flags

    private static let flags: [(String, ExpectedRequest)] = [
        ("-XPOST", ExpectedRequest("POST")), ("-sSL -XDELETE", ExpectedRequest("DELETE")),
        ("-H'x: 1' -H \"Y:2\"", ExpectedRequest("GET", "/a", ["x: 1", "y: 2"])),
        ("-sHx:1", ExpectedRequest("GET", "/a", ["x: 1"])),
        ("-H 'Empty;'", ExpectedRequest("GET", "/a", ["empty: "])),
        ("-d1", ExpectedRequest("POST", "/a", [form], "1")),
        ("-d '{\"a\":1}'", ExpectedRequest("POST", "/a", [form], "{\"a\":1}")),
        ("-d x -H 'Content-Type:'", ExpectedRequest("POST", "/a", [], "x")),
        (
            "-d x -H 'Content-Type: text/plain'",
            ExpectedRequest("POST", "/a", ["content-type: text/plain"], "x")
        ),
        ("-d ''", ExpectedRequest("POST", "/a", [form])),
        (
            "--json '{\"a\":' --json '1}'",
            ExpectedRequest(
                "POST",
                "/a",
                ["accept: application/json", "content-type: application/json"],
                "{\"a\":1}"
            )
        ),
        ("-d @body.json", ExpectedRequest("POST", "/a", [form], "{\"a\": 1}")),
        ("--data-binary @body.json", ExpectedRequest("POST", "/a", [form], "{\n\"a\": 1\n}\n")),
        ("--data-raw @body.json", ExpectedRequest("POST", "/a", [form], "@body.json")),
        ("--data-urlencode 'a=b c&d'", ExpectedRequest("POST", "/a", [form], "a=b+c%26d")),
        ("--data-urlencode '=b c'", ExpectedRequest("POST", "/a", [form], "b+c")),
        ("--data-urlencode 'b é'", ExpectedRequest("POST", "/a", [form], "b+%C3%A9")),
        (
            "--data-urlencode a@body.json",
            ExpectedRequest("POST", "/a", [form], "a=%7B%0A%22a%22%3A+1%0A%7D%0A")
        ),
        ("-G -d q=1 --data-urlencode 'r=2 3'", ExpectedRequest("GET", "/a?q=1&r=2+3")),
        ("--url-query 'q=1 2' -d x", ExpectedRequest("POST", "/a?q=1+2", [form], "x")),
        ("-T body.json", ExpectedRequest("PUT", "/a", [], "{\n\"a\": 1\n}\n")),
        ("-I", ExpectedRequest("HEAD")),
        (
            "-A me -e http://from",
            ExpectedRequest("GET", "/a", ["user-agent: me", "referer: http://from"])
        ),
        ("--oauth2-bearer t", ExpectedRequest("GET", "/a", ["authorization: Bearer t"])),
        ("-b 'a=1' --cookie b=2", ExpectedRequest("GET", "/a", ["cookie: a=1;b=2"])),
        ("-r 0-9", ExpectedRequest("GET", "/a", ["range: bytes=0-9"])),
        ("--request-target '*' -X OPTIONS", ExpectedRequest("OPTIONS", "*")),
        (
            "--compressed --no-keepalive -o /dev/null -w '%{http_code}' --max-time 5",
            ExpectedRequest()
        ),
        ("> out.json 2>&1", ExpectedRequest()), ("2>/dev/null | jq -r .a", ExpectedRequest()),
        ("# and no more", ExpectedRequest()),
    ]

    @Test("a flag says what curl would send", arguments: flags.indices)
    func flag(index: Int) throws {
        let (flags, read) = Self.flags[index]
        try Self.expect("curl http://x/a " + flags, [read])
    }

    @Test func `a form has its parts, and one boundary`() throws {
        let request = try #require(
            try Self.requests(
                "curl http://x/a -F 'n=v' -F 'f=@dir/pic.png;type=image/png' --form-string 's=@x;y'"
                    + " -F 'j=<body.json;type=application/json'"
            ).first
        )
        let type = try #require(request[field: "content-type"])
        let boundary = try #require(type.split(separator: "=").last)
        #expect(type.hasPrefix("multipart/form-data; boundary="))
        let parts = [
            "name=\"n\"\r\n\r\nv",
            "name=\"f\"; filename=\"pic.png\"\r\nContent-Type: image/png\r\n\r\n\u{1}png",
            "name=\"s\"\r\n\r\n@x;y",
            "name=\"j\"\r\nContent-Type: application/json\r\n\r\n{\n\"a\": 1\n}\n",
        ].map { "--\(boundary)\r\nContent-Disposition: form-data; \($0)\r\n" }
        let body = String(decoding: request.body, as: UTF8.self)
        #expect(body == parts.joined() + "--\(boundary)--\r\n")
        #expect(request.method == "POST")
    }

    // MARK: Shells

    private static let shells: [(String, [ExpectedRequest])] = [
        // As Chromium and Firefox copy them.
        (
            """
            curl 'http://x/a' \\
              -H 'accept: */*' \\
              --data-raw $'{"t":"it\\'s \\u00fc\\u0021\\n"}' \\
              --compressed
            """,
            [ExpectedRequest("POST", "/a", ["accept: */*", form], "{\"t\":\"it's ü!\n\"}")]
        ),
        (
            "curl ^\"http://x/a?b=1^&c=^%^20d^\" ^\r\n  -H ^\"x: ^\\^\"q^\\^\"^\" ^\r\n"
                + "  --data-raw ^\"^{^\\^\"k^\\^\":1^}^\"\r\n",
            [ExpectedRequest("POST", "/a?b=1&c=%20d", ["x: \"q\"", form], "{\"k\":1}")]
        ),
        (
            "curl ^\"http://x/a^\" ^\n  -X PUT &\ncurl ^\"http://x/b^\"",
            [ExpectedRequest("PUT"), ExpectedRequest("GET", "/b")]
        ),
        // Several of them, in one line and one command.
        (
            "curl http://x/a && curl http://x/b; curl http://x/c",
            [ExpectedRequest(), ExpectedRequest("GET", "/b"), ExpectedRequest("GET", "/c")]
        ),
        (
            "curl http://x/a http://x/b -d 1",
            [
                ExpectedRequest("POST", "/a", [form], "1"),
                ExpectedRequest("POST", "/b", [form], "1"),
            ]
        ),
        (
            "curl http://x/a -d 1 --next http://x/b",
            [ExpectedRequest("POST", "/a", [form], "1"), ExpectedRequest("GET", "/b")]
        ),
        (
            "curl -d \"a\\$b \\\"c\\\" \\d $ 5\" http://x/a",
            [ExpectedRequest("POST", "/a", [form], "a$b \"c\" \\d $ 5")]
        ),
        (
            "curl $'\\x68ttp://x/a' -d $'\\101\\t\\xc3\\xa9'",
            [ExpectedRequest("POST", "/a", [form], "A\té")]
        ),
        ("curl -g 'http://x/a?f[]=1'", [ExpectedRequest("GET", "/a?f[]=1")]),
        ("curl 'http://[::1]:80/a'", [ExpectedRequest()]),
        ("curl.exe http://x/a", [ExpectedRequest()]),
        ("curl http://x/a?b=1 # read it", [ExpectedRequest("GET", "/a?b=1")]),
    ]

    @Test("words are parsed by the rules of their shell", arguments: shells.indices)
    func shell(index: Int) throws {
        let (text, reads) = Self.shells[index]
        try Self.expect(text, reads)
    }

    // MARK: What nobody can know

    private static let unknown: [(String, Int, String)] = [
        ("curl http://x/$ID", 1, "a shell substitutes an unknown value"),
        ("curl http://x/a -d \"$BODY\"", 1, "a shell substitutes an unknown value"),
        ("curl http://x/a\ncurl \"http://x/$(id)\"", 2, "a shell substitutes an unknown value"),
        ("curl http://x/`id`", 1, "a shell substitutes an unknown value"),
        ("curl http://x/a -d @- <<EOF\n{}\nEOF", 1, "a shell substitutes an unknown value"),
        ("curl http://x/{a,b}", 1, "to several words"),
        ("curl 'http://x/{a,b}'", 1, "curl makes several requests"),
        ("curl 'http://x/[1-3]'", 1, "curl makes several requests"),
        ("curl http://x/a -d @-", 1, "reads from standard input"),
        ("curl http://x/a -d @none", 1, "there is no file 'none'"),
        ("curl http://x/a -T none", 1, "there is no file 'none'"),
        ("curl http://x/a -H @none", 1, "the headers are in the file"),
        ("curl http://x/a -b jar.txt", 1, "the cookies are in the file"),
        ("curl http://x/a -u ada", 1, "has no password"),
        ("curl http://x/a --digest -u a:b", 1, "needs several requests"),
        ("curl http://x/a -K conf", 1, "is read from a file"),
        ("curl http://x/a --frobnicate", 1, "'--frobnicate'"),
        ("curl http://x/a --no-frobnicate", 1, "'--no-frobnicate'"),
        ("curl http://x/a -sé", 1, "'-é'"), ("curl http://x/a -F x", 1, "not a form field"),
        ("curl http://x/a -F x=1 -d 1", 1, "a form and data"),
        ("curl http://x/a -H nothing", 1, "is not a header"),
        ("curl http://x/a --next", 1, "no URL"), ("curl -d $'\\xff' http://x", 1, "not UTF-8"),
        ("curl http://x/a?b=1&c=2", 1, "not a curl command"),
    ]

    @Test("a command whose request cannot be determined is an error", arguments: unknown)
    func refused(text: String, line: Int, problem: String) {
        do {
            let found = try Self.requests(text)
            Issue.record("read as \(found.map(\.target)): \(text)")
        } catch let error as RecordingError {
            #expect(error.line == line, "\(text)")
            #expect(error.problem.contains(problem), "\(text): \(error.problem)")
            #expect(!error.remedy.isEmpty)
        } catch {
            Issue.record("\(error)")
        }
    }

    @Test func `no text ends it`() {
        var generator = SeededGenerator(seed: 3)
        let pieces = [
            "curl", " ", "http://x/a", "'", "\"", "\\", "$", "$'", "\\x", "\\u", "^", "^\"", "&",
            "|",
            ">", "<", ";", "\n", "\r\n", "{", "}", ",", "-d", "-F", "-H", "-sX", "@", "=", "--",
            "é", "#",
        ]
        for _ in 0..<4000 {
            var text = "curl "
            for _ in 0..<Int(generator.next() % 14) {
                text += pieces[Int(generator.next() % UInt64(pieces.count))]
            }
            _ = try? Self.requests(text)
        }
    }
}
