import Contracts
import Grammar
import Judging
internal import Providers
import TestSupport
import Values

/// What happened around phones, line by line, in milliseconds: the evidence of a device scenario.
///
/// Lines are put in the order of their times, so that a story is told first and then changed: one
/// line left out, another one added.
struct PhoneTimeline: Sendable {
    private struct Line: Sendable {
        let time: Int64
        var exchange: Exchange
    }

    static let install = "0D6B2A9E-6A8E-4F0C-9A51-33A0B4F7A7B1"
    /// When every phone is looked at for the last time.
    static let end: Int64 = 1_000_000

    private var lines: [Line] = []
    var expected = AppExpectation(location: SampleContract.location)
    var profile = EvidenceBuilder([], expectation: SampleContract.expectation()).profile

    // MARK: Telling

    mutating func userAction(
        _ name: String,
        at time: Int64,
        on phone: String = "phone",
        missing: String? = nil
    ) {
        let body = missing.map { JSONValue.object(["missing": .string($0)]).bytes } ?? []
        add(.assay, .app, .userAction(name), Self.request("/" + name, phone, body), at: time)
    }

    /// The page of the phone told of an error of its own.
    mutating func pageError(_ text: String, at time: Int64) {
        let body = JSONValue.object(["text": .string(text)]).bytes
        add(
            .assay,
            .app,
            .userAction("page-error"),
            Self.request("/page-error", nil, body),
            at: time
        )
    }

    /// The native side called a function of the page.
    mutating func called(_ function: String, exists: Bool, at time: Int64) {
        var body: JSONObject = ["text": .string(function)]
        if !exists { body["missing"] = .string(function) }
        let request = Self.request("/called", nil, JSONValue.object(body).bytes)
        add(.assay, .app, .userAction("called"), request, at: time)
    }

    /// The first script of a document could run.
    mutating func pageStarted(at time: Int64) {
        add(
            .assay,
            .app,
            .userAction("page-started"),
            Self.request("/page-started", "phone", []),
            at: time
        )
    }

    /// A command that the page assigned; `reply` is how long the native side took.
    mutating func command(
        _ text: String,
        at time: Int64,
        on phone: String = "phone",
        load: String = "1",
        reply: Int64? = nil,
        isInTaskOfOther: Bool = false
    ) {
        let body: JSONObject = [
            "command": .string(text), "device": .string(phone), "load": .string(load),
        ]
        let replies: JSONValue =
            reply.map { [["kind": "variable", "name": "x", "delay": .integer($0)]] } ?? []
        add(
            .app,
            .despia,
            .call,
            HTTPMessage.Request("POST", "/bridge", body: JSONValue.object(body).bytes),
            .answered(
                HTTPMessage.Response(
                    200,
                    json: ["replies": replies, "sameTask": .bool(isInTaskOfOther)]
                )
            ),
            at: time
        )
    }

    /// A registration as a correct app sends it, with members changed; nil leaves one out.
    mutating func register(
        _ id: String?,
        at time: Int64,
        until end: Int64? = nil,
        status: Int? = 200,
        responses: String? = nil,
        on phone: String = "phone",
        _ changes: [String: String?] = [:]
    ) {
        var members: [String: String?] = [
            "appUserId": id, "deviceId": Self.install, "platform": "ios", "source": "vault",
            "timestamp": "2026-11-21T10:00:00Z",
        ]
        for (name, value) in changes { members[name] = value }
        var body = JSONObject()
        for name in members.keys.sorted() {
            if let value = members[name] ?? nil { body[name] = .string(value) }
        }
        let outcome: Exchange.Outcome =
            status.map {
                .answered(
                    HTTPMessage.Response($0, json: ["appUserId": .string(responses ?? id ?? "")])
                )
            } ?? .failed(.closed, "closed")
        let request = Self.request("/register", phone, JSONValue.object(body).bytes)
        add(.app, .backend, .appCall("register"), request, outcome, at: time, until: end ?? time)
    }

