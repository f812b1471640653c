import Conformance
import Exploration
import Testing

/// What the stores would let happen, and no contract could tell apart.
struct LifeLawsTests {
    private static let everything = Means(
        features: Set(Feature.allCases),
        showsState: true,
        choosesIDs: false
    )

    private static func life(buying product: String) throws -> Life {
        try LifeText.life(
            """
            life 1
            person ada registered
            person bob registered
            act 0 -9d bob purchase product=premium_monthly store=PLAY_STORE
            act 1 -8d bob change-product product=premium_monthly to=premium_weekly store=PLAY_STORE deferred
            act 2 -7d ada transfer from=bob
            act 3 -6d bob purchase product=\(product) store=PLAY_STORE
            act 4 -5d bob transfer from=ada

            """
        )
    }

    @Test func `nobody gets what changes to a product that they have already`() throws {
        let error = #expect(throws: LifeModel.Illegal.self) {
            try LifeScript(try Self.life(buying: "premium_weekly"), Self.everything)
        }
        #expect(error?.reason.contains("both have the same") == true, "\(error?.reason ?? "")")
        #expect(throws: Never.self) {
            try LifeScript(try Self.life(buying: "premium_yearly"), Self.everything)
        }
    }
}
