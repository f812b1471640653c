internal import Values

/// The type of a RevenueCat webhook event: a documented type, or any other word, because RevenueCat
/// may add types at any time.
package enum RevenueCatEventType: Hashable, Codable, Sendable, RawRepresentable {
    case documented(Documented)
    case unknown(String)

    package init(rawValue: String) {
        self = Documented(rawValue: rawValue).map(Self.documented) ?? .unknown(rawValue)
    }

    package var rawValue: String {
        switch self {
        case .documented(let type): type.rawValue
        case .unknown(let word): word
        }
    }

    /// The documented type; nil for an unknown word.
    package var documented: Documented? {
        if case .documented(let type) = self { type } else { nil }
    }

    /// The names of the types whose events give a reason, in the order of the table.
    static let namesWithReasons = Documented.allCases.filter { !$0.facts.reasons.isEmpty }
        .map(\.rawValue)

    /// The facts of the type; nil for an unknown type, of which there are none.
    package var facts: Facts? { documented?.facts }
}

extension RevenueCatEventType: CustomStringConvertible {
    package var description: String { rawValue }
}

extension RevenueCatEventType {
    /// RevenueCat's event types: the 21 core types and the five paywall types, in the order of
    /// section 2.1 of the RevenueCat fact sheet.
    package enum Documented: String, Hashable, Codable, Sendable, CaseIterable {
        case test = "TEST"
        case initialPurchase = "INITIAL_PURCHASE"
        case renewal = "RENEWAL"
        case cancellation = "CANCELLATION"
        case uncancellation = "UNCANCELLATION"
        case nonRenewingPurchase = "NON_RENEWING_PURCHASE"
        case subscriptionPaused = "SUBSCRIPTION_PAUSED"
        case expiration = "EXPIRATION"
        case billingIssue = "BILLING_ISSUE"
        case productChange = "PRODUCT_CHANGE"
        case subscriptionExtended = "SUBSCRIPTION_EXTENDED"
        case refundReversed = "REFUND_REVERSED"
        case transfer = "TRANSFER"
        case temporaryEntitlementGrant = "TEMPORARY_ENTITLEMENT_GRANT"
        case invoiceIssuance = "INVOICE_ISSUANCE"
        case virtualCurrencyTransaction = "VIRTUAL_CURRENCY_TRANSACTION"
        case experimentEnrollment = "EXPERIMENT_ENROLLMENT"
        case purchaseRedeemed = "PURCHASE_REDEEMED"
        case priceIncreaseConsentRequired = "PRICE_INCREASE_CONSENT_REQUIRED"
        case priceIncreaseConsentApproved = "PRICE_INCREASE_CONSENT_APPROVED"
        case subscriberAlias = "SUBSCRIBER_ALIAS"
        case paywallImpression = "PAYWALL_IMPRESSION"
        case paywallClose = "PAYWALL_CLOSE"
        case paywallCancel = "PAYWALL_CANCEL"
        case paywallExitOffer = "PAYWALL_EXIT_OFFER"
        case paywallComponentInteracted = "PAYWALL_COMPONENT_INTERACTED"
    }

    /// The facts of an event type on which the fake, the store model, the grammar of contracts and
    /// the generated histories depend (RevenueCat fact sheet, sections 2 and 3).
    package struct Facts: Hashable, Sendable {
        /// The fields of the event's body.
        package var body: Body
        /// The change that the event makes to a purchase in the store model.
        package var effect: Effect
        /// The relation of the event's dates to a subscription period.
        package var period: Period
        /// The payment that the event reports.
        package var payment: Payment
        /// The name of the event's delivery in generated contracts; nil for the type itself.
        package var deliveryName: String?
        /// The value of the tag `last_event_type` that RevenueCat's OneSignal integration writes
        /// (RevenueCat fact sheet, section 6); nil if the integration does not send the event.
        package var integrationName: String?
        /// The reasons that the event may give (RevenueCat fact sheet, section 2.7).
        package var reasons: [String]
    }

    /// The group of fields in an event's body (RevenueCat fact sheet, sections 2.2 to 2.6).
    package enum Body: Hashable, Sendable {
        case lifecycle, test, invoice, transfer, temporaryGrant, currency, enrollment, redemption
        case priceConsent, alias, paywall
    }

    /// The change that an event makes to a purchase (RevenueCat fact sheet, section 2.1, column
    /// "Access after").
    package enum Effect: Hashable, Sendable {
        /// The event pays for a new period, and clears the flags of the purchase.
        case paysPeriod
        /// The event changes the dates of the purchase, and clears its flags.
        case setsDates
        /// The event changes the dates or flags of the purchase, and keeps all other flags.
        case changesPurchase
        /// The event ends the period.
        case endsPeriod
        /// The event moves purchases from one customer to another.
        case movesPurchases
        /// The event announces a change that a later event makes.
        case announcesChange
        /// The event changes no purchase.
        case noChange
    }

