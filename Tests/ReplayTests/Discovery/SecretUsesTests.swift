import Testing

@testable import Replay

/// The value of a variable with a secret, by the use of the secret in code of several languages.
@Suite("Secret uses")
struct SecretUsesTests {
    /// A language, with code that reads a variable and uses its value.
    struct Language: Sendable, CustomTestStringConvertible {
        let file: String
        /// The code that reads the variable `NAME` in a settings file, under the name `FIELD`.
        let settings: String
        /// The file with the settings.
        let settingsFile: String
        /// The code of each use of `FIELD`.
        let uses: [SecretUses.Kind: String]

        var testDescription: String { file }

        /// Returns a backend that reads variables and uses each of them in one way.
        func survey(_ names: [(name: String, kind: SecretUses.Kind?)]) -> SourceSurvey {
            var settingsText = ""
            var text = ""
            for (index, entry) in names.enumerated() {
                let field = ["first_value", "secondValue", "thirdValue"][index]
                settingsText +=
                    settings.replacing("NAME", with: entry.name)
                    .replacing("FIELD", with: field) + "\n"
                guard let kind = entry.kind, let use = uses[kind] else { continue }
                text += use.replacing("FIELD", with: field) + "\n\n\n\n\n\n\n\n\n\n"
            }
            return SourceSurvey([
                .init(path: settingsFile, text: settingsText), .init(path: file, text: text),
            ])
        }
    }

    static let languages: [Language] = [
        Language(
            file: "app/hooks.py",
            settings: #"FIELD = os.environ["NAME"]"#,
            settingsFile: "app/settings.py",
            uses: [
                .authorization: """
                given = request.headers.get("Authorization", "")
                if not hmac.compare_digest(given, f"Bearer {settings.FIELD}"):
                    raise HTTPException(401)
                """,
                .signing: """
                digest = hmac.new(
                    settings.FIELD.encode(), body, hashlib.sha256
                ).hexdigest()
                """,
                .key: """
                def read(user):
                    headers = {"Authorization": f"Bearer {settings.FIELD}"}
                    url = f"https://api.revenuecat.com/v1/subscribers/{user}"
                    return httpx.get(url, headers=headers)
                """,
            ]
        ),
        Language(
            file: "src/hooks.js",
            settings: "exports.config.FIELD = required('NAME', process.env[name]);",
            settingsFile: "src/config.js",
            uses: [
                .authorization: """
                const expected = `Bearer ${config.FIELD}`;
                if (req.headers.authorization !== expected) return res.sendStatus(401);
                """,
                .signing:
                    "const mac = crypto.createHmac('sha256', config.FIELD).update(body).digest();",
                .key: """
                await fetch(`https://api.revenuecat.com/v1/subscribers/${id}`, {
                  headers: { Authorization: `Bearer ${config.FIELD}` },
                });
                """,
            ]
        ),
        Language(
            file: "hooks.go",
            settings: #"    FIELD: os.Getenv("NAME"),"#,
            settingsFile: "config.go",
            uses: [
                .authorization: """
                want := "Bearer " + cfg.FIELD
                given := r.Header.Get("Authorization")
                if subtle.ConstantTimeCompare([]byte(given), []byte(want)) != 1 {
                """,
                .signing: "mac := hmac.New(sha256.New, []byte(cfg.FIELD))",
                .key:
                    #"req.Header.Set("Authorization", "Bearer "+cfg.FIELD) // api.revenuecat.com"#,
            ]
        ),
        Language(
            file: "app/Hooks.php",
            settings: "    'FIELD' => env('NAME'),",
            settingsFile: "config/services.php",
            uses: [
                .authorization: """
                $secret = config('services.FIELD');
                if ($request->header('Authorization') !== $secret) { abort(401); }
                """,
                .signing:
                    "$mac = hash_hmac('sha256', $request->getContent(), config('services.FIELD'));",
                .key: """
                $key = config('services.FIELD');
                Http::withToken($key)->get("https://api.revenuecat.com/v1/subscribers/$id");
                """,
            ]
        ),
        Language(
            file: "app/hooks.rb",
            settings: #"FIELD = ENV.fetch("NAME")"#,
            settingsFile: "config/settings.rb",
            uses: [
                .authorization: """
                given = request.headers["Authorization"].to_s
                head :unauthorized unless ActiveSupport::SecurityUtils.secure_compare(given, FIELD)
                """,
                .signing: #"mac = OpenSSL::HMAC.hexdigest("SHA256", FIELD, request.raw_post)"#,
                .key: """
                uri = URI("https://api.revenuecat.com/v1/subscribers/#{id}")
                call = Net::HTTP::Get.new(uri)
                call["Authorization"] = "Bearer #{FIELD}"
                """,
            ]
        ),
    ]

