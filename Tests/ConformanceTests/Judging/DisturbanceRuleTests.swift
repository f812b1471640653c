import Conformance
import Testing

@Suite("DisturbanceRule")
struct DisturbanceRuleTests {
    @Test func `a fault that nobody met proves nothing`() {
        var builder = EvidenceBuilder(expectation: EvidenceBuilder.expectation())
        builder.contract.given = [
            .provider(ProviderPlan(provider: .oneSignal, answers: [.asUsual, .status(500)]))
        ]
        builder.subject = [EvidenceBuilder.delivery(), EvidenceBuilder.push(to: "x")]
        #expect(DisturbanceRule.findings(in: builder.evidence).map(\.code) == [.disturbanceMissed])
        builder.subject.append(EvidenceBuilder.push(to: "x"))
        #expect(DisturbanceRule.findings(in: builder.evidence).isEmpty)
    }
}
