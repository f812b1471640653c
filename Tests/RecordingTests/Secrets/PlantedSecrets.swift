import Contracts
import Grammar
internal import Providers
import Redaction
import Testing
import Values

/// One secret in one place, as clients, stores and backends put them there.
struct PlantedSecret: Sendable, CustomTestStringConvertible {
    let name: String
    /// What must be found nowhere: a part that no other text has.
    let secret: String
    let exchange: Exchange
    /// Only what is read as a whole shows it: a column below its name.
    var isInNameTable = false

    var testDescription: String { name }

    static let webToken = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ."

    /// What the profile declares beside the tables.
    static let declared: Profile = {
        var profile = Profile()
        profile.secrets[.revenueCatAuthorization] = Secret("Bearer declared-value-9917")
        profile.secretNames = ["X-Shop"]
        return profile
    }()

    static let all: [PlantedSecret] =
        headers + queries + forms + jsonBodies + texts + unreadable + others + looks + places

    /// Those that a text shows as well.
    static let spoken = all.filter { !$0.isInNameTable }

    private static let headers = [
        header("bearer", "bearer-4410", "Authorization", "Bearer bearer-4410-value"),
        header("basic", "YmFzaWM6cGxhbnRlZA", "Authorization", "Basic YmFzaWM6cGxhbnRlZA=="),
        header("a scheme of its own", "os_v2_app_scheme", "Authorization", "Key os_v2_app_scheme"),
        header("authorization alone", "alone-4411", "Authorization", "alone-4411"),
        header("cookie", "cookie-4412", "Cookie", "theme=dark; sid=cookie-4412"),
        header("cookie named like an attribute", "cookie-4413", "Cookie", "path=cookie-4413"),
        header("nameless cookie", "cookie-4414", "Cookie", "cookie-4414"),
        header("API key", "apikey-4415", "X-API-KEY", "apikey-4415"),
        header("Purchasely signature", "sig-4416", "X-PURCHASELY-REQUEST-SIGNATURE", "sig-4416"),
        header(
            "RevenueCat signature",
            "sig-4417",
            "X-RevenueCat-Webhook-Signature",
            "t=1,v1=sig-4417"
        ),
        header("App Check", "check-4418", "X-Firebase-AppCheck", "check-4418"),
        header("address", "203.0.113.77", "X-Forwarded-For", "203.0.113.77"),
        header("declared name", "shop-4419", "x-shop", "shop-4419"),
        header("referrer", "oob-4420", "Referer", "https://x.example/a?oobCode=oob-4420&mode=x"),
        PlantedSecret(
            name: "set-cookie",
            secret: "cookie-4421",
            exchange: exchange(
                answer: "{}",
                answerFields: [.init("Set-Cookie", "sid=cookie-4421; Path=/; HttpOnly")]
            )
        ),
    ]

    private static let queries = [
        target("query key", "query-4422", "/v1/accounts:lookup?key=query-4422"),
        target("query token", "query-4423", "/x?a=1&&token=query-4423&b"),
        target("e-mail in a query", "planted.query", "/x?user=planted.query%40mail.example"),
        target("e-mail in a path", "planted.path", "/v1/subscribers/planted.path%40mail.example"),
        target(
            "link in a query",
            "oob-4424",
            "/x?next=https%3A%2F%2Fa.example%3FoobCode%3Doob-4424"
        ),
        target("user in an address", "pass-4425", "http://ada:pass-4425@host.example/x"),
        target("bracketed name", "query-4426", "/x?user[password]=query-4426"),
    ]

    private static let forms = [
        form("refresh token", "form-4427", "grant_type=refresh_token&refresh_token=form-4427"),
        form("password", "form-4428", "password=form-4428&=&"),
        form("e-mail", "planted.form", "email=planted.form%40mail.example"),
        form("e-mail under another name", "planted.login", "login=planted.login%40mail.example"),
        PlantedSecret(
            name: "part of a form with files",
            secret: "part-4429",
            exchange: exchange(
                fields: [.init("content-type", "multipart/form-data; boundary=b")],
                body: "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n"
                    + "part-4429\r\n--b--\r\n"
            )
        ),
    ]

