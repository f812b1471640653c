import Contracts
import Grammar
import Providers
import Redaction
import Values

/// A provider that there is not: what its type says is all that anybody is told of it.
struct MadeUpState: WebhookSender {
    struct Settings: Hashable, Codable {
        enum Mood: String, Codable { case friendly, grumpy }

        var mood = Mood.friendly
        var nickname: String?
    }

    /// A party that is no provider in the table of all.
    static let party = Exchange.Party.assay
    static let title = "Made Up"
    static let defaultPort = 9377
    static let secrets = SecretFieldNames(headers: ["x-made-up"], members: ["whisper"])
    static let affectsOtherFakes = true
    static let webhookEndpoint = "assay-webhook"
    static let eventPointer = JSONPointer(tokens: ["event"])
    static let sendsAuthorization = false

    static let controls = [
        ProviderControl(
            "poke",
            "POST",
            "/madeup/{who}",
            "Somebody is poked.",
            members: [ControlMember("times", .integer, "How often.")],
            sendsEvents: true
        ) { services, call, now throws(ControlRefusal) in
            guard call.value != "nobody" else { throw ControlRefusal(409, "nobody is there") }
            let times = call.body["times"]?.int64 ?? 1
            services.madeUp.waiting += (0..<times).map { "\(call.value)-\($0)" }
            services.madeUp.alarm = now + .seconds(60)
            return ["poked": .string(call.value)]
        }
    ]

    static let additionalSwitches = [
        SwitchGroup("assay-extra") {
            $0.madeUp.settings
        } write: {
            $0.madeUp.settings = $1
        }
    ]

    var settings = Settings()
    var calls: Int64 = 0
    /// Events that are to be told.
    var waiting: [String] = []
    /// Rings once, and tells so.
    var alarm: Instant?
    var address: String?
    var hasSecret = false
    /// The users whose events were applied.
    var applied: [String] = []
    var hasKey = false

    init(seed _: UInt64, key: Secret?) { hasKey = key != nil }

    mutating func respond(
        to request: HTTPMessage.Request,
        at now: Instant,
        plannedResponse _: ProviderPlan.PlannedResponse
    ) -> Reply {
        calls += 1
        if request.method == "POST" { waiting.append("called-\(calls)") }
        return Reply(
            HTTPMessage.Response(
                200,
                json: ["calls": .integer(calls), "mood": .string(settings.mood.rawValue)]
            ),
            .inferred,
            of: "assay"
        )
    }

    func failureResponse(_ status: Int, of _: HTTPMessage.Request) -> HTTPMessage.Response {
        HTTPMessage.Response(status, json: ["made-up": "failure"])
    }

    func failureResponse(code: String) -> HTTPMessage.Response? {
        code == "GRUMPY" ? HTTPMessage.Response(418, json: ["made-up": "code"]) : nil
    }

    static func call(in exchange: Exchange) -> ProviderCall? {
        ProviderCall(kind: "madeup.call", idempotencyKey: exchange.request.path)
    }

    static func caller(of request: HTTPMessage.Request) -> Exchange.Party {
        request.path.hasPrefix("/app") ? .app : .backend
    }

    static let hosts: [ServiceHost] = []
    static let hints = ProviderHints()

    static func isCalled(by _: BackendTraits) -> Bool { true }

    static func environment(_ setup: BackendSetup) -> [String: String] {
        setup.addresses[party].map { ["MADE_UP_BASE": $0] } ?? [:]
    }

    var enteredSecrets: [(name: String, secret: Secret)] {
        hasSecret ? [("assay-signing", Secret("confided-planted-51"))] : []
    }

    mutating func copyConfiguration(from old: MadeUpState) {
        settings = old.settings
        address = old.address
    }

    mutating func take(key: Secret?) { hasKey = key != nil }