    /// A login that tells the backend `current`; `until` nil: it is never answered.
    mutating func login(
        current: String,
        at time: Int64,
        until end: Int64?,
        on phone: String = "phone"
    ) {
        let body: JSONObject = ["accountId": "a", "currentAppUserId": .string(current)]
        let request = Self.request("/login", phone, JSONValue.object(body).bytes)
        let outcome: Exchange.Outcome =
            end == nil
            ? .pending : .answered(HTTPMessage.Response(200, json: ["appUserId": "x"]))
        add(.app, .backend, .appCall("login"), request, outcome, at: time, until: end)
    }

    /// A look at what a phone holds: at the end, unless a time is given.
    mutating func look(
        vault: [String: String],
        alias: String?,
        on phone: String = "phone",
        kind: String = "iphone",
        install: String = Self.install,
        at time: Int64 = Self.end
    ) {
        var items = JSONObject()
        for key in vault.keys.sorted() {
            items[key] = ["value": .string(vault[key] ?? "")]
        }
        let shown: JSONObject = [
            "vaultLocal": .object(items), "externalId": alias.map(JSONValue.string) ?? .null,
            "installUuid": .string(install), "uaPreset": .string(kind),
        ]
        add(
            .assay,
            .despia,
            .probe(name: "phone", user: phone),
            HTTPMessage.Request("GET", "/device"),
            .answered(HTTPMessage.Response(200, json: .object(shown))),
            at: time
        )
    }

    mutating func screen(_ shown: JSONValue, at time: Int64 = Self.end) {
        add(
            .assay,
            .app,
            .screen,
            HTTPMessage.Request("GET", "/screen"),
            .answered(HTTPMessage.Response(200, json: shown)),
            at: time
        )
    }

    // MARK: Changing

    /// Leaves out everything that was told for these times.
    mutating func drop(_ times: Int64...) { lines.removeAll { times.contains($0.time) } }

    mutating func drop(after time: Int64) { lines.removeAll { $0.time > time } }

    /// Leaves out what a phone was seen to hold.
    mutating func dropLooks() {
        lines.removeAll { if case .probe = $0.exchange.purpose { true } else { false } }
    }

    // MARK: Judging

    /// The evidence, with the promises that are to be judged.
    func evidence(_ requiredInvariants: [AppInvariant] = []) -> CaseEvidence {
        var builder = EvidenceBuilder([], expectation: SampleContract.expectation())
        builder.profile = profile
        var expected = expected
        expected.requiredInvariants += requiredInvariants.map {
            .init(name: $0, location: SampleContract.location)
        }
        builder.contract.steps = []
        builder.contract.expectation.app = expected
        builder.subject = lines.enumerated()
            .sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
            .enumerated().map { position, line in
                var exchange = line.element.exchange
                exchange.sequence = position
                exchange.phone = exchange.request[field: Self.phoneField].map { PhoneRef($0) }
                exchange.request.fields.removeAll { $0.name == Self.phoneField }
                return exchange
            }
        return builder.evidence
    }

    func codes(_ requiredInvariants: AppInvariant...) -> [FindingCode] {
        ClientRule.findings(in: evidence(requiredInvariants)).map(\.code)
    }

    /// Which phone a line is about, until the line becomes an exchange.
    private static let phoneField = "story-phone"

    private static func request(
        _ target: String,
        _ phone: String?,
        _ body: [UInt8]
    ) -> HTTPMessage.Request {
        let fields = phone.map { [HTTPMessage.Field(Self.phoneField, $0)] } ?? []
        return HTTPMessage.Request("POST", target, fields: fields, body: body)
    }

    private mutating func add(
        _ from: Exchange.Party,
        _ to: Exchange.Party,
        _ purpose: Exchange.Purpose,
        _ request: HTTPMessage.Request,
        _ outcome: Exchange.Outcome = .answered(HTTPMessage.Response(200)),
        at time: Int64
    ) {
        add(from, to, purpose, request, outcome, at: time, until: time)
    }

    private mutating func add(
        _ from: Exchange.Party,
        _ to: Exchange.Party,
        _ purpose: Exchange.Purpose,
        _ request: HTTPMessage.Request,
        _ outcome: Exchange.Outcome,
        at time: Int64,
        until end: Int64?
    ) {
        let exchange = Exchange(
            from: from,
            to: to,
            namespace: "n",
            purpose: purpose,
            at: SampleContract.base,
            request: request,
            invoked: time * 1000,
            completed: end.map { $0 * 1000 },
            outcome: outcome
        )
        lines.append(Line(time: time, exchange: exchange))
    }
}