    private static let jsonBodies = [
        json("nested token", "json-4430", #"{"a":[{"b":{"idToken":"json-4430"}}]}"#),
        json("JSON in a text", "json-4431", #"{"payload":"{\"password\":\"json-4431\"}"}"#),
        json("list of tokens", "json-4432", #"{"pushTokens":["x","json-4432"]}"#),
        json("object of a credential", "json-4433", #"{"password":{"current":"json-4433"}}"#),
        json("web token in a note", "c2lnLTQ0MzQ", #"{"note":"\#(webToken)c2lnLTQ0MzQ"}"#),
        json(
            "link in a body",
            "oob-4435",
            #"{"link":"https://a.example/__/auth?oobCode=oob-4435"}"#
        ),
        json("provider key in a note", "planted_4436", #"{"log":"sk_planted_4436 was used"}"#),
        json("phone number", "49151234567", #"{"phoneNumber":49151234567}"#),
        json(
            "attribute",
            "+49301234567",
            #"{"subscriber_attributes":{"$phoneNumber":{"value":"+49301234567"}}}"#
        ),
        json("e-mail as a name", "planted.name", #"{"users":{"planted.name@mail.example":1}}"#),
        json("device", "device-4437", #"{"deviceId":"device-4437"}"#),
        json("session cookie", "session-4438", #"{"sessionCookie":"session-4438"}"#),
        json("receipt", "MIIT-4439", #"{"fetch_token":"MIIT-4439"}"#),
        json(
            "declared value",
            "declared-value-9917",
            #"{"debug":"saw declared-value-9917 there"}"#
        ),
        json("lines of JSON", "line-4440", "{\"a\":1}\n{\"token\":\"line-4440\"}\n"),
    ]

    private static let texts = [
        text("password in a text", "text-4441", "login with password=text-4441 failed"),
        text("scheme in a text", "text-4442-x", "sent Authorization: Bearer text-4442-x along"),
        text("JSON in a log line", "text-4443", #"body was {\"token\":\"text-4443\"} there"#),
        text("e-mail in a text", "planted.text", "mail from planted.text@mail.example arrived"),
        text(
            "private key",
            "bWlsa3k0NDQ0",
            "-----BEGIN " + "PRIVATE KEY-----\nbWlsa3k0NDQ0\n-----END PRIVATE KEY-----"
        ),
    ]

    private static let unreadable = [
        json("JSON that was cut", "broken-4445", #"{"password":"broken-4445"#),
        json("JSON in pieces", "broken-4446", #"{"password" "broken-4446"}"#),
        PlantedSecret(
            name: "no UTF-8",
            secret: "bytes-4447",
            exchange: exchange(bytes: [0xff, 0xfe] + Array("password=bytes-4447".utf8))
        ),
        PlantedSecret(
            name: "no UTF-8, with zeros",
            secret: "bytes-4448",
            exchange: exchange(bytes: [0, 0xff] + Array(" token=bytes-4448 ".utf8))
        ),
    ]

    private static let others: [PlantedSecret] = {
        var effect = exchange()
        effect.effects = [
            Effect(
                kind: "onesignal.notification",
                recipients: ["planted.recipient@mail.example"],
                content: ["data": ["token": "effect-4449"]]
            )
        ]
        var lost = exchange()
        lost.outcome = .answerLost(
            HTTPMessage.Response(200, json: ["refreshToken": "lost-4450"])
        )
        var failed = exchange()
        failed.outcome = .failed(.closed, "cannot send to http://x/?token=failed-4451")
        return [
            PlantedSecret(name: "effect", secret: "effect-4449", exchange: effect),
            PlantedSecret(name: "recipient", secret: "planted.recipient", exchange: effect),
            PlantedSecret(name: "lost answer", secret: "lost-4450", exchange: lost),
            PlantedSecret(name: "failure", secret: "failed-4451", exchange: failed),
        ]
    }()

    /// Known by their looks, below names that say nothing.
    private static let looks: [PlantedSecret] = {
        let random = "Xq7Lm2Zt9Ra4Kd8Wp3Vn6Yb5Hc1Jf0Gs"
        let keys = [
            ("Stripe, restricted", "rk_li" + "ve_\(random)"), ("GitHub", "ghp_\(random)"),
            ("GitHub, fine", "github_pat_\(random)"), ("GitLab", "glpat-\(random)"),
            ("Slack", "xoxb-\(random)"), ("Google, access", "ya29.\(random)"),
            ("Google, client", "GOCSPX-\(random)"), ("AWS", "AKI" + "AXQ7LMZTRAKDWPVN"),
            ("SendGrid", "SG.\(random)"), ("Shopify", "shpat_\(random)"),
            ("npm", "npm_\(random)"), ("webhook", "whsec_\(random)"),
            ("RevenueCat", "sk_\(random)"), ("OneSignal", "os_v2_app_\(random)"),
            ("OneSignal, older", "NGEwMGZmMjItY2NkNy0xMWUzLTk5ZDUtMDAwYzI5NDBlNjJj"),
            ("Mailgun", "key-0123456789abcdef0123456789abcdef"),
            ("Twilio", "SK0123456789abcdef0123456789abcdef"),
            ("Databricks", "dapi0123456789abcdef0123456789abcdef"),
            ("hash of a password", "$2b$12$\(random)abcdefghijklmnopqrstuv"),
            ("hash with parameters", "$argon2id$v=19$m=65536,t=3,p=4$\(random)$\(random)"),
            ("push token", "ExponentPushToken[\(random)]"),
            ("long and mixed", "\(random)\(random)"),
            ("base64 with slashes", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY3xAMP1EK3Y"),
            ("card", "4111 1111 1111 1111"), ("card without blanks", "5555555555554444"),
            ("card with hyphens", "3782-822463-10005"), ("account", "DE89370400440532013000"),
            ("account with blanks", "GB82 WEST 1234 5698 7654 32"), ("phone", "+4915112345678"),
            ("phone with blanks", "+49 151 1234 5678"), ("address", "93.184.216.34"),
            ("long address", "2001:db8:85a3:8d3:1319:8a2e:370:7348"),
        ]
        return keys.flatMap { name, value in
            [
                json("\(name) in JSON", "\(value)".json, #"{"note":"\#(value)"}"#),
                text("\(name) in a text", value, "it says \(value)\n"),
            ]
        }.filter { !($0.name == "long address in a text") }
    }()

    /// Known by where they stand.
    private static let places: [PlantedSecret] = [
        header("GitHub's signature", "place-4500", "X-Hub-Signature-256", "sha256=place-4500"),
        header("Shopify's signature", "place-4501", "X-Shopify-Hmac-Sha256", "place-4501"),
        header("Stripe's signature", "place-4502", "Stripe-Signature", "t=1,v1=place-4502"),
        header("the caller's address", "198.51.100.77", "CF-Connecting-IP", "198.51.100.77"),
        header("an address under any name", "93.184.216.99", "X-Edge", "93.184.216.99"),
        header("a member's name as a header", "place-4503", "X-Otp", "place-4503"),
        header(
            "code in a referrer",
            "place-4504",
            "Referer",
            "https://a.example/cb?code=place-4504"
        ),
        header(
            "token in a fragment",
            "place-4505",
            "Referer",
            "https://a.example/#access_token=place-4505"
        ),
        target("code", "place-4506", "/cb?state=x&code=place-4506"),
        target("link to reset", "place4507", "/reset/place4507"),
        target("link to verify", "a1B2c3D4e5F6g7H8place", "/verify-email/a1B2c3D4e5F6g7H8place"),
        target("one-time code in a path", "884508", "/otp/884508"),
        form("short name", "place-4509", "user=ada&pw=place-4509"),
        form("pass", "place-4510", "user=ada&pass=place-4510"),
        json("sessionId", "place-4511", #"{"sessionId":"place-4511"}"#),
        json("refresh", "place-4512", #"{"refresh":"place-4512"}"#),
        json("client_ip", "place-4513", #"{"client_ip":"place-4513"}"#),
        json("mobile", "place-4514", #"{"mobile":"place-4514"}"#),
        json("pwd", "place-4515", #"{"pwd":"place-4515"}"#),
        json("name and value", "place-4516", #"[{"name":"password","value":"place-4516"}]"#),
        json("patch", "place-4517", #"[{"op":"add","path":"/password","value":"place-4517"}]"#),
        json("pair", "place-4518", #"{"headers":[["Authorization","place-4518"]]}"#),
        json("credentials below", "place-4519", #"{"credentials":{"a":{"b":["place-4519"]}}}"#),
        json("token as a name", "a1B2c3D4e5F6g7H8name", #"{"tokens":{"a1B2c3D4e5F6g7H8name":1}}"#),
        json("link with a code", "place-4520", #"{"url":"https://a.example/cb?code=place-4520"}"#),
        json(
            "query language",
            "place-4521",
            #"{"query":"mutation{login(password: \"place-4521\")}"}"#
        ),
        json("environment", "place-4522", #"{"log":"export STRIPE_KEY=\"place-4522\""}"#),
        text("element", "place-4523", "<soap:Body><u:Password>place-4523</u:Password></soap:Body>"),
        text("character data", "place-4524", "<token><![CDATA[place-4524]]></token>"),
        text(
            "below an element",
            "place-4525",
            "<credentials><a><b>place-4525</b></a></credentials>"
        ),
        text("attribute", "place-4526", #"<add key="ApiKey" value="place-4526"/>"#),
        text(
            "hidden field",
            "place-4527",
            #"<input value='place-4527' type="hidden" name='_token'>"#
        ),
        text("property list", "place-4528", "<key>password</key><string>place-4528</string>"),
        text("command", "place-4529", "curl -u bob:place-4529 https://a.example"),
        text("flag", "place-4530", "login --password place-4530 --verbose"),
        text("sentence", "884531", "Your verification code is 884531."),
        typed(
            "events",
            "place-4532",
            "text/event-stream",
            "event: x\ndata: {\"token\":\"place-4532\"}\n\n"
        ),
        typed("table", "place-4533", "text/csv", "id,api_key\n1,place-4533\n2,\n"),
        typed(
            "table with tabs",
            "place-4534",
            "text/tab-separated-values",
            "id\tpassword\n1\tplace-4534\n"
        ),
        typed(
            "part without quotes",
            "place-4535",
            "multipart/form-data; boundary=b",
            "--b\r\nContent-Disposition: form-data; name=pwd\r\n\r\nplace-4535\r\n--b--\r\n"
        ),
        typed(
            "sixteen bits a letter",
            "place-4536".spaced,
            "text/plain; charset=utf-16le",
            "password=place-4536".spaced
        ),
    ]

    // MARK: Building

    private static func header(
        _ name: String,
        _ secret: String,
        _ field: String,
        _ value: String
    ) -> PlantedSecret {
        PlantedSecret(
            name: name,
            secret: secret,
            exchange: exchange(fields: [.init(field, value)])
        )
    }

    private static func target(_ name: String, _ secret: String, _ target: String) -> PlantedSecret
    {
        PlantedSecret(name: name, secret: secret, exchange: exchange(target: target))
    }

    private static func form(_ name: String, _ secret: String, _ body: String) -> PlantedSecret {
        let type = HTTPMessage.Field("content-type", "application/x-www-form-urlencoded")
        return PlantedSecret(
            name: name,
            secret: secret,
            exchange: exchange(fields: [type], body: body)
        )
    }

    /// In the request and in the answer.
    private static func json(_ name: String, _ secret: String, _ body: String) -> PlantedSecret {
        let type = HTTPMessage.Field("content-type", "application/json")
        return PlantedSecret(
            name: name,
            secret: secret,
            exchange: exchange(fields: [type], body: body, answer: body, answerFields: [type])
        )
    }

    private static func text(_ name: String, _ secret: String, _ body: String) -> PlantedSecret {
        let type = HTTPMessage.Field("content-type", "text/plain")
        return PlantedSecret(
            name: name,
            secret: secret,
            exchange: exchange(fields: [type], body: body, answer: body, answerFields: [type])
        )
    }

    /// In the request and in the answer.
    private static func typed(
        _ name: String,
        _ secret: String,
        _ type: String,
        _ body: String
    ) -> PlantedSecret {
        let type = HTTPMessage.Field("content-type", type)
        return PlantedSecret(
            name: name,
            secret: secret,
            exchange: exchange(fields: [type], body: body, answer: body, answerFields: [type]),
            isInNameTable: body.contains("\t") || body.contains("\0") || body.hasPrefix("id,")
        )
    }

    private static func exchange(
        target: String = "/x",
        fields: [HTTPMessage.Field] = [],
        body: String = "",
        bytes: [UInt8]? = nil,
        answer: String = "{}",
        answerFields: [HTTPMessage.Field] = []
    ) -> Exchange {
        Exchange(
            from: .app,
            to: .backend,
            namespace: "",
            purpose: .call,
            at: Instant(milliseconds: 1_790_000_000_000),
            request: HTTPMessage.Request(
                "POST",
                target,
                fields: fields,
                body: bytes ?? Array(body.utf8)
            ),
            completed: 1,
            outcome: .answered(
                HTTPMessage.Response(200, fields: answerFields, body: Array(answer.utf8))
            )
        )
    }
}

extension String {
    /// As JSON writes it, without the quotation marks.
    fileprivate var json: String { String(JSONValue.string(self).text.dropFirst().dropLast()) }

    /// Each letter followed by a zero, as sixteen bits a letter are read by eight.
    fileprivate var spaced: String { map { "\($0)\u{0}" }.joined() }
}
