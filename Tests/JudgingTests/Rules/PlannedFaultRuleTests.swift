import Contracts
import Judging
import Providers
import TestSupport
import Testing
import Values

@Suite("Planned faults of a case")
struct PlannedFaultRuleTests {
    @Test func `a fault that affected no call is inconclusive`() {
        var builder = EvidenceBuilder(expectation: SampleContract.expectation())
        builder.contract.given = [
            .provider(ProviderPlan(provider: .oneSignal, responses: [.asUsual, .status(500)]))
        ]
        builder.subject = [EvidenceBuilder.delivery(), EvidenceBuilder.push(to: "x")]
        #expect(PlannedFaultRule.findings(in: builder.evidence).map(\.code) == [.faultNotApplied])
        builder.subject.append(EvidenceBuilder.push(to: "x"))
        #expect(PlannedFaultRule.findings(in: builder.evidence).isEmpty)
    }

    @Test(
        "a call that succeeds during a database failure was not affected",
        arguments: [200, 204, 503]
    )
    func call(status: Int) {
        var builder = EvidenceBuilder(expectation: SampleContract.expectation())
        var call = Call(name: "one", route: .register)
        call.hasDatabaseFailure = true
        builder.contract.steps = [.call([call])]
        builder.subject = [EvidenceBuilder.call("one", status)]
        let codes = PlannedFaultRule.findings(in: builder.evidence).map(\.code)
        #expect(codes == (status == 503 ? [] : [.faultNotApplied]))
        builder.observability.appliesEventsLater = true
        #expect(PlannedFaultRule.findings(in: builder.evidence).isEmpty)
    }
}
