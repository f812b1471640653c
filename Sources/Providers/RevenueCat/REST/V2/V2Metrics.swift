internal import Values

extension V2Operation {
    static let metricsRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/metrics/overview",
            .init(V2Metrics.getOverview),
            deviation: "amounts are always in US dollars, whatever currency is requested"
        )
    ]
}

/// The operations of REST v2 on the metrics of a project.
enum V2Metrics {
    /// Returns the response with the metrics of the dashboard's overview, calculated from all
    /// purchases in the fake.
    static func getOverview(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
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
        let metrics = overviewMetrics(state, at: call.now)
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
    private static func overviewMetrics(
        _ state: RevenueCatState,
        at now: Instant
    ) -> [(id: String, name: String, unit: String, period: String, value: Double)] {
        let periodStart = now - .days(28)
        let customers = state.customers.all
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
            let days = state.catalog.product(purchase.productID).days ?? 30
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
}
