import Foundation
import Testing
import TestSupport

@testable import Replay

/// The table of frameworks, with a small repository for each row.
@Suite("Repository survey")
struct RepositorySurveyTests {
    /// A repository in one file: the expected results, and the files below `--- PATH` lines.
    struct Fixture: Sendable, CustomTestStringConvertible {
        let name: String
        let expected: [String: String]
        let files: [SourceSurvey.File]

        var testDescription: String { name }

        init(_ path: String, _ text: String) {
            name = path
            var expected: [String: String] = [:]
            var files: [SourceSurvey.File] = []
            // A carriage return and a line feed are one character of a string.
            let sections = text.components(separatedBy: "\n--- ")
            for line in sections[0].split(separator: "\n") {
                let parts = line.split(separator: ":", maxSplits: 1)
                expected[String(parts[0])] = String(parts[1].dropFirst())
            }
            for section in sections.dropFirst() {
                let end = section.firstIndex(of: "\n") ?? section.endIndex
                let content = section[end...].dropFirst()
                files.append(
                    SourceSurvey.File(path: String(section[..<end]), text: String(content))
                )
            }
            (self.expected, self.files) = (expected, files)
        }
    }

    static let fixtures = Repository.files(below: "Tests/Repositories", ending: "txt")
        .map { Fixture($0.path, $0.text) }

    @Test("the start command, the route and the secret are found", arguments: fixtures)
    func finds(fixture: Fixture) throws {
        let repository = RepositorySurvey(fixture.files)
        let candidate = try #require(repository.candidates.first)
        #expect(candidate.command == fixture.expected["start"])
        #expect(candidate.folder == fixture.expected["folder"] ?? "")
        #expect(candidate.build == fixture.expected["build"])
        let route = candidate.webhook.map { "\($0.method) \($0.path)" } ?? "none"
        #expect(route == fixture.expected["route"])
        let survey = repository.survey(of: candidate)
        let guess = EnvironmentGuess(survey, standardNames: [])
        if let secret = fixture.expected["secret"] { #expect(guess.authorization == secret) }
        if let variable = fixture.expected["variable"] {
            let found = candidate.environment.map { "\($0.key)=\($0.value)" }
            #expect(found.contains(variable))
        }
        if let probe = fixture.expected["probe"] {
            let found = survey.routes.map {
                "\($0.method) \($0.path)?\($0.queryNames.joined(separator: "&"))"
            }
            #expect(found.contains(probe), "\(found)")
        }
        #expect(repository.frontEnds.first?.framework == fixture.expected["frontEnd"])
    }

    @Test func `every row of the table has a repository`() {
        let rows = Set(Self.fixtures.compactMap { $0.expected["row"] })
        let frameworks = Set(Framework.all.map(\.name)).subtracting(["documentation"])
        #expect(frameworks.subtracting(rows).isEmpty)
    }

    @Test(
        "a script is divided only if its parts do not depend on each other",
        arguments: [
            (
                "cd \"$(dirname \"$0\")\"\nset -e\ntsc\nexec node out/a.js \"$@\"", "tsc",
                "node out/a.js"
            ),
            (
                "# Build\n\nmkdir -p out\ngo build -o out/a .\nout/a --port $PORT",
                "mkdir -p out && go build -o out/a .", "out/a --port {{port}}"
            ),
            ("exec node a.js", nil, "sh bin/run.sh"), ("npm ci\nnode a.js", nil, "sh bin/run.sh"),
            ("export A=1\ntsc\nnode a.js", nil, "sh bin/run.sh"),
            ("A=1\ntsc\nnode a.js", nil, "sh bin/run.sh"),
            ("cd app\ntsc\nnode a.js", nil, "sh bin/run.sh"),
            ("if true; then\ntsc\nfi\nnode a.js", nil, "sh bin/run.sh"),
            ("tsc\nnode $MAIN", nil, "sh bin/run.sh"), ("tsc &\nnode a.js", nil, "sh bin/run.sh"),
            ("tsc \\\n -p .\nnode a.js", nil, "sh bin/run.sh"), ("tsc", nil, "sh bin/run.sh"),
            (
                "cd \"$(dirname \"$0\")\"\nif [ -f .env ]; then\n  . ./.env\nfi\nmkdir -p out\n"
                    + "javac -d out A.java\n[ \"$1\" = build ] && exit 0\nexec java -cp out A",
                "mkdir -p out && javac -d out A.java", "sed '/^javac /d' run.sh | sh"
            ),
            ("cd \"$(dirname \"$0\")\"\n. ./.env\ntsc\ntsc -p b\nnode a.js", nil, "sh bin/run.sh"),
        ] as [(String, String?, String)]
    )
    func script(text: String, build: String?, command: String) throws {
        let repository = RepositorySurvey([
            .init(path: "bin/run.sh", text: "#!/bin/sh\n" + text + "\n"),
            .init(path: "package.json", text: "{}"),
        ])
        let candidate = try #require(repository.candidates.first)
        #expect(candidate.build == build)
        #expect(candidate.command == command)
        #expect(candidate.folder == (build != nil && text.hasPrefix("cd \"") ? "bin" : ""))
    }

    @Test func `the start command of an app with a user interface is no candidate`() {
        let repository = RepositorySurvey([
            .init(
                path: "package.json",
                text: #"{"scripts": {"start": "expo start"}, "dependencies": {"expo": "53"}}"#
            )
        ])
        #expect(repository.candidates.isEmpty)
        #expect(repository.frontEnds.map(\.framework) == ["Expo"])
    }

    @Test func `the files of one program do not show the routes of another`() throws {
        let fixture = try #require(Self.fixtures.first { $0.expected["row"] == "monorepo" })
        let repository = RepositorySurvey(fixture.files)
        let web = try #require(repository.candidates.first { $0.folder == "apps/web" })
        #expect(web.webhook == nil)
        #expect(repository.survey(of: web).routes.map(\.path) == ["/"])
    }

    @Test func `a program with several start commands is one program`() {
        let repository = RepositorySurvey([
            .init(path: "requirements.txt", text: "fastapi"),
            .init(path: "Procfile", text: "web: gunicorn app.main:app -b :$PORT"),
            .init(
                path: "app/main.py",
                text: "app = FastAPI()\nif x:\n    uvicorn.run(app)\n"
            ),
            .init(path: "admin.py", text: "site = FastAPI()"),
        ])
        #expect(repository.candidates.count == 4)
        #expect(
            repository.programs.map(\.command) == [
                "gunicorn app.main:app -b :{{port}}",
                "python -m uvicorn admin:site --port {{port}}",
            ]
        )
    }

