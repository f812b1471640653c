import ContractFiles
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

/// Logins whose proof of identity is the Firebase ID token of the account.
@Suite("Logins with an ID token")
struct TokenLoginTests {
    /// The places of a login request where the ID token can be.
    enum Place: String, CaseIterable {
        case bearer, header, body, path

        var endpoint: Profile.Endpoint {
            var login = Profile.Endpoint(
                method: "POST",
                path: "/login",
                body: ["current": "{{id}}", "device": "{{device}}"]
            )
            switch self {
            case .bearer: login.credentials = Profile.Credentials(actor: "{{account}}")
            case .header:
                login.credentials = Profile.Credentials(
                    headers: ["X-Firebase": Secret("{{id-token}}")]
                )
            case .body: login.body = ["current": "{{id}}", "proof": ["token": "{{id-token}}"]]
            case .path: login.path = "/login/{{id-token}}"
            }
            return login
        }

        func token(in request: HTTPMessage.Request) -> String? {
            switch self {
            case .bearer:
                request[field: "authorization"].map { String($0.dropFirst("Bearer ".count)) }
            case .header: request[field: "x-firebase"]
            case .body: JSONValue(ifValid: request.body)?["proof"]?["token"]?.string
            case .path:
                request.path.count > "/login/".count
                    ? String(request.path.dropFirst("/login/".count)) : nil
            }
        }
    }

