import Contracts
import FakeServers
import Foundation
import Grammar
import Replay
import TestBackend
import Testing
import TestSupport
import Values

/// The reference backend's own promises that no contract judges yet: accounts and registration.
@Suite("Reference backend")
struct ReferenceBackendTests {
    private func with(_ body: (any Transport) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let session = try await ReplaySession.startingReferenceBackend(in: folder)
        do {
            try await body(session.backend.client)
        } catch {
            await session.close()
            throw error
        }
        await session.close()
    }

    private func post(
        _ client: any Transport,
        _ path: String,
        _ body: JSONValue
    ) async throws -> (status: Int, body: JSONValue) {
        let request = HTTPMessage.Request(
            "POST",
            path,
            fields: [HTTPMessage.Field("content-type", "application/json")],
            body: body.bytes
        )
        let response = try await client.response(to: request)
        return (response.status, (try? JSONValue(parsing: response.body)) ?? .null)
    }

    private func register(
        _ client: any Transport,
        _ id: String,
        platform: String? = "ios"
    ) async throws -> JSONValue {
        var body: JSONObject = ["appUserId": .string(id), "deviceId": "d1", "source": "new"]
        if let platform { body["platform"] = .string(platform) }
        let answer = try await post(client, "/api/user/register", .object(body))
        #expect(answer.status == 200)
        return answer.body
    }

    private func login(
        _ client: any Transport,
        _ account: String,
        _ password: String,
        id: String? = nil,
        token: String? = nil
    ) async throws -> (status: Int, body: JSONValue) {
        var body: JSONObject = [
            "accountId": .string(account), "credentials": ["password": .string(password)],
        ]
        if let id { body["currentAppUserId"] = .string(id) }
        if let token { body["deviceToken"] = .string(token) }
        return try await post(client, "/api/user/login", .object(body))
    }

    @Test func `a login authenticates, claims with proof and recovers`() async throws {
        try await with { client in
            let token = try #require(try await register(client, "ada")["deviceToken"]?.string)
            for account in ["first", "second"] {
                let answer = try await post(
                    client,
                    "/test/accounts",
                    ["accountId": .string(account), "password": "right"]
                )
                #expect(answer.status == 201)
            }
            let wrong = try await login(client, "first", "wrong", id: "ada", token: token)
            let unknown = try await login(client, "nobody", "right", id: "ada", token: token)
            #expect(wrong.status == 401 && unknown.status == 401)
            #expect(wrong.body == unknown.body)
            #expect(try await login(client, "first", "right", id: "ada").status == 409)
            #expect(
                try await login(client, "first", "right", id: "ghost", token: token).status == 409
            )
            let claimed = try await login(client, "first", "right", id: "ada", token: token)
            #expect(claimed.body == ["action": "claimed", "appUserId": "ada"])
            let stolen = try await login(client, "second", "right", id: "ada", token: token)
            #expect(stolen.status == 409)
            let recovered = try await login(client, "first", "right", id: "new-device")
            #expect(recovered.body == ["action": "recovered", "appUserId": "ada"])
        }
    }

    @Test func `registration is an upsert that keeps existing data`() async throws {
        try await with { client in
            let first = try await register(client, "ada")
            #expect(first["deviceToken"] != nil)
            let second = try await register(client, "ada", platform: nil)
            #expect(second["deviceToken"] == nil)
            let request = HTTPMessage.Request("GET", "/test/users/ada")
            let response = try await client.response(to: request)
            let user = try JSONValue(parsing: response.body)
            #expect(user["platform"] == "ios")
            for id in ["", "null", "undefined", "a/b", String(repeating: "x", count: 101)] {
                let body: JSONValue = ["appUserId": .string(id), "deviceId": "d"]
                let answer = try await post(client, "/api/user/register", body)
                #expect(answer.status == 400, "\(id)")
                #expect(answer.body["error"] == "invalid_registration")
            }
        }
    }

    @Test func `a backend that was started ends with the session, children included`() async throws
    {
        let folder = try TemporaryFolder()
        var profile = Profile()
        profile.start = Profile.StartSettings(
            command: "sleep 1000 & echo $! > '{{data}}.child'; exec '\(Program.path)' backend "
                + "--port {{port}} --data '{{data}}'",
            ready: Profile.ReadinessCheck(method: "GET", path: "/healthz"),
            environment: [:]
        )
        let session = try await ReplaySession(
            profile: profile,
            addresses: [:],
            folder: folder.path,
            base: Instant(milliseconds: 0)
        )
        let text = try #require(folder.read("data.child"))
        let child = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        #expect(kill(child, 0) == 0)
        await session.close()
        // The child belongs to nobody now; init reaps it at its own pace.
        #expect(try await SettleTimeout.until { !Self.isRunning(child) })
    }

    /// Alive, and not only a zombie that nobody has reaped.
    private static func isRunning(_ process: Int32) -> Bool {
        guard kill(process, 0) == 0 else { return false }
        let stat = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        return !stat.contains(") Z ")
    }
}
