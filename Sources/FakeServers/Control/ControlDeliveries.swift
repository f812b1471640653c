internal import Contracts
internal import Providers
internal import Values

/// Operations of the control API on the deliveries of webhook events to the backend.
extension ControlRoute {
    static let deliveryRoutes = [
        ControlRoute(
            "deliveries",
            "GET",
            "/deliveries",
            "Lists the deliveries of webhook events, with every attempt.",
            parameters: [
                ControlParameter(
                    "state",
                    "Only deliveries in this state: waiting, underway, delivered or failed."
                )
            ],
            handler: .response { (api, call) async throws(ControlRefusal) in
                try api.deliverySummaries(call)
            }
        ),
        ControlRoute(
            "flush",
            "POST",
            "/deliveries/flush",
            "Makes all deliveries that are due, and waits until they end.",
            handler: .response { api, call in
                ["attempts": .integer(Int64(await api.dispatcher.flush(call.namespace)))]
            }
        ),
        ControlRoute(
            "resend",
            "POST",
            "/deliveries/{event}/resend",
            "Sends a webhook event again at once, unchanged or with another body.",
            members: [
                ControlMember("configuration", .text, "The name of the only webhook to call."),
                ControlMember(
                    "number",
                    .integer,
                    "The number of the delivery to repeat, if the event has several."
                ),
                ControlMember(
                    "body",
                    .object,
                    "The body to send, with a new signature. It does not change the subscriber."
                ),
            ],
            handler: .response { (api, call) async throws(ControlRefusal) in
                try await api.resend(call)
            }
        ),
    ]
}

extension ControlAPI {
    fileprivate func deliverySummaries(_ call: Call) throws(Refusal) -> JSONValue {
        let requestedState = call.query("state")
        if let requestedState, WebhookDelivery.State(rawValue: requestedState) == nil {
            throw Refusal(400, "'state' must be waiting, underway, delivered or failed")
        }
        let all = fakes.read(call.namespace) { services, _ in services.queue.all } ?? []
        let matchingDeliveries = all.filter {
            requestedState == nil || $0.state.rawValue == requestedState
        }
        return ["deliveries": .array(matchingDeliveries.suffix(1000).map(Self.deliveryJSON))]
    }

    /// Returns the response to an operation, with the webhook deliveries that the operation caused.
    ///
    /// If the call sets `settle`, the response waits until these deliveries have been made.
    func responseWithDeliveries(
        _ call: Call,
        from number: Int,
        _ response: JSONObject
    ) async -> JSONValue {
        if call.body["settle"]?.bool == true { _ = await dispatcher.flush(call.namespace) }
        let addedDeliveries =
            fakes.read(call.namespace) { services, _ in services.queue.addedDeliveries(from: number)
            } ?? []
        var response = response
        response["deliveries"] = .array(addedDeliveries.map(Self.deliveryJSON))
        return .object(response)
    }

    func nextDeliveryNumber(_ namespace: String) -> Int {
        fakes.read(namespace) { services, _ in services.queue.nextNumber } ?? 1
    }

    static func deliveryJSON(_ delivery: WebhookDelivery) -> JSONValue {
        .object(
            .present([
                ("number", .integer(Int64(delivery.number))),
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
                ), ("body", JSONValue(ifValid: delivery.body)),
            ])
        )
    }

    fileprivate func resend(_ call: Call) async throws(Refusal) -> JSONValue {
        let firstDeliveryNumber = nextDeliveryNumber(call.namespace)
        let count = fakes.edit(call.namespace) { services, now in
            let body = call.hasMember("body") ? call.body["body"] : nil
            return services.resend(
                call.value,
                to: call.body["configuration"]?.string,
                as: call.body["number"]?.int64.map(Int.init),
                withBody: body,
                at: now
            )
        }
        guard count ?? 0 > 0 else {
            throw Refusal(
                404,
                "there is no delivery of an event '\(call.value)'",
                hint: "GET /assay/v1/deliveries lists all deliveries"
            )
        }
        _ = await dispatcher.flush(call.namespace)
        return await responseWithDeliveries(call, from: firstDeliveryNumber, JSONObject())
    }
}
