package import Values

/// A provider that sends events to a webhook of the backend.
///
/// A provider without this protocol sends no events, and no code can ask it for one.
package protocol WebhookSender: BackendService {
    /// The event as a contract describes it.
    associatedtype Event: ProviderEvent

    /// The name that a profile gives to the backend's endpoint for the events.
    static var webhookEndpoint: String { get }

    /// The facts about the webhook that are the same for all events.
    static var webhookFormat: WebhookFormat { get }

    /// Returns the request that delivers a body, with correct or deliberately wrong proofs of the
    /// sender.
    ///
    /// - Parameters:
    ///   - body: The bytes of the body.
    ///   - endpoint: The method and the path of the webhook.
    ///   - target: The secrets of the webhook. Its URL is not used.
    ///   - proof: The states of the `Authorization` header and of the signature. A state that is
    ///     nil is the configured one.
    ///   - now: The real time, with which the signature is dated.
    /// - Returns: The request for the path of the endpoint.
    static func request(
        _ body: [UInt8],
        to endpoint: (method: String, path: String),
        of target: WebhookTarget,
        proof: SenderProof,
        at now: Instant
    ) -> HTTPMessage.Request

    /// Checks the headers with which a webhook delivery proves its sender.
    ///
    /// `request` adds these headers.
    ///
    /// - Parameters:
    ///   - request: A delivery that reached a backend.
    ///   - target: The webhook's destination, with the secrets that the backend knows. A proof
    ///     whose secret is missing is not checked.
    ///   - now: The real time at which the delivery was sent.
    /// - Returns: The result of the check.
    static func proof(
        of request: HTTPMessage.Request,
        for target: WebhookTarget,
        at now: Instant
    ) -> SenderProof

    /// Recognizes an event of the service in a JSON value from a log, an export or the
    /// documentation.
    ///
    /// - Returns: The event in the form that the service sends; nil when the value is not an event
    ///   of the service.
    static func event(in value: JSONValue) -> EventSummary?

    /// Returns the retry schedule of the service's usual settings for an event of this type.
    ///
    /// The type is nil when a body contains no readable event.
    static func retrySchedule(eventType: String?) -> RetrySchedule

    /// Makes the fake send its events to this destination from now on.
    mutating func setWebhookTarget(_ target: WebhookTarget)

    /// Returns the URL and the request for an attempt at a delivery; nil when the webhook no longer
    /// exists.
    ///
    /// `now` is the real time, with which the request's signature is dated. A receiver compares
    /// that date with its own clock, which does not follow the virtual clock.
    func attempt(at delivery: WebhookDelivery, now: Instant) -> WebhookAttempt?

    /// Returns the retry schedule that the fake uses for this delivery, according to its switches.
    func retrySchedule(of delivery: WebhookDelivery) -> RetrySchedule
}

/// An event of a service that was found outside of a webhook delivery, for example in a log.
package struct EventSummary: Hashable, Sendable {
    /// The event's body in the form in which the service delivers it.
    package var body: JSONValue
    /// The ID of the event; nil when the event has none.
    package let id: String?
    /// The type of the event; nil when the event does not name its type.
    package let type: String?
    /// The time at which the event happened, according to the event itself; nil when the event
    /// contains no time.
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

/// One attempt to deliver an event to a webhook.
package struct WebhookAttempt: Sendable {
    package let url: String
    /// Creates the request for the path of `url`, signed with the time of the attempt.
    package let request: @Sendable (_ path: String) -> HTTPMessage.Request

    package init(
        url: String,
        request: @escaping @Sendable (_ path: String) -> HTTPMessage.Request
    ) {
        self.url = url
        self.request = request
    }
}
