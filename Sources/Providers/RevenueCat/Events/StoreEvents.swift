internal import Values

/// Functions that create the events about changes in the fake RevenueCat's store model.
///
/// `RevenueCatEventWriter` encodes the events.
enum StoreEvents {
    /// The time between the events that one action causes, as captured (RevenueCat fact sheet,
    /// section 3, row 8b).
    static let spacing: Duration = .milliseconds(11)

    /// Creates an event with a new ID and adds it to the events to be sent.
    private static func emitNewEvent(
        _ state: inout RevenueCatState,
        _ type: RevenueCatEventType.Documented,
        _ content: RevenueCatEvent.Content,
        at time: Instant
    ) {
        let id = state.ids.newEventID()
        emitNewEvent(&state, .documented(type), content, id: id, at: time)
    }

    private static func emitNewEvent(
        _ state: inout RevenueCatState,
        _ type: RevenueCatEventType,
        _ content: RevenueCatEvent.Content,
        id: String,
        at time: Instant
    ) {
        let event = RevenueCatEvent(
            type: type,
            id: id,
            time: time,
            appID: state.settings.appID,
            content: content
        )
        state.outbox.add(RevenueCatEventWriter.object(event))
    }

    /// Sends an event about the lifecycle of a purchase, and grants or takes back the virtual
    /// currencies of the product.
    static func emit(
        _ state: inout RevenueCatState,
        _ type: RevenueCatEventType.Documented,
        _ purchase: Purchase,
        of customerNumber: Int,
        at time: Instant,
        payment: RevenueCatEvent.PaymentKind = .none,
        _ detail: RevenueCatEvent.LifecycleDetail = .none
    ) {
        guard let customer = state.customers[customerNumber] else { return }
        emitNewEvent(
            &state,
            type,
            .lifecycle(
                RevenueCatEvent.Identity(customer),
                .init(purchase, payment: payment),
                detail
            ),
            at: time
        )
        switch payment {
        case .price where type.facts.payment == .charge:
            grantCurrencies(&state, purchase, of: customerNumber, sign: 1, at: time)
        case .refund: grantCurrencies(&state, purchase, of: customerNumber, sign: -1, at: time)
        // Nothing was paid, or the event repeats a payment that an earlier event reported.
        case .price, .none: break
        }
    }

    /// Grants the virtual currencies that a product includes, or takes them back if `sign` is -1.
    ///
    /// Sends the events about this change.
    private static func grantCurrencies(
        _ state: inout RevenueCatState,
        _ purchase: Purchase,
        of customerNumber: Int,
        sign: Int64,
        at time: Instant
    ) {
        for (code, currency) in state.currencies.sorted {
            let grantedAmount = currency.grantedAmount(
                by: V2ResourceID.product(purchase.productID),
                isTrial: purchase.period == "TRIAL"
            )
            guard grantedAmount != 0 else { continue }
            let amount = grantedAmount.multiplyingSaturated(sign)
            emitVirtualCurrency(
                &state,
                purchase,
                of: customerNumber,
                amount: amount,
                code: code,
                at: time
            )
        }
    }

    // MARK: Types with special facts, section 2.6

    static func emitTransfer(
        _ state: inout RevenueCatState,
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
        emitNewEvent(&state, .transfer, .transfer(transfer), at: time)
    }

    static func emitTemporaryGrant(
        _ state: inout RevenueCatState,
        _ purchase: Purchase,
        of customerNumber: Int,
        at time: Instant
    ) {
        guard let customer = state.customers[customerNumber] else { return }
        emitNewEvent(
            &state,
            .temporaryEntitlementGrant,
            .temporaryGrant(RevenueCatEvent.Identity(customer), .init(purchase)),
            at: time
        )
    }

    static func emitRedemption(
        _ state: inout RevenueCatState,
        from previousOwners: [String],
        by newOwners: [String],
        outcome: String,
        environment: String,
        at time: Instant
    ) {
        let id = state.ids.newEventID()
        let redemption = RevenueCatEvent.Redemption(
            store: "RC_BILLING",
            environment: environment,
            previousOwners: previousOwners,
            newOwners: newOwners,
            outcome: outcome,
            workflowID: state.ids.resourceID("wf_", digits: 8),
            stepID: state.ids.resourceID("step_", digits: 8),
            traceID: state.ids.resourceID("trace_", digits: 8)
        )
        emitNewEvent(
            &state,
            .documented(.purchaseRedeemed),
            .redemption(redemption),
            id: id,
            at: time
        )
    }

