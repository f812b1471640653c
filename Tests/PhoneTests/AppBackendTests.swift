import Contracts
import Phone
import Testing
import Values

/// The model of a correct backend that an app alone talks to, and plans that make it answer
/// otherwise.
@Suite("App's backend")
struct AppBackendTests {
    private static func profile(_ change: (inout Profile) -> Void = { _ in }) -> Profile {
        var profile = Profile()
        profile.app.access = Profile.Endpoint(
            method: "GET",
            path: "/access/{{id}}",
            body: ["entitled": "{{access}}", "product": "{{product}}"]
        )
        change(&profile)
        return profile
    }

    private static func register(_ id: String, device: String = "d-1") -> HTTPMessage.Request {
        let body: JSONValue = ["appUserId": .string(id), "deviceId": .string(device)]
        return HTTPMessage.Request("POST", "/api/user/register", body: body.bytes)
    }

    private static func login(_ account: String, _ id: String) -> HTTPMessage.Request {
        let body: JSONValue = ["accountId": .string(account), "currentAppUserId": .string(id)]
        return HTTPMessage.Request("POST", "/api/user/login", body: body.bytes)
    }

    private static func access(_ id: String) -> HTTPMessage.Request {
        HTTPMessage.Request("GET", "/access/\(id)")
    }

    private static func plan(
        _ route: String,
        _ responses: [AppBackendPlan.PlannedResponse],
        repeatsLastResponse: Bool = false
    ) -> AppBackendPlan {
        var plan = AppBackendPlan()
        plan.responses[route] = responses
        plan.repeatsLastResponse = repeatsLastResponse
        return plan
    }

    /// A model that expressions may change.
    private final class Model {
        private var backend: AppBackend

        init(_ profile: Profile = AppBackendTests.profile()) {
            backend = AppBackend(profile: profile)
        }

        /// The status and the body of an answer that comes.
        func heard(
            _ route: String,
            _ request: HTTPMessage.Request
        ) throws -> (status: Int, body: JSONValue, after: Duration) {
            guard case .answered(let response, let after) = respond(route, request) else {
                throw Unanswered()
            }
            return (response.status, try JSONValue(parsing: response.body), after)
        }

        func respond(_ route: String, _ request: HTTPMessage.Request) -> AppBackend.CallResult {
            backend.respond(route, to: request) { "id-of-\($0)" }
        }

        func take(_ plan: AppBackendPlan) { backend.take(plan) }
        func recordPurchase(_ product: String, by id: String) {
            backend.recordPurchase(product, by: id)
        }
        func hasPlannedResponse(for route: String) -> Bool {
            backend.hasPlannedResponse(for: route)
        }
        func route(_ method: String, _ target: String) -> String? { backend.route(method, target) }
    }

    private struct Unanswered: Error {}

    // MARK: Routes

    @Test(
        "a request belongs to the route whose method and path it has",
        arguments: [
            ("POST", "/api/user/register", "register"), ("POST", "/api/user/login", "login"),
            ("GET", "/access/ada", "access"), ("GET", "/access/a%20b", "access"),
            ("GET", "/api/user/register", nil), ("POST", "/access/ada", nil),
            ("GET", "/access", nil), ("GET", "/access/ada/more", nil),
            ("POST", "/api/user/register/x", nil), ("GET", "/", nil),
            ("POST", "/api/user/register?source=app", "register"),
        ] as [(String, String, String?)]
    )
    func routes(method: String, target: String, route: String?) {
        #expect(AppBackend(profile: Self.profile()).route(method, target) == route)
    }

    @Test func `an id in the query of a configured path is matched and read`() throws {
        let profile = Self.profile {
            $0.app.access?.path = "/access?v=2&user={{id}}"
        }
        let backend = Model(profile)
        backend.recordPurchase("gold", by: "a b")
        #expect(backend.route("GET", "/access?user=ada&v=2") == "access")
        #expect(backend.route("GET", "/access?v=2") == nil)
        let request = HTTPMessage.Request("GET", "/access?v=2&user=a%20b")
        #expect(try backend.heard("access", request).body["entitled"] == true)
    }

    // MARK: As usual

