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
        ("process.env.FIREBASE_API_KEY", "FIREBASE_API_KEY", "assay-test"),
        (
            "process.env.FIREBASE_AUTH_URL || 'https://identitytoolkit.googleapis.com'",
            "FIREBASE_AUTH_URL", "{{fake.firebase}}/identitytoolkit.googleapis.com"
        ),
        ("process.env.FIREBASE_AUTH_EMULATOR_HOST", "FIREBASE_AUTH_EMULATOR_HOST", nil),
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

    @Test func `a setting that may be missing is not set`() {
        let settings = """
            class Settings(BaseSettings):
                REDIS_PASSWORD: str | None = None
                SMTP_PASSWORD: Optional[str] = Field(None)
                JWT_SECRET: str
            """
        let guess = EnvironmentGuess(
            SourceSurvey([.init(path: "settings.py", text: settings)]),
            standardNames: []
        )
        #expect(guess.values == ["JWT_SECRET": "assay-test"])
    }

    @Test func `a secret next to an HMAC call is a signing key`() {
        let guess = Self.guess(
            "const s = process.env.RC_WEBHOOK_SECRET;\ncrypto.createHmac('sha256', s)"
        )
        #expect(guess.authorization == "RC_WEBHOOK_SECRET")
        #expect(guess.isAuthorizationSigned)
        // A comparison in constant time signs nothing.
        let compared = Self.guess(
            "s = os.environ['RC_WEBHOOK_SECRET']\nhmac.compare_digest(a, s)"
        )
        #expect(compared.authorization == "RC_WEBHOOK_SECRET")
        #expect(!compared.isAuthorizationSigned)
    }

    private static let secretOrders: [(text: String, name: String?)] = [
        ("env.TELEGRAM_WEBHOOK_SECRET\nenv.REVENUECAT_WEBHOOK_SECRET", "REVENUECAT_WEBHOOK_SECRET"),
        ("env.STRIPE_WEBHOOK_SECRET", nil),
        ("env.WEBHOOK_SECRET\nenv.REVENUECAT_SECRET_KEY", "WEBHOOK_SECRET"),
        ("env.REVENUECAT_SECRET\nenv.REVENUECAT_API_KEY", "REVENUECAT_SECRET"),
        (
            "app.post('/webhooks/revenuecat', h)\nenv.REVENUECAT_SECRET_KEY",
            "REVENUECAT_SECRET_KEY"
        ),
    ]

    @Test("the secret of the sender comes before those of others", arguments: secretOrders)
    func secret(text: String, name: String?) {
        #expect(Self.guess(text).authorization == name)
    }

    @Test func `the path of the API is kept from an example value`() {
        let survey = SourceSurvey([
            .init(path: "a.py", text: #"BASE = os.environ["REVENUECAT_API_BASE"]"#),
            .init(
                path: ".env.example",
                text: "REVENUECAT_API_BASE=https://api.revenuecat.com/v1"
            ),
        ])
        for standardNames in [[], ["REVENUECAT_API_BASE"]] as [Set<String>] {
            let guess = EnvironmentGuess(survey, standardNames: standardNames)
            #expect(guess.values["REVENUECAT_API_BASE"] == "{{fake.revenuecat}}/v1")
        }
    }

    @Test func `the owner's own values are kept`() {
        let survey = SourceSurvey([
            .init(path: "a.js", text: "env.JWT_SECRET\nenv.ONESIGNAL_REST_KEY\nenv.DB_PATH")
        ])
        let own = OwnVariables(["JWT_SECRET": "x", "ONESIGNAL_REST_KEY": "y", "DB_PATH": ""])
        let guess = EnvironmentGuess(survey, own: own, standardNames: [])
        #expect(guess.values["JWT_SECRET"] == nil)
        #expect(guess.values["ONESIGNAL_REST_KEY"] == "{{secret.onesignal-key}}")
        #expect(guess.values["DB_PATH"] == "{{data}}/db_path")
    }

    private static let databases: [(value: String, text: String?, isLocal: Bool)] = [
        ("postgres://u:p@db.example.com:5432/app?ssl=1", "app' on db.example.com", false),
        ("postgresql+asyncpg://u:p@localhost/app", "the postgresql database 'app'", true),
        ("mongodb+srv://u:p@c0.mongodb.net", "the mongodb+srv database on c0", false),
        ("mysql://root@127.0.0.1:3306/shop", "'shop' on 127.0.0.1", true),
        ("postgres://u:p@[::1]:5432/app", "'app' on [::1]", true),
        ("postgres:///app", "the postgres database 'app'", true),
        ("https://example.com/a", nil, true), ("x", nil, true), ("postgres://", "database", true),
    ]

    @Test("a database is named without its user and password", arguments: databases)
    func database(value: String, text: String?, isLocal: Bool) {
        let found = OwnVariables(["URL": value]).databases.first
        #expect((found == nil) == (text == nil))
        if let text { #expect(found?.text.contains(text) == true, "\(found?.text ?? "")") }
        #expect(found?.isLocal ?? true == isLocal)
        #expect(found?.text.contains("u:p") != true)
    }

    @Test func `a remote database URL is left out, and the entitlement is found`() {
        let guess = Self.guess(
            "a(process.env.DATABASE_URL)\nb(process.env.ENTITLEMENT_ID || 'pro')"
        )
        #expect(guess.open.map(\.name) == ["DATABASE_URL"])
        #expect(guess.entitlement == "pro")
    }

    @Test(
        "the key of another service's webhooks is not the sender's",
        arguments: ["FINCRA", "BANK"]
    )
    func otherService(service: String) {
        let sender = """
            // RevenueCat
            const token = process.env.REVENUECAT_HOOK_AUTH;
            if (req.headers.authorization !== token) return res.sendStatus(401);
            """
        let other = """
            const key = process.env.\(service)_WEBHOOK_SECRET;
            crypto.createHmac('sha512', key).update(body).digest('hex');
            """
        func guess(_ texts: [String]) -> EnvironmentGuess {
            let files = texts.enumerated().map {
                SourceSurvey.File(path: "\($0).js", text: $1)
            }
            return EnvironmentGuess(SourceSurvey(files), standardNames: [])
        }
        let both = guess([sender, other])
        #expect(both.authorization == "REVENUECAT_HOOK_AUTH")
        #expect(both.signing == nil)
        #expect(both.values["\(service)_WEBHOOK_SECRET"] == "assay-test")
        // Without another secret, the only one may be the sender's.
        #expect(guess([other]).authorization == "\(service)_WEBHOOK_SECRET")
    }
}
