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
            work: .answer { (api, call) async throws(ControlRefusal) in
                try api.shownSubscribers(call)
            }
        )
    ]
}

extension ControlAPI {
    fileprivate func shownSubscribers(_ call: Call) throws(Refusal) -> JSONValue {
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
            (left.1.seen, left.1.ids.first ?? "") > (right.1.seen, right.1.ids.first ?? "")
        }
        return [
            "subscribers": .array(sorted.prefix(limit).map(Self.shown)),
            "count": .integer(Int64(sorted.count)),
        ]
    }

    private static func shown(
        _ provider: Exchange.Party,
        _ subscriber: ShownSubscriber
    ) -> JSONValue {
        [
            "provider": .string(provider.description), "ids": .strings(subscriber.ids),
            "seen": .string(subscriber.seen.preciseText), "access": .strings(subscriber.access),
            "holdings": .array(subscriber.holdings.map(shown)),
        ]
    }

    private static func shown(_ holding: ShownSubscriber.Holding) -> JSONValue {
        [
            "product": .string(holding.product), "store": .string(holding.store),
            "environment": .string(holding.environment),
            "state": .string(holding.state.rawValue),
            "began": .string(holding.began.preciseText),
            "period": .string(holding.period.preciseText),
            "ends": holding.ends.map { .string($0.preciseText) } ?? .null,
        ]
    }
}
