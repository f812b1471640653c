internal import Conformance

/// The operations of REST v2 on a project's products.
///
/// They are read-only: the control API fills the catalog.
extension RevenueCatState {
    /// The time at which the project was created, in milliseconds.
    ///
    /// No resource of the project is older.
    private static let creationTime: JSONValue = .integer(1_577_836_800_000)

    mutating func handleCatalogCall(
        _ name: V2Operation,
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        switch name {
        case .listProjects:
            let project: JSONValue = [
                "object": "project", "id": .string(settings.project), "name": "Assay",
                "created_at": Self.creationTime,
            ]
            return try pageResponse([(settings.project, project)], "/v2/projects", call)
        case .listEntitlements:
            let isExpanded = try call.requestedExpansions("product").contains("product")
            let items = entitlementNames.map {
                (Self.entitlementID($0), entitlement(named: $0, call, withProducts: isExpanded))
            }
            return try pageResponse(items, call.projectPath + "/entitlements", call)
        case .getEntitlement:
            let name = try entitlement(call.named("entitlement_id"))
            let isExpanded = try call.requestedExpansions("product").contains("product")
            return HTTPMessage.Response(
                200,
                json: entitlement(named: name, call, withProducts: isExpanded)
            )
        case .getProductsFromEntitlement:
            let id = call.named("entitlement_id")
            let name = try entitlement(id)
            let items = products(grantingEntitlement: name).map {
                (Self.productID($0), product($0, call))
            }
            return try pageResponse(items, "\(call.projectPath)/entitlements/\(id)/products", call)
        case .listProducts:
            if let app = call.query("app_id"), app != settings.appID {
                throw .missingResource("app")
            }
            let isExpanded = try call.requestedExpansions("app").contains("app")
            let items = products.map {
                (Self.productID($0), product($0, call, withApp: isExpanded))
            }
            return try pageResponse(items, call.projectPath + "/products", call)
        case .getProduct:
            let id = call.named("product_id")
            guard let name = products.first(where: { Self.productID($0) == id }) else {
                throw .missingResource("product")
            }
            let isExpanded = try call.requestedExpansions("app").contains("app")
            return HTTPMessage.Response(200, json: product(name, call, withApp: isExpanded))
        case .listOfferings:
            return try pageResponse(
                [(Self.offeringID("default"), try offering(call))],
                call.projectPath + "/offerings",
                call
            )
        case .getOffering:
            try requireOffering(call)
            return HTTPMessage.Response(200, json: try offering(call))
        case .listPackages:
            try requireOffering(call)
            let path = "\(call.projectPath)/offerings/\(call.named("offering_id"))/packages"
            let isExpanded = try call.requestedExpansions("product").contains("product")
            return try pageResponse(packages(call, withProducts: isExpanded), path, call)
        case .getPackage:
            let id = call.named("package_id")
            let isExpanded = try call.requestedExpansions("product").contains("product")
            let all = packages(call, withProducts: isExpanded)
            guard let matchingPackage = all.first(where: { $0.id == id }) else {
                throw .missingResource("package")
            }
            return HTTPMessage.Response(200, json: matchingPackage.value)
        case .getProductsFromPackage:
            let id = call.named("package_id")
            guard let name = catalog.sellableProductIDs.first(where: { Self.packageID($0) == id })
            else {
                throw .missingResource("package")
            }
            let path = "\(call.projectPath)/packages/\(id)/products"
            return try pageResponse(
                [(Self.productID(name), packageProduct(name, call))],
                path,
                call
            )
        case .listApps:
            return try pageResponse([(settings.appID, app(call))], call.projectPath + "/apps", call)
        case .getApp:
            try requireApp(call)
            return HTTPMessage.Response(200, json: app(call))
        case .listPublicAPIKeys:
            try requireApp(call)
            let id = Self.objectID("apikey", settings.appID)
            let key: JSONValue = [
                "object": "public_api_key", "id": .string(id),
                "key": .string("appl_" + id.dropFirst("apikey".count)),
                "environment": "production", "app_id": .string(settings.appID),
                "created_at": Self.creationTime,
            ]
            let path = "\(call.projectPath)/apps/\(settings.appID)/public_api_keys"
            return try pageResponse([(id, key)], path, call)
        case .listPaywalls: return try pageResponse([], call.projectPath + "/paywalls", call)
        case .getPaywall: throw .missingResource("paywall")
        case .getOverviewMetrics: return try overviewMetricsResponse(call)
        default: throw .missingResource("resource")
        }
    }

