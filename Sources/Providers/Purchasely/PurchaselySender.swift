package import Redaction
package import Values

/// The sender of Purchasely's webhooks.
///
/// It creates the request that delivers an event.
package struct PurchaselySender: Sendable {
    package let method: String
    package let path: String
    package let secret: Secret?
    /// Whether the sender adds the deprecated signature header in addition to the current one.
    package var sendsDeprecatedSignature = false

    package init(method: String, path: String, secret: Secret?) {
        self.method = method
        self.path = path
        self.secret = secret.flatMap { $0.isEmpty ? nil : $0 }
    }

    package func request(
        body: [UInt8],
        at now: Instant,
        signature variant: SenderProof.Signature = .configured
    ) -> HTTPMessage.Request {
        let fields =
            [
                HTTPMessage.Field("Accept", "application/json"),
                HTTPMessage.Field("Content-Type", "application/json"),
            ] + (secret.map { signatureFields(of: body, $0.exposed, at: now, variant) } ?? [])
        return HTTPMessage.Request(method, path, fields: fields, body: body)
    }

    /// Returns the headers that prove the sender.
    ///
    /// For a wrong kind of signature, it returns headers that fail to prove the sender in that way.
    private func signatureFields(
        of body: [UInt8],
        _ key: String,
        at now: Instant,
        _ variant: SenderProof.Signature
    ) -> [HTTPMessage.Field] {
        func code(_ body: [UInt8], _ timestamp: String, _ key: String = key) -> String {
            PurchaselySignature.code(of: body, timestamp: timestamp, secret: key)
        }
        func headerFields(_ code: String, _ timestamp: String) -> [HTTPMessage.Field] {
            [
                HTTPMessage.Field(PurchaselySignature.timestampFieldName, timestamp),
                HTTPMessage.Field(PurchaselySignature.fieldName, code),
            ]
        }
        let currentTimestamp = String(now.seconds)
        let staleTimestamp = String(now.seconds - SenderProof.Signature.timestampOffsetInSeconds)
        let ahead = String(now.seconds + SenderProof.Signature.timestampOffsetInSeconds)
        let deprecatedField = HTTPMessage.Field(
            PurchaselySignature.deprecatedFieldName,
            PurchaselySignature.deprecatedCode(timestamp: currentTimestamp, secret: key)
        )
        switch variant {
        case .configured:
            return headerFields(code(body, currentTimestamp), currentTimestamp)
                + (sendsDeprecatedSignature ? [deprecatedField] : [])
        case .missing: return []
        case .wrongKey:
            return headerFields(code(body, currentTimestamp, key + "x"), currentTimestamp)
        case .emptyKey: return headerFields(code(body, currentTimestamp, ""), currentTimestamp)
        case .otherBody:
            return headerFields(code(body + [0x20], currentTimestamp), currentTimestamp)
        case .stale: return headerFields(code(body, staleTimestamp), staleTimestamp)
        case .ahead: return headerFields(code(body, ahead), ahead)
        case .refreshed: return headerFields(code(body, staleTimestamp), currentTimestamp)
        case .malformed: return headerFields("not-hexadecimal", currentTimestamp)
        case .deprecatedOnly:
            return [
                HTTPMessage.Field(PurchaselySignature.timestampFieldName, currentTimestamp),
                deprecatedField,
            ]
        }
    }
}
