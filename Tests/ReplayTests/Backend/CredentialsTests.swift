import Contracts
import FakeServers
import Foundation
import Grammar
import Judging
import Providers
import Redaction
import TestBackend
import Testing
import TestSupport
import Values

@testable import Replay

/// What requests of the profile's own carry to prove who asks.
@Suite("Credentials")
struct CredentialsTests {
    private static func bench(_ credentials: Profile.Credentials) -> SimulationBench {
        SimulationBench { profile in
            profile.session = Profile.Session(
                endpoint: Profile.Endpoint(method: "POST", path: "/login", body: ["pw": "x"]),
                token: JSONPointer(tokens: ["token"])
            )
            profile.probes[0].credentials = credentials
        }
    }

    private static func credentials(_ headers: [String: String]) -> Profile.Credentials {
        Profile.Credentials(headers: headers.mapValues { Secret($0) })
    }

    /// Looks twice at Ada.
    private static func looks(_ bench: SimulationBench) throws -> RunRecord {
        try bench.run { bench in
            await bench.executor.run(
                RunPlan(
                    steps: [.register(user: "ada"), .probe(user: "ada"), .probe(user: "ada")],
                    users: ["ada"],
                    observesFinalState: false
                ),
                in: "n-1",
                observability: SimulationBench.observability,
                within: SimulationBench.within,
                verdict: { _ in .settled }
            )
        }
    }

    private static func probes(_ bench: SimulationBench) -> [HTTPMessage.Request] {
        bench.backend.arrivals.map(\.request).filter { $0.path.hasPrefix("/test/") }
    }

    private static func logins(_ bench: SimulationBench) -> Int {
        bench.backend.arrivals.count { $0.request.path == "/login" }
    }

    @Test func `a probe sends its headers with the user's ID`() throws {
        let bench = Self.bench(Self.credentials(["X-Api-Key": "k-1", "X-User": "u {{id}}"]))
        let record = try Self.looks(bench)
        for request in Self.probes(bench) {
            #expect(request[field: "x-api-key"] == "k-1")
            #expect(request[field: "x-user"] == "u " + record.namespace.id(of: "ada"))
        }
        #expect(Self.probes(bench).count == 2)
        #expect(Self.logins(bench) == 0)
    }

