internal import Conformance
internal import Providers

/// Events on their way to the backend.
extension ControlAPI {
    /// Waits for the deliveries of an action when the caller asked for it, and shows them.
    func settled(
        _ call: Call,
        from number: Int,
        _ answer: JSONObject
    ) async -> JSONValue {
        if call.body["settle"]?.bool == true { _ = await courier.flush(call.namespace) }
        let all = world.read(call.namespace) { services, _ in services.queue.all } ?? []
        var answer = answer
        answer["deliveries"] = .array(all.filter { $0.number >= number }.map(Self.shown))
        return .object(answer)
    }

    func nextDelivery(_ namespace: String) -> Int {
        world.read(namespace) { services, _ in (services.queue.all.last?.number ?? 0) + 1 } ?? 1
    }

    static func shown(_ delivery: WebhookDelivery) -> JSONValue {
        .object(
            .present([
                ("event", .string(delivery.eventID)), ("type", .string(delivery.type)),
                ("provider", .string(delivery.provider.description)),
                ("webhook", .string(delivery.configuration)),
                ("state", .string(delivery.state.rawValue)),
                ("due", delivery.state == .waiting ? .string(delivery.due.preciseText) : nil),
                (
                    "attempts",
                    .array(
                        delivery.attempts.map { attempt in
                            .object(
                                .present([
                                    ("at", .string(attempt.at.preciseText)),
                                    ("status", attempt.status.map { .integer(Int64($0)) }),
                                    ("failure", attempt.failure.map(JSONValue.string)),
                                ])
                            )
                        }
                    )
                ), ("body", try? JSONValue(parsing: delivery.body)),
            ])
        )
    }

    func send(_ call: Call) async throws(Refusal) -> JSONValue {
        guard var event = call.body["event"]?.object, event["type"]?.string != nil else {
            throw Refusal(400, "'event' is an object with a 'type'")
        }
        let first = nextDelivery(call.namespace)
        let hooks = world.edit(call.namespace) { services, now -> Int in
            if event["id"] == nil, event["event_id"] == nil {
                event["id"] = .string(services.revenueCat.newEventID())
            }
            if event["event_timestamp_ms"] == nil {
                event["event_timestamp_ms"] = .integer(now.milliseconds)
            }
            services.revenueCat.apply(RevenueCatState.body(event))
            services.revenueCat.announce(event)
            return services.revenueCat.webhooks.count
        }
        guard hooks != 0 else {
            throw Refusal(
                409,
                "no webhook is configured",
                hint: "PUT /assay/v1/webhooks/main with {\"url\": \"http://127.0.0.1:…\"}"
            )
        }
        return await settled(call, from: first, ["event": .object(event)])
    }

    func deliveries(_ route: ControlRoute, _ call: Call) async throws(Refusal) -> JSONValue {
        switch route {
        case .flush:
            let count = await courier.flush(call.namespace)
            return ["attempts": .integer(Int64(count))]
        case .resend: return try await resend(call)
        default:
            let wanted = call.query("state")
            if let wanted, WebhookDelivery.State(rawValue: wanted) == nil {
                throw Refusal(400, "'state' is waiting, underway, delivered or failed")
            }
            let all = world.read(call.namespace) { services, _ in services.queue.all } ?? []
            let found = all.filter { wanted == nil || $0.state.rawValue == wanted }
            return ["deliveries": .array(found.suffix(1000).map(Self.shown))]
        }
    }

    private func resend(_ call: Call) async throws(Refusal) -> JSONValue {
        let first = nextDelivery(call.namespace)
        let count = world.edit(call.namespace) { services, now in
            services.queue.resend(call.value, to: call.body["configuration"]?.string, at: now)
        }
        guard count ?? 0 > 0 else {
            throw Refusal(
                404,
                "no delivery of an event '\(call.value)' is known",
                hint: "GET /assay/v1/deliveries lists them"
            )
        }
        _ = await courier.flush(call.namespace)
        return await settled(call, from: first, JSONObject())
    }
}
