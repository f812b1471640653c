internal import Contracts
package import Redaction
package import Values

/// The switches of the fake RevenueCat.
///
/// They select behavior that the RevenueCat fact sheet marks as unverified, as inferred, or as
/// dependent on the project's configuration.
package struct RevenueCatSettings: Hashable, Codable, Sendable {
    /// The effect of a receipt that already belongs to another customer (RevenueCat fact sheet,
    /// section 5.4).
    package enum RestoreBehavior: String, Hashable, Codable, Sendable, CaseIterable {
        case transfer
        case transferIfNoActiveSubscriptions = "transfer_if_no_active_subs"
        case keep = "error"
        case share
    }

    package enum RetryAfterUnit: String, Hashable, Codable, Sendable { case milliseconds, seconds }

    package enum PurchaseType: String, Hashable, Codable, Sendable {
        case initialPurchase = "INITIAL_PURCHASE"
        case renewal = "RENEWAL"
    }

    package var project = "proja55a4c0de"
    /// Whether REST v2 accepts only the project ID in `project`.
    ///
    /// If nil, it accepts any ID, as it did before this switch existed.
    ///
    /// The response for an unknown project is *inferred*: 404 `resource_missing` (RevenueCat fact
    /// sheet, section 4.4).
    package var knowsItsProjectAlone: Bool?
    package var appID = "appa55a4c0de1"
    package var restoreBehavior = RestoreBehavior.transfer
    /// The number of calls that are allowed in one minute.
    ///
    /// A further call gets 429. If nil, the number is not limited.
    package var callsPerMinuteMax: Int?
    /// The unit of the header `Retry-After` in a response with status 429.
    package var retryAfterUnit = RetryAfterUnit.milliseconds
    /// The status of the response to a read that created the customer.
    ///
    /// It is 201 in the API description, and 200 in section 4.1 of the RevenueCat fact sheet
    /// (unverified).
    package var createdByReadStatus = 201
    /// The type of the purchase event that accompanies an immediate product change on Play
    /// (RevenueCat fact sheet, section 3, row 11).
    package var playChangeEvent = PurchaseType.initialPurchase
    /// The type of the event for a purchase after the subscription lapsed (RevenueCat fact sheet,
    /// section 3, row 5).
    package var resubscriptionEvent = PurchaseType.initialPurchase
    /// Whether RevenueCat sends an EXPIRATION event after a refund (RevenueCat fact sheet, section
    /// 3, row 13).
    package var expiresAfterRefund = true
    /// The time in seconds between the end of a period and its EXPIRATION event.
    ///
    /// In the real service, this time is between some seconds and an hour (RevenueCat fact sheet,
    /// section 3, row 3).
    package var expirationDelaySeconds: Int64 = 5
    /// The `expiration_reason` in the event about the end of a promotional grant (RevenueCat fact
    /// sheet, section 3, row 22).
    package var promotionalEndReason = "UNSUBSCRIBE"
    /// The time in seconds by which REST responses lag behind webhook events.
    ///
    /// RevenueCat does not guarantee that REST returns a change before or after the webhook event
    /// about the change (RevenueCat fact sheet, section 1.5).
    package var restLagSeconds: Int64 = 0
    /// The ID of the OneSignal app to which RevenueCat's OneSignal integration writes tags.
    package var oneSignalApp = "a55a4000-0000-4000-8000-000000000000"
    /// The standard names of the tags that the OneSignal integration does not send.
    package var oneSignalTagsOff: [String] = []
    /// The custom names of tags in the settings of the OneSignal integration, by their standard
    /// names.
    package var oneSignalTagNames: [String: String]?

    package init() {}
}

/// A webhook in RevenueCat's dashboard: the destination of events, and the filters that select them
/// (RevenueCat fact sheet, section 1.5, "Configurations").
package struct WebhookConfiguration: Hashable, Sendable {
    package var id: String
    package var url: String
    /// The complete value of the `Authorization` header that each webhook request carries.
    package var authorization: Secret?
    package var signingKey: Secret?
    /// The environment whose events are sent: `PRODUCTION` or `SANDBOX`.
    ///
    /// If nil, the events of both environments are sent.
    package var environment: String?
    /// The ID of the only app whose events are sent.
    ///
    /// If nil, the events of all apps are sent.
    package var app: String?
    /// The only types of events that are sent.
    ///
    /// If the list is empty, events of all types are sent.
    package var types: [String]
    package var sendsPaywallEvents: Bool
    package var sendsTemporaryGrants: Bool

    package init(
        id: String,
        url: String,
        authorization: Secret? = nil,
        signingKey: Secret? = nil,
        environment: String? = nil,
        app: String? = nil,
        types: [String] = [],
        sendsPaywallEvents: Bool = true,
        sendsTemporaryGrants: Bool = true
    ) {
        self.id = id
        self.url = url
        self.authorization = authorization
        self.signingKey = signingKey
        self.environment = environment
        self.app = app
        self.types = types
        self.sendsPaywallEvents = sendsPaywallEvents
        self.sendsTemporaryGrants = sendsTemporaryGrants
    }

    /// Whether an event passes the filters of this webhook.
    package func accepts(_ event: JSONObject) -> Bool {
        let type = RevenueCatEventType(rawValue: event["type"]?.string ?? "")
        let eventEnvironment = event["environment"]?.string ?? event["purchase_environment"]?.string
        if let environment, let eventEnvironment, eventEnvironment != environment { return false }
        if let app, let eventAppID = event["app_id"]?.string, eventAppID != app { return false }
        if !types.isEmpty, !types.contains(type.rawValue) { return false }
        // A project may choose the names of its paywall events, so the type does not show them.
        if event["paywall_id"] != nil, !sendsPaywallEvents { return false }
        return type.documented != .temporaryEntitlementGrant || sendsTemporaryGrants
    }
}

