internal import Redaction
package import Values

extension PurchaselyState: WebhookSender {
    package typealias Event = PurchaselySpec

    package static let webhookEndpoint = "purchasely-webhook"
    package static let webhookFormat = WebhookFormat(
        eventPointer: JSONPointer(),
        typePointer: JSONPointer(tokens: ["event_name"]),
        eventTypes: PurchaselySpec.names,
        sendsAuthorization: false,
        defaultPath: nil,
        feature: .purchasely,
        signatureFeature: .purchaselySignature,
        fields: EventFields(
            texts: [
                .init("user_id", label: "user"),
                .init("anonymous_user_id", label: "anonymous user"),
                .init("transferred_to_user_id", label: "to"),
                .init("transferred_from_user_id", label: "from"), .init("plan"),
                .init("previous_plan", label: "instead of"), .init("store"), .init("environment"),
                .init("subscription_status"),
            ],
            dates: [
                .init("effective_next_renewal_at_ms", label: "until"),
                .init("grace_period_expires_at_ms", label: "grace until"),
                .init("auto_resume_at_ms", label: "resumes at"),
            ]
        )
    )

    /// Returns the request that delivers a body.
    ///
    /// Purchasely sends no `Authorization` header.
    package static func request(
        _ body: [UInt8],
        to endpoint: (method: String, path: String),
        of target: WebhookTarget,
        proof: SenderProof,
        at now: Instant
    ) -> HTTPMessage.Request {
        PurchaselySender(
            method: endpoint.method,
            path: endpoint.path,
            secret: target.signingSecret
        ).request(body: body, at: now, signature: proof.signature ?? .configured)
    }

    package static func retrySchedule(eventType _: String?) -> RetrySchedule {
        .purchasely(takes404: false)
    }

    package mutating func setWebhookTarget(_ target: WebhookTarget) {
        webhook = PurchaselyWebhook(url: target.url, secret: target.signingSecret)
    }

    package func attempt(at delivery: WebhookDelivery, now: Instant) -> WebhookAttempt? {
        guard let webhook else { return nil }
        let body = Array(delivery.body.utf8)
        let senderState = self
        return WebhookAttempt(url: webhook.url) { senderState.request(body, path: $0, at: now) }
    }

    /// Recognizes a published webhook body of version 3 (Purchasely fact sheet, section 5) or of
    /// version 2 (section 8).
    package static func event(in value: JSONValue) -> EventSummary? {
        let isVersion3Event = value["event_name"]?.string != nil && value["event_id"]?.string != nil
        let isVersion2Event = value["name"]?.string != nil && value["properties"]?.object != nil
        guard isVersion3Event || isVersion2Event else { return nil }
        let creationTime = value["event_created_at"] ?? value["received_at"]
        let time =
            value["event_created_at_ms"]?.int64.map(Instant.init(milliseconds:))
            ?? creationTime?.string.flatMap { Instant(iso8601: $0) }
        return EventSummary(
            body: value,
            id: value["event_id"]?.string,
            type: (value["event_name"] ?? value["name"])?.string,
            time: time
        )
    }

    package static func proof(
        of request: HTTPMessage.Request,
        for target: WebhookTarget,
        at now: Instant
    ) -> SenderProof {
        PurchaselySender(method: request.method, path: request.path, secret: target.signingSecret)
            .proof(of: request, at: now)
    }

    package func retrySchedule(of _: WebhookDelivery) -> RetrySchedule {
        .purchasely(takes404: settings.takes404)
    }
}