    @Test func `a registration returns its own ID`() throws {
        let backend = Model()
        let answer = try backend.heard("register", Self.register("u-1"))
        #expect(answer.status == 200)
        #expect(answer.body["appUserId"] == "u-1")
        #expect(answer.after == .zero)
    }

    @Test("a registration without an id or a device is refused", arguments: [("", "d"), ("u", "")])
    func incomplete(id: String, device: String) throws {
        let backend = Model()
        let request = Self.register(id, device: device)
        #expect(try backend.heard("register", request).status == 400)
    }

    @Test func `an account takes the first phone's ID and keeps it`() throws {
        let backend = Model()
        let first = try backend.heard("login", Self.login("acc", "u-1"))
        #expect(first.body["appUserId"] == "u-1")
        #expect(first.body["action"] == "claimed")
        let second = try backend.heard("login", Self.login("acc", "u-2"))
        #expect(second.body["appUserId"] == "u-1")
        #expect(second.body["action"] == "recovered")
        let other = try backend.heard("login", Self.login("other", "u-2"))
        #expect(other.body["appUserId"] == "u-2")
        #expect(other.body["action"] == "claimed")
    }

    @Test func `access follows what was bought, by the id that asks`() throws {
        let backend = Model()
        #expect(try backend.heard("access", Self.access("u-1")).body["entitled"] == false)
        #expect(try backend.heard("access", Self.access("u-1")).body["product"] == .null)
        backend.recordPurchase("gold", by: "u-1")
        let bought = try backend.heard("access", Self.access("u-1")).body
        #expect(bought["entitled"] == true)
        #expect(bought["product"] == "gold")
        #expect(try backend.heard("access", Self.access("u-2")).body["entitled"] == false)
    }

    @Test func `a backend without webhooks learns of no purchase`() throws {
        let backend = Model()
        var plan = AppBackendPlan()
        plan.isNotifiedOfPurchases = false
        backend.take(plan)
        backend.recordPurchase("gold", by: "u-1")
        #expect(try backend.heard("access", Self.access("u-1")).body["entitled"] == false)
    }

    // MARK: By plan

    @Test func `planned responses come once each, then the default`() throws {
        let backend = Model()
        backend.take(Self.plan("register", [.status(503), .status(409)]))
        var statuses: [Int] = []
        for _ in 0..<4 {
            #expect(backend.hasPlannedResponse(for: "register") == (statuses.count < 2))
            statuses.append(try backend.heard("register", Self.register("u")).status)
        }
        #expect(statuses == [503, 409, 200, 200])
    }

    @Test func `the last response of a permanent plan stays`() throws {
        let backend = Model()
        backend.take(Self.plan("register", [.ok, .status(503)], repeatsLastResponse: true))
        #expect(!backend.hasPlannedResponse(for: "register"), "the first one is as usual")
        let statuses = try (0..<4).map { _ in
            try backend.heard("register", Self.register("u")).status
        }
        #expect(statuses == [200, 503, 503, 503])
        #expect(backend.hasPlannedResponse(for: "register"))
    }

    @Test func `plans add up, and a later one wins where both name a route`() throws {
        let backend = Model()
        backend.take(Self.plan("register", [.status(500)]))
        backend.take(Self.plan("login", [.status(401)]))
        backend.take(Self.plan("login", [.status(429)]))
        #expect(try backend.heard("register", Self.register("u")).status == 500)
        #expect(try backend.heard("login", Self.login("a", "u")).status == 429)
        #expect(try backend.heard("login", Self.login("a", "u")).status == 200)
        #expect(try backend.heard("access", Self.access("u")).status == 200)
    }

    @Test func `a broken or missing response is not a response`() {
        let backend = Model()
        backend.take(Self.plan("register", [.reset, .never]))
        #expect(backend.respond("register", Self.register("u")) == .reset)
        #expect(backend.respond("register", Self.register("u")) == .never)
    }

    @Test func `a slow response is the default one, later`() throws {
        let backend = Model()
        backend.take(Self.plan("register", [.slow(.seconds(7))]))
        let answer = try backend.heard("register", Self.register("u-1"))
        #expect(answer.status == 200)
        #expect(answer.body["appUserId"] == "u-1")
        #expect(answer.after == .seconds(7))
    }

