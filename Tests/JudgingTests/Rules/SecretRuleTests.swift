import Contracts
import Judging
internal import Providers
import Redaction
import TestSupport
import Testing
import Values

@Suite("SecretRule")
struct SecretRuleTests {
    private func findings(_ exchanges: [Exchange]) -> [Finding] {
        var expectation = SampleContract.expectation()
        expectation.hidesSecrets = true
        var builder = EvidenceBuilder(expectation: expectation)
        builder.subject = exchanges
        return SecretRule.findings(in: builder.evidence)
    }

    private func answer(_ text: String) -> Exchange {
        EvidenceBuilder.delivery(
            "purchase",
            .answered(HTTPMessage.Response(200, body: Array(text.utf8)))
        )
    }

    @Test func `a secret in a response is reported by its name, without its value`() throws {
        let finding = try #require(findings([answer("key os_v2_app_assay!")]).first)
        #expect(finding.code == .secretExposed)
        #expect(finding.actual.contains("onesignal-key"))
        #expect(!finding.actual.contains("os_v2_app_assay"))
        #expect(findings([answer("nothing to see")]).isEmpty)
    }

    @Test func `the mark of a saved run counts as the secret`() {
        #expect(findings([answer("‹secret:onesignal-key›")]).map(\.code) == [.secretExposed])
    }

    @Test func `a call that the provider refused is reported`() {
        var call = EvidenceBuilder.push(to: "x")
        call.outcome = .answered(HTTPMessage.Response(401))
        #expect(findings([call]).map(\.code) == [.providerCallRefused])
    }

    @Test func `a known secret followed by a combining mark is found in a response`() {
        var builder = EvidenceBuilder.bought({ $0.hidesSecrets = true }, [])
        builder.profile.secrets = [.oneSignalKey: Secret("planted-secret")]
        builder.subject = [
            EvidenceBuilder.delivery(
                "purchase",
                .answered(HTTPMessage.Response(200, body: Array("planted-secret\u{301}".utf8)))
            )
        ]
        #expect(builder.codes(SecretRule.self) == [.secretExposed])
    }

    @Test func `of several secrets in one response the first by name is reported`() throws {
        var builder = EvidenceBuilder.bought({ $0.hidesSecrets = true }, [])
        builder.profile.secrets = [
            .revenueCatKey: Secret("planted-two"), .oneSignalKey: Secret("planted-one"),
            .purchaselySigning: Secret("planted-three"),
        ]
        let shown = "planted-two planted-one planted-three"
        builder.subject = [
            EvidenceBuilder.delivery(
                "purchase",
                .answered(HTTPMessage.Response(200, body: Array(shown.utf8)))
            )
        ]
        let finding = try #require(SecretRule.findings(in: builder.evidence).first)
        #expect(finding.actual.contains("'onesignal-key'"), "\(finding.actual)")
    }
}