    /// The relation of an event's dates to a subscription period.
    package enum Period: Hashable, Sendable {
        /// The event begins a period and contains its dates.
        case begins
        /// The event occurs within a period and contains its dates.
        case within
        /// The event has other dates, or none.
        case unrelated
    }

    /// The payment that an event reports (RevenueCat fact sheet, section 2.2).
    package enum Payment: Hashable, Sendable {
        /// The price that is charged for a period or a product. The event also has the members
        /// about discounts.
        case charge
        /// The price of a charge that another event reports.
        case price
        /// The refunded price, if the event reports a refund.
        case refund
        case noPayment
    }
}

extension RevenueCatEventType.Documented {
    /// The table of RevenueCat's event types.
    package var facts: RevenueCatEventType.Facts {
        switch self {
        case .test: row(.test, .noChange)
        case .initialPurchase:
            row(.lifecycle, .paysPeriod, .begins, .charge, "purchase", tag: "initial_purchase")
        case .renewal:
            row(
                .lifecycle,
                .paysPeriod,
                .begins,
                .charge,
                tag: "renewal",
                reasons: ["TRIAL_CONVERSION"]
            )
        case .cancellation:
            row(
                .lifecycle,
                .changesPurchase,
                .within,
                .refund,
                tag: "cancellation",
                reasons: Self.endReasons
            )
        case .uncancellation:
            row(.lifecycle, .setsDates, .within, .noPayment, "back", tag: "uncancellation")
        case .nonRenewingPurchase:
            row(.lifecycle, .setsDates, .begins, .charge, "one-time", tag: "non_renewing_purchase")
        case .subscriptionPaused:
            row(
                .lifecycle,
                .changesPurchase,
                .within,
                .noPayment,
                "pause",
                tag: "subscription_paused"
            )
        case .expiration:
            row(
                .lifecycle,
                .endsPeriod,
                .within,
                .noPayment,
                "end",
                tag: "expiration",
                reasons: Self.endReasons + ["SUBSCRIPTION_PAUSED"]
            )
        case .billingIssue:
            row(.lifecycle, .changesPurchase, .within, .noPayment, "issue", tag: "billing_issue")
        // The purchase event that accompanies a product change contains the new state.
        case .productChange:
            row(.lifecycle, .announcesChange, .within, .noPayment, "change", tag: "product_change")
        case .subscriptionExtended:
            row(.lifecycle, .changesPurchase, .within, .noPayment, "extension")
        case .refundReversed: row(.lifecycle, .changesPurchase, .within, .price, "reversal")
        case .transfer: row(.transfer, .movesPurchases)
        case .temporaryEntitlementGrant:
            row(.temporaryGrant, .setsDates, .unrelated, .noPayment, "grant")
        case .invoiceIssuance: row(.invoice, .noChange, .unrelated, .price)
        case .virtualCurrencyTransaction: row(.currency, .noChange)
        case .experimentEnrollment: row(.enrollment, .noChange)
        case .purchaseRedeemed: row(.redemption, .noChange)
        case .priceIncreaseConsentRequired: row(.priceConsent, .noChange, .within)
        case .priceIncreaseConsentApproved: row(.priceConsent, .noChange, .within)
        case .subscriberAlias: row(.alias, .noChange)
        case .paywallImpression: row(.paywall, .noChange)
        case .paywallClose: row(.paywall, .noChange)
        case .paywallCancel: row(.paywall, .noChange)
        case .paywallExitOffer: row(.paywall, .noChange)
        case .paywallComponentInteracted: row(.paywall, .noChange)
        }
    }

    /// The reasons for the end of a subscription (RevenueCat fact sheet, section 2.7).
    private static let endReasons = [
        "UNSUBSCRIBE", "BILLING_ERROR", "DEVELOPER_INITIATED", "PRICE_INCREASE",
        "CUSTOMER_SUPPORT", "UNKNOWN",
    ]

    private func row(
        _ body: RevenueCatEventType.Body,
        _ effect: RevenueCatEventType.Effect,
        _ period: RevenueCatEventType.Period = .unrelated,
        _ payment: RevenueCatEventType.Payment = .noPayment,
        _ deliveryName: String? = nil,
        tag: String? = nil,
        reasons: [String] = []
    ) -> RevenueCatEventType.Facts {
        RevenueCatEventType.Facts(
            body: body,
            effect: effect,
            period: period,
            payment: payment,
            deliveryName: deliveryName,
            integrationName: tag,
            reasons: reasons
        )
    }
}
