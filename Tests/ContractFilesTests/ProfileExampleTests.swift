import ContractFiles
import Contracts
import Grammar
import Testing
import Values

/// The examples of `assay explain KEY`, the reference page and the JSON schema.
@Suite("Examples of profile keys")
struct ProfileExampleTests {
    private static let reference = FileFormat.profile.reference

    /// The width that `assay explain` has for an example.
    private static let width = 66

    @Test func `every key has an example that is a valid profile with this key`() {
        #expect(Self.reference.keyLocations.count > 200)
        for location in Self.reference.keyLocations {
            let lines = Self.reference.exampleLines(of: location)
            let text = lines.joined(separator: "\n") + "\n"
            guard !lines.isEmpty else {
                Issue.record("\(location.text) has no example")
                continue
            }
            switch ProfileParser.parse(text, path: "assay.yaml", environment: [:]) {
            case .success: break
            case .failure(let errors): Issue.record("\(location.text)\n\(text)\n\(errors)")
            }
            let name = location.path.last ?? ""
            #expect(
                lines.contains { $0.contains(name + ":") },
                "the example of \(location.text) does not contain it:\n\(text)"
            )
            for line in lines {
                #expect(line.count <= Self.width, "\(location.text): \(line)")
            }
        }
    }

    @Test func `contracts have no examples of keys`() {
        let reference = FileFormat.contract.reference
        for location in reference.keyLocations {
            #expect(reference.exampleLines(of: location).isEmpty, "\(location.text)")
        }
    }

    @Test func `an example shows the key with all that it needs`() throws {
        let location = try #require(Self.reference.keyLocations(named: "endpoints.login").first)
        #expect(
            Self.reference.exampleLines(of: location) == [
                "assay: 1", "endpoints:", "  login:", "    post: /api/login", "    body:",
                "      email: \"{{account}}\"", "      password: \"{{password}}\"",
                "      userId: \"{{id}}\"", "      deviceToken: \"{{proof}}\"", "    id: /user/id",
            ]
        )
        let command = try #require(Self.reference.keyLocations(named: "probes.command").first)
        let lines = Self.reference.exampleLines(of: command)
        #expect(lines.contains("    command: [\"./probe.sh\", \"{{id}}\"]"))
        // A probe is either a route or a command.
        #expect(!lines.contains { $0.contains("get:") })
    }

    @Test func `every template of a profile has a meaning`() {
        for location in Self.reference.keyLocations {
            for (name, meaning) in Self.reference.templates(of: location) {
                #expect(meaning.count > 10, "\(location.text): \(name)")
            }
        }
        for slot in TemplateScope.ProfileSlot.allCases {
            for word in slot.words { #expect(word.meaning.count > 10, "\(word.word)") }
        }
    }

    @Test func `templates that differ in a name are one line`() throws {
        let location = try #require(Self.reference.keyLocations(named: "start.command").first)
        let names = Self.reference.templates(of: location).map(\.name)
        #expect(
            names == [
                "{{port}}", "{{data}}", "{{fake.NAME}}", "{{fake.NAME.host}}", "{{secret.NAME}}",
            ]
        )
    }

    @Test(
        "a key that would be ignored is an error",
        arguments: [
            ("accounts: {create: {post: /a, id: /id}}", "id"),
            ("accounts: {create: {post: /a, proof: /p}}", "proof"),
            ("clock: {post: /c, id: /id}", "id"), ("fault: {break: {post: /b, id: /i}}", "id"),
            ("session: {login: {post: /l, proof: /p}, token: /t}", "proof"),
            ("endpoints: {revenuecat-webhook: {post: /h, body: {a: 1}}}", "body"),
            ("endpoints: {revenuecat-webhook: {post: /h, headers: {a: b}}}", "headers"),
            ("endpoints: {reconcile: {post: /r, id: /id}}", "id"),
            ("endpoints: {protected: {get: /r, proof: /id}}", "proof"),
            ("users: {login: {post: /l, id: /id}, token: /t}", "id"),
        ]
    )
    func refusesIgnoredKey(text: String, key: String) {
        let result = ProfileParser.parse("assay: 1\n" + text, path: "a.yaml", environment: [:])
        guard case .failure(let errors) = result else {
            Issue.record("'\(key)' was accepted")
            return
        }
        #expect("\(errors)".contains("'\(key)'"), "\(errors)")
    }

    @Test(
        "a login of users needs its token, and a session needs a login",
        arguments: [
            ("users: {login: {post: /l}}", "'login' requires 'token'"),
            (
                "users: {token: /t, create: {command: [x]}}",
                "but a command creates the users"
            ),
            (
                "probes: {me: {get: /me, headers: {a: \"{{user-session}}\"}}}",
                "no login of users"
            ),
        ]
    )
    func reportsIncompleteLogin(text: String, part: String) {
        let result = ProfileParser.parse("assay: 1\n" + text, path: "a.yaml", environment: [:])
        guard case .failure(let errors) = result else {
            Issue.record("it was accepted")
            return
        }
        #expect("\(errors)".contains(part), "\(errors)")
    }
}
