import Conformance
import Testing

/// One secret in one place, as clients, stores and backends put them there.
struct PlantedSecret: Sendable, CustomTestStringConvertible {
    let name: String
    /// What must be found nowhere: a part that no other text has.
    let secret: String
    let exchange: Exchange

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
        headers + queries + forms + jsonBodies + texts + unreadable + others

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
