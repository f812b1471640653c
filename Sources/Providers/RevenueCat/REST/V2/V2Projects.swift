internal import Values

extension V2Operation {
    static let projectRows: [Row] = [
        .init(
            "GET",
            "/projects",
            .init { state, call throws(RevenueCatError) in try state.listProjects(call) }
        ),
        .init("POST", "/projects"),
        .init(
            "GET",
            "/projects/{project_id}/apps",
            .init { state, call throws(RevenueCatError) in try state.listApps(call) }
        ),
        .init("POST", "/projects/{project_id}/apps"),
        .init("DELETE", "/projects/{project_id}/apps/{app_id}"),
        .init(
            "GET",
            "/projects/{project_id}/apps/{app_id}",
            .init { state, call throws(RevenueCatError) in try state.getApp(call) }
        ),
        .init("POST", "/projects/{project_id}/apps/{app_id}"),
        .init(
            "GET",
            "/projects/{project_id}/apps/{app_id}/public_api_keys",
            .init { state, call throws(RevenueCatError) in try state.listPublicAPIKeys(call) }
        ),
        .init("GET", "/projects/{project_id}/apps/{app_id}/store_kit_config"),
        .init("GET", "/projects/{project_id}/audit_logs"),
        .init("GET", "/projects/{project_id}/charts/{chart_name}"),
        .init("GET", "/projects/{project_id}/charts/{chart_name}/options"),
        .init("GET", "/projects/{project_id}/collaborators"),
    ]

    static let metricsRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/metrics/overview",
            .init { state, call throws(RevenueCatError) in try state.getOverviewMetrics(call) },
            deviation: "amounts are always in US dollars, whatever currency is requested"
        )
    ]
}

/// The operations of REST v2 on projects, their apps and their metrics.
extension RevenueCatState {
    /// The time at which the project was created, in milliseconds.
    ///
    /// No resource of the project is older.
    static let creationTime: JSONValue = .integer(1_577_836_800_000)

    func listProjects(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        let project: JSONValue = [
            "object": "project", "id": .string(settings.project), "name": "Assay",
            "created_at": Self.creationTime,
        ]
        return try pageResponse([(settings.project, project)], "/v2/projects", call)
    }

    func listApps(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        try pageResponse([(settings.appID, app(call))], call.projectPath + "/apps", call)
    }

    func getApp(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        try requireApp(call)
        return HTTPMessage.Response(200, json: app(call))
    }

    func listPublicAPIKeys(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
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
    }

    /// Returns the response with the metrics of the dashboard's overview, calculated from all
    /// purchases in the fake.
    func getOverviewMetrics(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
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
        let metrics = overviewMetrics(at: call.now)
        let metricsJSON = metrics.map { id, name, unit, period, value -> JSONValue in
            [
                "object": "overview_metric", "id": .string(id), "name": .string(name),
                "description": .string(name), "unit": .string(unit), "period": .string(period),
                "value": .number(JSONNumber(value)),
                "last_updated_at": .integer(call.now.milliseconds),
                "last_updated_at_iso8601": .string(call.now.description),
            ]
        }
        return HTTPMessage.Response(
            200,
            json: ["object": "overview_metrics", "metrics": .array(metricsJSON)]
        )
    }

    /// Returns the metrics of the overview: the ID, name, unit, period and value of each one.
    private func overviewMetrics(
        at now: Instant
    ) -> [(id: String, name: String, unit: String, period: String, value: Double)] {
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
        return [
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
    }

    private func requireApp(_ call: CallV2) throws(RevenueCatError) {
        guard call.named("app_id") == settings.appID else { throw .missingResource("app") }
    }

    // MARK: JSON of resources

    func app(_ call: CallV2) -> JSONValue {
        [
            "object": "app", "id": .string(settings.appID), "name": "Assay", "type": "app_store",
            "created_at": Self.creationTime, "project_id": .string(call.project),
            "app_store": ["bundle_id": "com.example.assay"],
        ]
    }
}
