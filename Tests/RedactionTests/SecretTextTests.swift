import Redaction
import Testing
import Values

/// Secrets in text: the names that mark them, and the separators around them.
@Suite("Secrets in text")
struct SecretTextTests {
    private static let names: [(String, String?)] = [
        ("password", "password"), ("Password", "password"), ("new_password", "password"),
        ("oldPassword", "password"), ("claimToken", "token"), ("client_secret", "key"),
        ("refresh_token", "token"), ("refreshToken", "token"), ("$email", "email"),
        ("work-email", "email"), ("deviceId", "device"), ("device_id", "device"), ("ip", "address"),
        ("fetch_token", "receipt"), ("X-Api-Key", "key"), ("oobCode", "token"),
        ("sig", "signature"),
        ("tokenize", nil), ("passwordless", nil), ("plan", nil), ("", nil), ("secretary", nil),
    ]

    @Test("secret names are detected in any spelling", arguments: names)
    func secretNames(name: String, kind: String?) {
        #expect(SecretNames.member(SecretNames.normalizedName(name)) == kind)
    }

    @Test func `values under a secret name are removed at any depth`() {
        let value: JSONValue = [
            "user": [["refresh_token": "r", "name": "ada"], ["password": ["nested": "p"]]],
            "plan": "gold",
        ]
        let clean = value.withoutSecrets
        #expect(clean["plan"] == "gold")
        #expect(clean["user"]?.array?.first?["name"] == "ada")
        let token = clean["user"]?.array?.first?["refresh_token"]?.string ?? ""
        #expect(token.hasPrefix("‹token"), "\(clean)")
        let users = clean["user"]?.text ?? ""
        #expect(!users.contains("\"p\"") && !users.contains("\"r\""), "\(users)")
    }

    @Test func `a body on one line is truncated, redacted and marked if binary`() {
        #expect(HTTPMessage.Response(200, body: [0xff, 0xfe]).bodyLine.hasPrefix("‹body"))
        #expect(HTTPMessage.Response(200, body: Array("a\nb\r\nc".utf8)).bodyLine == "a b c")
        let long = HTTPMessage.Response(200, body: Array(String(repeating: "x", count: 500).utf8))
        #expect(long.bodyLine.count == 200 && long.bodyLine.hasSuffix("…"))
        let secret = HTTPMessage.Response(200, json: ["password": "hidden", "a": 1])
        #expect(secret.bodyLine.hasPrefix(#"{"password":"‹password"#))
        #expect(secret.bodyLine.hasSuffix(#","a":1}"#) && !secret.bodyLine.contains("hidden"))
    }

    @Test func `an element of a path is readable, and a password is not`() {
        let redaction = Redaction.forReports()
        let path = "subscription/passes/pass=premium/open is true"
        #expect(redaction.text(path) == path)
        for text in ["pass=premium", "/login?pass=premium", "/pass=premium"] {
            #expect(!redaction.text(text).contains("premium"), "\(text)")
        }
    }

    @Test func `a secret prints as a fingerprint everywhere`() {
        let secret = Secret("Bearer very-private")
        for text in ["\(secret)", String(reflecting: secret), String(describing: [secret])] {
            #expect(!text.contains("private"))
        }
        var dumped = ""
        dump(secret, to: &dumped)
        #expect(!dumped.contains("private"))
        #expect("\(secret)" == "\(Secret("Bearer very-private"))")
        #expect("\(secret)" != "\(Secret("Bearer other"))")
    }

    // MARK: Separators before combining marks

    private let redaction = Redaction { kind, value in "‹\(kind):\(value.utf8.count)›" }

    @Test(
        "a secret is found after a separator with a combining mark",
        arguments: [
            "/x?\u{301}token=hunter22", "/x?a=1&\u{301}token=hunter22", "/x?token=\u{301}hunter22",
            "/x?\u{301}a=1&token=hunter22",
        ]
    )
    func targets(target: String) {
        #expect(!redaction.target(target).utf8.elementsEqual(target.utf8))
        #expect(!redaction.target(target).contains("hunter22"))
    }

    @Test func `cookies are split at separators before any character`() {
        let text = "sid=\u{301}hunter22;\u{301} next=hunter33"
        let shown = redaction.fields([.init("Cookie", text)]).first?.value ?? ""
        #expect(!shown.contains("hunter"))
        #expect(shown.contains("sid=") && shown.contains("next="))
    }

    @Test func `JSON Lines with CRLF endings are read`() {
        let body = "{\"token\":\"hunter22\",\"a\":1}\r\n{\"a\":2}\r\n"
        let clean = String(
            decoding: redaction.body(Array(body.utf8), contentType: "application/x-ndjson"),
            as: UTF8.self
        )
        #expect(clean == "{\"token\":\"‹token:8›\",\"a\":1}\r\n{\"a\":2}\r\n")
    }
}