    @Test func `a handler in another file shows the members of the body`() {
        let survey = SourceSurvey([
            .init(
                path: "server.js",
                text: "const ROUTES = {\n  'POST /v1/register': register,\n};"
            ),
            .init(
                path: "users.js",
                text: """
                    async function register(request) {
                      const body = await read(request);
                      save(body.appUserId, deviceOf(body));
                    }
                    function deviceOf(body) {
                      return body.deviceId;
                    }
                    """
            ),
        ])
        #expect(survey.routes.map(\.path) == ["/v1/register"])
        #expect(survey.routes.first?.bodyNames == ["appUserId", "deviceId"])
    }

    @Test(
        "a program that only changes the schema is no backend",
        arguments: ["alembic", "migrations"]
    )
    func migrations(folder: String) {
        let text = "async def main(): pass\n\nasyncio.run(main())\n"
        func commands(_ path: String) -> [String] {
            RepositorySurvey([
                .init(path: "requirements.txt", text: "alembic"),
                .init(path: path, text: text),
            ]).candidates.map(\.command)
        }
        #expect(commands("\(folder)/env.py").isEmpty)
        #expect(commands("server.py") == ["python server.py"])
    }

    @Test(
        "a script that controls services of the machine is never tried",
        arguments: ["supervisorctl start shop", "sudo systemctl restart shop", "docker compose up"]
    )
    func serviceManagers(line: String) {
        func commands(_ line: String) -> [String] {
            RepositorySurvey([
                .init(path: "start.sh", text: "#!/bin/bash\n\(line)\n"),
                .init(path: "Procfile", text: "web: ./start.sh\n"),
            ]).candidates.map(\.command)
        }
        #expect(commands(line).isEmpty)
        #expect(!commands("./shop --port $PORT").isEmpty)
    }

    @Test func `a path parameter in a prefix is no constant`() {
        let survey = SourceSurvey([
            .init(
                path: "app/main.py",
                text: """
                    from app import plans, users
                    user_id = "/wrong"
                    BASE = "/v1"
                    app = FastAPI()
                    app.include_router(users.router, prefix=f"{BASE}/users/{user_id}")
                    app.include_router(plans.router, prefix=unknown)
                    """
            ),
            .init(path: "app/users.py", text: "@router.get(\"/access\")\ndef access(): pass\n"),
            .init(path: "app/plans.py", text: "@router.get(\"/plans\")\ndef plans(): pass\n"),
        ])
        #expect(survey.routes.map(\.path) == ["/v1/users/{{id}}/access", "/plans"])
    }

    @Test func `hostile files are searched to the end`() {
        let long = String(repeating: "def f(x):\n    \n", count: 5000)
        let words = String(repeating: "word ", count: 20_000)
        let repository = RepositorySurvey([
            .init(path: "a.py", text: long), .init(path: "b.js", text: words),
            .init(path: "c.go", text: "func main() {" + words), .init(path: "", text: "x"),
            .init(path: "package.json", text: "["), .init(path: "Procfile", text: "web:"),
            .init(path: "Makefile", text: "run:"), .init(path: "Dockerfile", text: "CMD ["),
            .init(path: "render.yaml", text: "startCommand: \""),
        ])
        #expect(!repository.candidates.contains { !$0.folder.isEmpty })
    }
}
