import Contracts
import Judging
import Providers
import TestSupport
import Testing
import Values

@Suite("PushRule")
struct PushRuleTests {
    private let ada = Namespace(name: "namespace-0", idForm: .string).id(of: "ada")

    private func findings(
        _ exchanges: [Exchange],
        kind: String = "onesignal.notification",
        _ change: (inout EffectExpectation) -> Void
    ) -> [Finding] {
        var effect = EffectExpectation(
            kind: kind,
            user: "ada",
            countMin: 0,
            countMax: nil,
            requiresSameIdempotencyKey: false,
            location: SampleContract.location
        )
        change(&effect)
        var expectation = SampleContract.expectation()
        expectation.effects = [effect]
        var builder = EvidenceBuilder(expectation: expectation)
        builder.subject = exchanges
        if effect.countsOnlyEffectsOfSteps { builder.addBaselineBeforeSteps() }
        return PushRule.findings(in: builder.evidence)
    }

    private func attempt(
        _ refusal: ProviderCall.Refusal? = nil,
        at moment: Int64
    ) -> Exchange {
        var exchange = EvidenceBuilder.push(to: ada)
        exchange.call?.refusal = refusal
        exchange.effects = []
        exchange.invoked = moment
        exchange.completed = moment + 1
        return exchange
    }

    @Test func `a push to recipients outside the case is reported`() {
        #expect(
            findings([EvidenceBuilder.push(to: ada)]) { $0.allowedAddresses = .personal }.isEmpty
        )
        let other = findings([EvidenceBuilder.push(to: "everyone")]) {
            $0.allowedAddresses = .personal
        }
        #expect(other.map(\.code) == [.wrongRecipient])
    }

    @Test func `an attempt before Retry-After is too early, and none at all is missing`() {
        func pace(_ exchanges: [Exchange]) -> [FindingCode] {
            findings(exchanges) { $0.obeysRetryAfter = true }.map(\.code)
        }
        let refused = attempt(.rate(retryAfter: .seconds(1)), at: 0)
        #expect(pace([refused, attempt(at: 100_000)]) == [.retriedTooEarly])
        #expect(pace([refused, attempt(at: 1_100_000)]).isEmpty)
        #expect(pace([refused]) == [.wrongEffectCount])
    }

    @Test func `a second Retry-After counts like the first`() {
        func pace(_ exchanges: [Exchange]) -> [FindingCode] {
            findings(exchanges) { $0.obeysRetryAfter = true }.map(\.code)
        }
        let first = attempt(.rate(retryAfter: .seconds(1)), at: 0)
        let second = attempt(.rate(retryAfter: .seconds(2)), at: 1_100_000)
        #expect(pace([first, second, attempt(at: 1_200_000)]) == [.retriedTooEarly])
        #expect(pace([first, second, attempt(at: 3_200_000)]).isEmpty)
        #expect(pace([first, second]) == [.wrongEffectCount])
    }

    @Test func `more push attempts than allowed are reported`() {
        let many = (0..<6).map { attempt(.form, at: Int64($0)) }
        #expect(findings(many) { $0.attemptsMax = 5 }.map(\.code) == [.tooManyAttempts])
        #expect(findings(Array(many.prefix(5))) { $0.attemptsMax = 5 }.isEmpty)
    }

    @Test func `the same message to two users is reported, and different messages pass`() {
        let bob = Namespace(name: "namespace-0", idForm: .string).id(of: "bob")
        func told(_ texts: [(String, String)]) -> [FindingCode] {
            findings(texts.map { EvidenceBuilder.push(to: $0.0, $0.1) }) {
                $0.userWithOtherContent = "bob"
            }
            .map(\.code)
        }
        #expect(told([(ada, "Refunded"), (bob, "Cancelled")]).isEmpty)
        #expect(told([(ada, "Cancelled"), (bob, "Cancelled")]) == [.identicalMessages])
        #expect(told([]).isEmpty)
    }

    @Test func `a push that the provider refused as invalid is reported as a wrong recipient`() {
        let refused = attempt(.form, at: 0)
        #expect(
            findings([refused]) { $0.allowedAddresses = .personal }.map(\.code) == [
                .wrongRecipient
            ]
        )
        #expect(findings([attempt(at: 0)]) { $0.allowedAddresses = .personal }.isEmpty)
    }

    @Test func `tags that RevenueCat keeps are not the backend's to write`() {
        var write = EvidenceBuilder.push(to: ada)
        write.effects = []
        write.call = ProviderCall(kind: "onesignal.tags", reservedNames: ["store"])
        #expect(
            findings([write], kind: "onesignal.tags") { _ in }.map(\.code) == [.unexpectedEffect]
        )
        write.call?.reservedNames = []
        #expect(findings([write], kind: "onesignal.tags") { _ in }.isEmpty)
    }
}
