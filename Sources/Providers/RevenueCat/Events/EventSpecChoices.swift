/// The products and stores that a run may draw for RevenueCat events.
extension EventSpec {
    /// A product that no catalog and no profile contains, and that unlocks the profile's
    /// entitlement.
    ///
    /// An event lists the entitlements of its product, so a backend needs no list of products
    /// (RevenueCat fact sheet, section 2.3).
    package static let unlistedProduct = "assay_unlisted_monthly"

    /// The stores with purchases of customers.
    ///
    /// Purchases in the test store are never real, and promotions have no price.
    private static let purchaseStores = stores.filter {
        !["PROMOTIONAL", "TEST_STORE"].contains($0)
    }

    /// The stores that send every event and every reason of a subscription.
    private static let completeStores = ["APP_STORE", "PLAY_STORE", "STRIPE"]

    package static func openChoices(
        of events: [EventSpec],
        within limits: DrawLimits
    ) -> EventChoices {
        EventChoices(products: products(of: events, limits), stores: stores(of: events, limits))
    }

    private static func products(of events: [EventSpec], _ limits: DrawLimits) -> [String] {
        guard events.contains(where: { $0.namedProduct == nil }), !limits.mentions(defaultProduct)
        else { return [] }
        let subscriptions = CatalogProduct.all.filter { product in
            product.isSubscription && [.main, .both].contains(product.entitlements)
        }
        let names = subscriptions.map(\.name) + [unlistedProduct]
        return names.filter { name in
            !limits.mentions(name) && (limits.products.isEmpty || limits.products[name] != nil)
        }
    }

    private static func stores(of events: [EventSpec], _ limits: DrawLimits) -> [String] {
        guard events.contains(where: { $0.namedStore == nil }), !limits.mentions(defaultStore),
            events.allSatisfy(\.occursInSeveralStores)
        else { return [] }
        let needsCompleteStore = events.contains { $0.reason != nil || $0.grace != nil }
        return purchaseStores.filter { store in
            !limits.mentions(store)
                && (limits.acceptsEveryStore || store == defaultStore)
                && !(needsCompleteStore && !completeStores.contains(store))
                && !(limits.observesProduct && store != defaultStore)
        }
    }

    /// Whether stores other than the App Store send the event too.
    private var occursInSeveralStores: Bool {
        if isFamilyShared == true || graceEndsSoon == true { return false }
        let commonReasons = [
            "UNSUBSCRIBE", "BILLING_ERROR", "CUSTOMER_SUPPORT", "TRIAL_CONVERSION",
        ]
        return isCommonType && reason.map(commonReasons.contains) ?? true
    }

    private var isCommonType: Bool {
        switch type.documented {
        case .initialPurchase, .renewal, .cancellation, .uncancellation, .expiration,
            .billingIssue, .nonRenewingPurchase, .transfer:
            true
        default: false
        }
    }

    package func drawing(_ values: DrawnValues) -> EventSpec {
        var copy = self
        copy.namedProduct = namedProduct ?? values.product
        copy.namedStore = namedStore ?? values.store
        return copy
    }
}