    static func emitVirtualCurrency(
        _ state: inout RevenueCatState,
        _ purchase: Purchase,
        of customerNumber: Int,
        amount: Int64,
        code: String = "CRD",
        at time: Instant
    ) {
        let knownCurrency = state.currencies.findOrCreate(code, at: time)
        // A balance never falls below zero, so no more than the balance is taken back.
        let amount = max(amount, -(state.customers[customerNumber]?.balances?[code] ?? 0))
        state.customers[customerNumber]?.changeBalances([code: amount])
        guard let customer = state.customers[customerNumber] else { return }
        let id = state.ids.newEventID()
        let currency = RevenueCatEvent.CurrencyTransaction(
            amount: amount,
            code: code,
            name: knownCurrency.name,
            description: knownCurrency.description ?? "",
            productName: purchase.productID,
            transactionID: state.ids.resourceID("vatx", digits: 15)
        )
        emitNewEvent(
            &state,
            .documented(.virtualCurrencyTransaction),
            .currency(RevenueCatEvent.Identity(customer), .init(purchase), currency),
            id: id,
            at: time
        )
    }

    static func emitEnrollment(
        _ state: inout RevenueCatState,
        _ variant: String,
        of customerNumber: Int,
        at time: Instant
    ) {
        guard let customer = state.customers[customerNumber] else { return }
        let enrollment = RevenueCatEvent.Enrollment(
            experimentID: state.ids.resourceID("prexp", digits: 10),
            variant: variant,
            offering: "experiment_offering_" + variant
        )
        state.customers[customerNumber]?.experiments.append([
            "experiment_id": .string(enrollment.experimentID),
            "experiment_variant": .string(variant),
            "enrolled_at_ms": .integer(time.milliseconds),
        ])
        emitNewEvent(
            &state,
            .experimentEnrollment,
            .enrollment(RevenueCatEvent.Identity(customer), enrollment),
            at: time
        )
    }

    static func emitPriceConsent(
        _ state: inout RevenueCatState,
        _ purchase: Purchase,
        of customerNumber: Int,
        isApproved: Bool,
        at time: Instant
    ) {
        guard let customer = state.customers[customerNumber] else { return }
        emitNewEvent(
            &state,
            isApproved ? .priceIncreaseConsentApproved : .priceIncreaseConsentRequired,
            .priceConsent(RevenueCatEvent.Identity(customer), .init(purchase)),
            at: time
        )
    }

    /// Sends an event about an unpaid invoice of RevenueCat's own billing.
    ///
    /// Nothing is bought yet.
    static func emitInvoice(
        _ state: inout RevenueCatState,
        _ purchase: Purchase,
        of customerNumber: Int,
        at time: Instant
    ) {
        emit(&state, .invoiceIssuance, purchase, of: customerNumber, at: time, payment: .price)
    }

    /// Sends the event of the dashboard's test button.
    ///
    /// It names a made-up user with two IDs, and the fake stores nothing about that user.
    static func emitTest(_ state: inout RevenueCatState, at time: Instant) {
        let id = state.ids.newEventID()
        let user = state.ids.uuid()
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
            country: RevenueCatEvent.PurchasedItem.customerCountry,
            currency: nil
        )
        let identity = RevenueCatEvent.Identity(
            currentID: user,
            originalID: user,
            aliases: [user, state.ids.uuid()],
            attributes: [
                "$email": [
                    "value": "tester@example.com", "updated_at_ms": .integer(time.milliseconds),
                ]
            ]
        )
        emitNewEvent(
            &state,
            .documented(.test),
            .lifecycle(identity, item, .none),
            id: id,
            at: time
        )
    }

    /// Sends a paywall event with a name, which a project may choose; without a name, an impression.
    static func emitPaywall(
        _ state: inout RevenueCatState,
        _ name: String?,
        of customerNumber: Int,
        at time: Instant
    ) {
        guard let customer = state.customers[customerNumber] else { return }
        let id = state.ids.newEventID()
        let visit = RevenueCatEvent.PaywallVisit(
            paywall: state.ids.resourceID("pw_", digits: 8),
            name: "Premium",
            sessionID: state.ids.resourceID("session-", digits: 8),
            locale: "en_US",
            environment: "PRODUCTION",
            product: "premium_yearly"
        )
        let type =
            name.map(RevenueCatEventType.init(rawValue:)) ?? .documented(.paywallImpression)
        emitNewEvent(
            &state,
            type,
            .paywall(RevenueCatEvent.Identity(customer), visit),
            id: id,
            at: time
        )
    }
}
