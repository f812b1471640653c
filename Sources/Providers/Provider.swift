package import Redaction
package import Values

/// An external service that backends use and that Assay imitates with a fake.
///
/// The provider's type contains all information about the service that the rest of the program
/// needs.
///
/// A provider is a value that responds to requests, so that a test needs no socket. To add a
/// provider, add a folder with its type and a line in `ProviderTable.all`.
///
/// This protocol contains the requirements of every fake. The abilities that only some services
/// have are protocols of their own, such as `BackendService`, `WebhookSender` and `TokenIssuer`.
package protocol Provider: Hashable, Codable, Sendable {
    /// The switches of the fake.
    ///
    /// They select behavior that the service's documentation leaves open.
    associatedtype Settings: Hashable, Codable, Sendable

    static var party: Exchange.Party { get }
    /// The name of the imitated service as prose writes it, for example `Firebase Auth`.
    static var title: String { get }
    /// The default port at which `assay serve` opens the fake on 127.0.0.1 (section 7 of the
    /// architecture document).
    static var defaultPort: Int { get }
    /// The names of the headers and JSON members in the service's messages that contain secrets.
    static var secrets: SecretFieldNames { get }
    /// Whether a call to this fake can cause a change or a call at the fake of another provider.
    static var affectsOtherFakes: Bool { get }
    /// The operations that users and tests can perform on the fake through the control API.
    static var controls: [ProviderControl] { get }
    /// Groups of switches in addition to `settings`, each with its own name.
    static var additionalSwitches: [SwitchGroup] { get }
    /// The operations of the service's API, both supported and unsupported by the fake.
    static var operations: [ServiceOperation] { get }
    /// Instructions for reading the live service without changing it; nil when there is no live
    /// service to compare the fake with.
    static var liveReadPlan: LiveReadPlan? { get }

    var settings: Settings { get set }

    /// - Parameters:
    ///   - seed: The seed from which the fake generates its IDs.
    ///   - key: The API key that callers must send; nil to accept every caller.
    init(seed: UInt64, key: Secret?)

    /// Returns the service's usual response to a request, or the response that a plan requires.
    ///
    /// Responds even to an invalid request, with the service's error.
    mutating func respond(
        to request: HTTPMessage.Request,
        at now: Instant,
        plannedResponse: ProviderPlan.PlannedResponse
    ) -> Reply

    /// Whether web pages of other origins must not send this request, because the request
    /// administers the fake.
    ///
    /// A page of an app never sends such a request.
    func isClosedToForeignPages(_ request: HTTPMessage.Request) -> Bool

    /// Returns the service's own error response with this HTTP status.
    func failureResponse(_ status: Int, of request: HTTPMessage.Request) -> HTTPMessage.Response

    /// Returns the service's own response to a call that came too soon.
    ///
    /// The response asks the caller to wait for this number of milliseconds. In the default
    /// implementation, the header `Retry-After` contains the pause rounded down to whole seconds.
    func tooManyRequests(_ milliseconds: Int64, of request: HTTPMessage.Request)
        -> HTTPMessage.Response

    /// Returns the service's own error response with this error code; nil when the service has no
    /// such code.
    func failureResponse(code: String) -> HTTPMessage.Response?

    /// The secrets that users entered into the fake, by the names that a profile gives to them.
    var enteredSecrets: [(name: String, secret: Secret)] { get }

    /// Returns the sender of a request that reached the fake's port: the backend or an app.
    static func caller(of request: HTTPMessage.Request) -> Exchange.Party

    /// Recognizes a call that the rules of Assay examine, and describes it in terms that all
    /// providers share.
    ///
    /// Returns nil for any other exchange (request and response).
    static func call(in exchange: Exchange) -> ProviderCall?

    /// Describes a call for readers by its decisive values, such as the recipients and the text of
    /// a message, or the user that the call looks up.
    ///
    /// Returns nil when the method and the path describe the call.
    static func callText(_ exchange: Exchange) -> String?

    /// Copies the part of the old state that survives a reset: the switches and the destinations of
    /// events.
    mutating func copyConfiguration(from old: Self)

    /// Sets the API key again after the fake's state was loaded.
    ///
    /// API keys are never saved.
    mutating func take(key: Secret?)

    // MARK: Consequences

    /// Copies data from the other fakes that the response to this request may depend on.
    static func copyDataFromOtherFakes(
        _ services: inout Services,
        for request: HTTPMessage.Request,
        at now: Instant
    )

    /// Passes this fake's pending events and calls to their destinations, such as the delivery
    /// queue or another fake.
    ///
    /// - Returns: The calls that this fake makes to other fakes.
    static func settle(_ services: inout Services, at now: Instant) -> [Services.InternalCall]

    /// The next time at which the fake's state changes without a call; nil when there is no such
    /// time.
    var nextChangeTime: Instant? { get }

    /// Returns the expected number of automatic renewals of subscriptions until a time.
    func renewalCount(by time: Instant) -> Int

    /// Returns the customers who have purchases at the service, in no particular order.
    func subscribers(at now: Instant) -> [SubscriberSummary]
}

/// The names of a service's headers and JSON members that contain secrets.
///
/// Headers are in lower case, and members are in the service's spelling.
package struct SecretFieldNames: Hashable, Sendable {
    package var headers: [String]
    package var members: [String]

    package init(headers: [String] = [], members: [String] = []) {
        self.headers = headers
        self.members = members
    }
}

extension Provider {
    package static var affectsOtherFakes: Bool { false }
    package static var controls: [ProviderControl] { [] }
    package static var additionalSwitches: [SwitchGroup] { [] }
    package static var operations: [ServiceOperation] { [] }
    package static var liveReadPlan: LiveReadPlan? { nil }
    package var enteredSecrets: [(name: String, secret: Secret)] { [] }
    package func subscribers(at _: Instant) -> [SubscriberSummary] { [] }

    package static func caller(of _: HTTPMessage.Request) -> Exchange.Party { .backend }

    /// Returns the service's usual response to a request, without a planned fault.
    package mutating func respond(to request: HTTPMessage.Request, at now: Instant) -> Reply {
        respond(to: request, at: now, plannedResponse: .asUsual)
    }

    package func failureResponse(
        _ status: Int,
        of request: HTTPMessage.Request
    ) -> HTTPMessage.Response {
        HTTPMessage.Response(status, json: ["error": "planned failure"])
    }

    package func tooManyRequests(
        _ milliseconds: Int64,
        of request: HTTPMessage.Request
    ) -> HTTPMessage.Response {
        var response = failureResponse(429, of: request)
        response.fields.removeAll { $0.name.lowercased() == "retry-after" }
        response.fields.append(HTTPMessage.Field("Retry-After", "\(milliseconds / 1000)"))
        return response
    }

    package func isClosedToForeignPages(_: HTTPMessage.Request) -> Bool { false }

    package func failureResponse(code: String) -> HTTPMessage.Response? { nil }

    package static func call(in exchange: Exchange) -> ProviderCall? { nil }

    package mutating func copyConfiguration(from old: Self) { settings = old.settings }

    package mutating func take(key: Secret?) {}

    package static func copyDataFromOtherFakes(
        _: inout Services,
        for _: HTTPMessage.Request,
        at _: Instant
    ) {}

    package static func settle(
        _ services: inout Services,
        at now: Instant
    ) -> [Services.InternalCall] { [] }

    package var nextChangeTime: Instant? { nil }

    package func renewalCount(by time: Instant) -> Int { 0 }
}
