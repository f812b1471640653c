internal import Contracts
package import Values

/// RevenueCat's record of a purchase: the latest state of one product of a customer.
package struct Purchase: Hashable, Codable, Sendable {
    package var productID: String
    /// The base plan of a product on Play.
    ///
    /// Webhooks append it to the product ID, while REST keeps it separate.
    package var planID: String?
    /// The store as webhooks spell it, for example `APP_STORE`.
    package var store: String
    package var environment: String
    /// The type of the period as webhooks spell it: `NORMAL`, `TRIAL`, `INTRO` or `PROMOTIONAL`.
    package var period: String
    package var purchased: Instant
    package var originallyPurchased: Instant
    package var expires: Instant?
    package var graceEnd: Instant?
    package var unsubscribed: Instant?
    package var billingIssue: Instant?
    package var refunded: Instant?
    package var resume: Instant?
    package var transactionID: String
    package var originalTransactionID: String
    package var priceUSD: JSONValue
    package var price: JSONValue
    package var currency: JSONValue
    package var entitlements: [String]
    package var offering: String?
    package var offerCode: String?
    package var isFamilyShared = false
    /// The time of the event that set this state of the purchase.
    ///
    /// An older event does not overwrite the state.
    package var asOf: Instant

    // The following members are used only by the store model.
    /// The receipt token that the app sent over REST.
    ///
    /// It identifies the purchase when another user sends the same receipt.
    package var receiptToken: String?
    /// The start of the period according to the latest event from outside the store model; nil when
    /// there was no such event.
    package var beganAt: Instant?
    /// Whether an event from outside the store model set this purchase.
    ///
    /// The model then makes no automatic changes to it.
    package var isScripted = false
    package var willRenew = false
    package var hasEnded = false
    package var isPaused = false
    package var isOneTime = false
    package var isTemporary = false
    @JSONSafeInteger package var renewalNumber: Int64 = 1
    package var cancelReason: String?
    /// The ID of the product that replaces this one at the end of the period; nil for no change.
    package var nextProductID: String?

    package var isSandbox: Bool { environment == "SANDBOX" }

    /// The product ID as webhooks spell it.
    ///
    /// An ID from Play includes the base plan.
    package var webhookProductID: String { planID.map { "\(productID):\($0)" } ?? productID }

    /// The time at which access ends: the end of the period, or of a later grace period
    /// (*inferred*; RevenueCat fact sheet, section 4.2).
    package var effectiveEnd: Instant? {
        guard let expires else { return nil }
        return max(expires, graceEnd ?? expires)
    }

    package func isActive(at now: Instant) -> Bool {
        guard refunded == nil else { return false }
        return effectiveEnd.map { $0 > now } ?? true
    }
}

