internal import Redaction
package import Values

extension RevenueCatState: WebhookSender {
    package typealias Event = EventSpec

    package static let webhookEndpoint = "revenuecat-webhook"
    package static let webhookFormat = WebhookFormat(
        eventPointer: JSONPointer(tokens: ["event"]),
        typePointer: JSONPointer(tokens: ["event", "type"]),
        eventTypes: EventSpec.types,
        sendsAuthorization: true,
        defaultPath: "/api/webhooks/revenuecat",
        feature: nil,
        signatureFeature: .signature,
        fields: EventFields(
            texts: [
                .init("app_user_id", label: "user"), .init("transferred_from", label: "from"),
                .init("transferred_to", label: "to"), .init("cancel_reason"),
                .init("expiration_reason"), .init("product_id"),
                .init("new_product_id", label: "to"), .init("store"), .init("environment"),
            ],
            ids: [
                .init("transaction_id", label: "transaction"),
                .init("original_transaction_id", label: "first transaction"),
            ],
            dates: [
                .init("purchased_at_ms", label: "purchased"),
                .init("expiration_at_ms", label: "until"),
                .init("grace_period_expiration_at_ms", label: "grace until"),
                .init("auto_resume_at_ms", label: "resumes at"),
            ]
        )
    )

    package static func request(
        _ body: [UInt8],
        to endpoint: (method: String, path: String),
        of target: WebhookTarget,
        proof: SenderProof,
        at now: Instant
    ) -> HTTPMessage.Request {
        RevenueCatSender(
            path: endpoint.path,
            authorization: target.authorization,
            signingKey: target.signingSecret
        ).request(
            method: endpoint.method,
            body: body,
            at: now,
            authorization: proof.authorization ?? .configured,
            signature: proof.signature ?? .configured
        )
    }

    package static func retrySchedule(eventType: String?) -> RetrySchedule {
        .revenueCat(eventType: eventType)
    }

    /// Replaces the webhook configuration `main` of the dashboard.
    ///
    /// The other configurations stay.
    package mutating func setWebhookTarget(_ target: WebhookTarget) {
        webhooks.removeAll { $0.id == "main" }
        webhooks.append(
            WebhookConfiguration(
                id: "main",
                url: target.url,
                authorization: target.authorization,
                signingKey: target.signingSecret
            )
        )
    }

    package func attempt(at delivery: WebhookDelivery, now: Instant) -> WebhookAttempt? {
        guard let webhook = webhooks.first(where: { $0.id == delivery.configuration }) else {
            return nil
        }
        let body = Array(delivery.body.utf8)
        return WebhookAttempt(url: webhook.url) { path in
            RevenueCatSender(
                path: path,
                authorization: webhook.authorization,
                signingKey: webhook.signingKey
            ).request(body: body, at: now)
        }
    }

    /// Recognizes a RevenueCat event: a complete webhook body, or only the event as the dashboard
    /// shows it.
    package static func event(in value: JSONValue) -> EventSummary? {
        let event = value["event"] ?? value
        let hasEventID = (event["id"] ?? event["event_id"])?.string != nil
        guard event["type"]?.string != nil, hasEventID,
            value["event"] != nil || event["event_timestamp_ms"] != nil
                || event["app_user_id"] != nil
        else { return nil }
        return EventSummary(
            body: value["event"] == nil ? ["api_version": "1.0", "event": value] : value,
            id: (event["id"] ?? event["event_id"])?.string,
            type: event["type"]?.string,
            time: event["event_timestamp_ms"]?.int64.map(Instant.init(milliseconds:))
        )
    }

    package static func proof(
        of request: HTTPMessage.Request,
        for target: WebhookTarget,
        at now: Instant
    ) -> SenderProof {
        RevenueCatSender(
            path: request.path,
            authorization: target.authorization,
            signingKey: target.signingSecret
        ).proof(of: request, at: now)
    }

    package func retrySchedule(of delivery: WebhookDelivery) -> RetrySchedule {
        .revenueCat(eventType: delivery.type)
    }
}
