import Conformance
import Testing

@Suite("ForgetRule")
struct ForgetRuleTests {
    private func findings(_ looks: [(status: Int, body: String)]) -> [FindingCode] {
        var expectation = EvidenceBuilder.expectation()
        expectation.forgotten = ["ada"]
        var builder = EvidenceBuilder([], expectation: expectation)
        builder.subject = looks.enumerated().map { index, look in
            var exchange = EvidenceBuilder.delivery()
            exchange.sequence = index
            exchange.purpose = .probe(name: "user", user: "ada")
            exchange.outcome = .answered(
                HTTPMessage.Response(look.status, body: Array(look.body.utf8))
            )
            return exchange
        }
        return ForgetRule.findings(in: builder.evidence).map(\.code)
    }

    @Test func `what names the person or the phone must be gone in the last look`() {
        let namespace = EvidenceBuilder([], expectation: EvidenceBuilder.expectation()).evidence
            .subject.namespace
        let phone = namespace.installID(of: "phone")
        let address = namespace.accountID(of: "ada")
        #expect(findings([(404, "")]).isEmpty)
        #expect(findings([(200, #"{"access":true}"#)]).isEmpty)
        #expect(findings([(200, #"{"device":"\#(phone)"}"#)]) == [.personalDataKept])
        #expect(findings([(200, #"{"mail":"\#(address)"}"#)]) == [.personalDataKept])
        #expect(findings([(200, #"{"device":"\#(phone)"}"#), (404, "")]).isEmpty)
        #expect(findings([]) == [.unobservable])
    }
}