    // MARK: Lookup

    /// The names of all entitlements that a product on sale or a purchase grants.
    private var entitlementNames: [String] {
        var names = Set([catalog.entitlement])
        for product in catalog.sellableProductIDs {
            names.formUnion(catalog.product(product).entitlements)
        }
        for customer in customers.all {
            for purchase in customer.purchases { names.formUnion(purchase.entitlements) }
        }
        return names.sorted()
    }

    /// The IDs of all products that are on sale or that a customer has bought.
    private var products: [String] {
        let boughtPurchases = customers.all.flatMap(\.purchases).filter {
            $0.store != "PROMOTIONAL"
        }
        return Set(catalog.sellableProductIDs).union(boughtPurchases.map(\.productID)).sorted()
    }

    /// Returns the lookup key (name) of the entitlement with this RevenueCat ID; throws when there
    /// is none.
    func entitlement(_ id: String) throws(RevenueCatError) -> String {
        guard let name = entitlementNames.first(where: { Self.entitlementID($0) == id }) else {
            throw .missingResource("entitlement")
        }
        return name
    }

    private func requireOffering(_ call: CallV2) throws(RevenueCatError) {
        guard call.named("offering_id") == Self.offeringID("default") else {
            throw .missingResource("offering")
        }
    }

    private func requireApp(_ call: CallV2) throws(RevenueCatError) {
        guard call.named("app_id") == settings.appID else { throw .missingResource("app") }
    }

    // MARK: JSON of resources

    private func app(_ call: CallV2) -> JSONValue {
        [
            "object": "app", "id": .string(settings.appID), "name": "Assay", "type": "app_store",
            "created_at": Self.creationTime, "project_id": .string(call.project),
            "app_store": ["bundle_id": "com.example.assay"],
        ]
    }

    /// Returns the response with the metrics of the dashboard's overview, calculated from all
    /// purchases in the fake.
    private func overviewMetricsResponse(_ call: CallV2) throws(RevenueCatError)
        -> HTTPMessage.Response
    {
        let knownCurrencyCodes = [
            "USD", "EUR", "GBP", "AUD", "CAD", "JPY", "BRL", "KRW", "CNY", "MXN", "SEK", "PLN",
        ]
        let currency = call.query("currency") ?? "USD"
        guard knownCurrencyCodes.contains(currency) else {
            throw RevenueCatError(
                v2: 400,
                "parameter_error",
                "currency must be one of \(knownCurrencyCodes.joined(separator: ", ")).",
                param: "currency"
            )
        }
        let now = call.now
        let periodStart = now - .days(28)
        let customers = customers.all
        let runningPurchases = customers.flatMap(\.purchases).filter {
            !$0.isOneTime && $0.isActive(at: now)
        }
        let paidPurchases = runningPurchases.filter {
            $0.period != "TRIAL" && $0.store != "PROMOTIONAL"
        }
        func dollars(_ purchases: [Purchase]) -> Double {
            purchases.reduce(0) { sum, purchase in
                guard case .number(let price) = purchase.priceUSD else { return sum }
                return sum + (price.double ?? 0)
            }
        }
        let monthlyRevenue = paidPurchases.reduce(0.0) { sum, purchase in
            let days = catalog.product(purchase.productID).days ?? 30
            return sum + dollars([purchase]) * 30 / Double(max(1, days))
        }
        let recentPurchases = customers.flatMap(\.purchases).filter { $0.purchased > periodStart }
        let metricRows: [(String, String, String, String, Double)] = [
            (
                "active_trials", "Active Trials", "#", "P0D",
                Double(runningPurchases.count { $0.period == "TRIAL" })
            ),
            (
                "active_subscriptions", "Active Subscriptions", "#", "P0D",
                Double(paidPurchases.count)
            ),
            ("mrr", "MRR", "$", "P28D", (monthlyRevenue * 100).rounded() / 100),
            ("revenue", "Revenue", "$", "P28D", (dollars(recentPurchases) * 100).rounded() / 100),
            (
                "new_customers", "New Customers", "#", "P28D",
                Double(customers.count { $0.firstSeen > periodStart })
            ),
            (
                "active_users", "Active Customers", "#", "P28D",
                Double(customers.count { $0.lastSeen > periodStart })
            ),
        ]
        let metrics = metricRows.map { id, name, unit, period, value -> JSONValue in
            [
                "object": "overview_metric", "id": .string(id), "name": .string(name),
                "description": .string(name), "unit": .string(unit), "period": .string(period),
                "value": .number(JSONNumber(value)),
                "last_updated_at": .integer(now.milliseconds),
                "last_updated_at_iso8601": .string(now.description),
            ]
        }
        return HTTPMessage.Response(
            200,
            json: ["object": "overview_metrics", "metrics": .array(metrics)]
        )
    }

