internal import Values

/// Actions of the store model that change a subscription to another product, now or at the end of
/// the period.
///
/// Source: RevenueCat fact sheet, section 3, rows 10 to 12.
enum ProductChange {
    static func changeProduct(
        _ state: inout RevenueCatState,
        _ purchase: inout Purchase,
        _ action: StoreAction,
        _ customerNumber: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        try StorePreconditions.requireNotEnded(purchase, action)
        guard let newProductID = action.newProduct else {
            throw StoreAction.Refusal(
                "change-product needs 'newProduct', the ID of the new product"
            )
        }
        let product = state.catalog.product(newProductID)
        guard let days = product.days else {
            throw StoreAction.Refusal("\(newProductID) is not a subscription")
        }
        let isImmediatePlayChange = purchase.store == "PLAY_STORE" && !action.isAtPeriodEnd
        let planSuffix = purchase.planID.map { ":\($0)" } ?? ""
        StoreEvents.emit(
            &state,
            .productChange,
            purchase,
            of: customerNumber,
            at: now,
            // The new product is omitted in immediate changes on Play. It is never null.
            .productChanged(to: isImmediatePlayChange ? nil : newProductID + planSuffix)
        )
        guard !action.isAtPeriodEnd else {
            purchase.nextProductID = newProductID
            state.customers.save(purchase, of: customerNumber, asOf: now)
            return
        }
        endOldProduct(&state, purchase, customerNumber, at: now)
        startNewProduct(
            &state,
            newProductID,
            product,
            days: days,
            in: &purchase,
            customerNumber,
            now
        )
    }

    /// Starts the new product of a subscription.
    ///
    /// On Play, the new product starts with a first purchase or a renewal, as the setting
    /// `playChangeEvent` selects.
    private static func startNewProduct(
        _ state: inout RevenueCatState,
        _ newProductID: String,
        _ product: Catalog.Product,
        days: Int64,
        in purchase: inout Purchase,
        _ customerNumber: Int,
        _ now: Instant
    ) {
        let wasTrial = purchase.period == "TRIAL"
        purchase.productID = newProductID
        purchase.entitlements = product.entitlements
        purchase.period = "NORMAL"
        // Stripe keeps the old start of the period.
        if purchase.store != "STRIPE" { purchase.purchased = now }
        purchase.expires = now + .days(days)
        purchase.priceUSD = .number(JSONNumber(product.price))
        purchase.price = .number(JSONNumber(product.price * product.exchangeRate))
        purchase.unsubscribed = nil
        purchase.willRenew = true
        let isInitial =
            purchase.store == "PLAY_STORE" && state.settings.playChangeEvent == .initialPurchase
        if isInitial {
            purchase.transactionID = state.ids.transactionID(in: purchase.store)
            purchase.originalTransactionID = purchase.transactionID
            purchase.originallyPurchased = now
            purchase.renewalNumber = 1
        } else {
            purchase.renewalNumber += 1
            purchase.transactionID = state.ids.renewalTransactionID(of: purchase)
        }
        state.customers.save(purchase, of: customerNumber, asOf: now)
        StoreEvents.emit(
            &state,
            isInitial ? .initialPurchase : .renewal,
            purchase,
            of: customerNumber,
            at: now + StoreEvents.spacing,
            payment: .price,
            isInitial ? .none : .renewed(isTrialConversion: wasTrial)
        )
    }

    /// Ends the record of the old product after a product change.
    ///
    /// REST still returns this record.
    static func endOldProduct(
        _ state: inout RevenueCatState,
        _ purchase: Purchase,
        _ customerNumber: Int,
        at time: Instant
    ) {
        var endedPurchase = purchase
        endedPurchase.expires = min(endedPurchase.expires ?? time, time)
        endedPurchase.graceEnd = nil
        endedPurchase.hasEnded = true
        endedPurchase.willRenew = false
        endedPurchase.resume = nil
        state.customers.save(endedPurchase, of: customerNumber, asOf: time)
    }
}
