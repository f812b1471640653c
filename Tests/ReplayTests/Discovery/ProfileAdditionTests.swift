import ContractFiles
import Contracts
import Grammar
import Testing
import Values

@testable import Replay

/// The blocks of `assay init --add KEY`, and their place in the text of a profile.
@Suite("Additions to a profile")
struct ProfileAdditionTests {
    private static let server = """
        app.post('/api/auth/login', async (req, res) => {
          const { email, password, user_id } = req.body
        })
        app.delete('/api/me', (req, res) => {})
        """

    private static let survey = SourceSurvey([
        SourceSurvey.File(path: "server.js", text: server)
    ])

    @Test func `a route of the files replaces the example`() throws {
        let addition = try #require(ProfileAddition(key: "login", Self.survey))
        #expect(addition.path == ["endpoints", "login"])
        #expect(addition.route?.path == "/api/auth/login")
        #expect(addition.value["post"] == "/api/auth/login")
        #expect(addition.value["body"]?["email"] == "{{account}}")
        #expect(addition.value["body"]?["password"] == "{{password}}")
        #expect(addition.value["body"]?["user_id"] == "{{id}}")
    }

    @Test func `without a route the block is the example`() throws {
        let addition = try #require(ProfileAddition(key: "login", SourceSurvey([])))
        #expect(addition.route == nil)
        #expect(addition.value["post"] == "/api/login")
        #expect(ProfileAddition(key: "nonsense", Self.survey) == nil)
    }

    @Test func `doctor lists only routes that the profile lacks`() {
        var profile = Profile()
        let names = ProfileAddition.missing(from: profile, Self.survey).map(\.path)
        #expect(names.contains(["endpoints", "login"]))
        #expect(names.contains(["endpoints", "delete-account"]))
        profile.endpoints["login"] = Profile.Endpoint(method: "POST", path: "/x")
        profile.namesOfDefaultEndpoints.remove("login")
        let rest = ProfileAddition.missing(from: profile, Self.survey).map(\.path)
        #expect(!rest.contains(["endpoints", "login"]))
    }

    /// Profiles, each with the line after which the block follows.
    private static let profiles: [(text: String, line: String)] = [
        ("assay: 1\n", "endpoints:"), ("assay: 1\nendpoints:\n  x: 1\n", "endpoints:"),
        ("assay: 1\nendpoints: # ours\n  reconcile: POST /r\nprobes:\n", "endpoints: # ours"),
    ]

    @Test("the block goes below its key, and the rest stays", arguments: profiles)
    func isInserted(text: String, line: String) throws {
        let addition = try #require(ProfileAddition(key: "login", Self.survey))
        guard case .text(let whole) = addition.added(to: text) else {
            Issue.record("it was not added")
            return
        }
        let lines = whole.split(separator: "\n").map(String.init)
        let index = try #require(lines.firstIndex(of: line))
        #expect(lines[index + 1] == "  login:")
        for line in text.split(separator: "\n") { #expect(lines.contains(String(line))) }
        #expect(addition.added(to: whole) == .alreadyPresent)
    }

    @Test func `every key that can be added makes a valid profile`() throws {
        for location in FileFormat.profile.reference.keyLocations where location.path.count <= 2 {
            guard let addition = ProfileAddition(key: location.text, Self.survey),
                case .text(let text) = addition.added(to: "assay: 1\n")
            else { continue }
            #expect(text.hasPrefix("assay: 1\n"))
            #expect(text.contains((location.path.last ?? "") + ":"), "\(location.text)")
        }
    }

    @Test func `a login of users is added with its token`() throws {
        let addition = try #require(ProfileAddition(key: "users.login", Self.survey))
        guard case .text(let text) = addition.added(to: "assay: 1\nusers:\n  ids: uuid\n") else {
            Issue.record("it was not added")
            return
        }
        #expect(text.contains("users:\n  login:\n    post: /api/auth/login\n"))
        #expect(text.contains("\n  token: /token\n  ids: uuid\n"))
    }

    @Test func `a key on one line stays unchanged`() throws {
        let addition = try #require(ProfileAddition(key: "login", Self.survey))
        #expect(addition.added(to: "assay: 1\nendpoints: {}\n") == .needsBlockStyle)
    }

    @Test func `the result is a valid profile`() throws {
        let keys = [
            "login", "register", "reconcile", "delete-account", "accounts", "clock", "users.login",
            "session", "users.create", "probes",
        ]
        for key in keys {
            let addition = try #require(ProfileAddition(key: key, Self.survey))
            guard case .text(let text) = addition.added(to: "assay: 1\n") else {
                Issue.record("\(key) was not added")
                continue
            }
            switch ProfileParser.parse(text, path: "assay.yaml", environment: [:]) {
            case .success: break
            case .failure(let errors): Issue.record("\(key): \(errors)")
            }
        }
    }
}
