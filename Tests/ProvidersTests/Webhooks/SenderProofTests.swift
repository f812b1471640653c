import Grammar
import Providers
import Redaction
import Testing
import Values

/// What a recorder recognises is what a sender can send: each is the other's inverse.
@Suite("Proof of the sender")
struct SenderProofTests {
    private static let now = Instant(milliseconds: 1_790_000_000_000)
    private static let body = Array(#"{"event": {"id": "1"}}"#.utf8)

    @Test("every authorization is recognised", arguments: SenderProof.Authorization.allCases)
    func authorization(use: SenderProof.Authorization) {
        for configured in ["Bearer Abc-12", "Token xyZ"] {
            let sender = RevenueCatSender(
                path: "/",
                authorization: Secret(configured),
                signingKey: nil
            )
            let request = sender.request(body: Self.body, at: Self.now, authorization: use)
            let proof = sender.proof(of: request, at: Self.now)
            #expect(proof == SenderProof(authorization: use), "\(configured)")
        }
    }

    /// A signature of another key, of another body and of another time look alike.
    private static func told(_ use: SenderProof.Signature) -> SenderProof.Signature {
        [.emptyKey, .otherBody, .refreshed].contains(use) ? .wrongKey : use
    }

    @Test("every signature of RevenueCat is recognised", arguments: SenderProof.Signature.allCases)
    func signature(use: SenderProof.Signature) {
        let sender = RevenueCatSender(path: "/", authorization: nil, signingKey: Secret("whsec"))
        let request = sender.request(body: Self.body, at: Self.now, signature: use)
        let proof = sender.proof(of: request, at: Self.now)
        // It has no header of old.
        let told = use == .deprecatedOnly ? .missing : Self.told(use)
        #expect(proof == SenderProof(signature: told))
    }

    @Test("every signature of Purchasely is recognised", arguments: SenderProof.Signature.allCases)
    func purchasely(use: SenderProof.Signature) {
        var sender = PurchaselySender(method: "POST", path: "/", secret: Secret("shared"))
        for sendsDeprecatedSignature in [false, true] {
            sender.sendsDeprecatedSignature = sendsDeprecatedSignature
            let request = sender.request(body: Self.body, at: Self.now, signature: use)
            let proof = sender.proof(of: request, at: Self.now)
            #expect(proof == SenderProof(signature: Self.told(use)))
        }
    }

    @Test(
        "hostile signature headers are classified as malformed or as signed with a wrong key",
        arguments: [
            "", ",", "=", "t", "t=", "t=1", "v1=ab", "t=,v1=", "t=x,v1=ab", "t=1,v1=ab",
            "t=9223372036854775807,v1=ab", "t=-9223372036854775808,v1=ab", "t=1,t=2,v1=ab",
        ]
    )
    func hostile(text: String) {
        let sender = RevenueCatSender(path: "/", authorization: nil, signingKey: Secret("whsec"))
        var request = sender.request(body: Self.body, at: Self.now, signature: .missing)
        request.fields.append(HTTPMessage.Field(WebhookSignature.fieldName, text))
        let use = sender.proof(of: request, at: Self.now).signature
        #expect(use == .malformed || use == .wrongKey)
    }

    @Test(
        "the age of a signature is measured by the sender's clock",
        arguments: [-3600, -301, -300, 0, 300, 301, 3600]
    )
    func age(seconds: Int64) {
        let sender = RevenueCatSender(path: "/", authorization: nil, signingKey: Secret("whsec"))
        let request = sender.request(body: Self.body, at: Self.now - .seconds(seconds))
        let expected: SenderProof.Signature =
            seconds > 300 ? .stale : seconds < -300 ? .ahead : .configured
        #expect(sender.proof(of: request, at: Self.now).signature == expected)
    }

    @Test func `a proof without a configured secret is not checked`() {
        let sender = RevenueCatSender(path: "/", authorization: nil, signingKey: nil)
        let request = sender.request(body: Self.body, at: Self.now)
        #expect(sender.proof(of: request, at: Self.now).isEmpty)
    }
}
