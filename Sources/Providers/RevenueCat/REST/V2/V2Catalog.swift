internal import Values

extension V2Operation {
    static let entitlementRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/entitlements",
            .init { state, call throws(RevenueCatError) in try state.listEntitlements(call) }
        ),
        .init("POST", "/projects/{project_id}/entitlements"),
        .init("DELETE", "/projects/{project_id}/entitlements/{entitlement_id}"),
        .init(
            "GET",
            "/projects/{project_id}/entitlements/{entitlement_id}",
            .init { state, call throws(RevenueCatError) in try state.getEntitlement(call) }
        ),
        .init("POST", "/projects/{project_id}/entitlements/{entitlement_id}"),
        .init(
            "POST",
            "/projects/{project_id}/entitlements/{entitlement_id}/actions/attach_products"
        ),
        .init(
            "POST",
            "/projects/{project_id}/entitlements/{entitlement_id}/actions/detach_products"
        ),
        .init(
            "GET",
            "/projects/{project_id}/entitlements/{entitlement_id}/products",
            .init { state, call throws(RevenueCatError) in
                try state.getProductsFromEntitlement(call)
            }
        ),
    ]

    static let offeringRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/offerings",
            .init { state, call throws(RevenueCatError) in try state.listOfferings(call) }
        ),
        .init("POST", "/projects/{project_id}/offerings"),
        .init("DELETE", "/projects/{project_id}/offerings/{offering_id}"),
        .init(
            "GET",
            "/projects/{project_id}/offerings/{offering_id}",
            .init { state, call throws(RevenueCatError) in try state.getOffering(call) }
        ),
        .init("POST", "/projects/{project_id}/offerings/{offering_id}"),
        .init(
            "GET",
            "/projects/{project_id}/offerings/{offering_id}/packages",
            .init { state, call throws(RevenueCatError) in try state.listPackages(call) }
        ),
        .init("POST", "/projects/{project_id}/offerings/{offering_id}/packages"),
        .init("DELETE", "/projects/{project_id}/packages/{package_id}"),
        .init(
            "GET",
            "/projects/{project_id}/packages/{package_id}",
            .init { state, call throws(RevenueCatError) in try state.getPackage(call) }
        ),
        .init("POST", "/projects/{project_id}/packages/{package_id}"),
        .init("POST", "/projects/{project_id}/packages/{package_id}/actions/attach_products"),
        .init("POST", "/projects/{project_id}/packages/{package_id}/actions/detach_products"),
        .init(
            "GET",
            "/projects/{project_id}/packages/{package_id}/products",
            .init { state, call throws(RevenueCatError) in try state.getProductsFromPackage(call) }
        ),
    ]

    static let paywallRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/paywalls",
            .init { state, call throws(RevenueCatError) in try state.listPaywalls(call) },
            deviation: "the list is always empty, because the fake has no paywalls"
        ),
        .init("POST", "/projects/{project_id}/paywalls"),
        .init("DELETE", "/projects/{project_id}/paywalls/{paywall_id}"),
        .init(
            "GET",
            "/projects/{project_id}/paywalls/{paywall_id}",
            .init { state, call throws(RevenueCatError) in try state.getPaywall(call) },
            deviation: "the status is always 404, because the fake has no paywalls"
        ),
    ]

    static let productRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/products",
            .init { state, call throws(RevenueCatError) in try state.listProducts(call) }
        ),
        .init("POST", "/projects/{project_id}/products"),
        .init("DELETE", "/projects/{project_id}/products/{product_id}"),
        .init(
            "GET",
            "/projects/{project_id}/products/{product_id}",
            .init { state, call throws(RevenueCatError) in try state.getProduct(call) }
        ),
        .init("POST", "/projects/{project_id}/products/{product_id}/create_in_store"),
    ]
}

/// The operations of REST v2 on a project's entitlements, offerings, packages, paywalls and
/// products.
///
/// They are read-only: the control API fills the catalog.
extension RevenueCatState {
    func listEntitlements(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        let isExpanded = try call.requestedExpansions("product").contains("product")
        let items = entitlementNames.map {
            (Self.entitlementID($0), entitlement(named: $0, call, withProducts: isExpanded))
        }
        return try pageResponse(items, call.projectPath + "/entitlements", call)
    }

    func getEntitlement(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        let name = try entitlement(call.named("entitlement_id"))
        let isExpanded = try call.requestedExpansions("product").contains("product")
        return HTTPMessage.Response(
            200,
            json: entitlement(named: name, call, withProducts: isExpanded)
        )
    }

    func getProductsFromEntitlement(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.named("entitlement_id")
        let name = try entitlement(id)
        let items = products(grantingEntitlement: name).map {
            (Self.productID($0), product($0, call))
        }
        return try pageResponse(items, "\(call.projectPath)/entitlements/\(id)/products", call)
    }

    func listOfferings(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        try pageResponse(
            [(Self.offeringID("default"), try offering(call))],
            call.projectPath + "/offerings",
            call
        )
    }

    func getOffering(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        try requireOffering(call)
        return HTTPMessage.Response(200, json: try offering(call))
    }

    func listPackages(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        try requireOffering(call)
        let path = "\(call.projectPath)/offerings/\(call.named("offering_id"))/packages"
        let isExpanded = try call.requestedExpansions("product").contains("product")
        return try pageResponse(packages(call, withProducts: isExpanded), path, call)
    }

    func getPackage(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.named("package_id")
        let isExpanded = try call.requestedExpansions("product").contains("product")
        let all = packages(call, withProducts: isExpanded)
        guard let matchingPackage = all.first(where: { $0.id == id }) else {
            throw .missingResource("package")
        }
        return HTTPMessage.Response(200, json: matchingPackage.value)
    }

    func getProductsFromPackage(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
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
    }

    func listPaywalls(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        try pageResponse([], call.projectPath + "/paywalls", call)
    }

    func getPaywall(_: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        throw .missingResource("paywall")
    }

    func listProducts(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        if let app = call.query("app_id"), app != settings.appID {
            throw .missingResource("app")
        }
        let isExpanded = try call.requestedExpansions("app").contains("app")
        let items = products.map {
            (Self.productID($0), product($0, call, withApp: isExpanded))
        }
        return try pageResponse(items, call.projectPath + "/products", call)
    }

    func getProduct(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.named("product_id")
        guard let name = products.first(where: { Self.productID($0) == id }) else {
            throw .missingResource("product")
        }
        let isExpanded = try call.requestedExpansions("app").contains("app")
        return HTTPMessage.Response(200, json: product(name, call, withApp: isExpanded))
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

    // MARK: JSON of resources

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