/// A RevenueCat customer with all IDs that belong to the same person (RevenueCat fact sheet,
/// section 5).
package struct Customer: Hashable, Codable, Sendable {
    package var ids: [String]
    package var originalID: String
    package var firstSeen: Instant
    package var lastSeen: Instant
    package var lastSeenID: String?
    package var lastPlatform: String?
    package var subscriptions: [String: Purchase] = [:]
    package var oneTime: [String: [Purchase]] = [:]
    /// Refunded one-time purchases of the customer.
    ///
    /// No response shows them, but their refund can be reversed.
    package var refundedOneTime: [Purchase]?
    package var attributes = JSONObject()
    package var experiments: [JSONValue] = []
    package var restoreBehavior: RevenueCatSettings.RestoreBehavior?
    package var offeringOverride: String?
    /// The customer's balances of virtual currencies, by currency code.
    package var balances: [String: Int64]?

    package static func isAnonymous(_ id: String) -> Bool { id.hasPrefix("$RCAnonymousID:") }

    package var isAnonymous: Bool { ids.allSatisfy(Self.isAnonymous) }

    /// The current App User ID of the customer (RevenueCat fact sheet, section 2.4).
    ///
    /// The current ID is the last seen ID if that ID is not anonymous. Otherwise it is the
    /// customer's latest ID that is not anonymous. A customer with only anonymous IDs keeps the
    /// last seen ID.
    package var currentID: String {
        if let last = lastSeenID, !Self.isAnonymous(last) { return last }
        return ids.last { !Self.isAnonymous($0) } ?? lastSeenID ?? originalID
    }

    package var purchases: [Purchase] {
        subscriptions.sorted { $0.key < $1.key }.map(\.value)
            + oneTime.sorted { $0.key < $1.key }.flatMap(\.value)
    }

    package mutating func putPurchase(_ purchase: Purchase) {
        if purchase.isOneTime {
            var list = oneTime[purchase.productID] ?? []
            list.removeAll { $0.transactionID == purchase.transactionID }
            oneTime[purchase.productID] = list + [purchase]
        } else {
            subscriptions[purchase.productID] = purchase
        }
    }

    package mutating func remove(_ purchase: Purchase) {
        if purchase.isOneTime {
            oneTime[purchase.productID]?.removeAll { $0.transactionID == purchase.transactionID }
            if oneTime[purchase.productID]?.isEmpty == true { oneTime[purchase.productID] = nil }
        } else {
            subscriptions[purchase.productID] = nil
        }
    }

    /// Moves a one-time purchase from the visible purchases to `refundedOneTime`.
    package mutating func hideRefundedPurchase(_ purchase: Purchase) {
        remove(purchase)
        refundedOneTime = (refundedOneTime ?? []) + [purchase]
    }

    /// Adds the purchases and the balances of another customer to this one.
    package mutating func mergePurchases(from other: Customer) {
        subscriptions.merge(other.subscriptions) { $0.asOf >= $1.asOf ? $0 : $1 }
        oneTime.merge(other.oneTime, uniquingKeysWith: +)
        if let more = other.refundedOneTime {
            refundedOneTime = (refundedOneTime ?? []) + more
        }
        if let more = other.balances {
            balances = (balances ?? [:]).merging(more) { $0.addingSaturated($1) }
        }
    }

    // MARK: CustomerInfo, section 4.2

    package func customerInfo(at now: Instant, showsAttributes: Bool) -> JSONValue {
        let subscriptions = subscriptions.sorted { $0.key < $1.key }
        let oneTime = oneTime.sorted { $0.key < $1.key }
        var entitlements = JSONObject()
        var entitlementEnds: [String: Instant?] = [:]
        for purchase in subscriptions.map(\.value) + oneTime.flatMap(\.value)
        where purchase.refunded == nil || !purchase.isOneTime {
            for name in purchase.entitlements {
                if let other = entitlementEnds[name] {
                    guard let end = other, purchase.effectiveEnd.map({ $0 > end }) ?? true
                    else { continue }
                }
                entitlementEnds[name] = .some(purchase.effectiveEnd)
                entitlements[name] = purchase.entitlementJSON
            }
        }
        var subscriber: JSONObject = [
            "original_app_user_id": .string(originalID),
            "original_application_version": .null,
            "original_purchase_date": .null,
            "first_seen": .string(firstSeen.description),
            "last_seen": .string(lastSeen.description),
            "management_url": managementURL(at: now),
            "entitlements": .object(entitlements),
            "subscriptions": .object(
                JSONObject(
                    members: subscriptions.map {
                        .init(key: $0.key, value: $0.value.subscriptionJSON)
                    }
                )
            ),
            "non_subscriptions": .object(
                JSONObject(
                    members: oneTime.map {
                        .init(key: $0.key, value: .array($0.value.map(\.oneTimePurchaseJSON)))
                    }
                )
            ),
            "other_purchases": [:],
        ]
        if showsAttributes { subscriber["subscriber_attributes"] = .object(attributes) }
        return [
            "request_date": .string(now.description),
            "request_date_ms": .integer(now.milliseconds),
            "subscriber": .object(subscriber),
        ]
    }

    /// Returns the management URL of the customer's active subscription that expires last; null
    /// without an active subscription.
    private func managementURL(at now: Instant) -> JSONValue {
        let activeSubscriptions = subscriptions.values.filter { $0.isActive(at: now) }
        let last = activeSubscriptions.max {
            ($0.expires?.milliseconds ?? .max) < ($1.expires?.milliseconds ?? .max)
        }
        return last.map(\.managementURL) ?? .null
    }
}

