internal import Redaction
internal import Values

/// The control API's operations on the webhook configurations of RevenueCat's dashboard.
enum WebhookControls {
    static let all = [
        ProviderControl(
            "webhooks",
            "GET",
            "/webhooks",
            "Returns RevenueCat's webhook configurations."
        ) { services, _, _ in
            webhooksJSON(services)
        },
        ProviderControl(
            "putWebhook",
            "PUT",
            "/webhooks/{id}",
            "Adds or changes a webhook configuration.",
            members: [
                ControlMember("url", .address, "The URL that receives the events."),
                ControlMember("authorization", .text, "The value of the Authorization header."),
                ControlMember("signing-secret", .text, "The secret that signs the events (HMAC)."),
                ControlMember(
                    "environment",
                    .choice(["PRODUCTION", "SANDBOX"]),
                    "Send only events of PRODUCTION or SANDBOX; null: both."
                ),
                ControlMember("app", .text, "Send only events of this app."),
                ControlMember("types", .stringList, "Send only events of these types."),
                ControlMember("paywall-events", .flag, "Send paywall events (default true)."),
                ControlMember(
                    "temporary-grants",
                    .flag,
                    "Send events about temporary grants (default true)."
                ),
            ],
            handler: putWebhook
        ),
        ProviderControl(
            "deleteWebhook",
            "DELETE",
            "/webhooks/{id}",
            "Removes a webhook configuration.",
            handler: deleteWebhook
        ),
    ]

    private static func putWebhook(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        guard !call.value.isEmpty, call.value.utf8.count <= 200 else {
            throw ControlRefusal(400, "a webhook ID must have 1 to 200 characters")
        }
        guard let url = call.text("url") else { throw ControlRefusal(400, "'url' is missing") }
        let newWebhook = WebhookConfiguration(
            id: call.value,
            url: url,
            authorization: call.body["authorization"]?.string.map(Secret.init),
            signingKey: call.body["signing-secret"]?.string.map(Secret.init),
            environment: call.body["environment"]?.string,
            app: call.body["app"]?.string,
            types: (call.body["types"]?.array ?? []).compactMap(\.string),
            sendsPaywallEvents: call.body["paywall-events"]?.bool ?? true,
            sendsTemporaryGrants: call.body["temporary-grants"]?.bool ?? true
        )
        services.revenueCat.webhooks.removeAll { $0.id == newWebhook.id }
        services.revenueCat.webhooks.append(newWebhook)
        return webhooksJSON(services)
    }

    private static func deleteWebhook(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        guard services.revenueCat.webhooks.contains(where: { $0.id == call.value }) else {
            throw ControlRefusal(404, "there is no webhook '\(call.value)'")
        }
        services.revenueCat.webhooks.removeAll { $0.id == call.value }
        return webhooksJSON(services)
    }

    private static func webhooksJSON(_ services: Services) -> JSONObject {
        ["webhooks": .array(services.revenueCat.webhooks.map(\.json))]
    }
}

extension WebhookConfiguration {
    /// The configuration as the control API shows it.
    ///
    /// A secret is not shown, only whether it is set.
    fileprivate var json: JSONValue {
        .object(
            .present([
                ("id", .string(id)), ("url", .string(url)),
                ("authorized", .bool(authorization != nil)),
                ("signed", .bool(signingKey != nil)),
                ("environment", environment.map(JSONValue.string)),
                ("app", app.map(JSONValue.string)),
                ("types", .strings(types)),
                ("paywall-events", .bool(sendsPaywallEvents)),
                ("temporary-grants", .bool(sendsTemporaryGrants)),
            ])
        )
    }
}
