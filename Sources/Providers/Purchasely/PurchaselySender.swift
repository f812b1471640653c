package import Conformance

/// The sender of Purchasely's webhooks.
///
/// It creates the request that delivers an event.
package struct PurchaselySender: Sendable {
    package let method: String
    package let path: String
    package let secret: Secret?
    /// Whether the sender adds the deprecated signature header in addition to the current one.
    package var sendsDeprecated = false

    package init(method: String, path: String, secret: Secret?) {
        self.method = method
        self.path = path
        self.secret = secret.flatMap { $0.isEmpty ? nil : $0 }
    }

    package func request(
        body: [UInt8],
        at now: Instant,
        signature use: Delivery.Signature = .configured
    ) -> HTTPMessage.Request {
        let fields =
            [
                HTTPMessage.Field("Accept", "application/json"),
                HTTPMessage.Field("Content-Type", "application/json"),
            ] + (secret.map { proof(of: body, $0.exposed, at: now, use) } ?? [])
        return HTTPMessage.Request(method, path, fields: fields, body: body)
    }

    /// Returns the headers that prove the sender.
    ///
    /// For a wrong kind of signature, it returns headers that fail to prove the sender in that way.
    private func proof(
        of body: [UInt8],
        _ key: String,
        at now: Instant,
        _ use: Delivery.Signature
    ) -> [HTTPMessage.Field] {
        func code(_ body: [UInt8], _ timestamp: String, _ key: String = key) -> String {
            PurchaselySignature.code(of: body, timestamp: timestamp, secret: key)
        }
        func signed(_ code: String, _ timestamp: String) -> [HTTPMessage.Field] {
            [
                HTTPMessage.Field(PurchaselySignature.timestampName, timestamp),
                HTTPMessage.Field(PurchaselySignature.fieldName, code),
            ]
        }
        let fresh = String(now.seconds)
        let old = String(now.seconds - Delivery.Signature.timestampOffset)
        let ahead = String(now.seconds + Delivery.Signature.timestampOffset)
        let deprecated = HTTPMessage.Field(
            PurchaselySignature.deprecatedName,
            PurchaselySignature.deprecatedCode(timestamp: fresh, secret: key)
        )
        switch use {
        case .configured:
            return signed(code(body, fresh), fresh) + (sendsDeprecated ? [deprecated] : [])
        case .missing: return []
        case .wrongKey: return signed(code(body, fresh, key + "x"), fresh)
        case .otherBody: return signed(code(body + [0x20], fresh), fresh)
        case .stale: return signed(code(body, old), old)
        case .ahead: return signed(code(body, ahead), ahead)
        case .refreshed: return signed(code(body, old), fresh)
        case .malformed: return signed("not-hexadecimal", fresh)
        case .deprecatedOnly:
            return [HTTPMessage.Field(PurchaselySignature.timestampName, fresh), deprecated]
        }
    }
}