    @Test func `the login runs once and its response is reused`() throws {
        let bench = Self.bench(Self.credentials(["authorization": "Bearer {{session}}"]))
        bench.backend.respond(to: "/login", .json(["token": "t-1"]))
        _ = try Self.looks(bench)
        #expect(Self.logins(bench) == 1)
        #expect(
            Self.probes(bench).map { $0[field: "authorization"] } == ["Bearer t-1", "Bearer t-1"]
        )
    }

    /// A bench whose users log in with the backend's own login.
    private static func userBench() -> SimulationBench {
        SimulationBench { profile in
            let login = Profile.Endpoint(
                method: "POST",
                path: "/login",
                body: ["name": "{{device}}"]
            )
            profile.userSession = .login(
                Profile.Session(endpoint: login, token: JSONPointer(tokens: ["token"]))
            )
            profile.probes[0].credentials = credentials([
                "authorization": "Bearer {{user-session}}"
            ])
        }
    }

    @Test func `each user logs in once and has a session`() throws {
        let bench = Self.userBench()
        bench.backend.respond = { _, arrival in
            guard arrival.request.path == "/login" else { return nil }
            let name = JSONValue(ifValid: arrival.request.body)?["name"]?.string ?? ""
            return .json(["token": .string("t-" + name)])
        }
        let record = try Self.looks(bench)
        #expect(Self.logins(bench) == 1)
        let token = "Bearer t-" + record.namespace.installID(of: "ada")
        #expect(Self.probes(bench).map { $0[field: "authorization"] } == [token, token])
    }

    /// A bench whose backend returns the session of a user from the registration.
    private static func signupBench(
        _ response: @escaping @Sendable (String) -> JSONValue
    ) -> SimulationBench {
        let bench = SimulationBench { profile in
            profile.creation = .request(
                Profile.Endpoint(method: "POST", path: "/signup", body: ["name": "{{device}}"])
            )
            profile.userSession = .creation(token: JSONPointer(tokens: ["token"]))
            profile.probes[0].credentials = credentials(["x-user-token": "{{user-session}}"])
        }
        bench.backend.respond = { _, arrival in
            guard arrival.request.path == "/signup" else { return nil }
            let name = JSONValue(ifValid: arrival.request.body)?["name"]?.string ?? ""
            return .json(response(name))
        }
        return bench
    }

    @Test func `the registration may return the session of a user`() throws {
        let bench = Self.signupBench { ["token": .string("t-" + $0)] }
        let record = try Self.looks(bench)
        let token = "t-" + record.namespace.installID(of: "ada")
        #expect(Self.probes(bench).map { $0[field: "x-user-token"] } == [token, token])
    }

    /// A bench with a login, whose backend also returns a session from the registration.
    private static func loginBench(_ handler: @escaping BackendDouble.Handler) -> SimulationBench {
        let bench = SimulationBench { profile in
            profile.creation = .request(
                Profile.Endpoint(method: "POST", path: "/signup", body: ["name": "{{device}}"])
            )
            profile.userSession = .login(
                Profile.Session(
                    endpoint: Profile.Endpoint(method: "POST", path: "/login", body: ["a": 1]),
                    token: JSONPointer(tokens: ["token"])
                )
            )
            profile.probes[0].credentials = credentials(["x-user-token": "{{user-session}}"])
        }
        bench.backend.respond = { backend, arrival in
            switch arrival.request.path {
            case "/signup": return .json(["token": "signup"])
            case "/login": return .json(["token": "login"])
            default: return await handler(backend, arrival)
            }
        }
        return bench
    }

    @Test func `a login follows only if the session of the registration is refused`() throws {
        let bench = Self.loginBench { _, _ in nil }
        _ = try Self.looks(bench)
        #expect(Self.logins(bench) == 0)
        #expect(Self.probes(bench).map { $0[field: "x-user-token"] } == ["signup", "signup"])

        let strict = Self.loginBench { _, arrival in
            arrival.request[field: "x-user-token"] == "signup" ? .status(401) : nil
        }
        _ = try Self.looks(strict)
        #expect(Self.logins(strict) == 1)
        let tokens = Self.probes(strict).map { $0[field: "x-user-token"] }
        #expect(tokens == ["signup", "login", "login"])
    }

    @Test func `a registration without a session shows nothing about the user`() throws {
        let bench = Self.signupBench { _ in ["id": 1] }
        let record = try Self.looks(bench)
        let name = bench.executor.profile.probes[0].name
        guard case .unreadable(let reason) = record.state(of: "ada", probe: name) else {
            Issue.record("the probe was read without a session")
            return
        }
        #expect(reason.contains("returned a session at /token"), "\(reason)")
        #expect(Self.probes(bench).isEmpty)
    }

    @Test func `an expired session of a user is renewed once`() throws {
        let bench = Self.userBench()
        bench.backend.respond = { backend, arrival in
            let count = backend.arrivals.count { $0.request.path == "/login" }
            if arrival.request.path == "/login" {
                return .json(["token": .string("t-\(count)")])
            }
            return arrival.request[field: "authorization"] == "Bearer t-1" ? .status(401) : nil
        }
        _ = try Self.looks(bench)
        #expect(
            Self.probes(bench).map { $0[field: "authorization"] ?? "" }
                == ["Bearer t-1", "Bearer t-2", "Bearer t-2"]
        )
    }

    @Test func `a user who cannot log in because of 404 does not exist`() throws {
        let bench = Self.userBench()
        bench.backend.respond(to: "/login", .status(404))
        let record = try Self.looks(bench)
        let state = record.state(of: "ada", probe: bench.executor.profile.probes[0].name)
        guard case .missing = state else {
            Issue.record("\(String(describing: state))")
            return
        }
    }

    @Test(
        "a user whose login is refused after a session is lost",
        arguments: [401, 404, 410, 403, 429]
    )
    func refusedLogin(status: Int) throws {
        let bench = Self.userBench()
        bench.backend.respond = { backend, arrival in
            let path = arrival.request.path
            if path == "/login" {
                let isFirst = backend.arrivals.count { $0.request.path == path } == 1
                return isFirst ? .json(["token": "t-1"]) : .status(status)
            }
            guard path.hasPrefix("/test/") else { return nil }
            let isFirst = backend.arrivals.count { $0.request.path == path } == 1
            return isFirst ? nil : .status(401)
        }
        let record = try Self.looks(bench)
        let state = record.state(of: "ada", probe: bench.executor.profile.probes[0].name)
        let isLost = [401, 404, 410].contains(status)
        #expect((state == .missing) == isLost, "\(String(describing: state))")
        // A lost user is not asked for again at once.
        if isLost { #expect(Self.logins(bench) == 2) }
    }

    @Test func `the effects for a lost user are waited for only briefly`() throws {
        let bench = Self.userBench()
        bench.backend.respond = { backend, arrival in
            let path = arrival.request.path
            let count = backend.arrivals.count { $0.request.path == path }
            if path == "/login" { return count == 1 ? .json(["token": "t-1"]) : .status(401) }
            return path.hasPrefix("/test/") && count > 1 ? .status(401) : nil
        }
        let record = try bench.run { bench in
            await bench.executor.run(
                RunPlan(
                    steps: [.register(user: "ada"), .probe(user: "ada")],
                    users: ["ada"],
                    observesFinalState: true
                ),
                in: "n-1",
                observability: SimulationBench.observability,
                within: SimulationBench.within,
                verdict: { _ in .mayResolveWithLongerWait }
            )
        }
        #expect(record.hasLostUser)
        let wait = try #require(record.unsuccessfulWaitTime)
        #expect(wait >= .seconds(2) && wait < .seconds(3), "\(wait)")
        // One login for the session, and then four with growing pauses.
        let ada = record.namespace.installID(of: "ada")
        let logins = bench.backend.arrivals.count {
            $0.request.path == "/login"
                && JSONValue(ifValid: $0.request.body)?["name"]?.string == ada
        }
        #expect((4...6).contains(logins), "\(logins)")
    }

    @Test func `a refused login of a known user is repeated with growing pauses`() {
        var sessions = UserSessions()
        let error = CredentialError(description: "401", response: HTTPMessage.Response(401))
        #expect(!sessions.recordFailure(error, of: "a", at: .zero).isUserLost)
        #expect(sessions.refusal(of: "a", at: .zero) == nil)
        sessions.store("t", of: "a")
        #expect(sessions.token(of: "a") == "t")
        #expect(sessions.drop(of: "a") && !sessions.drop(of: "a"))
        #expect(sessions.recordFailure(error, of: "a", at: .zero).isUserLost)
        #expect(sessions.refusal(of: "a", at: .milliseconds(249))?.isUserLost == true)
        #expect(sessions.refusal(of: "a", at: .milliseconds(250)) == nil)
        _ = sessions.recordFailure(error, of: "a", at: .milliseconds(250))
        #expect(sessions.refusal(of: "a", at: .milliseconds(749)) != nil)
        #expect(sessions.refusal(of: "a", at: .milliseconds(750)) == nil)
        #expect(sessions.refusal(of: "b", at: .milliseconds(300)) == nil)
        // A new registration begins anew.
        sessions.store("t-2", of: "a")
        #expect(sessions.refusal(of: "a", at: .milliseconds(300)) == nil)
    }

    @Test func `an expired session is renewed once`() throws {
        let bench = Self.bench(Self.credentials(["authorization": "Bearer {{session}}"]))
        bench.backend.respond = { backend, arrival in
            let count = backend.arrivals.count { $0.request.path == "/login" }
            if arrival.request.path == "/login" {
                return .json(["token": .string("t-\(count)")])
            }
            let isSpent = arrival.request[field: "authorization"] == "Bearer t-1"
            return isSpent ? .status(401) : nil
        }
        let record = try Self.looks(bench)
        #expect(Self.logins(bench) == 2)
        #expect(
            Self.probes(bench).map { $0[field: "authorization"] ?? "" }
                == ["Bearer t-1", "Bearer t-2", "Bearer t-2"]
        )
        guard case .document = record.state(of: "ada", probe: bench.executor.profile.probes[0].name)
        else {
            Issue.record(
                "\(String(describing: record.state(of: "ada", probe: bench.executor.profile.probes[0].name)))"
            )
            return
        }
        // Who is refused for ever is asked twice each time and no more.
        let refused = Self.bench(Self.credentials(["authorization": "Bearer {{session}}"]))
        refused.backend.respond = { _, arrival in
            if arrival.request.path == "/login" { return .json(["token": "t"]) }
            return arrival.request.path.hasPrefix("/test/") ? .status(403) : nil
        }
        _ = try Self.looks(refused)
        #expect(Self.probes(refused).count == 4)
        #expect(Self.logins(refused) == 3)
    }

    private static let troubles: [(BackendDouble.Reply, String)] = [
        (.status(401), "returned 401"),
        (.json(["tok": "x"]), "returned no token at /token"),
        (.json(["token": ""]), "returned no token at /token"),
        (.failure(.closed, "gone"), "got no response"),
    ]

    @Test("a missing session is unreadable and reported with its reason", arguments: troubles)
    func noSession(reply: BackendDouble.Reply, text: String) throws {
        let bench = Self.bench(Self.credentials(["authorization": "Bearer {{session}}"]))
        bench.backend.respond(to: "/login", reply)
        let record = try Self.looks(bench)
        #expect(Self.probes(bench).isEmpty, "a probe without its proof is no probe")
        guard
            case .unreadable(let reason) = record.state(
                of: "ada",
                probe: bench.executor.profile.probes[0].name
            )
        else {
            Issue.record("it was seen")
            return
        }
        #expect(reason.contains("POST /login"), "\(reason)")
        #expect(reason.contains(text), "\(reason)")
    }

    @Test func `the probing user may be a user of the fake Firebase`() throws {
        let bench = Self.bench(Profile.Credentials(actor: "{{id}}"))
        let record = try Self.looks(bench)
        let id = record.namespace.id(of: "ada")
        let fields = Self.probes(bench).compactMap { $0[field: "authorization"] }
        #expect(fields.count == 2)
        for field in fields {
            let parts = field.dropFirst("Bearer ".count).split(separator: ".")
            let claims = Data(base64Encoded: parts[1].padded).flatMap {
                try? JSONValue(parsing: Array($0))
            }
            #expect(claims?["sub"]?.string == id, "\(field)")
        }
        let lookup = HTTPMessage.Request(
            "POST",
            "/identitytoolkit.googleapis.com/v1/projects/assay-project/accounts:lookup",
            fields: [HTTPMessage.Field("authorization", "Bearer owner")],
            body: JSONValue.object(["localId": [.string(id)]]).bytes
        )
        let reply = FakeServer.reply(to: lookup, .firebase, bench.fakes)
        let found = try JSONValue(parsing: reply.response.body)["users"]?.array?.count
        #expect(found == 1, "backends look the caller up")
    }

    // MARK: Other servers

    @Test func `probes may use another server`() async throws {
        let fakes = FakeRegistry(
            journalBytesMax: 1 << 20,
            wallClock: { Instant(milliseconds: 1_790_000_000_000) }
        )
        let server = try await FakeServer(.oneSignal, fakes: fakes)
        let origins = OriginClients()
        let address = server.baseURL + "/apps/{{id}}?x=1"
        #expect(OriginClients.origin(of: address) == server.baseURL)
        let outcome = await origins.client(OriginClients.origin(of: address)).send(
            HTTPMessage.Request("GET", "/apps/1"),
            within: SettleTimeout.hang
        )
        guard case .answered = outcome else {
            Issue.record("\(outcome)")
            return
        }
        await origins.close()
        await server.stop()
    }

    @Test(
        "an address is split where its path begins",
        arguments: [
            ("http://127.0.0.1:1/a/b", "http://127.0.0.1:1"), ("http://h", "http://h"),
            ("https://h?x={{id}}", "https://h"), ("/a", ""),
        ]
    )
    func origin(address: String, origin: String) {
        #expect(OriginClients.origin(of: address) == origin)
    }

    // MARK: Ids that a command prints

    private static let printed: [(output: String, pointer: String, id: String?)] = [
        (#"{"user": {"id": 7}}"#, "/user/id", "7"), (#"{"id": "u-1"}"#, "/id", "u-1"),
        ("u-2", "", "u-2"), ("42", "", "42"), ("log line\nu-3", "", "u-3"),
        (#"{"id": null}"#, "/id", nil), ("", "", nil), ("u-4", "/id", nil),
    ]

    @Test("a command may print the ID of the account that it creates", arguments: printed)
    func printedID(output: String, pointer: String, id: String?) async throws {
        let pointer = try #require(JSONPointer(pointer))
        let bench = SimulationBench {
            $0.creation = .command(["printf", "%s\\n", output], id: pointer)
        }
        #expect(bench.executor.profile.backendChoosesIDs)
        var play = bench.executor.runWithoutSteps("n-1")
        let problem = await play.register("ada")
        if let id {
            #expect(problem == nil)
            #expect(play.namespace.id(of: "ada") == id)
        } else {
            #expect(problem?.contains("printed no user ID") == true, "\(problem ?? "none")")
        }
    }
}

extension Substring {
    /// With the padding that base64url leaves out.
    fileprivate var padded: String {
        let plain = replacingOccurrences(of: "-", with: "+").replacingOccurrences(
            of: "_",
            with: "/"
        )
        return plain + String(repeating: "=", count: (4 - plain.count % 4) % 4)
    }
}
