package import Conformance

/// The switches of the fake RevenueCat: what the fact sheet marks as unverified, inferred or a
/// matter of the project's configuration.
package struct RevenueCatSettings: Hashable, Codable, Sendable {
    /// What happens when a receipt already belongs to somebody (fact sheet, section 5.4).
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
    /// Whether REST v2 knows `project` alone; none: it takes any id, as before there were switches.
    ///
    /// What an unknown project is answered is *inferred* (section 4.4): 404 `resource_missing`.
    package var knowsItsProjectAlone: Bool?
    package var appID = "appa55a4c0de1"
    package var restoreBehavior = RestoreBehavior.transfer
    /// Calls in one minute before 429; none: any number.
    package var callsPerMinuteMax: Int?
    /// The unit of `Retry-After` on a 429.
    package var retryAfterUnit = RetryAfterUnit.milliseconds
    /// The status of a read that created the customer: 201 by the API's description; the fact sheet
    /// has 200 (section 4.1, unverified).
    package var createdByReadStatus = 201
    /// The event beside an immediate product change on Play (section 3, row 11).
    package var playChangeEvent = PurchaseType.initialPurchase
    /// The event of a purchase after the subscription lapsed (section 3, row 5).
    package var resubscriptionEvent = PurchaseType.initialPurchase
    /// Whether an EXPIRATION follows a refund (section 3, row 13).
    package var expiresAfterRefund = true
    /// Seconds after the end of a period until EXPIRATION is sent (row 3: seconds to an hour).
    package var expirationDelaySeconds: Int64 = 5
    /// `expiration_reason` when a promotional grant runs out (section 3, row 22).
    package var promotionalEndReason = "UNSUBSCRIBE"
    /// Seconds that REST lags behind the webhook; no order is promised (section 1.5).
    package var restLagSeconds: Int64 = 0
    /// The attribute whose id the OneSignal integration writes tags to.
    package var oneSignalApp = "a55a4000-0000-4000-8000-000000000000"
    /// Names of tags that are not sent.
    package var oneSignalTagsOff: [String] = []
    /// Other names of tags, as the integration's settings take them, by the usual ones.
    package var oneSignalTagNames: [String: String]?

    package init() {}
}

/// Where events go, and which (fact sheet, section 1.5, "Configurations").
package struct WebhookConfiguration: Hashable, Sendable {
    package var id: String
    package var url: String
    /// The whole `Authorization` value.
    package var authorization: Secret?
    package var signingKey: Secret?
    /// `PRODUCTION` or `SANDBOX`; none: both.
    package var environment: String?
    /// Only events of this app; none: all.
    package var app: String?
    /// Only these types; empty: all.
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

    /// Whether an event passes the filters.
    package func takes(_ event: JSONObject) -> Bool {
        let type = event["type"]?.string ?? ""
        let place = event["environment"]?.string ?? event["purchase_environment"]?.string
        if let environment, let place, place != environment { return false }
        if let app, let sent = event["app_id"]?.string, sent != app { return false }
        if !types.isEmpty, !types.contains(type) { return false }
        if type.hasPrefix("PAYWALL_"), !sendsPaywallEvents { return false }
        return type != "TEMPORARY_ENTITLEMENT_GRANT" || sendsTemporaryGrants
    }
}

extension WebhookConfiguration: Codable {
    /// Secrets are configuration and never saved.
    private enum CodingKeys: String, CodingKey {
        case id, url, environment, app, types, sendsPaywallEvents, sendsTemporaryGrants
    }
}

/// What the stores sell.
package struct Catalog: Hashable, Codable, Sendable {
    package struct Product: Hashable, Codable, Sendable {
        /// Length of a period in days; none: bought once and kept.
        package var days: Int64?
        package var trialDays: Int64 = 7
        package var price: Double
        package var currency = "USD"
        /// Units of `currency` for a US dollar.
        package var exchangeRate: Double = 1
        /// Empty for a consumable.
        package var entitlements: [String]
        /// Play's base plan, which webhooks join to the id.
        package var basePlan: String?

        package init(days: Int64?, price: Double, entitlements: [String]) {
            self.days = days
            self.price = price
            self.entitlements = entitlements
        }

        /// The days that a period may have; a shorter one would renew without end.
        static let daysGiven: ClosedRange<Int64> = 1...36_500

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
            guard days.map(Self.daysGiven.contains) ?? true else {
                throw DecodingError.dataCorruptedError(
                    forKey: .days,
                    in: saved,
                    debugDescription: "a period has 1 to 36500 days"
                )
            }
        }
    }

    package var entitlement = "premium"
    package var products: [String: Product] = [:]

    package init() {}

    /// The ids of what is sold, in their order; two, where nobody described any.
    package var sold: [String] {
        products.isEmpty ? ["premium_monthly", "premium_yearly"] : products.keys.sorted()
    }

    /// What a receipt stands for that names no product.
    package var first: String { sold.first ?? "premium_monthly" }

    /// A product by its id; one that nobody described is guessed from its name, so that a first
    /// purchase needs no preparation: `weekly`, `yearly`, `lifetime` and `coins` say what they are.
    package func product(_ id: String) -> Product {
        if let known = products[id] { return known }
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
