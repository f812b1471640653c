internal import Contracts
package import Values

/// Functions that create the events about changes in the fake RevenueCat's store model.
///
/// `RevenueCatEventWriter` encodes the events.
extension RevenueCatState {
    /// Returns the complete webhook body: an encoded event in RevenueCat's envelope.
    package static func body(_ event: JSONObject) -> JSONValue {
        RevenueCatEventWriter.body(event)
    }

    /// The payment that an event about a purchase reports: none, the price of the purchase, or a
    /// refund of the price.
    enum PaymentKind { case none, price, refund }

    /// The country that the SDK's latest request reports.
    ///
    /// It is the same for every customer of the fake.
    private static let country = "US"

    /// Creates an event with a new ID and adds it to the events to be sent.
    private mutating func emitNewEvent(
        _ type: RevenueCatEventType.Documented,
        _ content: RevenueCatEvent.Content,
        at time: Instant
    ) {
        emitNewEvent(.documented(type), content, id: newEventID(), at: time)
    }

    private mutating func emitNewEvent(
        _ type: RevenueCatEventType,
        _ content: RevenueCatEvent.Content,
        id: String,
        at time: Instant
    ) {
        let event = RevenueCatEvent(
            type: type,
            id: id,
            time: time,
            appID: settings.appID,
            content: content
        )
        emit(RevenueCatEventWriter.object(event))
    }

    /// Sends an event about the lifecycle of a purchase, and grants or takes back the virtual
    /// currencies of the product.
    mutating func emit(
        _ type: RevenueCatEventType.Documented,
        _ purchase: Purchase,
        of customerNumber: Int,
        at time: Instant,
        payment: PaymentKind = .none,
        _ detail: RevenueCatEvent.LifecycleDetail = .none
    ) {
        guard let customer = customers[customerNumber] else { return }
        emitNewEvent(
            type,
            .lifecycle(Self.identity(customer), item(purchase, payment), detail),
            at: time
        )
        switch payment {
        case .price where type.facts.payment == .charge:
            grantCurrencies(purchase, of: customerNumber, sign: 1, at: time)
        case .refund: grantCurrencies(purchase, of: customerNumber, sign: -1, at: time)
        // Nothing was paid, or the event repeats a payment that an earlier event reported.
        case .price, .none: break
        }
    }

    /// Grants the virtual currencies that a product includes, or takes them back if `sign` is -1.
    ///
    /// Sends the events about this change.
    private mutating func grantCurrencies(
        _ purchase: Purchase,
        of customerNumber: Int,
        sign: Int64,
        at time: Instant
    ) {
        for (code, currency) in (currencies ?? [:]).sorted(by: { $0.key < $1.key }) {
            let grantedAmount = currency.grantedAmount(
                by: Self.productID(purchase.productID),
                isTrial: purchase.period == "TRIAL"
            )
            guard grantedAmount != 0 else { continue }
            let amount = grantedAmount.multiplyingSaturated(sign)
            emitVirtualCurrency(purchase, of: customerNumber, amount: amount, code: code, at: time)
        }
    }

    private static func identity(_ customer: Customer) -> RevenueCatEvent.Identity {
        var identity = RevenueCatEvent.Identity(
            currentID: customer.currentID,
            originalID: customer.originalID,
            aliases: customer.ids,
            attributes: customer.attributes
        )
        identity.experiments = customer.experiments
        return identity
    }

    private func item(_ purchase: Purchase, _ payment: PaymentKind = .none)
        -> RevenueCatEvent.PurchasedItem
    {
        var item = RevenueCatEvent.PurchasedItem(
            product: purchase.webhookProductID,
            store: purchase.store,
            environment: purchase.environment,
            period: purchase.period,
            purchased: purchase.purchased,
            expires: purchase.expires,
            transactionID: purchase.transactionID,
            originalTransactionID: purchase.originalTransactionID,
            entitlements: purchase.entitlements,
            country: Self.country,
            currency: purchase.currency.string
        )
        item.offering = purchase.offering
        item.offerCode = purchase.offerCode
        item.isFamilyShared = purchase.isFamilyShared
        item.renewalNumber = purchase.renewalNumber
        let (amountInUSD, localAmount) = (
            Self.amount(purchase.priceUSD), Self.amount(purchase.price)
        )
        item.payment =
            switch payment {
            case .none: .none
            case .price: .paid(amountInUSD, localAmount: localAmount)
            case .refund: .refunded(amountInUSD, localAmount: localAmount)
            }
        return item
    }

    private static func amount(_ value: JSONValue) -> Double {
        guard case .number(let number) = value else { return 0 }
        return number.double ?? 0
    }

    // MARK: Types with special facts, section 2.6

    mutating func emitTransfer(
        from previousOwners: [String],
        to newOwners: [String],
        store: String,
        environment: String,
        at time: Instant
    ) {
        let transfer = RevenueCatEvent.Transfer(
            store: store,
            environment: environment,
            previousOwners: previousOwners,
            newOwners: newOwners
        )
        emitNewEvent(.transfer, .transfer(transfer), at: time)
    }

