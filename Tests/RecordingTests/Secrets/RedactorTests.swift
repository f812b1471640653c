import Grammar
import Recording
import Redaction
import Testing
import Values

@Suite("Redactor")
struct RedactorTests {
    private static let key = Array("key".utf8)

    /// Everything here is made up; none of it may come out again.
    private static let planted = [
        "Bearer-value-7731", "hunter2-hunter2", "ada.lovelace@example.org", "whsec_9f8e7d6c5b4a3",
        "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJlLXBsYW50ZWQ", "MIIT-receipt-blob-1",
        "6F1D-device-9A3C", "session-cookie-5521", "sk_" + "live_planted_0001", "203.0.113.77",
        "AIzaPlantedKey000111222", "refresh-planted-8842",
    ]

    private func redactor() -> Redactor {
        Redactor(key: Self.key, secrets: [Secret("Bearer configured-secret-1")], names: ["X-Shop"])
    }

    private func text(_ exchange: Exchange, _ redactor: Redactor) -> String {
        let redacted = redactor.exchange(exchange)
        let header = RecordingHeader(
            version: "1",
            began: Instant(milliseconds: 0),
            target: "http://127.0.0.1:1"
        )
        return Recording(header: header, exchanges: [redacted]).lines
            .map {
                String(
                    decoding: redactor.line((try? JSONValue(parsing: $0)) ?? .null),
                    as: UTF8.self
                )
            }
            .joined(separator: "\n")
    }

    private func exchange(
        target: String = "/x",
        fields: [HTTPMessage.Field] = [],
        body: String = "",
        answer: String = "{}",
        answerFields: [HTTPMessage.Field] = []
    ) -> Exchange {
        Exchange(
            from: .app,
            to: .backend,
            namespace: "",
            purpose: .call,
            at: Instant(milliseconds: 1_790_000_000_000),
            request: HTTPMessage.Request("POST", target, fields: fields, body: Array(body.utf8)),
            completed: 1,
            outcome: .answered(
                HTTPMessage.Response(200, fields: answerFields, body: Array(answer.utf8))
            )
        )
    }

    @Test(
        "a mark says what its key began with",
        arguments: [
            ("rk_li" + "ve_Xq7Lm2Zt9Ra4", ".rk_li" + "ve_›"), ("ghp_Xq7Lm2Zt9Ra4Kd8W", ".ghp_›"),
            ("os_v2_app_Xq7Lm2Zt9Ra4", ".os_v2_app_›"), ("hunter2-hunter2", "›"),
        ]
    )
    func shapes(value: String, ending: String) throws {
        let clean = redactor().json(["apiKey": .string(value)])
        let mark = try #require(clean["apiKey"]?.string)
        #expect(mark.hasSuffix(ending) && Redactor.isPlaceholder(mark), "\(mark)")
        #expect(mark.contains(".") == (ending != "›"))
    }

    @Test func `a plain word below a secret's name is not looked for elsewhere`() {
        let redactor = redactor()
        _ = redactor.json(["token": "premium_feature", "password": "hunter2-hunter2"])
        let line = redactor.line(["a": "premium_feature", "b": "hunter2-hunter2"])
        let text = String(decoding: line, as: UTF8.self)
        #expect(text.contains("premium_feature") && !text.contains("hunter2"))
    }

    @Test func `no planted secret appears in redacted output, in any location`() {
        let everywhere = exchange(
            target: "/v1/x?key=AIzaPlantedKey000111222&email=ada.lovelace%40example.org",
            fields: [
                .init("Authorization", "Bearer Bearer-value-7731"),
                .init("Cookie", "sid=session-cookie-5521; theme=dark"),
                .init("X-RevenueCat-Webhook-Signature", "t=1,v1=whsec_9f8e7d6c5b4a3"),
                .init("X-Forwarded-For", "203.0.113.77"), .init("X-Shop", "hunter2-hunter2"),
            ],
            body: """
                {"password": "hunter2-hunter2", "deviceId": "6F1D-device-9A3C",
                 "fetch_token": "MIIT-receipt-blob-1", "note": "write to ada.lovelace@example.org",
                 "subscriber_attributes": {"$email": {"value": "ada.lovelace@example.org"}},
                 "nested": [{"idToken":
                 "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJlLXBsYW50ZWQ"}],
                 "log": "key \("sk_" + "live_planted_0001") was used with refresh-planted-8842",
                 "refresh_token": "refresh-planted-8842"}
                """,
            answer: #"{"echo": "MIIT-receipt-blob-1 and Bearer-value-7731"}"#,
            answerFields: [.init("Set-Cookie", "sid=session-cookie-5521; Path=/; HttpOnly")]
        )
        let written = text(everywhere, redactor())
        for secret in Self.planted { #expect(!written.contains(secret), "\(secret)\n\(written)") }
        #expect(written.contains("Path=/; HttpOnly"), "attributes of a cookie are no secret")
    }

    @Test func `forms and plain text are looked through as well`() {
        let form = exchange(
            fields: [.init("content-type", "application/x-www-form-urlencoded")],
            body: "grant_type=refresh_token&refresh_token=refresh-planted-8842",
            answer: "<p>ada.lovelace@example.org</p>"
        )
        let written = text(form, redactor())
        for secret in Self.planted { #expect(!written.contains(secret), "\(written)") }
        #expect(written.contains("grant_type=refresh_token"))
    }

    @Test func `a profile's secret is replaced even where nothing says that it is one`() {
        let echo = exchange(answer: #"{"debug": "sent configured-secret-1 along"}"#)
        #expect(!text(echo, redactor()).contains("configured-secret-1"))
    }

    @Test func `however many secrets come, the profile's are not forgotten`() {
        let redactor = redactor()
        for number in 0..<3000 {
            _ = redactor.json(["token": .string("a-passing-token-\(number)")])
        }
        let echo = exchange(answer: #"{"debug": "sent configured-secret-1 along"}"#)
        #expect(!text(echo, redactor).contains("configured-secret-1"))
    }

    @Test func `equal secrets stay equal, others differ, and another key gives another`() {
        let one = redactor()
        func token(_ value: String, _ redactor: Redactor) -> String? {
            redactor.json(["token": .string(value)])["token"]?.string
        }
        #expect(token("a-secret-value", one) == token("a-secret-value", one))
        #expect(token("a-secret-value", one) != token("b-secret-value", one))
        let other = Redactor(key: Array("other".utf8))
        #expect(token("a-secret-value", one) != token("a-secret-value", other))
        #expect(token("a-secret-value", one).map(Redactor.isPlaceholder) == true)
    }

    @Test(
        "values under backend-specific secret names are redacted",
        arguments: ["claimToken", "client_secret", "old-password", "push_tokens", "billingEmail"]
    )
    func names(name: String) throws {
        let value: JSONValue = .object(
            JSONObject(members: [.init(key: name, value: ["a-hidden-value"])])
        )
        #expect(!redactor().json(value).text.contains("a-hidden-value"))
    }

    @Test(
        "values that are not secret stay unchanged",
        arguments: [
            #"{"type":"INITIAL_PURCHASE","product_id":"premium_monthly","price":9.99}"#,
            #"{"app_user_id":"$RCAnonymousID:0123","store":"APP_STORE","aliases":["user_17"]}"#,
            #"{"key":"premium","count":3,"keys":["a"]}"#,
        ]
    )
    func leaves(body: String) throws {
        let value = try JSONValue(parsing: body)
        #expect(redactor().json(value) == value)
    }
}
