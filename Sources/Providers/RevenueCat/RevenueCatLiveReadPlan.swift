extension RevenueCatState {
    /// Instructions for reading a live RevenueCat project without changing it.
    ///
    /// A read over REST v1 creates the customer if the ID is unknown. The instructions therefore
    /// read over REST v1 only customers that REST v2 lists.
    package static var liveReadPlan: LiveReadPlan? {
        let projectPath = "/v2/projects/{project_id}"
        let customerPath = projectPath + "/customers/{customer_id}"
        let firstItemIDPointer = "/items/0/id"
        return LiveReadPlan(
            scheme: "Bearer",
            suppliedParameters: [],
            fakeParameterValues: [:],
            parameterSources: [
                .init("project_id", "/v2/projects", firstItemIDPointer),
                .init("customer_id", projectPath + "/customers", firstItemIDPointer),
                .init("app_user_id", projectPath + "/customers", firstItemIDPointer),
                .init("app_id", projectPath + "/apps", firstItemIDPointer),
                .init("entitlement_id", projectPath + "/entitlements", firstItemIDPointer),
                .init("product_id", projectPath + "/products", firstItemIDPointer),
                .init("offering_id", projectPath + "/offerings", firstItemIDPointer),
                .init(
                    "package_id",
                    projectPath + "/offerings/{offering_id}/packages",
                    firstItemIDPointer
                ),
                .init("paywall_id", projectPath + "/paywalls", firstItemIDPointer),
                .init(
                    "virtual_currency_code",
                    projectPath + "/virtual_currencies",
                    "/items/0/code"
                ),
                .init("subscription_id", customerPath + "/subscriptions", firstItemIDPointer),
                .init("purchase_id", customerPath + "/purchases", firstItemIDPointer),
            ],
            queryByPath: [
                // These two search operations require a search term.
                projectPath + "/subscriptions": "?store_subscription_identifier=none",
                projectPath + "/purchases": "?store_purchase_identifier=none",
            ],
            userNamedMembers: [
                "subscriptions", "entitlements", "non_subscriptions", "other_purchases",
                "subscriber_attributes", "metadata",
            ],
            membersOmittedWhenUnset: [],
            addSampleData: { services, now in
                // One purchase in each kind of store, because responses differ by store.
                var sampleProduct = Catalog.Product(days: 30, price: 9.99, entitlements: ["play"])
                sampleProduct.basePlan = "monthly"
                services.revenueCat.catalog.products["plan"] = sampleProduct
                for (product, store) in [
                    ("plan", "PLAY_STORE"), ("premium_yearly", "APP_STORE"),
                    ("coins_100", "APP_STORE"),
                ] {
                    var action = StoreAction(.purchase, user: "ada")
                    (action.product, action.store) = (product, store)
                    // The catalog has these products, so the store accepts each purchase. If one
                    // were missing, the comparison of the responses would show it.
                    try? services.revenueCat.carryOut(action, at: now)
                }
            }
        )
    }
}
