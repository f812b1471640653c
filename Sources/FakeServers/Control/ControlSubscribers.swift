internal import Contracts
internal import Providers
internal import Values

/// Operations of the control API that list the subscribers of all providers.
extension ControlRoute {
    static let subscriberRoutes = [
        ControlRoute(
            "subscribers",
            "GET",
            "/subscribers",
            "Lists the subscribers of all providers, the most recently seen first.",
            parameters: [
                ControlParameter(
                    "limit",
                    "The maximum number of subscribers, 1 to 1000 (default 100)."
                ),
                ControlParameter("id", "Only subscribers with an ID that contains this string."),
            ],
            handler: .response { (api, call) async throws(ControlRefusal) in
                try api.subscriberSummaries(call)
            }
        )
    ]
}

extension ControlAPI {
    fileprivate func subscriberSummaries(_ call: Call) throws(Refusal) -> JSONValue {
        let limit = try limit(call) ?? 100
        let idSubstring = call.query("id") ?? ""
        let entriesByProvider = fakes.read(call.namespace) { services, now in
            services.providerTable.entries.flatMap { provider in
                provider.subscribers(services, now).map { (provider.party, $0) }
            }
        }
        let matchingSubscribers = (entriesByProvider ?? []).filter { _, subscriber in
            idSubstring.isEmpty || subscriber.ids.contains { $0.contains(idSubstring) }
        }
        let sorted = matchingSubscribers.sorted { left, right in
            (left.1.lastSeen, left.1.ids.first ?? "") > (right.1.lastSeen, right.1.ids.first ?? "")
        }
        return [
            "subscribers": .array(sorted.prefix(limit).map(Self.subscriberJSON)),
            "count": .integer(Int64(sorted.count)),
        ]
    }

    private static func subscriberJSON(
        _ provider: Exchange.Party,
        _ subscriber: SubscriberSummary
    ) -> JSONValue {
        [
            "provider": .string(provider.description), "ids": .strings(subscriber.ids),
            "seen": .string(subscriber.lastSeen.preciseText),
            "access": .strings(subscriber.activeEntitlements),
            "holdings": .array(subscriber.purchases.map(subscriberJSON)),
        ]
    }

    private static func subscriberJSON(_ purchase: SubscriberSummary.PurchaseSummary) -> JSONValue {
        [
            "product": .string(purchase.product), "store": .string(purchase.store),
            "environment": .string(purchase.environment),
            "state": .string(purchase.state.rawValue),
            "began": .string(purchase.firstPurchaseTime.preciseText),
            "period": .string(purchase.periodStart.preciseText),
            "ends": purchase.accessEnd.map { .string($0.preciseText) } ?? .null,
        ]
    }
}
