package import Conformance

/// The bodies of the events that the store model sends, with the keys that each type and store
/// carries (fact sheet, section 2; compared with the published samples in a test).
extension RevenueCatState {
    /// The envelope around an event.
    package static func body(_ event: JSONObject) -> JSONValue {
        ["api_version": "1.0", "event": .object(event)]
    }

    /// What depends on the type alone.
    func common(_ type: String, at time: Instant, _ ids: inout IDSource) -> JSONObject {
        [
            "type": .string(type), "id": .string(ids.uuid().uppercased()),
            "event_timestamp_ms": .integer(time.milliseconds),
        ]
    }

    func identity(_ customer: Customer) -> JSONObject {
        [
            "app_user_id": .string(customer.currentID),
            "original_app_user_id": .string(customer.originalID),
            "aliases": .strings(customer.ids),
            "subscriber_attributes": .object(customer.attributes),
        ]
    }

    /// How much money an event reports: the price on purchases, less than nothing on a refund.
    enum Money { case none, price, refund }

    /// Sends a lifecycle event about a purchase.
    mutating func emit(
        _ type: String,
        _ purchase: Purchase,
        of number: Int,
        at time: Instant,
        money: Money = .none,
        with special: JSONObject = JSONObject()
    ) {
        guard let customer = customers[number] else { return }
        var event = common(type, at: time, &ids)
        for member in identity(customer).members { event[member.key] = member.value }
        for member in lifecycle(purchase, type, money).members { event[member.key] = member.value }
        if !customer.experiments.isEmpty { event["experiments"] = .array(customer.experiments) }
        for member in special.members { event[member.key] = member.value }
        emit(event)
    }

    private func lifecycle(_ purchase: Purchase, _ type: String, _ money: Money) -> JSONObject {
        let isPromotional = purchase.store == "PROMOTIONAL"
        let isStripe = purchase.store == "STRIPE"
        let isPurchase = ["INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE"].contains(type)
        func amount(_ value: JSONValue) -> JSONValue {
            switch money {
            case .none: 0
            case .price: value
            case .refund:
                if case .number(let number) = value, let double = number.double {
                    .number(JSONNumber(-double))
                } else {
                    0
                }
            }
        }
        var fields: JSONObject = [
            "product_id": .string(purchase.webhookProductID),
            "period_type": .string(purchase.period),
            "purchased_at_ms": .integer(purchase.purchased.milliseconds),
            "expiration_at_ms": purchase.expires.map { .integer($0.milliseconds) } ?? .null,
            "environment": .string(purchase.environment),
            // Deprecated: filled in promotional captures, null everywhere else.
            "entitlement_id": isPromotional
                ? purchase.entitlements.first.map(JSONValue.string) ?? .null : .null,
            "entitlement_ids": purchase.entitlements.isEmpty
                ? .null : .strings(purchase.entitlements),
            "presented_offering_id": purchase.offering.map(JSONValue.string) ?? .null,
            "transaction_id": .string(purchase.transactionID),
            "original_transaction_id": .string(purchase.originalTransactionID),
            "is_family_share": isPromotional ? .null : .bool(purchase.isFamilyShared),
            "country_code": isPromotional || isStripe ? .null : "US",
            "store": .string(purchase.store),
            "currency": purchase.currency,
            "price": amount(purchase.priceUSD),
            "price_in_purchased_currency": amount(purchase.price),
            "takehome_percentage": isPromotional || isStripe ? 1 : .number(JSONNumber(0.7)),
            "offer_code": purchase.offerCode.map(JSONValue.string) ?? .null,
        ]
        if !isPromotional { fields["app_id"] = .string(settings.appID) }
        switch purchase.store {
        case "PROMOTIONAL":
            // Null in captures of grants and expirations, zero in that of a revocation.
            let tax: JSONValue = type == "CANCELLATION" ? 0 : .null
            fields["tax_percentage"] = tax
            fields["commission_percentage"] = tax
            fields["metadata"] = .null
            fields["renewal_number"] = .null
        case "STRIPE":
            let hasNoTax = type == "BILLING_ISSUE" || type == "EXPIRATION"
            fields["tax_percentage"] = hasNoTax ? .null : 0
            fields["commission_percentage"] = 0
            fields["metadata"] = [:]
            fields["renewal_number"] = .integer(purchase.renewalNumber)
            fields["price_id"] = "price_1AssayStripePrice0000000"
        // Play's samples carry no percentages but the takehome.
        case "PLAY_STORE": break
        default:
            fields["tax_percentage"] = .number(JSONNumber(0.0))
            fields["commission_percentage"] = .number(JSONNumber(0.3))
            if type == "REFUND_REVERSED" {
                fields["metadata"] = .null
                fields["renewal_number"] = .integer(purchase.renewalNumber)
            }
        }
        if isPurchase, isPromotional || isStripe {
            fields["discount_percentage"] = .null
            fields["discount_amount"] = .null
            fields["discount_identifier"] = .null
        }
        return fields
    }

