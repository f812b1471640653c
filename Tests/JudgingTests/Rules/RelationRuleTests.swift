import Contracts
import Judging
import Providers
import TestSupport
import Testing
import Values

@Suite("Relation rule")
struct RelationRuleTests {
    private func builder(_ relation: Expectation.BaselineRelation = .once) -> EvidenceBuilder {
        EvidenceBuilder(expectation: SampleContract.expectation(relation))
    }

    /// A run whose documents may hold the run's own ids, as real ones do.
    private func run(
        _ builder: EvidenceBuilder,
        _ number: Int,
        pushes: Int = 1,
        text: String = "Welcome",
        _ document: (String) -> JSONValue?
    ) -> [Exchange] {
        let id = builder.id(of: "ada", run: number)
        let answer = document(id)
        return [EvidenceBuilder.delivery()]
            + (0..<pushes).map { _ in EvidenceBuilder.push(to: id, text) }
            + [EvidenceBuilder.probe(answer, status: answer == nil ? 404 : 200)]
    }

    @Test func `runs that differ only in their ids are equal`() {
        var builder = builder()
        builder.subject = run(builder, 0, text: "Hi") { ["user": .string($0), "plan": "a"] }
        builder.baselines = (1...2).map { number in
            run(builder, number, text: "Hi") { ["user": .string($0), "plan": "a"] }
        }
        #expect(builder.codes(RelationRule.self).isEmpty)
        #expect(Judge.judge(builder.evidence).verdict == .passed)
    }

    @Test func `a second push is a finding`() {
        var builder = builder()
        builder.subject = run(builder, 0, pushes: 2) { _ in ["plan": "a"] }
        builder.baselines = (1...2).map { run(builder, $0) { _ in ["plan": "a"] } }
        #expect(builder.codes(RelationRule.self) == [.unexpectedEffect])
    }

    @Test func `a missing push is a finding`() {
        var builder = builder(.faultFree)
        builder.subject = run(builder, 0, pushes: 0) { _ in ["plan": "a"] }
        builder.baselines = (1...2).map { run(builder, $0) { _ in ["plan": "a"] } }
        #expect(builder.codes(RelationRule.self) == [.effectMissing])
    }

    @Test func `a different message text is reported, unless the baselines differ too`() {
        var builder = builder()
        builder.subject = run(builder, 0, text: "Hello") { _ in ["plan": "a"] }
        builder.baselines = (1...2).map { run(builder, $0, text: "Welcome") { _ in ["plan": "a"] } }
        #expect(builder.codes(RelationRule.self) == [.effectDiffers])
        builder.baselines[1] = run(builder, 2, text: "Moin") { _ in ["plan": "a"] }
        #expect(builder.codes(RelationRule.self).isEmpty)
    }

