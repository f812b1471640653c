package import Values

/// An encoder for events in version 3 of Purchasely's webhook format: flat, with every date twice,
/// and without members that do not apply.
///
/// Source: Purchasely fact sheet, section 5. A test compares the result with the published bodies.
package enum PurchaselyEventWriter {
    package static func object(_ event: PurchaselyEvent) -> JSONObject {
        .present(
            identityMembers(event) + purchaseMembers(event) + priceMembers(event)
                + statusMembers(event)
                + dates(event)
        )
    }

    /// Encodes an event in version 2 of Purchasely's webhook format, which is nested.
    ///
    /// It has one name for granting access and one for revoking it (Purchasely fact sheet, sections
    /// 4 and 8).
    ///
    /// - Returns: The body; nil for an event that has no name in version 2.
    package static func version2Object(_ event: PurchaselyEvent) -> JSONObject? {
        let version2EventNames = [
            "ACTIVATE": "PURCHASE_VALIDATED", "DEACTIVATE": "SUBSCRIPTION_EXPIRED",
        ]
        guard let name = version2EventNames[event.name] else { return nil }
        let user: JSONObject =
            switch event.holder {
            case .user(let id): ["vendor_id": .string(id)]
            case .anonymous(let id): ["anonymous_id": .string(id)]
            }
        // The platform of each store. Purchases on the web have no platform.
        let platforms = [
            "APPLE_APP_STORE": "IOS", "GOOGLE_PLAY_STORE": "ANDROID",
            "HUAWEI_APPGALLERY": "ANDROID",
            "AMAZON_APPSTORE": "ANDROID",
        ]
        let properties = JSONObject.present([
            (
                "app",
                .object(
                    .present([
                        ("platform", platforms[event.store].map(JSONValue.string)),
                        ("package_id", .string(event.bundleID)),
                    ])
                )
            ), ("store", .string(event.store)),
            (
                "product",
                [
                    "plan": [
                        "type": .string(event.purchaseType), "vendor_id": .string(event.plan),
                        "store_product_id": .string(event.storeProduct),
                    ], "vendor_id": .string(event.product),
                ]
            ), ("expires_at", event.dates.effectiveRenewal.map { .string($0.preciseText) }),
            ("period_type", .string(event.offer == "NONE" ? "NORMAL" : event.offer)),
            ("purchase_id", .string(event.purchaseID)),
            ("purchased_at", .string(event.dates.purchased.preciseText)),
            ("original_transaction_id", .string(event.originalTransactionID)),
        ])
        return [
            "name": .string(name), "user": .object(user), "properties": .object(properties),
            "api_version": 2, "received_at": .string(event.time.preciseText),
        ]
    }

    private typealias Members = [(String, JSONValue?)]

    private static func identityMembers(_ event: PurchaselyEvent) -> Members {
        let (key, id) = name(event.holder)
        return [
            ("api_version", 3), ("event_name", .string(event.name)),
            ("event_id", .string(event.id)), (key, .string(id)),
        ]
    }

    /// Returns the key and the value that name the owner of a purchase.
    ///
    /// A body contains only one of the two keys.
    private static func name(_ holder: PurchaselyEvent.Holder) -> (key: String, id: String) {
        switch holder {
        case .user(let id): ("user_id", id)
        case .anonymous(let id): ("anonymous_user_id", id)
        }
    }

    private static func purchaseMembers(_ event: PurchaselyEvent) -> Members {
        // Purchases on the web have neither a bundle ID nor a device.
        let isWebPurchase = event.store == "STRIPE"
        return [
            ("environment", .string(event.environment)), ("store", .string(event.store)),
            ("store_country", "FR"), ("purchase_type", .string(event.purchaseType)),
            ("plan", .string(event.plan)), ("product", .string(event.product)),
            ("previous_plan", event.previousPlan.map(JSONValue.string)),
            ("store_product_id", .string(event.storeProduct)),
            ("store_app_bundle_id", isWebPurchase ? nil : .string(event.bundleID)),
            ("store_transaction_id", .string(event.transactionID)),
            ("store_original_transaction_id", .string(event.originalTransactionID)),
            (
                event.isOneTime ? "purchasely_one_time_purchase_id" : "purchasely_subscription_id",
                .string(event.purchaseID)
            ),
            ("is_family_shared", false), ("device_type", isWebPurchase ? nil : "PHONE"),
            ("channel", isWebPurchase ? "web2app" : nil),
            ("provider", isWebPurchase ? "purchasely" : nil),
        ]
    }

    /// Returns the members about money.
    ///
    /// The names of some members contain the currency that the console is set to.
    private static func priceMembers(_ event: PurchaselyEvent) -> Members {
        func number(_ value: Double) -> JSONValue { .number(JSONNumber(value)) }
        let currency = event.currency.lowercased()
        return [
            ("customer_currency", .string(event.currency)),
            ("plan_price_in_customer_currency", number(event.price)),
            ("plan_price_in_\(currency)", number(event.price)),
            ("cumulated_revenues_in_\(currency)", event.isOneTime ? nil : number(event.revenue)),
            ("amount_in_customer_currency", event.charge.map { number($0.amount) }),
            ("amount_in_\(currency)", event.charge.map { number($0.amount) }),
            ("source_event_name", event.charge.map { .string($0.source) }),
        ]
    }

    private static func statusMembers(_ event: PurchaselyEvent) -> Members {
        // The first ACTIVATE and the first SUBSCRIPTION_STARTED lack this member (Purchasely fact
        // sheet, section 5).
        let omitsPreviousOffer =
            event.isFirstPurchaseEvent && ["ACTIVATE", "SUBSCRIPTION_STARTED"].contains(event.name)
        var members: Members = [
            ("subscription_status", event.isOneTime ? nil : event.status.map(JSONValue.string)),
            ("offer_type", .string(event.offer)),
            (
                "previous_offer_type",
                omitsPreviousOffer ? nil : .string(event.previousOffer ?? event.offer)
            ),
        ]
        if let other = event.other.map(name) {
            // Only events whose names end in `_TRANSFERRED` or `_RECEIVED` name the other owner
            // (Purchasely fact sheet, section 7).
            if event.name.hasSuffix("_TRANSFERRED") {
                members.append(("transferred_to_" + other.key, .string(other.id)))
            } else if event.name.hasSuffix("_RECEIVED") {
                members.append(("transferred_from_" + other.key, .string(other.id)))
            }
        }
        return members
    }

    /// Returns the members about dates.
    ///
    /// Every date is encoded twice, as a string and as a number of milliseconds.
    private static func dates(_ event: PurchaselyEvent) -> Members {
        let dates = event.dates
        let timesByField: [(String, Instant?)] = [
            ("event_created_at", event.time), ("purchased_at", dates.purchased),
            ("original_purchased_at", dates.originallyPurchased),
            ("next_renewal_at", dates.nextRenewal),
            ("effective_next_renewal_at", dates.effectiveRenewal),
            ("grace_period_expires_at", dates.graceEnd), ("auto_resume_at", dates.resume),
        ]
        return timesByField.flatMap { name, time -> Members in
            guard let time else { return [] }
            return [
                (name, .string(time.preciseText)), (name + "_ms", .integer(time.milliseconds)),
            ]
        }
    }
}