    mutating func emitTemporaryGrant(_ purchase: Purchase, of customerNumber: Int, at time: Instant)
    {
        guard let customer = customers[customerNumber] else { return }
        emitNewEvent(
            .temporaryEntitlementGrant,
            .temporaryGrant(Self.identity(customer), item(purchase)),
            at: time
        )
    }

    mutating func emitRedemption(
        from previousOwners: [String],
        by newOwners: [String],
        outcome: String,
        environment: String,
        at time: Instant
    ) {
        let id = newEventID()
        let redemption = RevenueCatEvent.Redemption(
            store: "RC_BILLING",
            environment: environment,
            previousOwners: previousOwners,
            newOwners: newOwners,
            outcome: outcome,
            workflowID: "wf_" + ids.hex(8),
            stepID: "step_" + ids.hex(8),
            traceID: "trace_" + ids.hex(8)
        )
        emitNewEvent(.documented(.purchaseRedeemed), .redemption(redemption), id: id, at: time)
    }

    mutating func emitVirtualCurrency(
        _ purchase: Purchase,
        of customerNumber: Int,
        amount: Int64,
        code: String = "CRD",
        at time: Instant
    ) {
        let knownCurrency =
            currencies?[code]
            ?? VirtualCurrency(name: "Credits", description: "Credits to spend", made: time)
        currencies = (currencies ?? [:]).merging([code: knownCurrency]) { old, _ in old }
        // A balance never falls below zero, so no more than the balance is taken back.
        let amount = max(amount, -(customers[customerNumber]?.balances?[code] ?? 0))
        changeBalances(customerNumber, [code: amount])
        guard let customer = customers[customerNumber] else { return }
        let id = newEventID()
        let currency = RevenueCatEvent.CurrencyTransaction(
            amount: amount,
            code: code,
            name: knownCurrency.name,
            description: knownCurrency.description ?? "",
            productName: purchase.productID,
            transactionID: "vatx" + ids.hex(15)
        )
        emitNewEvent(
            .documented(.virtualCurrencyTransaction),
            .currency(Self.identity(customer), item(purchase), currency),
            id: id,
            at: time
        )
    }

    mutating func emitEnrollment(_ variant: String, of customerNumber: Int, at time: Instant) {
        guard let customer = customers[customerNumber] else { return }
        let enrollment = RevenueCatEvent.Enrollment(
            experimentID: "prexp" + ids.hex(10),
            variant: variant,
            offering: "experiment_offering_" + variant
        )
        customers[customerNumber]?.experiments.append([
            "experiment_id": .string(enrollment.experimentID),
            "experiment_variant": .string(variant),
            "enrolled_at_ms": .integer(time.milliseconds),
        ])
        emitNewEvent(
            .experimentEnrollment,
            .enrollment(Self.identity(customer), enrollment),
            at: time
        )
    }

    mutating func emitPriceConsent(
        _ purchase: Purchase,
        of customerNumber: Int,
        isApproved: Bool,
        at time: Instant
    ) {
        guard let customer = customers[customerNumber] else { return }
        emitNewEvent(
            isApproved ? .priceIncreaseConsentApproved : .priceIncreaseConsentRequired,
            .priceConsent(Self.identity(customer), item(purchase)),
            at: time
        )
    }

    /// Sends an event about an unpaid invoice of RevenueCat's own billing.
    ///
    /// Nothing is bought yet.
    mutating func emitInvoice(_ purchase: Purchase, of customerNumber: Int, at time: Instant) {
        emit(.invoiceIssuance, purchase, of: customerNumber, at: time, payment: .price)
    }

    /// Sends the event of the dashboard's test button.
    ///
    /// It names a made-up user with two IDs, and the fake stores nothing about that user.
    mutating func emitTest(at time: Instant) {
        let id = newEventID()
        let user = ids.uuid()
        let item = RevenueCatEvent.PurchasedItem(
            product: "test_product",
            store: "PLAY_STORE",
            environment: "SANDBOX",
            period: "NORMAL",
            purchased: time,
            expires: time + .seconds(7200),
            transactionID: "",
            originalTransactionID: "",
            entitlements: [],
            country: Self.country,
            currency: nil
        )
        let identity = RevenueCatEvent.Identity(
            currentID: user,
            originalID: user,
            aliases: [user, ids.uuid()],
            attributes: [
                "$email": [
                    "value": "tester@example.com", "updated_at_ms": .integer(time.milliseconds),
                ]
            ]
        )
        emitNewEvent(.documented(.test), .lifecycle(identity, item, .none), id: id, at: time)
    }

    /// Sends a paywall event with a name, which a project may choose; without a name, an impression.
    mutating func emitPaywall(_ name: String?, of customerNumber: Int, at time: Instant) {
        guard let customer = customers[customerNumber] else { return }
        let id = newEventID()
        let visit = RevenueCatEvent.PaywallVisit(
            paywall: "pw_" + ids.hex(8),
            name: "Premium",
            sessionID: "session-" + ids.hex(8),
            locale: "en_US",
            environment: "PRODUCTION",
            product: "premium_yearly"
        )
        let type =
            name.map(RevenueCatEventType.init(rawValue:)) ?? .documented(.paywallImpression)
        emitNewEvent(type, .paywall(Self.identity(customer), visit), id: id, at: time)
    }
}
