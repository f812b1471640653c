import Contracts
import Judging
internal import Providers
import TestSupport
import Testing
import Values

@Suite("Deleted accounts")
struct DeletedAccountRuleTests {
    private func findings(_ looks: [(status: Int, body: String)]) -> [FindingCode] {
        var expectation = SampleContract.expectation()
        expectation.deletedUserNames = ["ada"]
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
        return DeletedAccountRule.findings(in: builder.evidence).map(\.code)
    }

    @Test func `IDs of the person and the phone are gone in the last probe`() {
        let namespace = EvidenceBuilder([], expectation: SampleContract.expectation()).evidence
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

    @Test func `a user who was gone after the deletion stays gone`() {
        func codes(afterDeletion: Int, afterEvent: Int) -> [FindingCode] {
            var builder = EvidenceBuilder.bought({ $0.deletedUserNames = ["ada"] }, [])
            builder.profile.probes[0].name = "user"
            func probe(_ status: Int) -> Exchange {
                EvidenceBuilder.probe(["access": false], status: status, name: "user")
            }
            builder.subject = [probe(afterEvent)]
            #expect(builder.codes(DeletedAccountRule.self).isEmpty, "there is nothing to compare")
            builder.addBaselineBeforeSteps([probe(afterDeletion)])
            return builder.codes(DeletedAccountRule.self)
        }
        #expect(codes(afterDeletion: 404, afterEvent: 404).isEmpty)
        #expect(codes(afterDeletion: 404, afterEvent: 200) == [.personalDataKept])
        #expect(codes(afterDeletion: 200, afterEvent: 200).isEmpty)
        #expect(codes(afterDeletion: 200, afterEvent: 404).isEmpty)
    }

    @Test func `every phone and device of the user belongs to the person`() {
        var builder = EvidenceBuilder.bought({ $0.deletedUserNames = ["ada"] }, [])
        func codes(_ owner: String) -> [FindingCode] {
            let id = builder.evidence.subject.namespace.installID(of: owner)
            builder.subject = [EvidenceBuilder.probe(["device": .string(id)])]
            return builder.codes(DeletedAccountRule.self)
        }
        #expect(codes("ada") == [.personalDataKept])
        #expect(codes("second").isEmpty, "no such phone took part")
        var second = PhoneChange()
        second.phone = "second"
        var third = AppAction(.launch)
        third.phone = "third"
        builder.contract.steps += [.phone(.phone(second)), .phone(.app(third))]
        #expect(codes("second") == [.personalDataKept])
        #expect(codes("third") == [.personalDataKept])
        #expect(codes("bob").isEmpty)
    }
}
