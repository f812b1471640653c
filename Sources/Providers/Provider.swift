package import Conformance

/// A service around the backend that Assay stands in for: everything that the rest of the program
/// asks about it.
///
/// A provider is a value that answers requests, so that a test needs no socket. A new one is a
/// folder with its type, and a line in `ProviderTable.all` for its field in `Services`.
package protocol Provider: Hashable, Codable, Sendable {
    /// The switches of the fake: what the documentation leaves open.
    associatedtype Settings: Hashable, Codable, Sendable

    static var party: Exchange.Party { get }
    /// Its name in prose.
    static var title: String { get }
    /// Where `assay serve` opens it on 127.0.0.1 unless told otherwise (architecture, section 7).
    static var defaultPort: Int { get }
    /// The headers and members of its messages that hold secrets.
    static var secrets: ProviderSecrets { get }
    /// Where it is reached under its own name.
    static var hosts: [ServiceHost] { get }
    /// By what a backend's own files can be told to mean it.
    static var hints: ProviderHints { get }
    /// Whether a call to it can set off something at another provider.
    static var setsOffOthers: Bool { get }
    /// What people and tests can do to it beside calling it.
    static var controls: [ProviderControl] { get }
    /// Switches beside `settings`, under names of their own.
    static var moreSwitches: [SwitchGroup] { get }
    /// What of the service's interface is there, and what is not.
    static var operations: [ServiceOperation] { get }
    /// How the live service is read without changing anything there; nil: there is nothing to hold
    /// its answers against.
    static var liveReading: LiveReading? { get }
    /// The endpoint of a profile at which a backend takes its events; nil: it sends none.
    static var webhookEndpoint: String? { get }

    var settings: Settings { get set }

    /// - Parameters:
    ///   - seed: What its ids are drawn from.
    ///   - key: What its callers have to show; one that is not given is not demanded.
    init(seed: UInt64, key: Secret?)

    /// Answers as the service would, or as unluckily as a plan says; never fails, whatever the
    /// request says.
    mutating func respond(
        to request: HTTPMessage.Request,
        at now: Instant,
        planned: ProviderPlan.Answer
    ) -> Reply

    /// Whether a call is refused to web pages of other origins: administration of the fake, which no
    /// page of an app does.
    func isClosedToForeignPages(_ request: HTTPMessage.Request) -> Bool

    /// The service's own failure of that status.
    func failure(_ status: Int, of request: HTTPMessage.Request) -> HTTPMessage.Response

    /// The service's own refusal of a call that came too soon, which asks for so many milliseconds
    /// of pause: whole seconds.
    func busy(_ milliseconds: Int64, of request: HTTPMessage.Request) -> HTTPMessage.Response

    /// The service's own refusal of that code; nil where it knows none.
    func failure(code: String) -> HTTPMessage.Response?

    /// What it was told in confidence, by the names that a profile gives such secrets.
    var confided: [(name: String, secret: Secret)] { get }

    /// Who makes a call that came to its port: the backend, or an app.
    static func caller(of request: HTTPMessage.Request) -> Exchange.Party

    /// The variables that tell a backend of it.
    static func environment(_ setup: BackendSetup) -> [String: String]

    /// What it asked of others, from what a call says; nil when no rule looks at such calls.
    static func call(in exchange: Exchange) -> ProviderCall?

    /// Takes over what a reset keeps: switches, and where events go.
    mutating func keep(from old: Self)

    /// Takes a key again that was not saved with the rest.
    mutating func take(key: Secret?)

    // MARK: What follows

    /// Learns from the others what the answer to a request may depend on.
    static func prepare(
        _ services: inout Services,
        for request: HTTPMessage.Request,
        at now: Instant
    )

    /// Carries what it wants to tell to where it belongs.
    ///
    /// - Returns: The calls that this made to other providers.
    static func settle(_ services: inout Services, at now: Instant) -> [Services.InternalCall]

    /// When something next happens by itself; nil when nothing will.
    var nextMoment: Instant? { get }

    /// The number of renewals that happen by themselves up to a time, as far as they are foreseen.
    func renewalCount(by time: Instant) -> Int

    /// Who has something there, in no order.
    func subscribers(at now: Instant) -> [ShownSubscriber]

    // MARK: Webhooks

    /// What proves the sender of a delivery: what `attempt` puts in, recognised.
    ///
    /// - Parameters:
    ///   - request: A delivery that reached a backend.
    ///   - target: With the secrets that the backend knows; what is not given is not examined.
    ///   - now: When it was sent, by the sender's real clock.
    /// - Returns: What there is to say about it; nothing where it sends no events.
    static func proof(
        of request: HTTPMessage.Request,
        for target: WebhookTarget,
        at now: Instant
    ) -> SenderProof

    /// The event that a value is, as a log, an export or the documentation shows it.
    ///
    /// - Returns: What the service sends for it; nil when it is none of its events.
    static func event(in value: JSONValue) -> ShownEvent?

    /// Sends its events there from now on.
    mutating func connect(_ target: WebhookTarget)

    /// Where an attempt goes and what it says; nil when the webhook is gone.
    ///
    /// `now` is real time, which a signature is dated with: a receiver holds it against its own clock,
    /// however far the virtual one was moved.
    func attempt(at delivery: WebhookDelivery, now: Instant) -> WebhookAttempt?

    /// When an event is delivered again.
    func schedule(of delivery: WebhookDelivery) -> RetrySchedule
}