    // MARK: Types with their own fields, section 2.6

    mutating func emitTransfer(
        from losers: [String],
        to winners: [String],
        store: String,
        environment: String,
        at time: Instant
    ) {
        var event = common("TRANSFER", at: time, &ids)
        event["app_id"] = .string(settings.appID)
        event["store"] = .string(store)
        event["environment"] = .string(environment)
        event["transferred_from"] = .strings(losers)
        event["transferred_to"] = .strings(winners)
        emit(event)
    }

    mutating func emitTemporaryGrant(_ purchase: Purchase, of number: Int, at time: Instant) {
        guard let customer = customers[number] else { return }
        var event = common("TEMPORARY_ENTITLEMENT_GRANT", at: time, &ids)
        event["app_id"] = .string(settings.appID)
        event["app_user_id"] = .string(customer.currentID)
        event["purchased_at_ms"] = .integer(purchase.purchased.milliseconds)
        event["expiration_at_ms"] = purchase.expires.map { .integer($0.milliseconds) } ?? .null
        event["product_id"] = .string(purchase.webhookProductID)
        event["entitlement_ids"] = .strings(purchase.entitlements)
        event["store"] = .string(purchase.store)
        event["transaction_id"] = .string(purchase.transactionID)
        emit(event)
    }

    mutating func emitRedemption(
        from losers: [String],
        by winners: [String],
        outcome: String,
        environment: String,
        at time: Instant
    ) {
        var event = common("PURCHASE_REDEEMED", at: time, &ids)
        event["store"] = "RC_BILLING"
        event["environment"] = .string(environment)
        event["redeemed_from"] = .strings(losers)
        event["redeemed_by"] = .strings(winners)
        event["redemption_outcome"] = .string(outcome)
        event["redemption_platform"] = "ios"
        event["workflow_id"] = .string("wf_" + ids.hex(8))
        event["workflow_step_id"] = .string("step_" + ids.hex(8))
        event["trace_id"] = .string("trace_" + ids.hex(8))
        emit(event)
    }

    mutating func emitVirtualCurrency(
        _ purchase: Purchase,
        of number: Int,
        amount: Int64,
        at time: Instant
    ) {
        guard let customer = customers[number] else { return }
        var event = common("VIRTUAL_CURRENCY_TRANSACTION", at: time, &ids)
        for member in identity(customer).members { event[member.key] = member.value }
        event["original_app_user_id"] = nil
        event["app_id"] = .string(settings.appID)
        event["adjustments"] = [
            [
                "amount": .integer(amount),
                "currency": ["code": "CRD", "name": "Credits", "description": "Credits to spend"],
            ]
        ]
        event["product_id"] = .string(purchase.webhookProductID)
        event["product_display_name"] = .string(purchase.productID)
        event["purchase_environment"] = .string(purchase.environment)
        event["source"] = "in_app_purchase"
        event["store"] = .string(purchase.store)
        event["transaction_id"] = .string(purchase.transactionID)
        event["virtual_currency_transaction_id"] = .string("vatx" + ids.hex(15))
        event["country_code"] = "US"
        emit(event)
    }

    mutating func emitEnrollment(_ variant: String, of number: Int, at time: Instant) {
        guard let customer = customers[number] else { return }
        let experiment = "prexp" + ids.hex(10)
        customers[number]?.experiments.append([
            "experiment_id": .string(experiment), "experiment_variant": .string(variant),
            "enrolled_at_ms": .integer(time.milliseconds),
        ])
        var event = common("EXPERIMENT_ENROLLMENT", at: time, &ids)
        for member in identity(customer).members where member.key != "subscriber_attributes" {
            event[member.key] = member.value
        }
        event["experiment_id"] = .string(experiment)
        event["experiment_variant"] = .string(variant)
        event["experiment_enrolled_at_ms"] = .integer(time.milliseconds)
        event["offering_id"] = .string("experiment_offering_" + variant)
        emit(event)
    }

