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
    package static func reportsUserState(_ body: JSONValue) -> Bool { !userIDs(in: body).isEmpty }

    package static func userIDs(in body: JSONValue) -> [String] {
        EventCustomers.ids(
            body["event"]?.object,
            EventCustomers.identityKeys + EventCustomers.partyKeys
        )
    }

    package static func apply(_ body: JSONValue, _ services: inout Services) {
        services.revenueCat.apply(body)
    }

    package static func recordResources(of body: JSONValue, _ services: inout Services) {
        services.revenueCat.catalog.recordResources(of: body)
    }
}