    static func settle(
        _ services: inout Services,
        at now: Instant
    ) -> [Services.InternalCall] {
        if let alarm = services.madeUp.alarm, alarm <= now {
            services.madeUp.alarm = nil
            services.madeUp.waiting.append("alarm")
        }
        let told = services.madeUp.waiting
        guard !told.isEmpty else { return [] }
        services.madeUp.waiting = []
        guard services.madeUp.address != nil else { return [] }
        for name in told {
            let event: JSONValue = ["event": ["type": .string(name)]]
            services.queue.add(party, to: "assay", event: event, id: name, type: name, due: now)
        }
        return []
    }

    var nextChangeTime: Instant? { alarm }

    mutating func setWebhookTarget(_ target: WebhookTarget) {
        address = target.url
        hasSecret = target.signingSecret != nil
    }

    func attempt(at delivery: WebhookDelivery, now: Instant) -> WebhookAttempt? {
        address.map { address in
            WebhookAttempt(url: address) { path in
                Self.request(
                    Array(delivery.body.utf8),
                    to: ("POST", path),
                    of: WebhookTarget(url: address),
                    proof: SenderProof(),
                    at: now
                )
            }
        }
    }

    static func request(
        _ body: [UInt8],
        to endpoint: (method: String, path: String),
        of _: WebhookTarget,
        proof _: SenderProof,
        at _: Instant
    ) -> HTTPMessage.Request {
        HTTPMessage.Request(
            endpoint.method,
            endpoint.path,
            fields: [HTTPMessage.Field("x-made-up", "signed-planted-52")],
            body: body
        )
    }

    static func proof(
        of request: HTTPMessage.Request,
        for _: WebhookTarget,
        at _: Instant
    ) -> SenderProof {
        SenderProof(
            signature: request[field: "x-made-up"] == "signed-planted-52" ? .configured : .missing
        )
    }

    static func event(in value: JSONValue) -> EventSummary? {
        value["made-up"]?.string.map { EventSummary(body: value, id: $0) }
    }

    static func retrySchedule(eventType _: String?) -> RetrySchedule { .revenueCatTestEvent }

    /// It gives up at once.
    func retrySchedule(of _: WebhookDelivery) -> RetrySchedule { .revenueCatTestEvent }
}

extension MadeUpState: PurchaseSender {
    static func purchaseEvent(
        of user: String,
        name: String,
        in context: EventContext
    ) -> JSONValue {
        ["made-up": .string(context.namespace.id(of: user)), "event": ["type": .string(name)]]
    }

    static func testEvent(of _: String, name: String, in _: EventContext) -> JSONValue {
        ["made-up": "test", "event": ["type": .string(name)]]
    }

    static let commonWebhookPaths = ["/hooks/made-up"]
    static let webhookPathWords = ["made-up"]
    static let stateReadOperation: String? = nil
}

extension MadeUpState: EventDrivenFake {
    static func reportsUserState(_ body: JSONValue) -> Bool { body["made-up"] != nil }

    static func userIDs(in body: JSONValue) -> [String] {
        [body["made-up"]?.string].compactMap(\.self)
    }

    static func apply(_ body: JSONValue, _ services: inout Services) {
        services.madeUp.applied += userIDs(in: body)
    }
}

extension MadeUpState: PushService {
    static let messageKind = "assay.message"
}

extension Services {
    private static let place = "made-up"

    /// A field for a test's provider, in a place that is copied and saved with the rest.
    var madeUp: MadeUpState {
        get {
            let saved = told.lazy.compactMap { $0[Self.place] }.first
            return (try? saved?.decoded(as: MadeUpState.self)) ?? MadeUpState(seed: 0, key: nil)
        }
        set {
            guard let value = try? JSONValue(encoding: newValue) else { return }
            told.removeAll { $0[Self.place] != nil }
            told.append([Self.place: value])
        }
    }
}

extension ProviderTable {
    /// One line: that is what it takes.
    static let withMadeUpProvider = ProviderTable(
        ProviderTable.all.entries + [ProviderEntry(\.madeUp)]
    )
}