extension WebhookConfiguration: Codable {
    /// The members of the saved state.
    ///
    /// The secrets are not among them, because they are configuration.
    private enum CodingKeys: String, CodingKey {
        case id, url, environment, app, types, sendsPaywallEvents, sendsTemporaryGrants
    }
}

/// The products that the stores sell to the customers of the fake RevenueCat.
package struct Catalog: Hashable, Codable, Sendable {
    package struct Product: Hashable, Codable, Sendable {
        /// The length of the product's subscription period in days; nil for a one-time purchase.
        package var days: Int64?
        package var trialDays: Int64 = 7
        package var price: Double
        package var currency = "USD"
        /// The number of units of `currency` that equal one US dollar.
        package var exchangeRate: Double = 1
        /// The names of the entitlements that the product grants.
        ///
        /// The list is empty for a consumable.
        package var entitlements: [String]
        /// The base plan of the product on Play.
        ///
        /// Webhooks append it to the product ID.
        package var basePlan: String?

        package init(days: Int64?, price: Double, entitlements: [String]) {
            self.days = days
            self.price = price
            self.entitlements = entitlements
        }

        /// The allowed lengths of a subscription period in days.
        ///
        /// A shorter period would renew endlessly.
        static let validPeriodDays: ClosedRange<Int64> = 1...36_500

        private enum CodingKeys: String, CodingKey {
            case days, trialDays, price, currency, exchangeRate, entitlements, basePlan
        }

        /// - Throws: A decoding error for a period that is not within 1 to 36,500 days.
        package init(from decoder: any Decoder) throws {
            let saved = try decoder.container(keyedBy: CodingKeys.self)
            days = try saved.decodeIfPresent(Int64.self, forKey: .days)
            trialDays = try saved.decode(Int64.self, forKey: .trialDays)
            price = try saved.decode(Double.self, forKey: .price)
            currency = try saved.decode(String.self, forKey: .currency)
            exchangeRate = try saved.decode(Double.self, forKey: .exchangeRate)
            entitlements = try saved.decode([String].self, forKey: .entitlements)
            basePlan = try saved.decodeIfPresent(String.self, forKey: .basePlan)
            guard days.map(Self.validPeriodDays.contains) ?? true else {
                throw DecodingError.dataCorruptedError(
                    forKey: .days,
                    in: saved,
                    debugDescription: "a period must have 1 to 36500 days"
                )
            }
        }
    }

    package var entitlement = "premium"
    package var products: [String: Product] = [:]

    package init() {}

    /// The sorted IDs of all products on sale.
    ///
    /// If no product is defined, these are two default products.
    package var sellableProductIDs: [String] {
        products.isEmpty ? ["premium_monthly", "premium_yearly"] : products.keys.sorted()
    }

    /// The product that the fake uses for a receipt that names no product.
    package var first: String { sellableProductIDs.first ?? "premium_monthly" }

    /// Returns the product with this ID.
    ///
    /// If the product is not defined, the fake guesses it from words in the ID, such as `weekly`,
    /// `yearly`, `lifetime` and `coins`. A first purchase therefore needs no preparation.
    package func product(_ id: String) -> Product {
        if let configuredProduct = products[id] { return configuredProduct }
        let name = id.lowercased()
        if name.contains("coin") || name.contains("consumable") {
            return Product(days: nil, price: 1.99, entitlements: [])
        }
        if name.contains("lifetime") || name.contains("unlock") {
            return Product(days: nil, price: 99.99, entitlements: [entitlement])
        }
        if name.contains("week") {
            return Product(days: 7, price: 4.99, entitlements: [entitlement])
        }
        if name.contains("year") || name.contains("annual") {
            return Product(days: 365, price: 59.99, entitlements: [entitlement])
        }
        return Product(days: 30, price: 9.99, entitlements: [entitlement])
    }
}
