import Contracts
import Foundation
import Providers
import Testing
import Values

@Suite(
    "Bodies against the published ones",
    .enabled(if: PublishedSamples.areSamplesPresent, "samples are elsewhere")
)
struct SampleTests {
    private static let now = Instant(milliseconds: 1_790_000_000_000)

    private func event(_ sample: PublishedEvent) throws -> JSONObject {
        try #require(try PublishedSamples.json("revenuecat/\(sample.name).json")["event"]?.object)
    }

    @Test("a body of the model is the sample's like", arguments: PublishedEvent.all)
    func modelEqualsSample(sample: PublishedEvent) throws {
        let published = try event(sample)
        var state = RevenueCatState(key: nil)
        try sample.make(&state, Self.now)
        let type = published["type"]
        let made = try #require(
            state.takeEvents().last { $0["type"] == type },
            "no \(type?.text ?? "")"
        )
        compare(made, published, sample)
    }

    @Test("a body of a contract's line is the sample's like", arguments: PublishedEvent.all)
    func factoryEqualsSample(sample: PublishedEvent) throws {
        let published = try event(sample)
        let factory = EventFactory(
            EventContext(
                namespace: Namespace(name: "run", idForm: .string),
                base: Self.now
            )
        )
        let body = factory.body(EventSpec(stating: published), name: "sample")
        compare(try #require(body["event"]?.object), published, sample)
    }

    /// Both have the same keys, nulls and kinds, but for the differences that are stated; one that
    /// is stated and not there is as wrong as one that is missing.
    private func compare(
        _ made: JSONObject,
        _ published: JSONObject,
        _ sample: PublishedEvent
    ) {
        let ours = Set(made.keys).subtracting(PublishedEvent.experimentKeys)
        let theirs = Set(published.keys).subtracting(PublishedEvent.experimentKeys)
        #expect(ours.subtracting(theirs) == sample.members(.ours))
        #expect(theirs.subtracting(ours) == sample.members(.theirs))
        let both = ours.intersection(theirs)
        let halfNull = both.filter { made[$0]?.isNull != published[$0]?.isNull }
            .subtracting(PublishedEvent.purchaseOnlyKeys)
        #expect(halfNull == sample.members(.null))
        for key in both.subtracting(halfNull).subtracting(PublishedEvent.purchaseOnlyKeys) {
            #expect(made[key]?.kind == published[key]?.kind, "\(key)")
        }
    }

    @Test func `every published event is compared`() throws {
        let known = Set(PublishedEvent.all.map { $0.name + ".json" })
        // Not an event of RevenueCat's: a probe for types that do not exist yet.
        let others: Set = ["unknown_type-future.json"]
        #expect(Set(try PublishedSamples.names("revenuecat")).subtracting(known) == others)
    }

    @Test func `Purchasely's published signatures are ours`() throws {
        let vectors =
            try PublishedSamples.json("purchasely/signature_vectors.json")["vectors"]?.array ?? []
        #expect(vectors.count >= 5)
        for vector in vectors {
            let secret = try #require(vector["secret"]?.string)
            let timestamp = try #require(vector["timestamp"]?.string)
            let code =
                if let body = vector["body"]?.string {
                    PurchaselySignature.code(
                        of: Array(body.utf8),
                        timestamp: timestamp,
                        secret: secret
                    )
                } else {
                    PurchaselySignature.deprecatedCode(timestamp: timestamp, secret: secret)
                }
            #expect(code == vector["signature"]?.string, "\(vector["name"]?.text ?? "")")
        }
    }
}
