import Contracts
import Judging
import Testing
import Values

@Suite("SecretRule")
struct SecretRuleTests {
    private func findings(_ exchanges: [Exchange]) -> [Finding] {
        var expectation = EvidenceBuilder.expectation()
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
}
