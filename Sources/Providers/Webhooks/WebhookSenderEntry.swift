package import Values

/// The part of a provider's entry that sends events.
///
/// It exposes the members of `WebhookSender` as closures.
package struct WebhookSenderEntry: Sendable {
    package let webhookEndpoint: String
    package let format: WebhookFormat
    /// The notation of the provider's events in contracts and in saved runs.
    package let notation: EventNotation
    package let event: @Sendable (JSONValue) -> EventSummary?
    package let proof: @Sendable (HTTPMessage.Request, WebhookTarget, Instant) -> SenderProof
    package let request:
        @Sendable (
            [UInt8], (method: String, path: String), WebhookTarget, SenderProof, Instant
        ) -> HTTPMessage.Request
    package let eventRetrySchedule: @Sendable (_ eventType: String?) -> RetrySchedule
    package let setWebhookTarget: @Sendable (inout Services, WebhookTarget) -> Void
    let attempt: @Sendable (Services, WebhookDelivery, Instant) -> WebhookAttempt?
    let retrySchedule: @Sendable (Services, WebhookDelivery) -> RetrySchedule

    init<Kind: WebhookSender>(_ stateKeyPath: any WritableKeyPath<Services, Kind> & Sendable) {
        webhookEndpoint = Kind.webhookEndpoint
        format = Kind.webhookFormat
        notation = EventNotation(Kind.Event.self, of: Kind.party)
        event = { Kind.event(in: $0) }
        proof = { Kind.proof(of: $0, for: $1, at: $2) }
        request = { Kind.request($0, to: $1, of: $2, proof: $3, at: $4) }
        eventRetrySchedule = { Kind.retrySchedule(eventType: $0) }
        setWebhookTarget = { $0[keyPath: stateKeyPath].setWebhookTarget($1) }
        attempt = { $0[keyPath: stateKeyPath].attempt(at: $1, now: $2) }
        retrySchedule = { $0[keyPath: stateKeyPath].retrySchedule(of: $1) }
    }
}
