internal import Conformance
internal import Providers

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
            handler: .answer { (api, call) async throws(ControlRefusal) in
                try api.subscriberSummaries(call)
            }
        )
    ]
}

extension ControlAPI {
    fileprivate func subscriberSummaries(_ call: Call) throws(Refusal) -> JSONValue {
        let limit = try limit(call) ?? 100
        let part = call.query("id") ?? ""
        let found = world.read(call.namespace) { services, now in
            services.table.entries.flatMap { provider in
                provider.subscribers(services, now).map { (provider.party, $0) }
            }
        }
        let wanted = (found ?? []).filter { _, subscriber in
            part.isEmpty || subscriber.ids.contains { $0.contains(part) }
        }
        let sorted = wanted.sorted { left, right in
            (left.1.lastSeen, left.1.ids.first ?? "") > (right.1.lastSeen, right.1.ids.first ?? "")
        }
        return [
            "subscribers": .array(sorted.prefix(limit).map(Self.shown)),
            "count": .integer(Int64(sorted.count)),
        ]
    }

    private static func shown(
        _ provider: Exchange.Party,
        _ subscriber: SubscriberSummary
    ) -> JSONValue {
        [
            "provider": .string(provider.description), "ids": .strings(subscriber.ids),
            "seen": .string(subscriber.lastSeen.preciseText),
            "access": .strings(subscriber.activeEntitlements),
            "holdings": .array(subscriber.purchases.map(shown)),
        ]
    }

    private static func shown(_ holding: SubscriberSummary.PurchaseSummary) -> JSONValue {
        [
            "product": .string(holding.product), "store": .string(holding.store),
            "environment": .string(holding.environment),
            "state": .string(holding.state.rawValue),
            "began": .string(holding.firstPurchased.preciseText),
            "period": .string(holding.periodStart.preciseText),
            "ends": holding.accessEnd.map { .string($0.preciseText) } ?? .null,
        ]
    }
}
