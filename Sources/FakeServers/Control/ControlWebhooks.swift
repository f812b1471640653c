internal import Conformance
internal import Providers

/// Where the providers send events.
extension ControlAPI {
    func webhooks(_ route: ControlRoute, _ call: Call) throws(Refusal) -> JSONValue {
        switch route {
        case .putWebhook:
            let made = try webhook(call)
            world.edit(call.namespace) { services, _ in
                services.revenueCat.webhooks.removeAll { $0.id == made.id }
                services.revenueCat.webhooks.append(made)
            }
        case .deleteWebhook:
            let isKnown = world.edit(call.namespace) { services, _ in
                let count = services.revenueCat.webhooks.count
                services.revenueCat.webhooks.removeAll { $0.id == call.value }
                return services.revenueCat.webhooks.count < count
            }
            guard isKnown == true else { throw Refusal(404, "there is no webhook '\(call.value)'") }
        case .purchaselyWebhook:
            let made = PurchaselyWebhook(
                url: try url(call),
                secret: secret(call, "signing-secret")
            )
            world.edit(call.namespace) { services, _ in services.purchasely.webhook = made }
            return ["url": .string(made.url), "signed": .bool(made.secret != nil)]
        default: break
        }
        let known = world.read(call.namespace) { services, _ in services.revenueCat.webhooks } ?? []
        return ["webhooks": .array(known.map(Self.shown))]
    }

    private func secret(_ call: Call, _ name: String) -> Secret? {
        call.body[name]?.string.map(Secret.init)
    }

    private func url(_ call: Call) throws(Refusal) -> String {
        let text = call.body["url"]?.string ?? ""
        guard WebhookURL(text, allowedHosts: allowedHosts) != nil else {
            throw Refusal(
                400,
                "'url' is '\(text)', which is no http URL on this machine",
                hint: "another host needs assay serve --allow-host NAME"
            )
        }
        return text
    }

    private func webhook(_ call: Call) throws(Refusal) -> WebhookConfiguration {
        let environment = call.body["environment"]?.string
        guard environment.map({ ["PRODUCTION", "SANDBOX"].contains($0) }) ?? true else {
            throw Refusal(400, "'environment' is PRODUCTION or SANDBOX; leave it out for both")
        }
        return WebhookConfiguration(
            id: try text(call.value, "a webhook's id"),
            url: try url(call),
            authorization: secret(call, "authorization"),
            signingKey: secret(call, "signing-secret"),
            environment: environment,
            app: call.body["app"]?.string,
            types: (call.body["types"]?.array ?? []).compactMap(\.string),
            sendsPaywallEvents: call.body["paywall-events"]?.bool ?? true,
            sendsTemporaryGrants: call.body["temporary-grants"]?.bool ?? true
        )
    }

    /// Of secrets only that there are any.
    private static func shown(_ webhook: WebhookConfiguration) -> JSONValue {
        .object(
            .present([
                ("id", .string(webhook.id)), ("url", .string(webhook.url)),
                ("authorized", .bool(webhook.authorization != nil)),
                ("signed", .bool(webhook.signingKey != nil)),
                ("environment", webhook.environment.map(JSONValue.string)),
                ("app", webhook.app.map(JSONValue.string)), ("types", .strings(webhook.types)),
                ("paywall-events", .bool(webhook.sendsPaywallEvents)),
                ("temporary-grants", .bool(webhook.sendsTemporaryGrants)),
            ])
        )
    }
}
