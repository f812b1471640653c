package import Values

/// An encoder for RevenueCat's webhook events.
///
/// It writes the keys of each type and store, and null where RevenueCat sends null.
///
/// Source: RevenueCat fact sheet, section 2. Where the documentation's samples differ from captured
/// deliveries, a comment names the source that the code follows. A test compares every published
/// body.
package enum RevenueCatEventWriter {
    /// Returns the complete webhook body: an encoded event in RevenueCat's envelope.
    package static func body(_ event: JSONObject) -> JSONValue {
        ["api_version": "1.0", "event": .object(event)]
    }

    /// Encodes an event without the envelope of the webhook body.
    package static func object(_ event: RevenueCatEvent) -> JSONObject {
        // The member `id` is documented for every type. The test data of a public client has
        // `event_id` in paywall events, so these contain both members (RevenueCat fact sheet,
        // section 2.3).
        var eventMembers: JSONObject = [
            "type": .string(event.type.rawValue), "id": .string(event.id),
            "event_timestamp_ms": time(event.time),
        ]
        for member in content(event).members { eventMembers[member.key] = member.value }
        return eventMembers
    }

    private static func content(_ event: RevenueCatEvent) -> JSONObject {
        switch event.content {
        case .lifecycle(let identity, let item, let detail):
            var fields = self.identity(identity)
            addMembers(lifecycle(item, event), to: &fields)
            if let experiments = identity?.experiments, !experiments.isEmpty {
                fields["experiments"] = .array(experiments)
            }
            addMembers(self.detail(detail), to: &fields)
            setEmptyMembers(&fields, of: event.type)
            return fields
        case .transfer(let transfer): return self.transfer(transfer, event.appID)
        case .temporaryGrant(let identity, let item):
            return temporaryGrant(identity, item, event.appID)
        case .currency(let identity, let item, let currency):
            return self.currency(identity, item, currency, event.appID)
        case .enrollment(let identity, let enrollment):
            return self.enrollment(identity, enrollment, event.time)
        case .redemption(let redemption): return self.redemption(redemption)
        case .priceConsent(let identity, let item):
            return priceConsent(identity, item, event.appID)
        case .alias(let identity, let item):
            var fields = self.identity(identity)
            addMembers(appMembers(event.appID, item.store), to: &fields)
            return fields
        case .paywall(let identity, let visit): return paywall(identity, visit, event)
        }
    }

    // MARK: Groups, sections 2.3 to 2.5

    /// Returns the member with the app ID.
    ///
    /// Captured events about promotional grants lack this member.
    private static func appMembers(_ id: String, _ store: String) -> JSONObject {
        store == "PROMOTIONAL" ? [:] : ["app_id": .string(id)]
    }

    private static func identity(_ identity: RevenueCatEvent.Identity?) -> JSONObject {
        guard let identity else { return [:] }
        return [
            "app_user_id": .string(identity.currentID),
            "original_app_user_id": .string(identity.originalID),
            "aliases": .strings(identity.aliases),
            "subscriber_attributes": .object(identity.attributes),
        ]
    }

    private static func lifecycle(
        _ item: RevenueCatEvent.PurchasedItem,
        _ event: RevenueCatEvent
    ) -> JSONObject {
        let isPromotional = item.store == "PROMOTIONAL"
        var fields: JSONObject = [
            "product_id": .string(item.product),
            "period_type": .string(item.period),
            "purchased_at_ms": time(item.purchased),
            "expiration_at_ms": item.expires.map(time) ?? .null,
            "environment": .string(item.environment),
            // This member is deprecated. Captures fill it for promotional grants and have null for
            // Stripe; the documentation's samples contain both.
            "entitlement_id": isPromotional ? text(item.entitlements.first) : .null,
            "entitlement_ids": entitlements(item),
            "presented_offering_id": text(item.offering),
            "transaction_id": .string(item.transactionID),
            "original_transaction_id": .string(item.originalTransactionID),
            // This member is null in captures of promotional grants, and false outside the App
            // Store.
            "is_family_share": isPromotional ? .null : .bool(item.isFamilyShared),
            "country_code": country(item),
            "store": .string(item.store),
            "currency": text(item.currency),
            "offer_code": text(item.offerCode),
        ]
        addMembers(appMembers(event.appID, item.store), to: &fields)
        addMembers(payment(item.payment), to: &fields)
        addMembers(revenueShares(item, event.type), to: &fields)
        return fields
    }

    /// Returns the value of the event's country code, which is null in captures of Stripe and of
    /// promotional grants.
    private static func country(_ item: RevenueCatEvent.PurchasedItem) -> JSONValue {
        ["STRIPE", "PROMOTIONAL"].contains(item.store) ? .null : .string(item.country)
    }

    /// Returns the list of the event's entitlements.
    ///
    /// For a product without entitlements, the value is null and not an empty list (documented).
    private static func entitlements(_ item: RevenueCatEvent.PurchasedItem) -> JSONValue {
        item.entitlements.isEmpty ? .null : .strings(item.entitlements)
    }

    /// Returns the event's members about prices.
    ///
    /// They are zero for every type without a payment (samples and captures).
    private static func payment(_ payment: RevenueCatEvent.Payment) -> JSONObject {
        let (amountInUSD, localAmount): (Double, Double) =
            switch payment {
            case .none: (0, 0)
            case .paid(let amountInUSD, let localAmount): (amountInUSD, localAmount)
            case .refunded(let amountInUSD, let localAmount): (-amountInUSD, -localAmount)
            }
        return [
            "price": number(amountInUSD), "price_in_purchased_currency": number(localAmount),
        ]
    }

    /// Returns the members about the shares of the revenue, and related members that depend on the
    /// store.
    ///
    /// The documentation marks them as "sometimes" present.
    private static func revenueShares(
        _ item: RevenueCatEvent.PurchasedItem,
        _ type: RevenueCatEventType
    )
        -> JSONObject
    {
        switch item.store {
        case "PROMOTIONAL":
            // In captures, the tax is null for the start and the end of a promotional grant, and
            // zero for its revocation.
            let tax: JSONValue = type.documented == .cancellation ? 0 : .null
            return mergedObject(
                [
                    "tax_percentage": tax, "commission_percentage": tax, "takehome_percentage": 1,
                    "metadata": .null, "renewal_number": .null,
                ],
                discounts(type)
            )
        case "STRIPE":
            // In captures, the tax is null when nothing was charged, and Stripe events contain the
            // undocumented member `price_id`.
            let isUncharged = [.billingIssue, .expiration].contains(type.documented)
            return mergedObject(
                [
                    "tax_percentage": isUncharged ? .null : 0, "commission_percentage": 0,
                    "takehome_percentage": 1, "metadata": [:],
                    "renewal_number": .integer(item.renewalNumber),
                    "price_id": "price_1AssayStripePrice0000000",
                ],
                discounts(type)
            )
        case "PLAY_STORE":
            // The documentation's samples for this store contain only this member.
            return ["takehome_percentage": number(0.7)]
        default:
            // The values are those of the documentation's samples of 2026, in which only a reversed
            // refund has a renewal number.
            var fields: JSONObject = [
                "tax_percentage": number(0), "commission_percentage": number(0.3),
                "takehome_percentage": number(0.7),
            ]
            if type.documented == .refundReversed {
                fields["metadata"] = .null
                fields["renewal_number"] = .integer(item.renewalNumber)
            }
            return fields
        }
    }

    /// Returns the members about discounts, which only the events about a first purchase, a renewal
    /// and a one-time purchase have (documented).
    ///
    /// The values of these members are null in every captured event.
    private static func discounts(_ type: RevenueCatEventType) -> JSONObject {
        guard type.facts?.payment == .charge else { return [:] }
        return [
            "discount_percentage": .null, "discount_amount": .null, "discount_identifier": .null,
        ]
    }

    /// Returns the members that events of only one type contain (documented).
    private static func detail(_ detail: RevenueCatEvent.LifecycleDetail) -> JSONObject {
        switch detail {
        case .none: [:]
        case .renewed(let isTrialConversion): ["is_trial_conversion": .bool(isTrialConversion)]
        case .cancelled(let reason): ["cancel_reason": .string(reason)]
        case .expired(let reason): ["expiration_reason": .string(reason)]
        case .billingFailed(let graceEnd):
            ["grace_period_expiration_at_ms": graceEnd.map(time) ?? .null]
        case .paused(let end): ["auto_resume_at_ms": end.map(time) ?? .null]
        // The member `new_product_id` is never null: it is omitted for immediate changes on Play.
        case .productChanged(let product): product.map { ["new_product_id": .string($0)] } ?? [:]
        }
    }

    /// The members whose value is always null, by the type of the event.
    private static let emptyMembers: [RevenueCatEventType.Body: [String]] = [
        // In a capture of the dashboard's test event, these fifteen members are null.
        .test: [
            "entitlement_id", "entitlement_ids", "presented_offering_id", "transaction_id",
            "original_transaction_id", "is_family_share", "currency", "price",
            "price_in_purchased_currency", "takehome_percentage", "offer_code", "tax_percentage",
            "commission_percentage", "metadata", "renewal_number",
        ],
        // In the documentation's sample of an invoice event, these members are null.
        .invoice: [
            "period_type", "expiration_at_ms", "entitlement_ids", "transaction_id",
            "original_transaction_id", "takehome_percentage", "tax_percentage",
            "commission_percentage", "metadata", "renewal_number",
        ],
    ]

    private static func setEmptyMembers(_ fields: inout JSONObject, of type: RevenueCatEventType) {
        guard let body = type.facts?.body else { return }
        for key in emptyMembers[body] ?? [] { fields[key] = .null }
        // Nothing is paid yet; the documentation's sample omits the member `price`.
        if body == .invoice { fields["price"] = nil }
    }

    // MARK: Types with special fields, section 2.6

    private static func transfer(
        _ transfer: RevenueCatEvent.Transfer,
        _ appID: String
    ) -> JSONObject {
        mergedObject(
            appMembers(appID, transfer.store),
            [
                "store": .string(transfer.store),
                "environment": .string(transfer.environment),
                "transferred_from": .strings(transfer.previousOwners),
                "transferred_to": .strings(transfer.newOwners),
            ]
        )
    }

    private static func temporaryGrant(
        _ identity: RevenueCatEvent.Identity?,
        _ item: RevenueCatEvent.PurchasedItem,
        _ appID: String
    ) -> JSONObject {
        mergedObject(
            appMembers(appID, item.store),
            [
                "app_user_id": text(identity?.currentID),
                "purchased_at_ms": time(item.purchased),
                "expiration_at_ms": item.expires.map(time) ?? .null,
                "product_id": .string(item.product),
                "entitlement_ids": entitlements(item),
                "store": .string(item.store),
                "transaction_id": .string(item.transactionID),
            ]
        )
    }

    private static func currency(
        _ identity: RevenueCatEvent.Identity?,
        _ item: RevenueCatEvent.PurchasedItem,
        _ currency: RevenueCatEvent.CurrencyTransaction,
        _ appID: String
    ) -> JSONObject {
        var fields = self.identity(identity)
        fields["original_app_user_id"] = nil
        addMembers(appMembers(appID, item.store), to: &fields)
        addMembers(
            [
                "adjustments": [
                    [
                        "amount": .integer(currency.amount),
                        "currency": [
                            "code": .string(currency.code), "name": .string(currency.name),
                            "description": .string(currency.description),
                        ],
                    ]
                ],
                "product_id": .string(item.product),
                "product_display_name": .string(currency.productName),
                "purchase_environment": .string(item.environment),
                "source": "in_app_purchase",
                "store": .string(item.store),
                "transaction_id": .string(item.transactionID),
                "virtual_currency_transaction_id": .string(currency.transactionID),
                "country_code": country(item),
            ],
            to: &fields
        )
        return fields
    }

    private static func enrollment(
        _ identity: RevenueCatEvent.Identity?,
        _ enrollment: RevenueCatEvent.Enrollment,
        _ moment: Instant
    ) -> JSONObject {
        var fields = self.identity(identity)
        fields["subscriber_attributes"] = nil
        addMembers(
            [
                "experiment_id": .string(enrollment.experimentID),
                "experiment_variant": .string(enrollment.variant),
                "experiment_enrolled_at_ms": time(moment),
                "offering_id": .string(enrollment.offering),
            ],
            to: &fields
        )
        return fields
    }

    /// Encodes the event about a redeemed web purchase, in the format of a public client's test
    /// data.
    private static func redemption(_ redemption: RevenueCatEvent.Redemption) -> JSONObject {
        [
            "store": .string(redemption.store),
            "environment": .string(redemption.environment),
            "redeemed_from": .strings(redemption.previousOwners),
            "redeemed_by": .strings(redemption.newOwners),
            "redemption_outcome": .string(redemption.outcome),
            "redemption_platform": "ios",
            "workflow_id": .string(redemption.workflowID),
            "workflow_step_id": .string(redemption.stepID),
            "trace_id": .string(redemption.traceID),
        ]
    }

    /// Encodes the event about the consent to a price increase.
    ///
    /// The format is *unverified*: it follows a third party's reading of the documentation.
    private static func priceConsent(
        _ identity: RevenueCatEvent.Identity?,
        _ item: RevenueCatEvent.PurchasedItem,
        _ appID: String
    ) -> JSONObject {
        var fields = self.identity(identity)
        addMembers(appMembers(appID, item.store), to: &fields)
        addMembers(
            [
                "product_id": .string(item.product),
                "transaction_id": .string(item.transactionID),
                "original_transaction_id": .string(item.originalTransactionID),
                "store": .string(item.store),
                "environment": .string(item.environment),
                "currency": text(item.currency),
                "country_code": country(item),
            ],
            to: &fields
        )
        return fields
    }

    /// Encodes a paywall event in the format of a public client's test data, in which attributes
    /// are plain values.
    private static func paywall(
        _ identity: RevenueCatEvent.Identity?,
        _ visit: RevenueCatEvent.PaywallVisit,
        _ event: RevenueCatEvent
    ) -> JSONObject {
        let attributes = (identity?.attributes.members ?? []).map {
            JSONObject.Member(key: $0.key, value: $0.value["value"] ?? .null)
        }
        var fields: JSONObject = [
            "event_id": .string(event.id),
            "app_user_id": text(identity?.currentID),
            "platform": "iOS", "platform_version": "18.5", "sdk_version": "5.80.0",
            "subscriber_attributes": .object(JSONObject(members: attributes)),
            "paywall_id": .string(visit.paywall), "paywall_name": .string(visit.name),
            "offering_id": "default", "session_id": .string(visit.sessionID),
            "display_mode": .null, "dark_mode": false, "locale": .string(visit.locale),
            "environment": .string(visit.environment),
        ]
        if event.type.documented == .paywallComponentInteracted {
            fields["component_type"] = "package"
            fields["component_value"] = "$rc_monthly"
            fields["origin_index"] = 0
            fields["destination_index"] = 1
            fields["destination_package_id"] = "$rc_annual"
            fields["destination_product_id"] = .string(visit.product)
        }
        return fields
    }

    // MARK: Values

    private static func time(_ instant: Instant) -> JSONValue { .integer(instant.milliseconds) }

    private static func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

    private static func number(_ value: Double) -> JSONValue { .number(JSONNumber(value)) }

    private static func addMembers(_ newMembers: JSONObject, to fields: inout JSONObject) {
        for member in newMembers.members { fields[member.key] = member.value }
    }

    private static func mergedObject(_ left: JSONObject, _ right: JSONObject) -> JSONObject {
        var result = left
        addMembers(right, to: &result)
        return result
    }
}
