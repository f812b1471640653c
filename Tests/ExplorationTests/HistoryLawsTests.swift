import Contracts
import Exploration
import Providers
import Testing
import Values

/// What the stores would let happen, and no contract could tell apart.
struct HistoryLawsTests {
    private static let everything = Capabilities(
        features: Set(Feature.allCases),
        canReadState: true,
        backendChoosesIDs: false
    )

    private static func history(buying product: String) throws -> CustomerHistory {
        try HistoryText.history(
            """
            history 1
            person ada registered
            person bob registered
            operation 0 -9d bob purchase product=premium_monthly store=PLAY_STORE
            operation 1 -8d bob change-product product=premium_monthly to=premium_weekly store=PLAY_STORE deferred
            operation 2 -7d ada transfer from=bob
            operation 3 -6d bob purchase product=\(product) store=PLAY_STORE
            operation 4 -5d bob transfer from=ada

            """
        )
    }

    @Test func `a person does not receive a product change to a product they own`() throws {
        let error = #expect(throws: HistoryModel.ImpossibleOperation.self) {
            try HistoryScript(try Self.history(buying: "premium_weekly"), Self.everything)
        }
        #expect(
            error?.reason.contains("both users have had the same product") == true,
            "\(error?.reason ?? "")"
        )
        #expect(throws: Never.self) {
            try HistoryScript(try Self.history(buying: "premium_yearly"), Self.everything)
        }
    }

    private func script(_ acts: String) throws -> HistoryScript {
        let text = "history 1\nperson ada registered\n\(acts)\n"
        return try HistoryScript(HistoryText.history(text), Self.everything)
    }

    private func access(_ script: HistoryScript) -> Bool? {
        script.contract.expectation.states.first?.fields.first { $0.name == "access" }?.value.bool
    }

    @Test("a history leaves only the usual product open", arguments: [true, false])
    func drawnProduct(isUsual: Bool) throws {
        let product = isUsual ? "premium_monthly" : "premium_weekly"
        var contract = try script(
            "operation 0 -9d ada purchase product=\(product) store=APP_STORE"
        ).contract
        // An expected product would have to stay the same.
        contract.expectation.states = []
        let drawnProducts = (UInt64(0)..<121).map { seed in
            ValuePool(Profile(), seed: seed).drawn(contract).drawnValues?.product
        }
        #expect((Set(drawnProducts.compactMap { $0 }).count > 1) == isUsual, "\(drawnProducts)")
    }

    /// Fact sheet 1.5: the App Store charges up to a day ahead; of the others no source says so.
    @Test(arguments: [("APP_STORE", true), ("PLAY_STORE", false), ("AMAZON", false)])
    func `some stores charge before the end of the period`(_ store: String, _ isLegal: Bool) {
        let script = try? script(
            """
            operation 0 -31d ada purchase product=premium_monthly store=\(store)
            operation 1 -30h ada renew product=premium_monthly
            """
        )
        #expect((script != nil) == isLegal)
    }

    @Test func `no period ends before it begins`() {
        let renewed = """
            operation 0 -31d ada purchase product=premium_monthly store=APP_STORE
            operation 1 -30h ada renew product=premium_monthly
            """
        let reason = "its period has not begun"
        for end in ["expire", "refund"] {
            let error = #expect(throws: HistoryModel.ImpossibleOperation.self) {
                try script(renewed + "\noperation 2 -29h ada \(end) product=premium_monthly")
            }
            #expect(error?.reason == reason)
        }
        #expect(throws: Never.self) {
            try script(renewed + "\noperation 2 -2h ada expire product=premium_monthly")
        }
    }

    /// Row 25, "on until X": no source says that a purchase ends a grant for a day.
    @Test(arguments: [("-62m", nil), ("-26h", false as Bool?)])
    func `a daily grant may outlive a later purchase`(
        _ time: String,
        _ expectedState: Bool?
    ) throws {
        let script = try script(
            """
            operation 0 \(time) ada temporary-grant product=premium_monthly span=24h
            operation 1 -61m ada purchase product=premium_monthly
            operation 2 -60m ada refund product=premium_monthly
            """
        )
        #expect(access(script) == expectedState)
    }

    /// RevenueCat's REST API has one place for a product, whatever store it is of.
    @Test(arguments: [(" store=PLAY_STORE", true), ("", false), (" store=APP_STORE", false)])
    func `a purchase exists in one store only`(_ store: String, _ isLegal: Bool) {
        for kind in ["purchase", "temporary-grant span=24h"] {
            let script = try? script(
                """
                operation 0 -3d ada purchase product=premium_monthly store=PLAY_STORE
                operation 1 -2d ada expire product=premium_monthly
                operation 2 -3h ada \(kind) product=premium_monthly\(store)
                """
            )
            #expect((script != nil) == isLegal)
        }
    }

    @Test(arguments: [("TRANSACTION_PROCESSED", true), ("RENEWAL_ENABLED", false)])
    func `a one-time purchase does not renew`(_ name: String, _ isLegal: Bool) {
        let script = try? script(
            """
            operation 0 -3h ada purchase product=PLUS_LIFETIME store=PURCHASELY
            operation 1 -2h ada irrelevant-event product=PLUS_LIFETIME store=PURCHASELY type=\(name)
            """
        )
        #expect((script != nil) == isLegal)
    }
}
