import Contracts
import FakeServers
import Grammar
import Providers
import Testing
import Values

/// Web pages that happen to be open in a browser of this machine.
@Suite("Pages of other origins")
struct ForeignPageTests {
    struct Call: CustomTestStringConvertible, Sendable {
        let party: Exchange.Party
        let method: String
        let path: String
        var fields: [String: String] = [:]
        var body: JSONValue?

        var testDescription: String { "\(party): \(method) \(path)" }
    }

    private static let admin = "/v1/projects/demo-project/accounts"
    private static let owner = ["authorization": "Bearer owner"]
    private static let app = OneSignalState.defaultAppID

    static let administration = [
        Call(
            party: .firebase,
            method: "DELETE",
            path: "/emulator/v1/projects/demo-project/accounts"
        ),
        Call(party: .firebase, method: "GET", path: "/emulator/v1/projects/demo-project/oobCodes"),
        Call(
            party: .firebase,
            method: "PATCH",
            path: "/emulator/v1/projects/demo-project/config",
            body: ["signIn": ["allowDuplicateEmails": true]]
        ),
        Call(
            party: .firebase,
            method: "POST",
            path: admin + ":delete",
            fields: owner,
            body: ["localId": "a"]
        ),
        Call(party: .revenueCat, method: "DELETE", path: "/v1/subscribers/ada"),
        Call(
            party: .revenueCat,
            method: "POST",
            path: "/v1/subscribers/ada/entitlements/premium/promotional",
            body: ["duration": "monthly"]
        ),
        Call(
            party: .oneSignal,
            method: "POST",
            path: "/api/v1/notifications",
            body: ["app_id": .string(app), "contents": ["en": "x"], "included_segments": ["All"]]
        ),
        Call(party: .oneSignal, method: "DELETE", path: "/templates/x"),
        Call(party: .despia, method: "PATCH", path: "/device", body: ["device": "a"]),
        Call(party: .despia, method: "PUT", path: "/device/history", body: ["history": []]),
    ]

    /// What the libraries of the services call from the pages of an app.
    static let pages = [
        Call(
            party: .firebase,
            method: "POST",
            path: "/v1/accounts:signUp?key=k",
            body: ["email": "a@example.com", "password": "secret-1"]
        ),
        Call(
            party: .revenueCat,
            method: "POST",
            path: "/v1/subscribers/ada/attributes",
            fields: ["authorization": "Bearer rcb_key"],
            body: ["attributes": ["a": ["value": "b"]]]
        ),
        Call(party: .revenueCat, method: "GET", path: "/v1/subscribers/ada"),
        Call(
            party: .oneSignal,
            method: "POST",
            path: "/apps/\(app)/users",
            body: ["identity": ["external_id": "ada"]]
        ),
        Call(
            party: .despia,
            method: "POST",
            path: "/bridge",
            body: ["device": "a", "command": "get-uuid://"]
        ),
    ]

    /// What browsers add for a page of another origin.
    static let origins: [[String: String]] = [
        ["origin": "http://127.0.0.1:3000"], ["origin": "null"],
        ["sec-fetch-site": "same-site"], ["sec-fetch-site": "cross-site"],
    ]

    private func status(_ call: Call, _ more: [String: String], _ fixture: ControlFixture) -> Int {
        let all = call.fields.merging(more) { $1 }.merging(["host": "127.0.0.1:9099"]) { $1 }
        return fixture.ask(
            call.party,
            call.method,
            call.path,
            call.body,
            fields: all.map { HTTPMessage.Field($0.key, $0.value) }
        ).response.status
    }

    @Test("administer no fake", arguments: administration, origins)
    func refuses(call: Call, fields: [String: String]) {
        let fixture = ControlFixture()
        let before = fixture.saved
        #expect(status(call, fields, fixture) == 403)
        #expect(fixture.saved == before)
    }

    @Test("programs, and pages of the fake itself, do", arguments: administration)
    func takesPrograms(call: Call) {
        #expect(status(call, [:], ControlFixture()) != 403)
        let own = ["origin": "http://127.0.0.1:9099", "sec-fetch-site": "same-origin"]
        #expect(status(call, own, ControlFixture()) != 403)
    }

    @Test("may with the switch", arguments: administration)
    func takesWithSwitch(call: Call) async {
        let fixture = ControlFixture()
        let answer = await fixture.call(
            "PATCH",
            "/settings",
            ["pages": ["allowForeignOrigins": true]]
        )
        #expect(answer.status == 200, "\(answer.error)")
        #expect(status(call, ["origin": "http://localhost:4000"], fixture) != 403)
        fixture.fakes.reset("")
        #expect(status(call, ["origin": "http://localhost:4000"], fixture) != 403)
    }

    @Test("call the services as apps do", arguments: pages, origins)
    func takesApps(call: Call, fields: [String: String]) {
        let answer = status(call, fields, ControlFixture())
        #expect((200..<300).contains(answer), "\(answer)")
    }

    @Test func `an app in this process is a page of another origin by right`() {
        let fixture = ControlFixture()
        let response = fixture.fakes.call(
            .revenueCat,
            HTTPMessage.Request(
                "DELETE",
                "/v1/subscribers/ada",
                fields: [HTTPMessage.Field("origin", "https://app.example")]
            ),
            namespace: ""
        )
        #expect(response.status != 403)
    }
}
