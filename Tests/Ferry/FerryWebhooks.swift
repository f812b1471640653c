internal import Contracts
internal import Crypto
package import Providers
package import Redaction
package import Values

/// The signature of the ferry company: the hexadecimal SHA-256 of the secret, a line break and the
/// body.
enum FerrySignature {
    static let fieldName = "x-ferry-signature"

    static func code(_ body: [UInt8], _ secret: String) -> String {
        SHA256.hash(data: Array(secret.utf8) + [0x0A] + body)
            .map { String(UInt8($0) >> 4, radix: 16) + String(UInt8($0) & 0xF, radix: 16) }
            .joined()
    }
}

extension FerryState: WebhookSender {
    package typealias Event = FerryEvent

    package static let webhookEndpoint = "ferry-webhook"
    package static let webhookFormat = WebhookFormat(
        eventPointer: JSONPointer(),
        typePointer: JSONPointer(tokens: ["type"]),
        eventTypes: FerryEvent.types,
        sendsAuthorization: false,
        defaultPath: nil,
        feature: .ferry,
        signatureFeature: .ferrySignature
    )

    package var enteredSecrets: [(name: String, secret: Secret)] {
        hasSecret ? [("ferry-signing", Secret("confided-planted-51"))] : []
    }

    package static func request(
        _ body: [UInt8],
        to endpoint: (method: String, path: String),
        of target: WebhookTarget,
        proof: SenderProof,
        at _: Instant
    ) -> HTTPMessage.Request {
        var fields = [HTTPMessage.Field("Content-Type", "application/json")]
        let code = target.signingSecret.map { FerrySignature.code(body, $0.exposed) }
        switch (proof.signature ?? .configured, code) {
        case (.configured, let code?):
            fields.append(HTTPMessage.Field(FerrySignature.fieldName, code))
        case (.missing, _), (_, nil): break
        // The company's signature contains no time, so all other wrong signatures are alike.
        case (_, let code?):
            fields.append(
                HTTPMessage.Field(FerrySignature.fieldName, String(code.reversed()))
            )
        }
        return HTTPMessage.Request(endpoint.method, endpoint.path, fields: fields, body: body)
    }

    package static func proof(
        of request: HTTPMessage.Request,
        for target: WebhookTarget,
        at _: Instant
    ) -> SenderProof {
        guard let secret = target.signingSecret else { return SenderProof() }
        guard let code = request[field: FerrySignature.fieldName] else {
            return SenderProof(signature: .missing)
        }
        let isGenuine = code == FerrySignature.code(request.body, secret.exposed)
        return SenderProof(signature: isGenuine ? .configured : .wrongKey)
    }

    package static func event(in value: JSONValue) -> EventSummary? {
        guard value["pass"]?.string != nil, let type = value["type"]?.string else { return nil }
        return EventSummary(
            body: value,
            id: value["id"]?.string,
            type: type,
            time: value["time"]?.string.flatMap { Instant(iso8601: $0) }
        )
    }

    /// Three attempts within ten minutes.
    package static func retrySchedule(eventType _: String?) -> RetrySchedule {
        RetrySchedule(
            delays: [.seconds(60), .seconds(540)],
            responseTimeout: .seconds(10),
            successStatuses: [200, 202]
        )
    }

    package func retrySchedule(of _: WebhookDelivery) -> RetrySchedule {
        Self.retrySchedule(eventType: nil)
    }

    package mutating func setWebhookTarget(_ target: WebhookTarget) {
        address = target.url
        hasSecret = target.signingSecret != nil
    }

    package func attempt(at delivery: WebhookDelivery, now: Instant) -> WebhookAttempt? {
        address.map { address in
            WebhookAttempt(url: address) { path in
                Self.request(
                    Array(delivery.body.utf8),
                    to: ("POST", path),
                    of: WebhookTarget(url: address, signingSecret: Secret("planted-52")),
                    proof: SenderProof(),
                    at: now
                )
            }
        }
    }
}

extension FerryState: EventDrivenFake {
    package static func reportsUserState(_ body: JSONValue) -> Bool { body["pass"] != nil }

    package static func userIDs(in body: JSONValue) -> [String] {
        [body["user"]?.string].compactMap(\.self)
    }

    package static func apply(_ body: JSONValue, _ services: inout Services) {
        services.ferry.applied += userIDs(in: body)
    }
}

extension FerryState: PurchaseSender {
    package static func purchaseEvent(
        of user: String,
        name: String,
        in context: EventContext
    ) -> JSONValue {
        FerryEvent(type: "PASS_SOLD", user: user).body(in: context, name: name)
    }

    package static func testEvent(
        of user: String,
        name: String,
        in context: EventContext
    ) -> JSONValue {
        FerryEvent(type: "PASS_SCANNED", user: user).body(in: context, name: name)
    }

    package static let commonWebhookPaths = ["/hooks/ferry"]
    package static let webhookPathWords = ["ferry"]
    package static let stateReadOperation: String? = nil
}
