package import Values

extension RevenueCatState: PurchaseSender {
    package static func purchaseEvent(
        of user: String,
        name: String,
        in context: EventContext
    ) -> JSONValue {
        EventFactory(context).body(
            EventSpec(type: .documented(.initialPurchase), user: user),
            name: name
        )
    }

    package static func testEvent(
        of user: String,
        name: String,
        in context: EventContext
    ) -> JSONValue {
        EventFactory(context).body(EventSpec(type: .documented(.test), user: user), name: name)
    }

    package static let commonWebhookPaths = [
        "/api/webhooks/revenuecat", "/webhooks/revenuecat", "/webhook/revenuecat",
        "/revenuecat/webhook", "/revenuecat-webhook", "/api/revenuecat/webhook",
        "/billing/revenuecat-webhook", "/webhooks/rc", "/webhook", "/",
    ]

    package static let webhookPathWords = [
        "revenuecat", "webhook", "hook", "rc", "purchases", "billing", "event", "subscription",
    ]

    package static let stateReadOperation: String? = "GET /v1/subscribers"
}

extension RevenueCatState: EventDrivenFake {
    package static func reportsUserState(_ body: JSONValue) -> Bool {
        body["event"]?["app_user_id"] != nil
    }

    package static func userIDs(in body: JSONValue) -> [String] {
        let event = body["event"]
        var ids = ["app_user_id", "original_app_user_id"].compactMap { event?[$0]?.string }
        for list in ["aliases", "transferred_from", "transferred_to"] {
            ids += event?[list]?.array?.compactMap(\.string) ?? []
        }
        return ids
    }

    package static func apply(_ body: JSONValue, _ services: inout Services) {
        services.revenueCat.apply(body)
    }
}
