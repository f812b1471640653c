import Contracts
import Judging
import Providers
import Testing
import Values

/// Cause and remedy follow from the clause and the evidence, not from the code alone.
@Suite("Diagnosis")
struct DiagnosisTests {
    private func diagnosis(
        _ code: FindingCode,
        _ clause: String,
        remedy: String? = nil,
        needs: [Feature] = []
    ) -> Diagnosis {
        var contract = EvidenceBuilder.bought().contract
        contract.clause = clause
        contract.needs = needs
        let finding = Finding(code, expected: "one", actual: "two", remedy: remedy)
        return Diagnosis(finding, of: contract)
    }

    @Test func `a wrong Firebase status is not explained by the RevenueCat 200 rule`() {
        let firebase = diagnosis(.responseStatus, "F-01")
        #expect(!firebase.cause.contains("RevenueCat"))
        #expect(firebase.cause.contains("ends as a 500"))
        #expect(firebase.remedy == Clause.named("F-01")?.correctDesign)
        // The entitlement's law knows nothing of statuses.
        #expect(
            diagnosis(.responseStatus, "S-10").cause == FindingCode.responseStatus.facts.cause
        )
    }

    @Test func `an accepted expired token is not explained by the Authorization header`() {
        let cause = diagnosis(.unauthenticatedAccepted, "F-02").cause
        #expect(cause.contains("'exp' is not checked"))
        #expect(!cause.contains("Authorization"))
    }

    @Test func `an accepted call of the app has no remedy about a webhook`() {
        let remedy = Diagnosis.acceptedCallRemedy
        #expect(diagnosis(.unauthenticatedAccepted, "X-1", remedy: remedy).remedy == remedy)
        #expect(!remedy.contains("header"))
        #expect(
            diagnosis(.unauthenticatedAccepted, "F-10", remedy: remedy).remedy
                == Clause.named("F-10")?.correctDesign
        )
    }

    @Test("an environment problem is not attributed to the clause", arguments: FindingCode.allCases)
    func doubts(code: FindingCode) {
        guard code.isInconclusive else { return }
        let told = diagnosis(code, "S-03")
        #expect(told.cause == code.facts.cause)
        #expect(told.remedy == code.facts.remedy)
    }

    @Test(
        "only a feature that a backend may lack on purpose can be intended",
        arguments: Feature.allCases
    )
    func intended(feature: Feature) {
        for clause in feature.optionalClauses.sorted() {
            let remedy = diagnosis(.wrongStateValue, clause, needs: [feature]).remedyIfIntended
            // A backend without string IDs has another form of IDs, which the profile says.
            if feature == .stringIDs {
                #expect(remedy == nil)
            } else {
                #expect(remedy?.contains("except: [\(feature.rawValue)]") == true, "\(clause)")
            }
        }
    }

    @Test func `a remedy that was found is kept`() {
        #expect(diagnosis(.wrongStateValue, "S-10", remedy: "turn it").remedy == "turn it")
    }

    @Test func `a clause without an explanation uses the text of the code`() {
        let told = diagnosis(.wrongStateValue, "X-1")
        #expect(told.cause == FindingCode.wrongStateValue.facts.cause)
    }

    @Test func `a likely mistake is named with its profile line`() {
        let meant = diagnosis(.userMissing, "S-21", needs: [.push, .createsUnknownUsers])
            .remedyIfIntended
        #expect(meant?.contains("features: {except: [safety-net]}") == true)
        #expect(diagnosis(.userMissing, "S-21", needs: [.push]).remedyIfIntended == nil)
        // The finding of another clause is not about the feature.
        #expect(
            diagnosis(.wrongStateValue, "S-17", needs: [.createsUnknownUsers]).remedyIfIntended
                == nil
        )
        // A doubt is not the backend's decision.
        #expect(
            diagnosis(.unobservable, "S-21", needs: [.createsUnknownUsers]).remedyIfIntended == nil
        )
    }

    // MARK: Hints

    private func evidence(
        _ aliases: [String],
        announced: [String],
        isCopy: Bool = false,
        _ change: (inout EventSpec) -> Void = { _ in }
    ) -> CaseEvidence {
        var builder = EvidenceBuilder.bought()
        var spec = EventSpec(type: .documented(.initialPurchase), user: "ada")
        change(&spec)
        let first = Delivery(name: isCopy ? "first" : "purchase", subject: .event(spec))
        let copy = Delivery(name: "purchase", subject: .repeats("first"))
        builder.contract.steps =
            [.register(user: "ada"), .deliver(first)] + (isCopy ? [.deliver(copy)] : [])
        builder.subject =
            announced.map { id in
                var call = EvidenceBuilder.delivery(body: ["appUserId": .string(id)])
                call.from = .assay
                call.purpose = .registration(user: "ada")
                return call
            } + [EvidenceBuilder.delivery(body: ["event": ["aliases": .strings(aliases)]])]
        return builder.evidence
    }

    @Test func `an event with two registered IDs of one person is reported`() {
        let names = Namespace(name: "namespace-0", idForm: .string)
        let (id, other) = (names.id(of: "ada"), names.anonymousID(of: "ada"))
        let hints = evidence([id, other], announced: [id, other]).hints
        #expect(hints.count == 1)
        #expect(hints.first?.contains("'purchase' contains two IDs") == true)
        #expect(hints.first?.contains(other) == true)
        // One that nobody has announced is no second person.
        #expect(evidence([id, other], announced: [id]).hints.isEmpty)
        #expect(evidence([id], announced: [id, other]).hints.isEmpty)
        // Those whom a transfer names are two persons, and have to stay two; it comes again as well.
        for isCopy in [false, true] {
            let transfer = evidence([id, other], announced: [id, other], isCopy: isCopy) {
                $0 = EventSpec(type: .documented(.transfer), user: nil)
                $0.from = ["ada"]
                $0.to = ["bob"]
            }
            #expect(transfer.hints.isEmpty)
        }
    }
}
