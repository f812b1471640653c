package import Conformance

/// Makes webhook bodies as RevenueCat sends them: every type of the fact sheet's section 2, with
/// the keys that each type and store carries and the nulls that captures show.
package struct EventFactory: Sendable {
    /// What the ids and dates of a run are made from.
    package struct Context: Sendable {
        package let namespace: Namespace
        package let base: Instant
        package let products: [String: String]
        package let entitlement: String

        package init(
            namespace: Namespace,
            base: Instant,
            products: [String: String] = [:],
            entitlement: String = "premium"
        ) {
            self.namespace = namespace
            self.base = base
            self.products = products
            self.entitlement = entitlement
        }
    }

    package let context: Context

    package init(_ context: Context) {
        self.context = context
    }

    /// The whole body: `api_version` and `event`, keys in an order drawn from the event's id.
    package func body(_ spec: EventSpec, name: String) -> JSONValue {
        let id = context.namespace.eventID(of: name)
        var event = fields(spec, name: name)
        event["type"] = .string(spec.type)
        if spec.type.hasPrefix("PAYWALL_") {
            event["event_id"] = .string(id)
        }
        event["id"] = .string(id)
        event["event_timestamp_ms"] = time(spec.time)
        var generator = SeededGenerator(seed: 0, text: id)
        let shuffled = JSONObject(members: event.members.shuffled(using: &generator))
        let envelope: [JSONObject.Member] = [
            .init(key: "api_version", value: "1.0"),
            .init(key: "event", value: .object(shuffled)),
        ]
        return .object(JSONObject(members: envelope.shuffled(using: &generator)))
    }

    private func fields(_ spec: EventSpec, name: String) -> JSONObject {
        switch spec.type {
        case "TRANSFER": return transfer(spec)
        case "TEMPORARY_ENTITLEMENT_GRANT": return temporaryGrant(spec)
        case "VIRTUAL_CURRENCY_TRANSACTION": return virtualCurrency(spec)
        case "EXPERIMENT_ENROLLMENT": return experiment(spec)
        case "PURCHASE_REDEEMED": return redemption(spec)
        case "PRICE_INCREASE_CONSENT_REQUIRED", "PRICE_INCREASE_CONSENT_APPROVED":
            return priceConsent(spec)
        case "SUBSCRIBER_ALIAS": return merged(identity(spec), common(spec))
        case "TEST": return test(spec)
        case "INVOICE_ISSUANCE": return invoice(spec)
        case let type where type.hasPrefix("PAYWALL_"): return paywall(spec)
        default: return merged(merged(identity(spec), lifecycle(spec)), special(spec))
        }
    }

    // MARK: Groups of the fact sheet, sections 2.3 to 2.5

    private func common(_ spec: EventSpec) -> JSONObject {
        // app_id is missing for promotional grants (captures).
        spec.store == "PROMOTIONAL" ? [:] : ["app_id": "appa55a4c0de1"]
    }

    private func identity(_ spec: EventSpec) -> JSONObject {
        guard let user = spec.user else { return [:] }
        let id = context.namespace.id(of: user)
        let anonymous = context.namespace.anonymousID(of: user)
        let (current, original, aliases): (String, String, [String]) =
            switch spec.knownBy {
            case .appUserID: (id, anonymous, [anonymous, id])
            case .aliases: (anonymous, anonymous, [anonymous, id])
            case .originalAppUserID: (anonymous, id, [anonymous])
            case .anonymous: (anonymous, anonymous, [anonymous])
            }
        return [
            "app_user_id": .string(current),
            "original_app_user_id": .string(original),
            "aliases": .strings(aliases),
            "subscriber_attributes": [
                "$displayName": [
                    "value": .string("Ada \(user)"),
                    "updated_at_ms": time(spec.time),
                ]
            ],
        ]
    }

    private func lifecycle(_ spec: EventSpec) -> JSONObject {
        let isPromotional = spec.store == "PROMOTIONAL"
        let hasNoCountry = isPromotional || spec.store == "STRIPE"
        let price = self.price(spec)
        let transaction = transactionID(spec)
        var fields = common(spec)
        fields["product_id"] = .string(productID(spec.product, store: spec.store))
        fields["period_type"] = .string(isPromotional ? "PROMOTIONAL" : spec.period)
        fields["purchased_at_ms"] = time(purchased(spec))
        fields["expiration_at_ms"] = spec.isLifetime ? .null : time(expires(spec))
        fields["environment"] = .string(spec.environment)
        fields["entitlement_id"] = .null
        fields["entitlement_ids"] = entitlements(spec)
        fields["presented_offering_id"] = .null
        fields["transaction_id"] = .string(transaction.current)
        fields["original_transaction_id"] = .string(transaction.original)
        fields["is_family_share"] = isPromotional ? .null : false
        fields["country_code"] = hasNoCountry ? .null : "DE"
        fields["store"] = .string(spec.store)
        fields["currency"] = isPromotional ? .null : "EUR"
        fields["price"] = .number(JSONNumber(price))
        fields["price_in_purchased_currency"] = .number(JSONNumber(price))
        fields["tax_percentage"] = .number(JSONNumber(isPromotional ? 0 : 0.19))
        fields["commission_percentage"] = .number(JSONNumber(isPromotional ? 0 : 0.15))
        fields["takehome_percentage"] = .number(JSONNumber(isPromotional ? 1 : 0.66))
        fields["offer_code"] = .null
        fields["renewal_number"] = spec.type == "RENEWAL" ? 2 : 1
        fields["metadata"] = spec.store == "STRIPE" ? [:] : .null
        if spec.store == "STRIPE" { fields["price_id"] = "price_1AssayStripePrice0000000" }
        return fields
    }

    /// Keys that exactly one type carries.
    private func special(_ spec: EventSpec) -> JSONObject {
        switch spec.type {
        case "RENEWAL": ["is_trial_conversion": .bool(spec.reason == "TRIAL_CONVERSION")]
        case "CANCELLATION": ["cancel_reason": .string(spec.reason ?? "UNSUBSCRIBE")]
        case "EXPIRATION": ["expiration_reason": .string(spec.reason ?? "UNSUBSCRIBE")]
        case "BILLING_ISSUE":
            ["grace_period_expiration_at_ms": spec.grace.map(time) ?? .null]
        case "SUBSCRIPTION_PAUSED":
            ["auto_resume_at_ms": time(expires(spec) + .seconds(30 * 86_400))]
        case "PRODUCT_CHANGE":
            // Missing on immediate Play changes, never null.
            spec.newProduct.map {
                ["new_product_id": .string(productID($0, store: spec.store))]
            } ?? [:]
        default: [:]
        }
    }

    // MARK: Types with their own field sets, section 2.6

    private func transfer(_ spec: EventSpec) -> JSONObject {
        func side(_ users: [String]) -> JSONValue {
            .strings(users.map { context.namespace.id(of: $0) })
        }
        return [
            "app_id": "appa55a4c0de1",
            "store": .string(spec.store),
            "environment": .string(spec.environment),
            "transferred_from": side(spec.from),
            "transferred_to": side(spec.to),
        ]
    }

    private func temporaryGrant(_ spec: EventSpec) -> JSONObject {
        merged(
            common(spec),
            [
                "app_user_id": identity(spec)["app_user_id"] ?? .null,
                "purchased_at_ms": time(purchased(spec)),
                "expiration_at_ms": time(spec.expires ?? purchased(spec) + .seconds(86_400)),
                "product_id": .string(productID(spec.product, store: spec.store)),
                "entitlement_ids": entitlements(spec),
                "store": .string(spec.store),
                "transaction_id": .string(transactionID(spec).current),
            ]
        )
    }

    private func virtualCurrency(_ spec: EventSpec) -> JSONObject {
        var fields = identity(spec)
        fields["original_app_user_id"] = nil
        let more: JSONObject = [
            "app_id": "appa55a4c0de1",
            "adjustments": [
                [
                    "amount": 100,
                    "currency": ["code": "GLD", "name": "Gold", "description": "Assay gold"],
                ]
            ],
            "product_id": .string(productID("coins_100", store: spec.store)),
            "product_display_name": "100 coins",
            "purchase_environment": .string(spec.environment),
            "source": "in_app_purchase",
            "store": .string(spec.store),
            "transaction_id": .string(transactionID(spec).current),
            "virtual_currency_transaction_id": .string(
                "vatx" + context.namespace.hex("currency", spec.user ?? "", count: 12)
            ),
            "country_code": "DE",
        ]
        return merged(fields, more)
    }

    private func experiment(_ spec: EventSpec) -> JSONObject {
        var fields = identity(spec)
        fields["subscriber_attributes"] = nil
        return merged(
            fields,
            [
                "experiment_id": "prexpa55a4c0de1",
                "experiment_variant": "b",
                "experiment_enrolled_at_ms": time(spec.time),
                "offering_id": "default",
            ]
        )
    }

    private func redemption(_ spec: EventSpec) -> JSONObject {
        let user = spec.user ?? spec.to.first ?? ""
        return [
            "store": .string(spec.store == "APP_STORE" ? "RC_BILLING" : spec.store),
            "environment": .string(spec.environment),
            "redeemed_from": .strings([context.namespace.anonymousID(of: user + " web")]),
            "redeemed_by": .strings([context.namespace.id(of: user)]),
            "redemption_outcome": "alias",
            "redemption_platform": "ios",
            "workflow_id": "wf_a55a4c0de1",
            "workflow_step_id": "wfs_a55a4c0de1",
            "trace_id": .string(context.namespace.hex("trace", user, count: 32)),
        ]
    }

    private func priceConsent(_ spec: EventSpec) -> JSONObject {
        let transaction = transactionID(spec)
        return merged(
            identity(spec),
            [
                "app_id": "appa55a4c0de1",
                "product_id": .string(productID(spec.product, store: spec.store)),
                "transaction_id": .string(transaction.current),
                "original_transaction_id": .string(transaction.original),
                "store": .string(spec.store),
                "environment": .string(spec.environment),
                "currency": "EUR",
                "country_code": "DE",
            ]
        )
    }

    /// The dashboard's test body: 15 nulls, a random user with two aliases (a capture).
    private func test(_ spec: EventSpec) -> JSONObject {
        var copy = spec
        copy.store = "PLAY_STORE"
        copy.environment = "SANDBOX"
        var fields = merged(identity(copy), lifecycle(copy))
        fields["product_id"] = "test_product"
        fields["purchased_at_ms"] = time(spec.time)
        fields["expiration_at_ms"] = time(spec.time + .seconds(7200))
        for key in [
            "entitlement_id", "entitlement_ids", "presented_offering_id", "transaction_id",
            "original_transaction_id", "is_family_share", "currency", "price",
            "price_in_purchased_currency", "takehome_percentage", "offer_code", "tax_percentage",
            "commission_percentage", "metadata", "renewal_number",
        ] {
            fields[key] = .null
        }
        return fields
    }

    private func invoice(_ spec: EventSpec) -> JSONObject {
        var copy = spec
        copy.store = "RC_BILLING"
        var fields = merged(identity(copy), lifecycle(copy))
        for key in [
            "period_type", "expiration_at_ms", "entitlement_ids", "transaction_id",
            "original_transaction_id", "tax_percentage", "commission_percentage",
            "takehome_percentage",
        ] {
            fields[key] = .null
        }
        fields["price"] = nil
        return fields
    }

    private func paywall(_ spec: EventSpec) -> JSONObject {
        var fields: JSONObject = [
            "app_user_id": identity(spec)["app_user_id"] ?? .null,
            "platform": "iOS",
            "platform_version": "18.1",
            "sdk_version": "5.20.0",
            "subscriber_attributes": ["$displayName": "Ada"],
            "paywall_id": "pwa55a4c0de1",
            "paywall_name": "Autumn",
            "offering_id": "default",
            "session_id": .string(context.namespace.hex("session", spec.user ?? "", count: 32)),
            "display_mode": "full_screen",
            "dark_mode": true,
            "locale": "de_DE",
            "environment": .string(spec.environment),
        ]
        if spec.type == "PAYWALL_COMPONENT_INTERACTED" {
            fields["component_type"] = "package"
            fields["component_value"] = "$rc_monthly"
            fields["origin_index"] = 0
            fields["destination_index"] = 1
        }
        return fields
    }

    // MARK: Values

    private func merged(_ left: JSONObject, _ right: JSONObject) -> JSONObject {
        var result = left
        for member in right.members { result[member.key] = member.value }
        return result
    }

    private func time(_ offset: Duration) -> JSONValue {
        .integer((context.base + offset).milliseconds)
    }

    private func purchased(_ spec: EventSpec) -> Duration { spec.purchased ?? spec.time }

    private func expires(_ spec: EventSpec) -> Duration {
        if let expires = spec.expires { return expires }
        // Refunds and ended subscriptions lie in the past (fact sheet, section 3, rows 3 and 13).
        let isOver = spec.type == "EXPIRATION" || spec.reason == "CUSTOMER_SUPPORT"
        return isOver ? spec.time - .seconds(60) : purchased(spec) + .seconds(30 * 86_400)
    }

    private func price(_ spec: EventSpec) -> Double {
        if spec.store == "PROMOTIONAL" || spec.period == "TRIAL" { return 0 }
        return switch spec.type {
        case "INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE", "REFUND_REVERSED": 9.99
        case "CANCELLATION" where spec.reason == "CUSTOMER_SUPPORT": -9.99
        default: 0
        }
    }

    /// Null when the product maps to no entitlement; names of consumables begin with `coins`.
    private func entitlements(_ spec: EventSpec) -> JSONValue {
        spec.product.hasPrefix("coins") ? .null : .strings([context.entitlement])
    }

    /// The store's id of a product: what the profile maps, else the name; Play joins the base plan.
    package func productID(_ name: String, store: String) -> String {
        let id = context.products[name] ?? name
        return store == "PLAY_STORE" && !id.contains(":") ? "\(id):base-plan" : id
    }

    /// The forms of section 2.5: Stripe repeats one id, Play appends a renewal counter.
    private func transactionID(_ spec: EventSpec) -> (current: String, original: String) {
        let user = spec.user ?? spec.from.first ?? ""
        let original = context.namespace.transactionID(of: user, spec.product)
        switch spec.store {
        case "PLAY_STORE":
            let digits = original + "00"
            let parts = [
                digits.prefix(4), digits.dropFirst(4).prefix(4), digits.dropFirst(8).prefix(4),
            ]
            let order = "GPA." + parts.joined(separator: "-") + "-" + digits.suffix(5)
            return (spec.type == "RENEWAL" ? order + "..0" : order, order)
        case "STRIPE": return ("si_" + original, "si_" + original)
        case "PROMOTIONAL":
            let hex = context.namespace.hex("promotional", user + spec.product, count: 32)
            return (hex, hex)
        default:
            return (spec.type == "RENEWAL" ? original + "1" : original, original)
        }
    }
}