extension Purchase {
    private static func dateJSON(_ instant: Instant?) -> JSONValue {
        instant.map { .string($0.description) } ?? .null
    }

    var managementURL: JSONValue {
        switch store {
        case "APP_STORE", "MAC_APP_STORE": "https://apps.apple.com/account/subscriptions"
        case "PLAY_STORE": "https://play.google.com/store/account/subscriptions"
        default: .null
        }
    }

    fileprivate var entitlementJSON: JSONValue {
        var fields: JSONObject = [
            "expires_date": Self.dateJSON(effectiveEnd),
            "grace_period_expires_date": Self.dateJSON(graceEnd),
            "product_identifier": .string(productID),
            "purchase_date": Self.dateJSON(purchased),
        ]
        if let planID { fields["product_plan_identifier"] = .string(planID) }
        return .object(fields)
    }

    /// The type of the period as REST v1 spells it.
    ///
    /// Only three values exist there, so a granted period counts as `normal`.
    ///
    /// Source: API description of REST v1, `Subscription.period_type`.
    private var periodType: String { ["TRIAL": "trial", "INTRO": "intro"][period] ?? "normal" }

    /// The display name of the product.
    ///
    /// The fake derives it from the words of the product ID, because no dashboard sets a name.
    private var displayName: String {
        productID.split { !($0.isLetter || $0.isNumber) }
            .map { $0.prefix(1).uppercased() + $0.dropFirst() }
            .joined(separator: " ")
    }

    fileprivate var subscriptionJSON: JSONValue {
        var fields: JSONObject = [
            "auto_resume_date": Self.dateJSON(resume),
            "billing_issues_detected_at": Self.dateJSON(billingIssue),
            "display_name": .string(displayName),
            "expires_date": Self.dateJSON(expires),
            "grace_period_expires_date": Self.dateJSON(graceEnd),
            "is_sandbox": .bool(isSandbox),
            "management_url": managementURL,
            "original_purchase_date": Self.dateJSON(originallyPurchased),
            "period_type": .string(periodType),
            "price": ["amount": price, "currency": currency],
            "purchase_date": Self.dateJSON(purchased),
            "refunded_at": Self.dateJSON(refunded),
            "store": .string(store.lowercased()),
            "store_transaction_id": .string(transactionID),
            "unsubscribe_detected_at": Self.dateJSON(unsubscribed),
        ]
        if let planID { fields["product_plan_identifier"] = .string(planID) }
        // The value of `ownership_type` is in upper case. The member is omitted for Play.
        if store != "PLAY_STORE" {
            fields["ownership_type"] = isFamilyShared ? "FAMILY_SHARED" : "PURCHASED"
        }
        return .object(fields)
    }

    fileprivate var oneTimePurchaseJSON: JSONValue {
        var generator = SeededGenerator(seed: 0, text: transactionID)
        let digits = (0..<10).map { _ in
            String(UInt8.random(in: 0..<16, using: &generator), radix: 16)
        }
        return [
            "id": .string(digits.joined()),
            "display_name": .string(displayName),
            "price": ["amount": price, "currency": currency],
            "store_transaction_id": .string(transactionID),
            "is_sandbox": .bool(isSandbox),
            "purchase_date": Self.dateJSON(purchased),
            "store": .string(store.lowercased()),
        ]
    }
}
