internal import Providers
import Testing
import Values

@testable import Replay

/// What lines of code say of a backend, whatever language they are in.
@Suite("Source survey")
struct SourceSurveyTests {
    private static func survey(_ text: String, _ path: String = "server.js") -> SourceSurvey {
        SourceSurvey([SourceSurvey.File(path: path, text: text)])
    }

    private static let routes: [(line: String, path: String, wanted: String)] = [
        ("app.post('/webhooks/rc', async (req, res) => {", "a.js", "POST /webhooks/rc"),
        ("router.get(\"/users/:id/status\", h)", "a.ts", "GET /users/{{id}}/status"),
        (
            "@app.get(\"/users/<int:user_id>/subscription\")", "a.py",
            "GET /users/{{id}}/subscription"
        ),
        ("@bp.route('/hook', methods=['POST'])", "a.py", "POST /hook"),
        ("@router.post(\"/users/{user_id}\")", "a.py", "POST /users/{{id}}"),
        ("mux.HandleFunc(\"POST /events\", events)", "a.go", "POST /events"),
        ("r.GET(\"/me\", me)", "a.go", "GET /me"),
        ("  get '/status/:id' do", "a.rb", "GET /status/{{id}}"),
        ("Route::post('/rc', [C::class, 'rc']);", "a.php", "POST /rc"),
        ("@GetMapping(\"/users/{id}\")", "A.java", "GET /users/{{id}}"),
        ("    post(\"/rc/events\") {", "A.kt", "POST /rc/events"),
    ]

    @Test(
        "a variable that a helper function reads is found",
        arguments: [
            ("a.js", "const need = name => process.env[name];\nneed('TEA_SECRET_KEY')"),
            ("a.ts", "export const v = requireEnv(\"TEA_SECRET_KEY\")"),
            ("a.py", "def need(name):\n    return os.environ[name]\nneed('TEA_SECRET_KEY')"),
            ("a.go", "func need(n string) { os.Getenv(n) }\nneed(\"TEA_SECRET_KEY\")"),
            ("a.rb", "def need(n) = ENV.fetch(n)\nneed('TEA_SECRET_KEY')"),
        ]
    )
    func isReadByName(path: String, text: String) {
        let survey = SourceSurvey([SourceSurvey.File(path: path, text: text)])
        #expect(survey.variables.map(\.name) == ["TEA_SECRET_KEY"])
    }

    @Test(
        "source code that names the issuer verifies tokens itself",
        arguments: [
            ("const issuer = `https://securetoken.google.com/${project}`", true),
            ("const keys = 'https://securetoken.googleapis.com/v1'", true),
            ("const push = 'https://api.onesignal.com/notifications'", false),
            ("const other = 'https://evilsecuretoken.google.com.example/'", false),
        ]
    )
    func verifiesTokensItself(text: String, isSo: Bool) {
        let survey = SourceSurvey([SourceSurvey.File(path: "auth.js", text: text)])
        #expect(survey.verifiesTokensItself == isSo)
        #expect(survey.usesTokens == isSo)
    }

    @Test func `a file that reads no variables yields none`() {
        let survey = SourceSurvey([
            SourceSurvey.File(path: "a.js", text: "const type = kind('INITIAL_PURCHASE')")
        ])
        #expect(survey.variables.isEmpty)
    }

    @Test("a line that declares a route is read", arguments: routes)
    func route(line: String, path: String, wanted: String) {
        let found = Self.survey(line, path).routes
        #expect(found.map { "\($0.method) \($0.path)" } == [wanted])
        #expect(found.first?.location == "\(path):1")
    }

    @Test(
        "other lines are not route declarations",
        arguments: [
            "// see /users/:id", "fs.readFileSync('/etc/hosts')", "const a = '/b/c';",
            "app.get('/a/:b/:c', h)", "redirect('/login')",
        ]
    )
    func noRoute(line: String) { #expect(Self.survey(line).routes.isEmpty) }

    @Test func `a router prefix is prepended to its routes`() {
        let survey = Self.survey("app.use('/api', users)\nusers.get('/users/:id', h)")
        #expect(survey.routes.map(\.path) == ["/api/users/{{id}}"])
    }

    @Test func `body and query fields of a route are found`() {
        let survey = Self.survey(
            """
            app.post('/a', (req, res) => {
              const { email, name: full } = req.body;
              const t = req.body.tenant, u = req.body['user'];
            })
            app.get('/b', (req, res) => { q(req.query.user_id) })
            """
        )
        #expect(survey.routes[0].bodyNames.sorted() == ["email", "name", "tenant", "user"])
        #expect(survey.routes[1].queryNames == ["user_id"])
        let flask = Self.survey(
            """
            @app.post("/users")
            def make():
                data = request.get_json()
                return data.get("email"), data["phone"], request.args.get("ref")
            """,
            "app.py"
        )
        #expect(
            flask.routes[0].bodyNames == ["phone", "email"]
                || flask.routes[0].bodyNames == ["email", "phone"]
        )
        #expect(flask.routes[0].queryNames == ["ref"])
    }

