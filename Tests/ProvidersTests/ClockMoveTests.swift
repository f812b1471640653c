import Providers
import Testing
import TestSupport
import Values

/// A move of the clock costs the same for each renewal, however many it causes.
@Suite("The cost of a move of the clock")
struct ClockMoveTests {
    private static let start = Instant(milliseconds: 1_790_000_000_000)

    /// Renews a daily subscription of RevenueCat, or 20 monthly ones of Purchasely.
    ///
    /// - Returns: The work units, and the number of renewals.
    private static func work(_ count: Int, _ provider: Exchange.Party) throws -> (Int, Int) {
        var services = Services(seed: 1)
        if provider == .revenueCat {
            let product = Catalog.Product(days: 1, price: 1, entitlements: ["premium"])
            services.revenueCat.catalog.products["daily"] = product
            let action = try StoreAction(.purchase, ["user": "ada", "product": "daily"])
            try services.revenueCat.carryOut(action, at: start)
        } else {
            for number in 0..<20 {
                let body: JSONObject = ["user": .string("ada\(number)")]
                try services.purchasely.carryOut(.purchase, body, at: start)
            }
        }
        _ = services.settle(at: start)
        // The instant at which the wanted number of renewals is over.
        var (low, high) = (Int64(0), Int64(40_000))
        while low < high {
            let middle = (low + high) / 2
            let isEnough = services.renewalCount(by: start + .days(middle)) >= count
            if isEnough { high = middle } else { low = middle + 1 }
        }
        let end = start + .days(low)
        let renewalCount = services.renewalCount(by: end)
        let units = StorageStepCounter.count {
            while let next = services.nextChangeTime, next <= end { _ = services.settle(at: next) }
        }
        return (units, renewalCount)
    }

    @Test(
        "ten times the renewals take ten times the work",
        arguments: [.revenueCat, .purchasely] as [Exchange.Party]
    )
    func linear(provider: Exchange.Party) throws {
        let (few, fewCount) = try Self.work(500, provider)
        let (many, manyCount) = try Self.work(5000, provider)
        #expect(fewCount >= 500 && manyCount >= 5000)
        #expect(few >= fewCount)
        let (least, most) = (many / manyCount, few / fewCount)
        // A search in a larger index takes a few steps more.
        #expect(least <= most + 10, "\(few) steps for \(fewCount), \(many) for \(manyCount)")
    }
}