    @Test func `another id is another`() throws {
        let backend = Model()
        backend.take(Self.plan("register", [.otherID]))
        let id = try backend.heard("register", Self.register("u-1")).body["appUserId"]
        #expect(id?.string != nil)
        #expect(id != "u-1")
    }

    @Test func `a planned login claims or recovers, regardless of the known owner`() throws {
        let backend = Model()
        backend.take(Self.plan("login", [.recovered(user: "bob"), .claimed, .ok]))
        let recovered = try backend.heard("login", Self.login("acc", "u-1")).body
        #expect(recovered["appUserId"] == "id-of-bob")
        #expect(recovered["action"] == "recovered")
        let claimed = try backend.heard("login", Self.login("acc", "u-2")).body
        #expect(claimed["appUserId"] == "u-2")
        #expect(claimed["action"] == "claimed")
        let later = try backend.heard("login", Self.login("acc", "u-3")).body
        #expect(later["appUserId"] == "u-2", "what was claimed is kept")
        #expect(later["action"] == "recovered")
    }

    // MARK: Where a page dies

    /// A watch that expressions may change.
    private final class Watch {
        private var watch = KillPointTracker()

        var killPoint: AppAction.KillPoint? { watch.killPoint }
        func begin(_ action: AppAction) { watch.begin(action) }
        func end(_ phone: String) { watch.end(phone) }
        func isBeingKilled(_ phone: String) -> Bool { watch.isBeingKilled(phone) }
        func answered(_ route: String, on phone: String) -> Bool {
            watch.answered(route, on: phone)
        }
        func killsAfter(_ command: BridgeCommand, idKey: String) -> Bool {
            watch.killsAfter(command, idKey: idKey)
        }
    }

    private static func action(_ killPoint: AppAction.KillPoint?) -> AppAction {
        var action = AppAction(.launch)
        action.killPoint = killPoint
        return action
    }

    @Test func `a page without a kill point keeps running`() {
        let watch = Watch()
        watch.begin(Self.action(nil))
        #expect(!watch.answered("register", on: "phone"))
        #expect(!watch.answered("login", on: "phone"))
        #expect(!watch.killsAfter(BridgeCommand("setvault://?key=id&value=1"), idKey: "id"))
        #expect(!watch.isBeingKilled("phone"))
    }

    @Test func `a page killed at registration does not receive the response`() {
        let watch = Watch()
        watch.begin(Self.action(.registered))
        #expect(!watch.answered("login", on: "phone"))
        #expect(!watch.answered("access", on: "phone"))
        #expect(watch.answered("register", on: "phone"))
        watch.end("phone")
        #expect(!watch.answered("register", on: "phone"), "it dies once")
    }

    @Test func `a page killed at login receives the response and sends nothing more`() {
        let watch = Watch()
        watch.begin(Self.action(.loggedIn))
        #expect(!watch.answered("register", on: "phone"))
        #expect(!watch.isBeingKilled("phone"))
        #expect(!watch.answered("login", on: "phone"), "the answer reaches it")
        #expect(watch.isBeingKilled("phone"))
        #expect(!watch.isBeingKilled("tablet"))
        watch.end("phone")
        #expect(!watch.isBeingKilled("phone"))
    }

    @Test(
        "a page killed at the ID write is killed at that command only",
        arguments: [
            ("setvault://?key=uid&value=1", true), ("setvault://?key=other&value=1", false),
            ("readvault://?key=uid", false), ("revenuecat://launchPaywall?key=uid", false),
        ]
    )
    func idWritten(command: String, dies: Bool) {
        let watch = Watch()
        watch.begin(Self.action(.idWritten))
        #expect(watch.killsAfter(BridgeCommand(command), idKey: "uid") == dies)
        watch.begin(Self.action(.registered))
        #expect(!watch.killsAfter(BridgeCommand(command), idKey: "uid"))
    }

    @Test func `an action without a kill point clears the previous one`() {
        let watch = Watch()
        watch.begin(Self.action(.registered))
        watch.begin(Self.action(nil))
        #expect(watch.killPoint == nil)
        #expect(!watch.answered("register", on: "phone"))
    }
}
