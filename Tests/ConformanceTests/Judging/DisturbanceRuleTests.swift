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

    @Test("a call that succeeds while the store fails met no failure", arguments: [200, 204, 503])
    func call(status: Int) {
        var builder = EvidenceBuilder(expectation: EvidenceBuilder.expectation())
        var call = Call(name: "one", route: .register)
        call.storeFails = true
        builder.contract.steps = [.call([call])]
        builder.subject = [EvidenceBuilder.call("one", status)]
        let codes = DisturbanceRule.findings(in: builder.evidence).map(\.code)
        #expect(codes == (status == 503 ? [] : [.disturbanceMissed]))
        builder.sight.worksLater = true
        #expect(DisturbanceRule.findings(in: builder.evidence).isEmpty)
    }
}
