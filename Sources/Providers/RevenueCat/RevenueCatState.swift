package import Conformance

/// What the fake RevenueCat knows: customers, their ids and their purchases.
///
/// Every event that is delivered passes through here first, so REST says what the event says
/// (architecture, section 4). Facts: RevenueCat fact sheet, sections 4 and 5.
package struct RevenueCatState: Fake {
    private struct Purchase: Hashable {
        var productID: String
        var planID: String?
        var store: String
        var isSandbox: Bool
        var period: String
        var purchased: Instant
        var originallyPurchased: Instant
        var expires: Instant?
        var graceEnd: Instant?
        var unsubscribed: Instant?
        var billingIssue: Instant?
        var refunded: Instant?
        var resume: Instant?
        var transactionID: String?
        var price: JSONValue
        var currency: JSONValue
        var entitlements: [String]
        /// Time of the event that wrote this, so that an older one does not overwrite it.
        var asOf: Instant
    }

    private struct Customer {
        var ids: [String]
        var originalID: String
        var firstSeen: Instant
        var lastSeen: Instant
        var subscriptions: [String: Purchase] = [:]
        var oneTime: [String: [Purchase]] = [:]
        var attributes = JSONObject()
    }

    private let key: Secret?
    private var customers: [Int: Customer] = [:]
    private var customerByID: [String: Int] = [:]
    private var namespaceByID: [String: String] = [:]

    /// A key that is not given is not demanded.
    package init(key: Secret?) {
        self.key = key.flatMap { $0.isEmpty ? nil : $0 }
    }

    package mutating func know(_ ids: [String], namespace: String) {
        for id in ids { namespaceByID[id] = namespace }
    }

    // MARK: Events

    /// Lets what an event reports happen in the model.
    package mutating func apply(_ body: JSONValue) {
        guard let event = body["event"]?.object, let type = event["type"]?.string,
            let asOf = Self.instant(event["event_timestamp_ms"])
        else { return }
        if type == "TRANSFER" {
            transfer(event, asOf)
            return
        }
        let kinds: Set<String> = [
            "INITIAL_PURCHASE", "RENEWAL", "CANCELLATION", "UNCANCELLATION", "EXPIRATION",
            "NON_RENEWING_PURCHASE", "SUBSCRIPTION_PAUSED", "BILLING_ISSUE", "PRODUCT_CHANGE",
            "SUBSCRIPTION_EXTENDED", "REFUND_REVERSED",
        ]
        guard kinds.contains(type), let number = customer(of: event, asOf),
            let productText = event["product_id"]?.string
        else { return }
        let parts = productText.split(separator: ":", maxSplits: 1).map(String.init)
        let product = parts.first ?? productText
        let old = customers[number]?.subscriptions[product]
        // Changes of product are information only; the paired purchase carries the new state.
        guard type != "PRODUCT_CHANGE" else { return }
        var purchase = Purchase(
            productID: product,
            planID: parts.count == 2 ? parts[1] : nil,
            store: (event["store"]?.string ?? "APP_STORE").lowercased(),
            isSandbox: event["environment"]?.string == "SANDBOX",
            period: (event["period_type"]?.string ?? "NORMAL").lowercased(),
            purchased: Self.instant(event["purchased_at_ms"]) ?? asOf,
            originallyPurchased: old?.originallyPurchased
                ?? Self.instant(event["purchased_at_ms"]) ?? asOf,
            expires: Self.instant(event["expiration_at_ms"]),
            transactionID: event["transaction_id"]?.string,
            price: event["price"] ?? 0,
            currency: event["currency"] ?? .null,
            entitlements: event["entitlement_ids"]?.array?.compactMap(\.string) ?? [],
            asOf: asOf
        )
        if type == "NON_RENEWING_PURCHASE", purchase.store != "promotional" {
            customers[number]?.oneTime[product, default: []].append(purchase)
            return
        }
        if let old, old.asOf > asOf { return }
        if purchase.price == 0, let old { purchase.price = old.price }
        switch type {
        case "CANCELLATION":
            purchase.unsubscribed = asOf
            purchase.billingIssue = old?.billingIssue
            purchase.graceEnd = old?.graceEnd
            switch event["cancel_reason"]?.string {
            case "CUSTOMER_SUPPORT":
                purchase.refunded = asOf
                customers[number]?.oneTime[product] = nil
            case "BILLING_ERROR": purchase.billingIssue = old?.billingIssue ?? asOf
            default: break
            }
        case "BILLING_ISSUE":
            purchase.billingIssue = asOf
            purchase.graceEnd = Self.instant(event["grace_period_expiration_at_ms"])
            purchase.unsubscribed = old?.unsubscribed
        case "EXPIRATION":
            purchase.unsubscribed = old?.unsubscribed ?? asOf
            purchase.billingIssue = old?.billingIssue
            // Captures show an expiry far ahead here; the subscription is over all the same.
            purchase.expires = min(purchase.expires ?? asOf, asOf)
        case "SUBSCRIPTION_PAUSED":
            purchase.resume = Self.instant(event["auto_resume_at_ms"])
        default: break
        }
        customers[number]?.subscriptions[product] = purchase
    }

    private mutating func transfer(_ event: JSONObject, _ asOf: Instant) {
        let losers = event["transferred_from"]?.array?.compactMap(\.string) ?? []
        let winners = event["transferred_to"]?.array?.compactMap(\.string) ?? []
        guard let winner = winners.first else { return }
        let target = customer(named: winners, original: winner, asOf)
        for loser in losers {
            guard let source = customerByID[loser], source != target else { continue }
            let moved = customers[source]
            customers[source]?.subscriptions = [:]
            customers[source]?.oneTime = [:]
            customers[target]?.subscriptions.merge(moved?.subscriptions ?? [:]) {
                $0.asOf >= $1.asOf ? $0 : $1
            }
            customers[target]?.oneTime.merge(moved?.oneTime ?? [:], uniquingKeysWith: +)
        }
    }

    private mutating func customer(of event: JSONObject, _ asOf: Instant) -> Int? {
        guard let id = event["app_user_id"]?.string else { return nil }
        let original = event["original_app_user_id"]?.string ?? id
        let aliases = event["aliases"]?.array?.compactMap(\.string) ?? []
        let number = customer(named: [id, original] + aliases, original: original, asOf)
        for member in event["subscriber_attributes"]?.object?.members ?? [] {
            customers[number]?.attributes[member.key] = member.value
        }
        return number
    }

    /// The customer that any of the ids names, made when there is none; all ids name it then.
    private mutating func customer(named ids: [String], original: String, _ now: Instant) -> Int {
        let known = ids.compactMap { customerByID[$0] }.first
        let number = known ?? customers.count
        if customers[number] == nil {
            customers[number] = Customer(
                ids: [],
                originalID: original,
                firstSeen: now,
                lastSeen: now
            )
        }
        for id in ids where customerByID[id] == nil {
            customerByID[id] = number
            customers[number]?.ids.append(id)
        }
        return number
    }

    private static func instant(_ value: JSONValue?) -> Instant? {
        value?.int64.map(Instant.init(milliseconds:))
    }

    // MARK: REST v1

    package mutating func respond(to request: HTTPMessage.Request, at now: Instant) -> Reply {
        func error(_ status: Int, _ code: Int64, _ message: String) -> Reply {
            Reply(
                HTTPMessage.Response(
                    status,
                    json: ["code": .integer(code), "message": .string(message)]
                ),
                .inferred,
                of: "revenuecat"
            )
        }
        guard let segments = request.pathSegments else {
            return error(400, 7226, "The request path is not valid.")
        }
        if let key {
            let words = (request[field: "authorization"] ?? "").split(separator: " ")
            guard words.count == 2, words[0].lowercased() == "bearer", words[1] == key.exposed
            else { return error(401, 7225, "Invalid API Key.") }
        }
        guard segments.count == 3, segments[0] == "v1", segments[1] == "subscribers",
            request.method == "GET"
        else { return error(404, 7226, "This fake answers GET /v1/subscribers/{id} only.") }
        let id = segments[2]
        // A read creates the customer when it is unknown (section 4.1).
        let number = customer(named: [id], original: id, now)
        return Reply(
            HTTPMessage.Response(200, json: customerInfo(number, at: now)),
            .documented,
            of: "revenuecat",
            namespace: namespaceByID[id] ?? ""
        )
    }

    private func customerInfo(_ number: Int, at now: Instant) -> JSONValue {
        guard let customer = customers[number] else { return .null }
        let subscriptions = customer.subscriptions.sorted { $0.key < $1.key }
        let oneTime = customer.oneTime.sorted { $0.key < $1.key }
        var entitlements = JSONObject()
        for purchase in subscriptions.map(\.value) + oneTime.flatMap(\.value) {
            for name in purchase.entitlements {
                let isLater = Self.isLater(purchase, than: entitlements[name])
                if isLater { entitlements[name] = entitlement(purchase) }
            }
        }
        return [
            "request_date": .string(now.description),
            "request_date_ms": .integer(now.milliseconds),
            "subscriber": [
                "original_app_user_id": .string(customer.originalID),
                "original_application_version": .null,
                "original_purchase_date": .null,
                "first_seen": .string(customer.firstSeen.description),
                "last_seen": .string(customer.lastSeen.description),
                "management_url": .null,
                "entitlements": .object(entitlements),
                "subscriptions": .object(
                    JSONObject(
                        members: subscriptions.map {
                            .init(key: $0.key, value: subscription($0.value))
                        }
                    )
                ),
                "non_subscriptions": .object(
                    JSONObject(
                        members: oneTime.map {
                            .init(key: $0.key, value: .array($0.value.map(nonSubscription)))
                        }
                    )
                ),
                "other_purchases": [:],
                "subscriber_attributes": .object(customer.attributes),
            ],
        ]
    }

    private static func isLater(_ purchase: Purchase, than entitlement: JSONValue?) -> Bool {
        guard let entitlement else { return true }
        guard let end = effectiveEnd(purchase) else { return true }
        guard let other = entitlement["expires_date"]?.string.flatMap(Instant.init(iso8601:))
        else { return false }
        return end > other
    }

    /// During grace an entitlement's end covers the grace time (section 4.2, *inferred*).
    private static func effectiveEnd(_ purchase: Purchase) -> Instant? {
        guard let expires = purchase.expires else { return nil }
        return max(expires, purchase.graceEnd ?? expires)
    }

    private func entitlement(_ purchase: Purchase) -> JSONValue {
        var fields: JSONObject = [
            "expires_date": Self.date(Self.effectiveEnd(purchase)),
            "grace_period_expires_date": Self.date(purchase.graceEnd),
            "product_identifier": .string(purchase.productID),
            "purchase_date": Self.date(purchase.purchased),
        ]
        if let plan = purchase.planID { fields["product_plan_identifier"] = .string(plan) }
        return .object(fields)
    }

    private func subscription(_ purchase: Purchase) -> JSONValue {
        var fields: JSONObject = [
            "auto_resume_date": Self.date(purchase.resume),
            "billing_issues_detected_at": Self.date(purchase.billingIssue),
            "display_name": .null,
            "expires_date": Self.date(purchase.expires),
            "grace_period_expires_date": Self.date(purchase.graceEnd),
            "is_sandbox": .bool(purchase.isSandbox),
            "management_url": .null,
            "original_purchase_date": Self.date(purchase.originallyPurchased),
            "period_type": .string(purchase.period),
            "price": ["amount": purchase.price, "currency": purchase.currency],
            "purchase_date": Self.date(purchase.purchased),
            "refunded_at": Self.date(purchase.refunded),
            "store": .string(purchase.store),
            "store_transaction_id": purchase.transactionID.map(JSONValue.string) ?? .null,
            "unsubscribe_detected_at": Self.date(purchase.unsubscribed),
        ]
        if let plan = purchase.planID { fields["product_plan_identifier"] = .string(plan) }
        // Upper case, and omitted for Play (section 4.2).
        if purchase.store != "play_store" { fields["ownership_type"] = "PURCHASED" }
        return .object(fields)
    }

    private func nonSubscription(_ purchase: Purchase) -> JSONValue {
        let transaction = purchase.transactionID ?? purchase.productID
        var generator = SeededGenerator(seed: 0, text: transaction)
        let digits = (0..<10).map { _ in
            String(UInt8.random(in: 0..<16, using: &generator), radix: 16)
        }
        return [
            "id": .string(digits.joined()),
            "store_transaction_id": .string(transaction),
            "is_sandbox": .bool(purchase.isSandbox),
            "purchase_date": Self.date(purchase.purchased),
            "store": .string(purchase.store),
        ]
    }

    private static func date(_ instant: Instant?) -> JSONValue {
        instant.map { .string($0.description) } ?? .null
    }
}