    private static func claims(_ token: String) -> JSONValue? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var payload = parts[1].replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        payload += String(repeating: "=", count: (4 - payload.count % 4) % 4)
        return Data(base64Encoded: payload).flatMap { JSONValue(ifValid: Array($0)) }
    }

    private static func login(_ place: Place, _ change: (inout Call) -> Void = { _ in }) throws
        -> (record: RunRecord, request: HTTPMessage.Request)
    {
        let bench = SimulationBench { $0.endpoints["login"] = place.endpoint }
        var call = Call(name: "claim", route: .login)
        (call.user, call.account) = ("ada", "home")
        change(&call)
        let steps: [Step] = [
            .register(user: "ada"), .createAccount("home"), .createAccount("other"),
            .call([call]),
        ]
        let record = try bench.run { bench in
            await bench.executor.run(
                RunPlan(steps: steps, users: ["ada"], observesFinalState: false),
                in: "n-1",
                observability: SimulationBench.observability,
                within: SimulationBench.within,
                verdict: { _ in .settled }
            )
        }
        let request = bench.backend.arrivals.map(\.request).last { $0.path.hasPrefix("/login") }
        return (record, try #require(request))
    }

    @Test("a login carries the token of its account", arguments: Place.allCases)
    func ownToken(place: Place) throws {
        let (record, request) = try Self.login(place)
        #expect(record.runProblem == nil)
        let token = try #require(place.token(in: request))
        let uid = record.namespace.accountID(of: "home")
        #expect(Self.claims(token)?["sub"]?.string == uid)
        #expect(uid.count == 28 && uid.allSatisfy { $0.isLetter || $0.isNumber })
        #expect(uid != record.namespace.accountID(of: "other"))
        #expect(uid != record.namespace.id(of: "ada"))
    }

    @Test("a contract can replace or omit the token", arguments: Place.allCases)
    func givenToken(place: Place) throws {
        var spec = TokenSpec()
        spec.claims = ["aud": .string("another-project")]
        let changed = try Self.login(place) { $0.token = spec }
        let token = try #require(place.token(in: changed.request))
        let uid = changed.record.namespace.accountID(of: "home")
        #expect(Self.claims(token)?["aud"]?.string == "another-project")
        #expect(Self.claims(token)?["sub"]?.string == uid)
        var missing = TokenSpec()
        missing.kind = .missing
        let bare = try Self.login(place) { $0.token = missing }
        #expect(place.token(in: bare.request) == nil)
        #expect(bare.record.exchange(ofCall: "claim")?.response != nil, "the request was sent")
    }

    @Test func `a call without an account carries the token of its user`() throws {
        let (record, request) = try Self.login(.body) { $0.account = nil }
        let token = try #require(Place.body.token(in: request))
        #expect(Self.claims(token)?["sub"]?.string == record.namespace.id(of: "ada"))
        let bearer = try Self.login(.bearer) { $0.account = nil }
        #expect(Place.bearer.token(in: bearer.request) == nil, "no account, no token of one")
    }

    @Test("the profile decides between tokens and passwords", arguments: Place.allCases)
    func features(place: Place) {
        var profile = Profile()
        #expect(profile.skipReason(to: .passwords) == nil)
        #expect(profile.skipReason(to: .tokenLogins)?.contains("no ID token") == true)
        #expect(!profile.requests.loginTakesIDToken)
        #expect(!profile.requests.useIDTokens)
        profile.endpoints["login"] = place.endpoint
        #expect(profile.skipReason(to: .login) == nil, "Firebase has the accounts")
        #expect(profile.skipReason(to: .tokenLogins) == nil)
        #expect(profile.skipReason(to: .passwords)?.contains("have no password") == true)
        #expect(profile.requests.useIDTokens, "the fake Firebase publishes the keys")
        #expect(profile.allSecretNames.contains("token") == (place == .body))
    }

    // MARK: The ID that a login returns

    private static let replies: [(reply: BackendDouble.Reply, id: String?)] = [
        (.json(["appUserId": "u-1"]), "u-1"), (.json(["appUserId": 17]), "17"),
        (.json(["appUserId": ""]), nil), (.json(["other": "u-1"]), nil), (.status(409), nil),
    ]

    @Test("a user can be named by the ID that a login returned", arguments: replies)
    func returnedID(reply: BackendDouble.Reply, id: String?) throws {
        let bench = SimulationBench { profile in
            profile.endpoints["login"] = Place.bearer.endpoint
            profile.endpoints["login"]?.responseIDPointer = JSONPointer("/appUserId")
        }
        bench.backend.respond(to: "/login", reply)
        var call = Call(name: "claim", route: .login)
        (call.user, call.account) = ("ada", "home")
        let steps: [Step] = [
            .register(user: "ada"), .createAccount("home"), .call([call]),
            .name(user: "owner", id: "{{claim.id}}"), .probe(user: "owner"),
        ]
        let record = try bench.run { bench in
            await bench.executor.run(
                RunPlan(steps: steps, users: ["ada", "owner"], observesFinalState: false),
                in: "n-1",
                observability: SimulationBench.observability,
                within: SimulationBench.within,
                verdict: { _ in .settled }
            )
        }
        let unnamed = Namespace(name: "n-1", idForm: .string).id(of: "owner")
        #expect(record.namespace.id(of: "owner") == id ?? unnamed)
        let probed = bench.backend.arrivals.map(\.request.path).last { $0.hasPrefix("/test/") }
        #expect(probed == "/test/" + (id ?? unnamed))
    }

    @Test func `a case that needs the returned ID does not run without its location`() throws {
        let contract = try ContractParser.parse(
            """
            contract: a/b
            title: A title
            clause: S-26
            source: a test
            given:
              - register: ada
              - account: home
            steps:
              - {call: claim, route: login, user: ada, account: home}
              - name: {owner: "{{claim.id}}"}
            expect:
              status: 200
              state:
                owner: {access: true}
            """,
            path: "a/b.yaml",
            id: "a/b"
        ).get()[0]
        var profile = SimulatedSuite.profile
        profile.endpoints["login"] = Place.bearer.endpoint
        let plan = CasePlan(contract)
        func note(_ profile: Profile) -> String? {
            SkipReason(profile: profile, isStartedByAssay: true).result(plan)?.note
        }
        #expect(note(profile)?.contains("add 'id: /…' to the endpoint 'login'") == true)
        profile.endpoints["login"]?.responseIDPointer = JSONPointer("/appUserId")
        #expect(note(profile) == nil)
    }

    // MARK: The project

    @Test func `every namespace of a session has the Firebase project of the profile`() async throws
    {
        let folder = try TemporaryFolder()
        let session = try await ReplaySession.startingReferenceBackend(in: folder) {
            $0.tokenProject = "own-project"
        }
        for namespace in ["", "n-1", "n-2"] {
            session.fakes.open(namespace, ids: [], at: session.fakes.now)
            let signUp = HTTPMessage.Request(
                "POST",
                "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=AIza-1",
                fields: [
                    HTTPMessage.Field("content-type", "application/json"),
                    HTTPMessage.Field("x-assay-namespace", namespace),
                ],
                body: JSONValue.object(["returnSecureToken": true]).bytes
            )
            let reply = FakeServer.reply(to: signUp, .firebase, session.fakes)
            let token = JSONValue(ifValid: reply.response.body)?["idToken"]?.string
            #expect(
                token.flatMap(Self.claims)?["aud"]?.string == "own-project",
                "namespace '\(namespace)': \(String(decoding: reply.response.body, as: UTF8.self))"
            )
        }
        await session.close()
    }
}
