import Conformance
import Testing

@Suite("Redaction")
struct RedactionTests {
    private let redaction = Redaction { kind, value in "‹\(kind):\(value.utf8.count)›" }

    @Test(
        "texts",
        arguments: [
            ("nothing to see, 2026-09-24T12:00:00Z premium_monthly", nil),
            ("mail ada@example.org.", "mail ‹email:15›."),
            ("mail ada%40example.org", "mail ‹email:15›"),
            ("password=hunter2&next=1", "password=‹password:7›&next=1"),
            (#"{"token": "abc", "a": 1"#, #"{"token": "‹token:3›", "a": 1"#),
            (#"log {\"token\":\"abc\"} end"#, #"log {\"token\":\"‹token:3›\"} end"#),
            ("Authorization: Bearer abc", "Authorization: Bearer ‹authorization:3›"),
            ("sent Basic YWRhOng=", "sent Basic ‹authorization:8›"),
            ("basic authentication is used", nil),
            ("signature: wrong, token: missing", nil),
            (#"password: "{{password.ada}}""#, nil),
            ("http://ada:secret@host.example/x", "http://‹authorization:10›@host.example/x"),
            ("setvault://?key=app_user_id&value=abc&locked=true", nil),
            ("https://x.example/y?key=abc", "https://x.example/y?key=‹key:3›"),
            (#"{"token" "abc"}"#, #"{"token" "‹token:3›"}"#),
            (#"{"token":{"a":"b"},"c":1}"#, #"{"token":‹token:9›,"c":1}"#),
            (
                #"<input name="password" value="abc">"#,
                #"<input name="password" value="‹password:3›">"#
            ),
            ("X-Signature: t=1,v1=abc", "X-Signature: ‹signature:10›"),
            ("already ‹token:12› and ‹ada›", nil),
            ("‹hunter2› token=‹hunter2›", "‹hunter2› token=‹token:13›"),
        ] as [(String, String?)]
    )
    func texts(text: String, expected: String?) {
        #expect(redaction.text(text) == expected ?? text)
    }

    @Test(
        "targets",
        arguments: [
            ("/x?", nil), ("/x?a=1&&b=2", nil), ("/x?=", nil), ("/x?&", nil), ("?", nil), ("", nil),
            ("/x?a=%zz", nil), ("/x?token=", nil), ("/x?token=a%20b", "/x?token=‹token:3›"),
            ("/x?key=abc&b", "/x?key=‹key:3›&b"),
            ("/u/ada%40example.org/y", "/u/‹email:15›/y"),
            ("/x?next=%2Fa%3FoobCode%3Dabc", "/x?next=%2Fa%3FoobCode%3D‹token:3›"),
        ] as [(String, String?)]
    )
    func targets(target: String, expected: String?) {
        #expect(redaction.target(target) == expected ?? target)
    }

    @Test(
        "cookies",
        arguments: [
            ("Cookie", "a=1;=;", "a=‹cookie:1›;=;"), ("Cookie", ";;", ";;"), ("Cookie", "", ""),
            ("Cookie", "path=abc; x", "path=‹cookie:3›;‹cookie:1›"),
            ("Set-Cookie", "a=1; Path=/; Secure", "a=‹cookie:1›; Path=/; Secure"),
        ]
    )
    func cookies(name: String, value: String, expected: String) {
        #expect(redaction.fields([.init(name, value)]).first?.value == expected)
    }

    @Test(
        "bodies",
        arguments: [
            (#"{"a":1}"#, "application/json", nil),
            (#"{"token":"a"}"#, "text/plain", #"{"token":"‹token:1›"}"#),
            (#"{"a":"#, "application/json", "‹body:5›"), (#"{"a":"#, "", "‹body:5›"),
            (#"[info] started"#, "text/plain", nil),
            ("a=1&password=%41", "application/x-www-form-urlencoded", "a=1&password=‹password:1›"),
            ("=&&=", "application/x-www-form-urlencoded", nil),
            ("{\"a\":1}\n{\"token\":\"x\"}", "", "{\"a\":1}\n{\"token\":\"‹token:1›\"}"),
        ] as [(String, String, String?)]
    )
    func bodies(body: String, type: String, expected: String?) {
        let clean = redaction.body(Array(body.utf8), contentType: type)
        #expect(String(decoding: clean, as: UTF8.self) == expected ?? body)
    }

    @Test func `equal secrets stay equal, and a declared one is told by its name`() {
        let declared = SecretDeclaration(
            values: ["shop": Secret("Bearer shop-value")],
            names: ["X-Till"]
        )
        let people = Redaction.forPeople(declared)
        let body: JSONValue = ["token": "a", "idToken": "a", "other_token": "b", "x-till": "c"]
        let clean = people.json(body)
        #expect(clean["token"] == clean["idToken"])
        #expect(clean["token"] != clean["other_token"])
        #expect(clean["x-till"]?.string?.hasPrefix("‹secret ") == true)
        #expect(people.json(["a": "saw shop-value"]) == ["a": "saw ‹secret:shop›"])
        #expect(people.json(["authorization": "shop-value"]) == ["authorization": "‹secret:shop›"])
    }

    @Test func `values that a run made up itself stay`() {
        let redaction = Redaction(isHarmless: { $0 == "ada@example.com" }) { _, _ in "‹masked:0›" }
        #expect(redaction.text("to ada@example.com") == "to ada@example.com")
        #expect(redaction.text("to bob@example.com") == "to ‹masked:0›")
    }

    private static let pieces =
        [
            "=", "&", ";", "?", "%", "%4", "%40", "%3D", "\"", "'", "\\", "{", "}", "[", "]", ":",
            "://", "@", ".", ",", " ", "\n", "\r\n", "--b", "-----BEGIN " + "PRIVATE KEY",
            "-----END ",
            "‹", "›", "‹token:", "‹token:ab›", "‹email 12›", "Bearer ", "basic ", "password",
            "token", "key", "email", "cookie", "eyJ", "sk_", "a", "Z9", "ä", "\u{0}", "\u{e2}",
            "{{", "}}", "null", "name=\"token\"", "http", "/", "\u{301}", "\r", "\u{200d}",
        ].map { Array($0.utf8) } + [[0xff], [0xe2, 0x80], [0xc3]]

    /// Any bytes at all: no crash, and redacting what is redacted changes nothing.
    @Test("whatever comes is taken", arguments: 0..<UInt64(400))
    func total(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        func noise(_ countMax: Int) -> [UInt8] {
            (0..<Int.random(in: 0...countMax, using: &generator)).flatMap { _ in
                Self.pieces.randomElement(using: &generator) ?? []
            }
        }
        func text(_ countMax: Int) -> String { String(decoding: noise(countMax), as: UTF8.self) }
        let types = [
            "", "application/json", "application/x-www-form-urlencoded", "multipart/form-data",
            "text/plain",
        ]
        let names = ["Cookie", "Set-Cookie", "Authorization", "X-Api-Key", "Referer", text(3)]
        let people = Redaction.forPeople(SecretDeclaration(values: ["a": Secret("token:")]))
        for _ in 0..<10 {
            let type = types.randomElement(using: &generator) ?? ""
            let name = names.randomElement(using: &generator) ?? ""
            let fields = [HTTPMessage.Field("content-type", type), .init(name, text(8))]
            let exchange = Exchange(
                from: .app,
                to: .backend,
                namespace: "",
                purpose: .restart(text(6)),
                at: Instant(milliseconds: 0),
                request: HTTPMessage.Request(text(2), text(12), fields: fields, body: noise(14)),
                outcome: .answered(HTTPMessage.Response(200, fields: fields, body: noise(14))),
                effects: [
                    Effect(kind: "x", recipients: [text(4)], content: ["a": .string(text(9))])
                ]
            )
            let clean = redaction.exchange(exchange)
            #expect(redaction.exchange(clean) == clean)
            _ = people.exchange(exchange)
        }
    }
}