    mutating func emitPriceConsent(
        _ purchase: Purchase,
        of number: Int,
        isApproved: Bool,
        at time: Instant
    ) {
        guard let customer = customers[number] else { return }
        var event = common(
            "PRICE_INCREASE_CONSENT_" + (isApproved ? "APPROVED" : "REQUIRED"),
            at: time,
            &ids
        )
        for member in identity(customer).members { event[member.key] = member.value }
        event["app_id"] = .string(settings.appID)
        event["product_id"] = .string(purchase.webhookProductID)
        event["transaction_id"] = .string(purchase.transactionID)
        event["original_transaction_id"] = .string(purchase.originalTransactionID)
        event["store"] = .string(purchase.store)
        event["environment"] = .string(purchase.environment)
        event["currency"] = purchase.currency
        event["country_code"] = "US"
        emit(event)
    }

    /// An unpaid invoice of RevenueCat's own billing: nothing is bought yet.
    mutating func emitInvoice(_ purchase: Purchase, of number: Int, at time: Instant) {
        guard let customer = customers[number] else { return }
        var event = common("INVOICE_ISSUANCE", at: time, &ids)
        for member in identity(customer).members { event[member.key] = member.value }
        for member in lifecycle(purchase, "INVOICE_ISSUANCE", .price).members {
            event[member.key] = member.value
        }
        for key in [
            "period_type", "expiration_at_ms", "entitlement_ids", "transaction_id",
            "original_transaction_id", "takehome_percentage", "tax_percentage",
            "commission_percentage", "metadata", "renewal_number",
        ] {
            event[key] = .null
        }
        event["price"] = nil
        emit(event)
    }

    /// The dashboard's test button: a made-up user, fifteen nulls, nothing stored.
    mutating func emitTest(at time: Instant) {
        var event = common("TEST", at: time, &ids)
        let user = ids.uuid()
        var purchase = Purchase(
            productID: "test_product",
            store: "PLAY_STORE",
            environment: "SANDBOX",
            period: "NORMAL",
            purchased: time,
            originallyPurchased: time,
            expires: time + .seconds(7200),
            transactionID: "",
            originalTransactionID: "",
            priceUSD: .null,
            price: .null,
            currency: .null,
            entitlements: [],
            asOf: time
        )
        purchase.isScripted = true
        for member in lifecycle(purchase, "TEST", .none).members {
            event[member.key] = member.value
        }
        event["app_user_id"] = .string(user)
        event["original_app_user_id"] = .string(user)
        event["aliases"] = .strings([user, ids.uuid()])
        event["subscriber_attributes"] = [
            "$email": [
                "value": "tester@example.com", "updated_at_ms": .integer(time.milliseconds),
            ]
        ]
        for key in [
            "entitlement_id", "entitlement_ids", "presented_offering_id", "transaction_id",
            "original_transaction_id", "is_family_share", "currency", "price",
            "price_in_purchased_currency", "takehome_percentage", "offer_code", "tax_percentage",
            "commission_percentage", "metadata", "renewal_number",
        ] {
            event[key] = .null
        }
        emit(event)
    }

    mutating func emitPaywall(_ type: String, of number: Int, at time: Instant) {
        guard let customer = customers[number] else { return }
        // Paywall events carry `event_id` instead of `id`, and plain attributes (section 2.3).
        var event: JSONObject = [
            "type": .string(type), "event_id": .string(ids.uuid().uppercased()),
            "app_user_id": .string(customer.currentID), "platform": "iOS",
            "platform_version": "18.5", "sdk_version": "5.80.0",
            "subscriber_attributes": .object(
                JSONObject(
                    members: customer.attributes.members.map {
                        .init(key: $0.key, value: $0.value["value"] ?? .null)
                    }
                )
            ),
            "paywall_id": .string("pw_" + ids.hex(8)), "paywall_name": "Premium",
            "offering_id": "default", "session_id": .string("session-" + ids.hex(8)),
            "display_mode": .null, "dark_mode": false, "locale": "en_US",
            "environment": "PRODUCTION",
        ]
        if type == "PAYWALL_COMPONENT_INTERACTED" {
            event["component_type"] = "package"
            event["component_value"] = "$rc_monthly"
            event["origin_index"] = 0
            event["destination_index"] = 1
            event["destination_package_id"] = "$rc_annual"
            event["destination_product_id"] = "premium_yearly"
        }
        emit(event)
    }
}