/// Commands as a page writes them.
enum Bridge {
    static func write(
        _ id: String,
        key: String = "app_user_id",
        locked: String = "false"
    ) -> String {
        "setvault://?key=\(key)&value=\(id)&locked=\(locked)"
    }

    static func alias(_ id: String) -> String { "setonesignalplayerid://?user_id=\(id)" }

    static func paywall(_ id: String) -> String {
        "revenuecat://launchPaywall?external_id=\(id)&offering=default"
    }
}

// MARK: - Stories that begin well

extension PhoneTimeline {
    static let first = "first-user-0001"
    static let second = "second-user-0002"
    static let third = "8b1f2c9e-3a77-4a40-9f51-0c6ee0d0b7f3"

    /// A day of a correct app: a first launch whose registration fails once, a purchase, a login
    /// that brings another id, and a logout that makes up a third.
    static var day: PhoneTimeline {
        var scenario = PhoneTimeline()
        scenario.look(vault: [:], alias: nil, at: -1)
        scenario.userAction("launch", at: 0)
        scenario.command("readvault://?key=app_user_id", at: 5, reply: 20)
        scenario.command("readvault://?key=identity_locked", at: 30, reply: 20)
        scenario.command(Bridge.write(first), at: 60)
        scenario.command(Bridge.write("true", key: "identity_locked"), at: 65)
        scenario.command(Bridge.alias(first), at: 70)
        scenario.register(first, at: 100, until: 150, status: 503)
        scenario.register(first, at: 1150, until: 1200)
        scenario.userAction("upgrade", at: 2000)
        scenario.command(Bridge.paywall(first), at: 2010)
        scenario.userAction("complete", at: 2500)
        scenario.called("onRevenueCatPurchase", exists: true, at: 2520)
        scenario.userAction("login", at: 3000)
        scenario.login(current: first, at: 3010, until: 3100)
        scenario.command(Bridge.write(second), at: 3110)
        scenario.command(Bridge.alias(second), at: 3120)
        scenario.register(second, at: 3150, until: 3200)
        scenario.userAction("logout", at: 4000)
        scenario.command(Bridge.write("false", key: "identity_locked"), at: 4005)
        scenario.command(Bridge.write(third), at: 4010)
        scenario.command(Bridge.alias(third), at: 4020)
        scenario.register(third, at: 4050, until: 4100)
        scenario.look(vault: ["app_user_id": third, "identity_locked": "false"], alias: third)
        return scenario
    }

    /// A second launch of an app that knows its user, and a tap on "restore" that finds nothing.
    static var morning: PhoneTimeline {
        var scenario = PhoneTimeline()
        scenario.look(vault: ["app_user_id": first], alias: first, at: -1)
        scenario.userAction("launch", at: 0)
        scenario.command("readvault://?key=app_user_id", at: 5, reply: 20)
        scenario.command(Bridge.alias(first), at: 40)
        scenario.register(first, at: 50, until: 90)
        scenario.userAction("launch", at: 1000)
        scenario.command("readvault://?key=app_user_id", at: 1005, reply: 20)
        scenario.command(Bridge.alias(first), at: 1040)
        scenario.register(first, at: 1050, until: 1090)
        scenario.userAction("restore", at: 2000)
        scenario.command("getpurchasehistory://", at: 2010, reply: 20)
        scenario.look(vault: ["app_user_id": first], alias: first)
        return scenario
    }

    /// A day in which somebody has an id that means something in a command.
    static var hostile: PhoneTimeline {
        var scenario = day
        scenario.register("a&b", at: 4150, until: 4160)
        return scenario
    }

    /// A page in an ordinary browser, which has no bridge.
    static var browser: PhoneTimeline {
        var scenario = PhoneTimeline()
        scenario.userAction("launch", at: 0)
        scenario.register(first, at: 50, until: 90)
        return scenario
    }
}