    private static let variables: [(line: String, path: String, name: String, fallback: String?)] =
        [
            ("const a = process.env.RC_TOKEN || 'x';", "a.js", "RC_TOKEN", "x"),
            ("const a = process.env.RC_TOKEN ?? \"x\"", "a.ts", "RC_TOKEN", "x"),
            ("const a = process.env['RC_TOKEN']", "a.js", "RC_TOKEN", nil),
            ("A = os.environ.get(\"DB_PATH\", \"a.db\")", "a.py", "DB_PATH", "a.db"),
            ("A = os.environ[\"DB_PATH\"]", "a.py", "DB_PATH", nil),
            ("a := os.Getenv(\"RC_TOKEN\")", "a.go", "RC_TOKEN", nil),
            ("a = ENV.fetch('RC_TOKEN', 'y')", "a.rb", "RC_TOKEN", "y"),
            ("let a = env(\"RC_TOKEN\")", "a.php", "RC_TOKEN", nil),
            ("RC_TOKEN=abc", ".env.example", "RC_TOKEN", "abc"),
        ]

    @Test("a variable is found with its default", arguments: variables)
    func variable(line: String, path: String, name: String, fallback: String?) {
        let found = Self.survey(line, path).variables
        #expect(found.map(\.name) == [name])
        #expect(found.first?.fallback == fallback)
    }

    private static let compose = """
        # The shop
        services:
          shop:
            build: .
            command: node shop.js
            ports: ["8080:8080"]
            environment:
              RC_TOKEN: ${RC_TOKEN:-tea}
              "PUSH_KEY": 'k-1'
              OPEN_KEY: ${OPEN_KEY}
              # DEAD_KEY: x
          worker:
            build: {context: worker}
            environment:
              - QUEUE_URL=redis://queue:6379
              - "EMPTY_KEY="
            depends_on:
              - db
          db:
            image: postgres:17
            environment:
              POSTGRES_PASSWORD: x
        volumes:
          data: {}
        """

    @Test func `the environment of services built in a compose file is read`() {
        let survey = Self.survey(Self.compose, "compose.yaml")
        let found = survey.variables.map { "\($0.name)=\($0.fallback ?? "–")" }
        #expect(
            found == [
                "RC_TOKEN=tea", "PUSH_KEY=k-1", "OPEN_KEY=–", "QUEUE_URL=redis://queue:6379",
                "EMPTY_KEY=–",
            ]
        )
        #expect(survey.variables.first?.location == "compose.yaml:8")
        for text in ["", "services:", "services:\n  a:", "services: {a: {build: .}}", "- x"] {
            #expect(Self.survey(text, "compose.yaml").variables.isEmpty)
        }
        // What its own files say of its start counts more.
        let both = RepositorySurvey([
            .init(path: "docker-compose.yml", text: Self.compose),
            .init(path: "package.json", text: #"{"scripts": {"start": "node src/i.js"}}"#),
        ])
        #expect(both.candidates.map(\.command) == ["node src/i.js", "node shop.js"])
    }

    @Test func `a hard-coded host without a variable is distinguished`() {
        let fixed = Self.survey("URL = \"https://api.onesignal.com/notifications\"", "a.py")
        #expect(fixed.fixedHosts == [.init(host: "api.onesignal.com", location: "a.py:1")])
        let free = Self.survey("const u = process.env.OS || 'https://api.onesignal.com'")
        #expect(free.fixedHosts.isEmpty)
        #expect(free.mentionedProviders == [.oneSignal])
        #expect(Self.survey("const x = 1").mentionedProviders.isEmpty)
    }

    private static let starts: [(path: String, text: String, command: String)] = [
        ("package.json", #"{"scripts": {"start": "node src/i.js"}}"#, "node src/i.js"),
        ("package.json", #"{"scripts": {"start": "ts-node i.ts"}}"#, "npm start"),
        ("Procfile", "web: gunicorn app:app -b :$PORT", "gunicorn app:app -b :{{port}}"),
        (
            "app.py", "app = Flask(__name__)\napp.run()",
            "python -m flask --app app:app run --port {{port}}"
        ),
        ("main.py", "app = FastAPI()", "python -m uvicorn main:app --port {{port}}"),
        ("main.go", "package main\nfunc main() {}", "go run ."),
    ]

    @Test("the start command is found in the project files", arguments: starts)
    func start(path: String, text: String, command: String) {
        for folder in ["", "sub"] {
            let file = SourceSurvey.File(
                path: folder.isEmpty ? path : "\(folder)/\(path)",
                text: text
            )
            let manifest = SourceSurvey.File(path: "\(folder)/requirements.txt", text: "")
            let found = RepositorySurvey(folder.isEmpty ? [file] : [file, manifest]).candidates
            #expect(found.first?.command == command)
            #expect(found.first?.folder == folder)
        }
    }

    @Test func `hostile files are read to the end`() {
        let long = String(repeating: "app.get('/", count: 2000)
        let survey = SourceSurvey([
            .init(path: "a.js", text: long), .init(path: "b.js", text: "\u{0}\r\n\u{fffd}"),
            .init(path: "package.json", text: "{"), .init(path: "package.json", text: "[]"),
            .init(path: ".env.example", text: "=\n==\n#A=b\nA"), .init(path: "", text: "x"),
        ])
        #expect(survey.routes.count < 400)
    }
}
