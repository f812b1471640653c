package import Values

/// The JSON of a customer in responses of REST v1, which the SDK calls CustomerInfo (RevenueCat fact
/// sheet, section 4.2).
extension Customer {
    /// Returns the response body with the customer.
    ///
    /// - Parameters:
    ///   - now: The current time.
    ///   - showsAttributes: Whether the caller may read the customer's attributes.
    ///   - prefersSandbox: Whether the caller asks for sandbox transactions.
    /// - Returns: The members `request_date`, `request_date_ms` and `subscriber`.
    package func customerInfo(
        at now: Instant,
        showsAttributes: Bool,
        prefersSandbox: Bool = false
    ) -> JSONValue {
        let subscriptions = visibleSubscriptions(prefersSandbox: prefersSandbox)
        let oneTime = oneTime.sorted { $0.key < $1.key }
        var entitlements = JSONObject()
        let candidates = subscriptions + oneTime.flatMap(\.value)
        for source in Self.entitlementSources(among: candidates, prefersSandbox, at: now) {
            entitlements[source.name] = source.purchase.entitlementJSON
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
                        .init(key: $0.productID, value: $0.subscriptionJSON)
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

/// The JSON of a purchase in responses of REST v1.
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
            "grace_period_expires_date": Self.dateJSON(shownGraceEnd),
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
            "expires_date": Self.dateJSON(shownEnd),
            "grace_period_expires_date": Self.dateJSON(shownGraceEnd),
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
