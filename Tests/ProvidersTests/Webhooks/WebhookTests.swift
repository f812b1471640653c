import Providers
import Redaction
import Testing
import Values

@Suite("Webhook signature")
struct WebhookSignatureTests {
    /// The published vector (RevenueCat fact sheet, section 1.2).
    @Test func `the published vector comes out`() {
        let body = Array(#"{"api_version":"1.0","event":{"type":"TEST"}}"#.utf8)
        #expect(body.count == 45)
        let signature = WebhookSignature(signing: body, key: "whsec_test", at: 1_700_000_000)
        #expect(
            signature.description
                == "t=1700000000,v1=ed7631fbfc1d423c5ad4983e7d86ddf3a9a65b5f0dd4509e45ad60a9f344f56e"
        )
    }
}

@Suite("Retry schedule")
struct RetryScheduleTests {
    @Test func `six attempts over 155 minutes`() {
        let schedule = RetrySchedule.revenueCat
        let delays = (1...7).map { schedule.delay(beforeAttempt: $0) }
        #expect(delays[0] == .zero)
        #expect(delays[6] == nil)
        #expect(delays.compactMap { $0 }.reduce(.zero, +) == .seconds(155 * 60))
        #expect(schedule.attemptCountMax == 6)
        #expect(schedule.responseTimeout == .seconds(60))
    }

    @Test func `200 is success and nothing else`() {
        #expect((100..<600).filter(RetrySchedule.revenueCat.isSuccess) == [200])
    }
}

@Suite("Webhook sender")
struct WebhookSenderTests {
    private let now = Instant(milliseconds: 1_790_000_000_000)

    private func field(_ use: SenderProof.Authorization, of configured: String) -> String? {
        RevenueCatSender(path: "/", authorization: Secret(configured), signingKey: nil)
            .request(body: [], at: now, authorization: use)[field: "authorization"]
    }

    @Test func `the configured value is sent verbatim`() {
        #expect(field(.configured, of: "abc") == "abc")
        #expect(field(.configured, of: "Bearer abc") == "Bearer abc")
        #expect(field(.configured, of: "Token  a b") == "Token  a b")
        #expect(field(.missing, of: "abc") == nil)
        #expect(field(.empty, of: "abc") == "")
    }

    @Test("a wrong value is never the right one", arguments: SenderProof.Authorization.allCases)
    func differs(use: SenderProof.Authorization) {
        guard use != .configured else { return }
        for configured in ["abc", "Bearer abc", "Bearer xxx", "x", "Bearer Xyz-09"] {
            #expect(field(use, of: configured) != configured, "\(use) of \(configured)")
        }
    }

    @Test func `the wrong values are near`() {
        #expect(field(.nearMiss, of: "Bearer abc") == "Bearer abx")
        #expect(field(.truncated, of: "Bearer abc") == "Bearer ab")
        #expect(field(.extended, of: "Bearer abc") == "Bearer abcx")
        #expect(field(.wrongCase, of: "Bearer aBc") == "Bearer AbC")
        #expect(field(.schemeOnly, of: "Bearer abc") == "Bearer")
        #expect(field(.noScheme, of: "Bearer abc") == "abc")
        #expect(field(.noScheme, of: "abc") == "Bearer abc")
        #expect(field(.otherScheme, of: "Bearer abc") == "Basic abc")
        #expect(field(.otherScheme, of: "Basic abc") == "Bearer abc")
        #expect(field(.wrong, of: "Bearer abc")?.count == "Bearer abc".count)
    }

    @Test func `a signature is sent only where a key is configured, and is fresh`() {
        let body = Array("{}".utf8)
        let unsigned = RevenueCatSender(path: "/", authorization: nil, signingKey: Secret(""))
        #expect(unsigned.request(body: body, at: now)[field: WebhookSignature.fieldName] == nil)
        let sender = RevenueCatSender(path: "/", authorization: nil, signingKey: Secret("k"))
        func value(_ use: SenderProof.Signature) -> String? {
            sender.request(body: body, at: now, signature: use)[field: WebhookSignature.fieldName]
        }
        let right = WebhookSignature(signing: body, key: "k", at: now.seconds).description
        #expect(value(.configured) == right)
        #expect(value(.missing) == nil)
        for use in SenderProof.Signature.allCases where use != .configured {
            #expect(value(use) != right, "\(use)")
        }
        #expect(
            value(.stale)?.hasPrefix(
                "t=\(now.seconds - SenderProof.Signature.timestampOffsetInSeconds),"
            )
                == true
        )
        #expect(value(.refreshed)?.hasPrefix("t=\(now.seconds),") == true)
    }
}
