package import Redaction
package import Values

/// The sender of RevenueCat's webhooks.
///
/// It creates the request that delivers an event.
///
/// The request contains the configured `Authorization` value and the body, both unchanged, and a
/// signature if one is configured. Source: RevenueCat fact sheet, section 1.1. Content type and
/// user agent are *inferred*.
package struct RevenueCatSender: Sendable {
    package let path: String
    package let authorization: Secret?
    package let signingKey: Secret?

    package init(path: String, authorization: Secret?, signingKey: Secret?) {
        self.path = path
        self.authorization = authorization.flatMap { $0.isEmpty ? nil : $0 }
        self.signingKey = signingKey.flatMap { $0.isEmpty ? nil : $0 }
    }

    package func request(
        method: String = "POST",
        body: [UInt8],
        at now: Instant,
        authorization variant: SenderProof.Authorization = .configured,
        signature: SenderProof.Signature = .configured
    ) -> HTTPMessage.Request {
        var fields = [
            HTTPMessage.Field("content-type", "application/json"),
            HTTPMessage.Field("user-agent", "RevenueCat-Webhooks/1.0"),
        ]
        if let value = authorizationValue(variant) {
            fields.append(HTTPMessage.Field("Authorization", value))
        }
        if let value = signatureValue(signature, body: body, at: now) {
            fields.append(HTTPMessage.Field(WebhookSignature.fieldName, value))
        }
        return HTTPMessage.Request(method, path, fields: fields, body: body)
    }

    /// Returns the value of the `Authorization` header for a correct or a deliberately wrong
    /// delivery; nil to send no such header.
    func authorizationValue(_ variant: SenderProof.Authorization) -> String? {
        guard let configured = authorization?.exposed else { return nil }
        let authorizationParts = configured.split(
            separator: " ",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        let scheme = authorizationParts.count == 2 ? authorizationParts[0] + " " : ""
        let token = authorizationParts.count == 2 ? authorizationParts[1] : Substring(configured)
        switch variant {
        case .configured: return configured
        case .missing: return nil
        case .empty: return ""
        case .wrong: return scheme + String(token.map { $0 == "x" ? "y" : "x" })
        case .nearMiss: return scheme + token.dropLast() + (token.last == "x" ? "y" : "x")
        case .truncated: return String(configured.dropLast())
        case .extended: return configured + "x"
        case .wrongCase:
            return scheme
                + String(
                    token.map { character in
                        let text = String(character)
                        return Character(
                            text == text.uppercased() ? text.lowercased() : text.uppercased()
                        )
                    }
                )
        case .undefinedWord: return scheme + "undefined"
        case .noneWord: return scheme + "None"
        case .noScheme: return scheme.isEmpty ? "Bearer " + token : String(token)
        case .otherScheme: return (scheme == "Basic " ? "Bearer " : "Basic ") + token
        case .schemeOnly: return authorizationParts.count == 2 ? String(authorizationParts[0]) : ""
        }
    }

    private func signatureValue(
        _ variant: SenderProof.Signature,
        body: [UInt8],
        at now: Instant
    ) -> String? {
        guard let key = signingKey?.exposed else { return nil }
        func sign(_ body: [UInt8], key: String = key, age: Int64 = 0) -> WebhookSignature {
            WebhookSignature(signing: body, key: key, at: now.seconds - age)
        }
        let timestampOffsetInSeconds = SenderProof.Signature.timestampOffsetInSeconds
        switch variant {
        case .configured: return sign(body).description
        case .missing, .deprecatedOnly: return nil
        case .wrongKey: return sign(body, key: key + "x").description
        case .emptyKey: return sign(body, key: "").description
        case .otherBody: return sign(body + [0x20]).description
        case .stale: return sign(body, age: timestampOffsetInSeconds).description
        case .ahead: return sign(body, age: -timestampOffsetInSeconds).description
        case .refreshed:
            return "t=\(now.seconds),v1=\(sign(body, age: timestampOffsetInSeconds).code)"
        case .malformed: return "v1=\(sign(body).code)"
        }
    }
}