/// An event of a service that somebody shows outside a delivery.
package struct ShownEvent: Hashable, Sendable {
    /// As it is delivered.
    package var body: JSONValue
    /// Its own name of itself; nil when it has none.
    package let id: String?
    /// What happened; nil when it does not say so.
    package let type: String?
    /// When it says that it came about.
    package let time: Instant?

    package init(
        body: JSONValue,
        id: String? = nil,
        type: String? = nil,
        time: Instant? = nil
    ) {
        (self.body, self.id, self.type, self.time) = (body, id, type, time)
    }
}

/// Names of headers and members that hold secrets, in lower case and as the service writes them.
package struct ProviderSecrets: Hashable, Sendable {
    package var headers: [String]
    package var members: [String]

    package init(headers: [String] = [], members: [String] = []) {
        self.headers = headers
        self.members = members
    }
}

/// One attempt to hand an event to a webhook.
package struct WebhookAttempt: Sendable {
    package let url: String
    /// The request to the path of that URL, signed at this moment.
    package let request: @Sendable (_ path: String) -> HTTPMessage.Request

    package init(
        url: String,
        request: @escaping @Sendable (_ path: String) -> HTTPMessage.Request
    ) {
        self.url = url
        self.request = request
    }
}

extension Provider {
    package static var secrets: ProviderSecrets { ProviderSecrets() }
    package static var hosts: [ServiceHost] { [] }
    package static var hints: ProviderHints { ProviderHints() }
    package static var setsOffOthers: Bool { false }
    package static var controls: [ProviderControl] { [] }
    package static var moreSwitches: [SwitchGroup] { [] }
    package static var operations: [ServiceOperation] { [] }
    package static var liveReading: LiveReading? { nil }
    package static var webhookEndpoint: String? { nil }
    package static func proof(
        of _: HTTPMessage.Request,
        for _: WebhookTarget,
        at _: Instant
    ) -> SenderProof { SenderProof() }
    package static func event(in _: JSONValue) -> ShownEvent? { nil }
    package var confided: [(name: String, secret: Secret)] { [] }
    package func subscribers(at _: Instant) -> [ShownSubscriber] { [] }

    package static func caller(of _: HTTPMessage.Request) -> Exchange.Party { .backend }

    package static func environment(_: BackendSetup) -> [String: String] { [:] }

    /// Who sends no events has nowhere to send them.
    package mutating func connect(_: WebhookTarget) {}

    /// Answers as the service usually would.
    package mutating func respond(to request: HTTPMessage.Request, at now: Instant) -> Reply {
        respond(to: request, at: now, planned: .asUsual)
    }

    package func failure(
        _ status: Int,
        of request: HTTPMessage.Request
    ) -> HTTPMessage.Response {
        HTTPMessage.Response(status, json: ["error": "by plan"])
    }

    package func busy(
        _ milliseconds: Int64,
        of request: HTTPMessage.Request
    ) -> HTTPMessage.Response {
        var response = failure(429, of: request)
        response.fields.removeAll { $0.name.lowercased() == "retry-after" }
        response.fields.append(HTTPMessage.Field("Retry-After", "\(milliseconds / 1000)"))
        return response
    }

    package func isClosedToForeignPages(_: HTTPMessage.Request) -> Bool { false }

    package func failure(code: String) -> HTTPMessage.Response? { nil }

    package static func call(in exchange: Exchange) -> ProviderCall? { nil }

    package mutating func keep(from old: Self) { settings = old.settings }

    package mutating func take(key: Secret?) {}

    package static func prepare(
        _: inout Services,
        for _: HTTPMessage.Request,
        at _: Instant
    ) {}

    package static func settle(
        _ services: inout Services,
        at now: Instant
    ) -> [Services.InternalCall] { [] }

    package var nextMoment: Instant? { nil }

    package func renewalCount(by time: Instant) -> Int { 0 }

    package func attempt(at delivery: WebhookDelivery, now: Instant) -> WebhookAttempt? { nil }

    /// No provider retries what it never sends.
    package func schedule(of delivery: WebhookDelivery) -> RetrySchedule { .never }
}
