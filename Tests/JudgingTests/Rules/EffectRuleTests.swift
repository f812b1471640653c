import Contracts
import Judging
internal import Providers
import TestSupport
import Testing

@Suite("Effect rule")
struct EffectRuleTests {
    private func builder(
        _ range: (Int, Int?),
        pushes: Int,
        keys: [String?]? = nil
    ) -> EvidenceBuilder {
        var expectation = SampleContract.expectation()
        expectation.effects = [
            EffectExpectation(
                kind: "onesignal.notification",
                user: "ada",
                countMin: range.0,
                countMax: range.1,
                requiresSameIdempotencyKey: keys != nil,
                location: SampleContract.location
            )
        ]
        var builder = EvidenceBuilder(expectation: expectation)
        builder.subject = (0..<pushes).map { index in
            EvidenceBuilder.push(to: builder.id(of: "ada"), key: keys?[index] ?? nil)
        }
        return builder
    }

    @Test func `too many and too few effects are findings`() {
        #expect(builder((0, 1), pushes: 1).codes(EffectRule.self).isEmpty)
        #expect(builder((0, 1), pushes: 2).codes(EffectRule.self) == [.wrongEffectCount])
        #expect(builder((1, 1), pushes: 0).codes(EffectRule.self) == [.wrongEffectCount])
        #expect(builder((1, nil), pushes: 5).codes(EffectRule.self).isEmpty)
    }

    @Test func `effects for other users do not count`() {
        var builder = builder((1, 1), pushes: 1)
        builder.subject.append(EvidenceBuilder.push(to: "somebody-else"))
        #expect(builder.codes(EffectRule.self).isEmpty)
    }

    @Test func `zero effects of a backend that never pushed are inconclusive`() {
        var builder = builder((0, 1), pushes: 0)
        builder.observability.arePushesObservable = false
        #expect(builder.codes(EffectRule.self) == [.unobservable])
        builder.profile.unsupportedFeatures.insert(.push)
        #expect(builder.codes(EffectRule.self).isEmpty)
    }

    @Test func `attempts of one push share their key`() {
        #expect(builder((1, 2), pushes: 2, keys: ["k", "k"]).codes(EffectRule.self).isEmpty)
        #expect(
            builder((1, 2), pushes: 2, keys: ["k", "l"]).codes(EffectRule.self) == [
                .idempotencyKeyChanged
            ]
        )
        #expect(
            builder((1, 2), pushes: 2, keys: [nil, nil]).codes(EffectRule.self) == [
                .idempotencyKeyChanged
            ]
        )
        #expect(builder((1, 2), pushes: 1, keys: ["k"]).codes(EffectRule.self) == [.unobservable])
    }
}