    func entitlements(_ entitlementNames: [String], _ call: CallV2) -> [(
        id: String, value: JSONValue
    )] {
        entitlementNames.map { (Self.entitlementID($0), entitlement(named: $0, call)) }
    }

    private func entitlement(
        named name: String,
        _ call: CallV2,
        withProducts: Bool = false
    ) -> JSONValue {
        let id = Self.entitlementID(name)
        var responseFields: JSONObject = [
            "object": "entitlement", "project_id": .string(call.project), "id": .string(id),
            "lookup_key": .string(name), "display_name": .string(name),
            "created_at": Self.creationTime,
        ]
        if withProducts {
            responseFields["products"] = Self.listJSON(
                products(grantingEntitlement: name).map { product($0, call) },
                "\(call.projectPath)/entitlements/\(id)/products"
            )
        }
        return .object(responseFields)
    }

    private func products(grantingEntitlement entitlement: String) -> [String] {
        catalog.sellableProductIDs.filter { catalog.product($0).entitlements.contains(entitlement) }
    }

    func product(_ name: String, _ call: CallV2, withApp: Bool = false) -> JSONValue {
        let product = catalog.product(name)
        var fields: JSONObject = [
            "object": "product", "id": .string(Self.productID(name)),
            "store_identifier": .string(
                product.basePlan.map { "\(name):\($0)" } ?? name
            ),
            "type": product.days != nil
                ? "subscription" : product.entitlements.isEmpty ? "consumable" : "non_consumable",
            "created_at": Self.creationTime, "app_id": .string(settings.appID),
            "display_name": .string(name),
        ]
        if let days = product.days {
            fields["subscription"] = [
                "duration": .string("P\(days)D"), "grace_period_duration": .null,
                "trial_duration": .string("P\(product.trialDays)D"),
            ]
        } else {
            fields["one_time"] = ["is_consumable": .bool(product.entitlements.isEmpty)]
        }
        if withApp { fields["app"] = app(call) }
        return .object(fields)
    }

    private func offering(_ call: CallV2) throws(RevenueCatError) -> JSONValue {
        let expansions = try call.requestedExpansions("package", "package.product")
        let id = Self.offeringID("default")
        var responseFields: JSONObject = [
            "object": "offering", "id": .string(id), "lookup_key": "default",
            "display_name": "The standard offering", "is_current": true,
            "created_at": Self.creationTime,
            "project_id": .string(call.project), "metadata": .null,
        ]
        if !expansions.isEmpty {
            let packages = packages(call, withProducts: expansions.contains("package.product"))
            responseFields["packages"] = Self.listJSON(
                packages.map(\.value),
                "\(call.projectPath)/offerings/\(id)/packages"
            )
        }
        return .object(responseFields)
    }

    private func packages(
        _ call: CallV2,
        withProducts: Bool
    ) -> [(id: String, value: JSONValue)] {
        catalog.sellableProductIDs.enumerated().map { index, name in
            let id = Self.packageID(name)
            var responseFields: JSONObject = [
                "object": "package", "id": .string(id), "lookup_key": .string(name),
                "display_name": .string(name), "position": .integer(Int64(index + 1)),
                "created_at": Self.creationTime,
            ]
            if withProducts {
                responseFields["products"] = Self.listJSON(
                    [packageProduct(name, call)],
                    "\(call.projectPath)/packages/\(id)/products"
                )
            }
            return (id, .object(responseFields))
        }
    }

    private func packageProduct(_ name: String, _ call: CallV2) -> JSONValue {
        ["product": product(name, call), "eligibility_criteria": "all"]
    }
}