    private static let names: [String] = [
        "REVENUECAT_WEBHOOK_AUTH", "REVENUECAT_WEBHOOK_SECRET", "REVENUECAT_SECRET",
        "REVENUECAT_SIGNING_KEY", "REVENUECAT_API_KEY", "RC_TOKEN",
    ]

    private static func guess(_ survey: SourceSurvey) -> EnvironmentGuess {
        EnvironmentGuess(survey, standardNames: [])
    }

    @Test("the use decides against every name", arguments: languages, names)
    func use(language: Language, name: String) {
        for kind in language.uses.keys.sorted() {
            let survey = language.survey([(name, kind)])
            #expect(survey.secretUses().kinds == [name: kind])
            let guess = Self.guess(survey)
            #expect(guess.authorization == (kind == .key ? nil : name), "\(kind)")
            #expect(guess.isAuthorizationSigned == (kind == .signing), "\(kind)")
            let value = kind == .key ? "{{secret.revenuecat-key}}" : nil
            #expect(guess.values[name] == value, "\(kind)")
        }
    }

    @Test("three secrets get three values, in every order of their uses", arguments: languages)
    func three(language: Language) {
        let kinds = [SecretUses.Kind.signing, .authorization, .key]
        for first in 0..<3 {
            for step in [1, 2] {
                let order = (0..<3).map { kinds[(first + step * $0) % 3] }
                let names = ["RC_SECRET_ONE", "RC_SECRET_TWO", "RC_SECRET_THREE"]
                let guess = Self.guess(language.survey(zip(names, order).map { ($0, $1) }))
                var found: [String: SecretUses.Kind] = [:]
                if let name = guess.authorization { found[name] = .authorization }
                if let name = guess.signing { found[name] = .signing }
                for name in names where guess.values[name] == "{{secret.revenuecat-key}}" {
                    found[name] = .key
                }
                #expect(names.map { found[$0] } == order)
            }
        }
    }

    @Test("without a use, the names decide", arguments: languages)
    func namesWithoutUse(language: Language) {
        let guess = Self.guess(
            language.survey([
                ("REVENUECAT_WEBHOOK_SIGNING_SECRET", nil), ("REVENUECAT_WEBHOOK_AUTH", nil),
                ("REVENUECAT_API_KEY", nil),
            ])
        )
        #expect(guess.authorization == "REVENUECAT_WEBHOOK_AUTH")
        #expect(!guess.isAuthorizationSigned)
        #expect(guess.signing == "REVENUECAT_WEBHOOK_SIGNING_SECRET")
        #expect(guess.values == ["REVENUECAT_API_KEY": "{{secret.revenuecat-key}}"])
    }

    @Test("the host next to a key shows its service", arguments: languages)
    func hostOfKey(language: Language) {
        let guess = Self.guess(language.survey([("BILLING_KEY", .key)]))
        #expect(guess.values["BILLING_KEY"] == "{{secret.revenuecat-key}}")
    }

    @Test func `secrets of other parts of a backend are no secrets of the sender`() {
        let survey = SourceSurvey([
            .init(
                path: "a.js",
                text: """
                    const session = process.env.JWT_SECRET;
                    const mac = createHmac('sha256', session);
                    if (req.headers.authorization !== process.env.ADMIN_TOKEN) return;
                    const tolerance = process.env.REVENUECAT_SIGNATURE_TOLERANCE_S;
                    """
            )
        ])
        let guess = Self.guess(survey)
        #expect(guess.authorization == nil)
        #expect(guess.signing == nil)
        #expect(guess.values == ["JWT_SECRET": "assay-test", "ADMIN_TOKEN": "assay-test"])
    }
}
