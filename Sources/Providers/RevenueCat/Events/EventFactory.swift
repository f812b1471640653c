package import Values

/// A factory for the RevenueCat events that a contract describes.
///
/// `RevenueCatEventWriter` encodes them.
package struct EventFactory: Sendable {
    private static let appID = "appa55a4c0de1"
    /// The price of every product in US dollars.
    ///
    /// No contract may depend on this price.
    private static let price = 9.99

    package let context: EventContext

    private var market: DrawnValues.Market { context.drawnValues.market }
    private var localPrice: Double { market.localPrice }

    package init(_ context: EventContext) {
        self.context = context
    }

    /// Returns the complete webhook body of an event: `api_version` and `event`.
    ///
    /// The order of its keys is derived from the event's ID.
    package func body(_ spec: EventSpec, name: String) -> JSONValue {
        let event = event(spec, name: name)
        var generator = SeededGenerator(seed: 0, text: event.id)
        let eventObject = RevenueCatEventWriter.object(event)
        let shuffled = JSONObject(members: eventObject.members.shuffled(using: &generator))
        let envelope = RevenueCatEventWriter.body(shuffled).object?.members ?? []
        return .object(JSONObject(members: envelope.shuffled(using: &generator)))
    }

    /// Returns the event that a contract describes.
    ///
    /// `name` is the name of the event's delivery in the contract.
    package func event(_ spec: EventSpec, name: String) -> RevenueCatEvent {
        RevenueCatEvent(
            type: spec.type,
            id: context.namespace.eventID(of: name),
            time: context.base + spec.time,
            appID: Self.appID,
            content: content(spec)
        )
    }

    private func content(_ spec: EventSpec) -> RevenueCatEvent.Content {
        guard let body = spec.type.facts?.body else { return lifecycle(spec) }
        switch body {
        case .lifecycle: return lifecycle(spec)
        case .transfer: return .transfer(transfer(spec))
        case .temporaryGrant:
            var item = item(spec)
            item.expires = context.base + (spec.expires ?? purchased(spec) + .seconds(86_400))
            return .temporaryGrant(identity(spec), item)
        case .currency:
            var item = item(spec)
            item.product = productID("coins_100", store: spec.store)
            return .currency(identity(spec), item, currency(spec))
        case .enrollment:
            return .enrollment(
                identity(spec),
                .init(experimentID: "prexpa55a4c0de1", variant: "b", offering: "default")
            )
        case .redemption: return .redemption(redemption(spec))
        case .priceConsent: return .priceConsent(identity(spec), item(spec))
        case .alias: return .alias(identity(spec), item(spec))
        case .test: return .lifecycle(identity(spec), testItem(spec), .none)
        case .invoice:
            var adjustedSpec = spec
            adjustedSpec.store = "RC_BILLING"
            var item = item(adjustedSpec)
            item.payment = .paid(Self.price, localAmount: localPrice)
            return .lifecycle(identity(spec), item, .none)
        case .paywall: return .paywall(identity(spec), paywallVisit(spec))
        }
    }

    private func lifecycle(_ spec: EventSpec) -> RevenueCatEvent.Content {
        .lifecycle(identity(spec), item(spec), detail(spec))
    }

    // MARK: Identity

    private func identity(_ spec: EventSpec) -> RevenueCatEvent.Identity? {
        guard let user = spec.user else { return nil }
        let id = context.namespace.id(of: user)
        let anonymousID = context.namespace.anonymousID(of: user)
        let (currentID, originalID, aliases): (String, String, [String]) =
            switch spec.userIDLocation {
            case .appUserID: (id, anonymousID, [anonymousID, id])
            case .aliases: (anonymousID, anonymousID, [anonymousID, id])
            case .originalAppUserID: (anonymousID, id, [anonymousID])
            case .anonymous: (anonymousID, anonymousID, [anonymousID])
            }
        let eventTimeInMilliseconds = (context.base + spec.time).milliseconds
        return .init(
            currentID: currentID,
            originalID: originalID,
            aliases: aliases,
            attributes: [
                "$displayName": [
                    "value": .string("\(context.drawnValues.givenName) \(user)"),
                    "updated_at_ms": .integer(eventTimeInMilliseconds),
                ]
            ]
        )
    }

    // MARK: Item

    private func item(_ spec: EventSpec) -> RevenueCatEvent.PurchasedItem {
        let isPromotional = spec.store == "PROMOTIONAL"
        let transaction = transactionID(spec)
        var item = RevenueCatEvent.PurchasedItem(
            product: productID(spec.product, store: spec.store),
            store: spec.store,
            environment: spec.environment,
            period: isPromotional ? "PROMOTIONAL" : spec.period,
            purchased: context.base + purchased(spec),
            expires: spec.isLifetime ? nil : context.base + expires(spec),
            transactionID: transaction.currentID,
            originalTransactionID: transaction.originalID,
            entitlements: entitlements(spec),
            country: market.country,
            currency: isPromotional ? "USD" : market.currency
        )
        item.payment = payment(spec)
        item.isFamilyShared = spec.isFamilyShared ?? false
        item.renewalNumber = spec.type.documented == .renewal ? 2 : 1
        return item
    }

    /// Returns the item of a test event.
    ///
    /// The dashboard's test button uses one fixed store and one fixed product, according to a
    /// capture.
    private func testItem(_ spec: EventSpec) -> RevenueCatEvent.PurchasedItem {
        var adjustedSpec = spec
        adjustedSpec.store = "PLAY_STORE"
        adjustedSpec.environment = "SANDBOX"
        var item = item(adjustedSpec)
        item.product = "test_product"
        item.purchased = context.base + spec.time
        item.expires = context.base + spec.time + .seconds(7200)
        return item
    }

    /// Returns the facts that only events of this type contain, such as the reason of a
    /// cancellation.
    private func detail(_ spec: EventSpec) -> RevenueCatEvent.LifecycleDetail {
        switch spec.type.documented {
        case .renewal: .renewed(isTrialConversion: spec.reason == "TRIAL_CONVERSION")
        case .cancellation: .cancelled(reason: spec.reason ?? "UNSUBSCRIBE")
        case .expiration: .expired(reason: spec.reason ?? "UNSUBSCRIBE")
        case .billingIssue: .billingFailed(graceEnd: spec.grace.map { context.base + $0 })
        case .subscriptionPaused: .paused(until: context.base + expires(spec) + .days(30))
        case .productChange:
            .productChanged(to: spec.newProduct.map { productID($0, store: spec.store) })
        case .initialPurchase, .uncancellation, .nonRenewingPurchase, .subscriptionExtended,
            .refundReversed:
            .none
        // The events of all other types have no members about the lifecycle of a purchase.
        case .test, .transfer, .temporaryEntitlementGrant, .invoiceIssuance,
            .virtualCurrencyTransaction, .experimentEnrollment, .purchaseRedeemed,
            .priceIncreaseConsentRequired, .priceIncreaseConsentApproved, .subscriberAlias,
            .paywallImpression, .paywallClose, .paywallCancel, .paywallExitOffer,
            .paywallComponentInteracted, nil:
            .none
        }
    }

    private func payment(_ spec: EventSpec) -> RevenueCatEvent.Payment {
        if spec.store == "PROMOTIONAL" || spec.period == "TRIAL" { return .none }
        // The family member with whom a purchase is shared pays nothing.
        if spec.isFamilyShared == true { return .paid(0, localAmount: 0) }
        return switch spec.type.facts?.payment {
        case .charge, .price: .paid(Self.price, localAmount: localPrice)
        case .refund where spec.reason == "CUSTOMER_SUPPORT":
            .refunded(Self.price, localAmount: localPrice)
        case .refund, .noPayment, nil: .none
        }
    }

    // MARK: Types with special facts, section 2.6

    private func transfer(_ spec: EventSpec) -> RevenueCatEvent.Transfer {
        .init(
            store: spec.store,
            environment: spec.environment,
            previousOwners: spec.from.map { context.namespace.id(of: $0) },
            newOwners: spec.to.map { context.namespace.id(of: $0) }
        )
    }

    private func currency(_ spec: EventSpec) -> RevenueCatEvent.CurrencyTransaction {
        .init(
            amount: 100,
            code: "GLD",
            name: "Gold",
            description: "Assay gold",
            productName: "100 coins",
            transactionID: "vatx"
                + context.namespace.hex("currency", spec.user ?? "", count: 12)
        )
    }

    private func redemption(_ spec: EventSpec) -> RevenueCatEvent.Redemption {
        let user = spec.user ?? spec.to.first ?? ""
        return .init(
            store: spec.store == "APP_STORE" ? "RC_BILLING" : spec.store,
            environment: spec.environment,
            previousOwners: [context.namespace.anonymousID(of: user + " web")],
            newOwners: [context.namespace.id(of: user)],
            outcome: "alias",
            workflowID: "wf_a55a4c0de1",
            stepID: "wfs_a55a4c0de1",
            traceID: context.namespace.hex("trace", user, count: 32)
        )
    }

    private func paywallVisit(_ spec: EventSpec) -> RevenueCatEvent.PaywallVisit {
        .init(
            paywall: "pwa55a4c0de1",
            name: "Autumn",
            sessionID: context.namespace.hex("session", spec.user ?? "", count: 32),
            locale: market.locale,
            environment: spec.environment,
            product: productID("premium_yearly", store: spec.store)
        )
    }

    // MARK: Values

    private func purchased(_ spec: EventSpec) -> Duration { spec.purchased ?? spec.time }

    private func expires(_ spec: EventSpec) -> Duration {
        if let expires = spec.expires { return expires }
        // The expiration of a refunded or ended subscription is in the past (RevenueCat fact sheet,
        // section 3, rows 3 and 13).
        return spec.endsSubscription ? spec.time - .seconds(60) : purchased(spec) + .days(30)
    }

    /// Returns the entitlements of the product in an event.
    ///
    /// A contract can state them. Otherwise they are those of the product in the standard catalog,
    /// or the profile's entitlement for any other product. The list is empty for a consumable,
    /// whose name begins with `coins`.
    private func entitlements(_ spec: EventSpec) -> [String] {
        let selection =
            spec.entitlements ?? CatalogProduct.named(spec.product)?.entitlements
            ?? (spec.product.hasPrefix("coins") ? .none : .main)
        return selection.names(main: context.entitlement)
    }

    /// Returns the store's ID of a product: the ID in the profile, or else the ID in the standard
    /// catalog, or else the name itself.
    ///
    /// On Play, subscriptions have a base plan, which is appended to the ID.
    package func productID(_ name: String, store: String) -> String {
        let id = context.products[name] ?? CatalogProduct.named(name)?.id(in: store) ?? name
        let isSubscription = Catalog().product(name).days != nil
        return store == "PLAY_STORE" && isSubscription && !id.contains(":")
            ? "\(id):\(CatalogProduct.basePlan)" : id
    }

    /// Returns the transaction IDs of a purchase in the formats of section 2.5 of the RevenueCat
    /// fact sheet.
    ///
    /// Stripe repeats one ID, and Play appends a renewal counter.
    private func transactionID(_ spec: EventSpec) -> (currentID: String, originalID: String) {
        let user = spec.firstBuyer ?? spec.user ?? spec.from.first ?? ""
        let originalID = context.namespace.transactionID(
            of: user,
            spec.continuedProduct ?? spec.product
        )
        switch spec.store {
        case "PLAY_STORE":
            let orderDigits = originalID + "00"
            let orderNumberParts = [
                orderDigits.prefix(4), orderDigits.dropFirst(4).prefix(4),
                orderDigits.dropFirst(8).prefix(4),
            ]
            let orderNumber =
                "GPA." + orderNumberParts.joined(separator: "-") + "-" + orderDigits.suffix(5)
            return (
                spec.type.documented == .renewal ? orderNumber + "..0" : orderNumber, orderNumber
            )
        case "STRIPE": return ("si_" + originalID, "si_" + originalID)
        case "PROMOTIONAL":
            let hex = context.namespace.hex("promotional", user + spec.product, count: 32)
            return (hex, hex)
        default:
            return (spec.type.documented == .renewal ? originalID + "1" : originalID, originalID)
        }
    }
}