    @Test func `another state is a finding, a volatile one is masked and listed`() {
        var builder = builder()
        builder.subject = run(builder, 0) { _ in ["plan": "b", "row": 3] }
        builder.baselines = (1...2).map { number in
            run(builder, number) { _ in ["plan": "a", "row": .integer(Int64(number))] }
        }
        #expect(builder.codes(RelationRule.self) == [.stateDiffers])
        #expect(StateComparison(builder.evidence).volatilePaths == ["subscription/row"])
        builder.subject = run(builder, 0) { _ in ["plan": "a", "row": 3] }
        #expect(builder.codes(RelationRule.self).isEmpty)
        builder.profile.probes[0].ignoredPointers.append(JSONPointer("/row") ?? JSONPointer())
        #expect(
            StateComparison(builder.evidence).volatilePaths.isEmpty,
            "who knows need not be told"
        )
    }

    @Test func `keys that the backend draws are masked, a missing one is a finding`() {
        var builder = builder()
        func sessions(_ keys: String...) -> JSONValue {
            let sessions = JSONObject(members: keys.map { .init(key: $0, value: "open") })
            return ["plan": "a", "sessions": .object(sessions)]
        }
        builder.subject = run(builder, 0) { _ in sessions("x") }
        builder.baselines = (1...2).map { run in
            self.run(builder, run) { _ in sessions("y\(run)") }
        }
        #expect(builder.codes(RelationRule.self).isEmpty)
        #expect(StateComparison(builder.evidence).volatilePaths == ["subscription/sessions/*"])
        builder.baselines = (1...2).map { run(builder, $0) { _ in sessions("x", "y") } }
        #expect(builder.codes(RelationRule.self) == [.stateDiffers])
    }

    @Test(
        "what RevenueCat returns after a restart is compared, and not how the backend stores it",
        arguments: [
            (["access": true, "until": 1_795_000_000_000, "event": .null], true, false, false),
            (["access": true, "until": 1_795_000_001_000, "event": .null], true, false, true),
            (["access": false, "until": 1_795_000_000_963, "event": .null], true, false, true),
            (["access": true, "until": 1_795_000_000_962, "event": .null], true, false, true),
            (["access": true, "until": 1_795_000_000_000, "event": .null], false, false, true),
            (["access": true, "until": 1_795_000_000_000, "event": .null], true, true, false),
        ] as [(JSONValue, Bool, Bool, Bool)]
    )
    func restoredState(document: JSONValue, isRead: Bool, isReadWithoutFault: Bool, fails: Bool) {
        func read(_ builder: EvidenceBuilder, _ number: Int) -> Exchange {
            Exchange(
                from: .backend,
                to: .revenueCat,
                namespace: "namespace-\(number)",
                purpose: .call,
                at: SampleContract.base,
                request: HTTPMessage.Request("GET", "/v1/subscribers/\(builder.id(of: "ada"))"),
                completed: 1,
                outcome: .answered(HTTPMessage.Response(200))
            )
        }
        var builder = builder(.faultFree)
        builder.contract.steps.append(.restart(Restart(signal: .kill)))
        builder.subject = run(builder, 0) { _ in document }
        if isRead { builder.subject.append(read(builder, 0)) }
        builder.baselines = (1...2).map { number in
            run(builder, number) { _ in
                ["access": true, "until": 1_795_000_000_963, "event": "stored"]
            } + (isReadWithoutFault ? [read(builder, number)] : [])
        }
        #expect(builder.codes(RelationRule.self) == (fails ? [.stateDiffers] : []))
    }

    @Test func `a short id is replaced by its user only where it appears alone`() {
        var builder = builder()
        func run(_ id: String, _ number: Int, until: String) -> [Exchange] {
            [
                EvidenceBuilder.delivery(),
                EvidenceBuilder.probe(["id": .string(id), "until": .string(until)]),
            ]
        }
        builder.subject = run(builder.id(of: "ada"), 0, until: "10:01:23")
        builder.baselines = (1...2).map {
            run(builder.id(of: "ada", run: $0), $0, until: "10:01:23")
        }
        #expect(builder.codes(RelationRule.self).isEmpty)
        var namespace = Namespace(name: "namespace-0", idForm: .integer)
        namespace.assign("1001", to: "ada")
        var record = builder.evidence.subject
        record.namespace = namespace
        let masking = Masking(record)
        #expect(masking.replaceIDs(in: "1001") == "‹ada›")
        #expect(masking.replaceIDs(in: "2031-10-01T10:01:00+1001") == "2031-10-01T10:01:00+1001")
        #expect(masking.masked(1001) == "‹ada›")
    }

    @Test func `a row that is missing differs from one that is there`() {
        var builder = builder(.before)
        builder.subject = run(builder, 0) { _ in ["plan": "a"] }
        builder.baselines = (1...2).map { run(builder, $0) { _ in nil } }
        #expect(builder.codes(RelationRule.self) == [.stateDiffers])
    }

    @Test func `the backend's own clock is masked, an event's date is not`() {
        let clock = (SampleContract.base + .seconds(3605)).description
        let later = (SampleContract.base + .seconds(3609)).milliseconds
        var builder = builder()
        builder.subject = run(builder, 0) { _ in
            ["seen": .string(clock), "until": 1_795_000_000_000]
        }
        builder.baselines = (1...2).map {
            run(builder, $0) { _ in ["seen": .integer(later), "until": 1_795_000_000_000] }
        }
        #expect(builder.codes(RelationRule.self).isEmpty)
        builder.subject = run(builder, 0) { _ in
            ["seen": .string(clock), "until": 1_796_000_000_000]
        }
        #expect(builder.codes(RelationRule.self) == [.stateDiffers])
    }

    @Test func `places that the profile ignores are not compared`() throws {
        var builder = builder()
        builder.profile.probes[0].ignoredPointers = [try #require(JSONPointer("/meta"))]
        builder.subject = run(builder, 0) { _ in ["plan": "a", "meta": ["attempts": 9]] }
        builder.baselines = (1...2).map {
            run(builder, $0) { _ in ["plan": "a", "meta": ["attempts": 1]] }
        }
        #expect(builder.codes(RelationRule.self).isEmpty)
    }

    @Test func `comparing fields looks only at what the profile maps`() {
        var builder = builder(.inOrder)
        builder.contract.expectation.compared = [.fields]
        builder.subject = run(builder, 0) { _ in ["access": true, "source": "webhook"] }
        builder.baselines = (1...2).map {
            run(builder, $0) { _ in ["access": true, "source": "app"] }
        }
        #expect(builder.codes(RelationRule.self).isEmpty)
        builder.subject = run(builder, 0) { _ in ["access": false, "source": "webhook"] }
        #expect(builder.codes(RelationRule.self) == [.stateDiffers])
    }

    @Test func `a backend that shows nothing is not passed`() {
        var builder = builder()
        builder.profile.probes = []
        builder.observability.arePushesObservable = false
        builder.subject = [EvidenceBuilder.delivery()]
        builder.baselines = [[EvidenceBuilder.delivery()], [EvidenceBuilder.delivery()]]
        #expect(builder.codes(RelationRule.self) == [.unobservable])
        #expect(Judge.judge(builder.evidence).verdict == .inconclusive)
    }

    @Test func `baselines that differ in every value leave the case undecided`() {
        var builder = builder()
        builder.subject = run(builder, 0) { _ in 17 }
        builder.baselines = (1...2).map { number in
            run(builder, number) { _ in .integer(Int64(number)) }
        }
        #expect(builder.codes(RelationRule.self) == [.allValuesVolatile])
    }

    @Test func `a probe that fails counts only where the baseline could read it every time`() {
        var builder = builder()
        let failed = EvidenceBuilder.probe(["error": "x"], status: 500)
        builder.subject = [EvidenceBuilder.delivery(), failed, failed]
        builder.baselines = (1...2).map { run(builder, $0) { _ in ["access": true] } }
        #expect(builder.codes(RelationRule.self).first == .stateDiffers)
        builder.baselines[1].insert(failed, at: 1)
        #expect(builder.codes(RelationRule.self).first == .unobservable)
        let text = RelationRule.findings(in: builder.evidence).first?.actual ?? ""
        #expect(text.contains(#"the probe returned 500: {"error":"x"}"#), "\(text)")
    }

    @Test(
        "a probe is read again after a failure that may pass",
        arguments: [
            (.answered(HTTPMessage.Response(500)), true),
            (.answered(HTTPMessage.Response(503)), true),
            (.answered(HTTPMessage.Response(200, body: Array("<html>".utf8))), true),
            (.failed(.closed, "reset"), true), (.failed(.refused, "refused"), true),
            (.answered(HTTPMessage.Response(200, body: Array("{}".utf8))), false),
            (.answered(HTTPMessage.Response(404)), false),
            (.answered(HTTPMessage.Response(401)), false), (.failed(.timedOut, "late"), false),
        ] as [(Exchange.Outcome, Bool)]
    )
    func reading(outcome: Exchange.Outcome, isReadAgain: Bool) {
        var probe = EvidenceBuilder.probe(nil)
        probe.outcome = outcome
        #expect(probe.isTransientProbeFailure == isReadAgain)
    }

    @Test func `a failed baseline leaves the case undecided`() {
        var builder = builder()
        builder.subject = run(builder, 0) { _ in ["plan": "a"] }
        builder.baselines = [
            [EvidenceBuilder.delivery("purchase", .answered(HTTPMessage.Response(500)))]
        ]
        #expect(builder.codes(RelationRule.self) == [.baselineFailed])
    }
}
