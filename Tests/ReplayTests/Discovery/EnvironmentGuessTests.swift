import Testing

@testable import Replay

/// What a variable should hold is told by its name and by what holds without it.
@Suite("Environment guess")
struct EnvironmentGuessTests {
    private static func guess(_ text: String) -> EnvironmentGuess {
        EnvironmentGuess(
            SourceSurvey([.init(path: "a.js", text: text)]),
            standardNames: ["PORT", "ONESIGNAL_API_KEY", "REVENUECAT_WEBHOOK_SECRET"]
        )
    }

    private static let values: [(line: String, name: String, value: String?)] = [
        ("process.env.ONESIGNAL_URL", "ONESIGNAL_URL", "{{fake.onesignal}}"),
        (
            "process.env.PUSH || 'https://onesignal.com/api/v1'", "PUSH",
            "{{fake.onesignal}}/api/v1"
        ),
        (
            "process.env.OS_URL || 'https://api.onesignal.com/notifications'", "OS_URL",
            "{{fake.onesignal}}/notifications"
        ),
        ("process.env.ONESIGNAL_REST_KEY", "ONESIGNAL_REST_KEY", "{{secret.onesignal-key}}"),
        ("process.env.REVENUECAT_API_URL", "REVENUECAT_API_URL", "{{fake.revenuecat}}"),
        ("process.env.RC_SECRET_KEY", "RC_SECRET_KEY", "{{secret.revenuecat-key}}"),
        ("process.env.ONESIGNAL_API_KEY", "ONESIGNAL_API_KEY", nil),
        ("process.env.PORT", "PORT", nil), ("process.env.NODE_ENV || 'dev'", "NODE_ENV", nil),
        ("process.env.DATABASE_PATH || 'a/app.db'", "DATABASE_PATH", "{{data}}/app.db"),
        ("process.env.DATA_DIRECTORY", "DATA_DIRECTORY", nil),
        ("process.env.DB_DIR", "DB_DIR", "{{data}}"),
        ("process.env.JWT_SECRET", "JWT_SECRET", "assay-test"),
        ("process.env.JWT_SECRET || 'dev'", "JWT_SECRET", nil),
        ("process.env.MARCH_LIMIT", "MARCH_LIMIT", nil),
    ]

    @Test("values", arguments: values)
    func value(line: String, name: String, value: String?) {
        let guess = Self.guess("const a = \(line);")
        #expect(guess.values[name] == value)
        #expect(guess.authorization == nil)
    }

    @Test(
        "the variable for webhook authorization is recognized by its name",
        arguments: [
            "RC_WEBHOOK_TOKEN", "REVENUECAT_WEBHOOK_AUTH", "WEBHOOK_SECRET",
            "REVENUECAT_AUTHORIZATION_KEY",
            "REVENUECAT_WEBHOOK_SECRET",
        ]
    )
    func authorization(name: String) {
        #expect(Self.guess("x = process.env.\(name)").authorization == name)
    }

    @Test func `a secret next to an HMAC call is a signing key`() {
        let guess = Self.guess(
            "const s = process.env.RC_WEBHOOK_SECRET;\ncrypto.createHmac('sha256', s)"
        )
        #expect(guess.values["RC_WEBHOOK_SECRET"] == "{{secret.revenuecat-signing}}")
        #expect(guess.authorization == nil)
    }

    @Test func `a remote database URL is left out, and the entitlement is found`() {
        let guess = Self.guess(
            "a(process.env.DATABASE_URL)\nb(process.env.ENTITLEMENT_ID || 'pro')"
        )
        #expect(guess.open.map(\.name) == ["DATABASE_URL"])
        #expect(guess.entitlement == "pro")
    }
}
