internal import Conformance

/// Another product, now or at the end of the period (fact sheet, section 3, rows 10 to 12).
extension RevenueCatState {
    mutating func changeProduct(
        _ purchase: inout Purchase,
        _ action: StoreAction,
        _ number: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        try requireRunning(purchase, action)
        guard let wanted = action.newProduct else {
            throw Refusal("change-product needs 'newProduct'")
        }
        let product = catalog.product(wanted)
        guard let days = product.days else { throw Refusal("\(wanted) is no subscription") }
        let isImmediatePlay = purchase.store == "PLAY_STORE" && !action.isAtPeriodEnd
        let plan = purchase.planID.map { ":\($0)" } ?? ""
        emit(
            "PRODUCT_CHANGE",
            purchase,
            of: number,
            at: now,
            // Missing on immediate Play changes, never null.
            .changed(to: isImmediatePlay ? nil : wanted + plan)
        )
        guard !action.isAtPeriodEnd else {
            purchase.nextProductID = wanted
            save(purchase, number, now)
            return
        }
        leave(purchase, number, at: now)
        take(wanted, product, days: days, in: &purchase, number, now)
    }

    /// The other product begins, at Play with a purchase of its own.
    private mutating func take(
        _ wanted: String,
        _ product: Catalog.Product,
        days: Int64,
        in purchase: inout Purchase,
        _ number: Int,
        _ now: Instant
    ) {
        let wasTrial = purchase.period == "TRIAL"
        purchase.productID = wanted
        purchase.entitlements = product.entitlements
        purchase.period = "NORMAL"
        // Stripe repeats the old start of the period.
        if purchase.store != "STRIPE" { purchase.purchased = now }
        purchase.expires = now + .days(days)
        purchase.priceUSD = .number(JSONNumber(product.price))
        purchase.price = .number(JSONNumber(product.price * product.exchangeRate))
        purchase.unsubscribed = nil
        purchase.willRenew = true
        let isInitial =
            purchase.store == "PLAY_STORE" && settings.playChangeEvent == .initialPurchase
        if isInitial {
            purchase.transactionID = transactionID(purchase.store)
            purchase.originalTransactionID = purchase.transactionID
            purchase.originallyPurchased = now
            purchase.renewalNumber = 1
        } else {
            purchase.renewalNumber += 1
            purchase.transactionID = renewalTransaction(purchase)
        }
        save(purchase, number, now)
        emit(
            isInitial ? "INITIAL_PURCHASE" : "RENEWAL",
            purchase,
            of: number,
            at: now + Self.burst,
            money: .price,
            isInitial ? .none : .renewed(isTrialConversion: wasTrial)
        )
    }

    /// The line of the product that is left stays in REST, with its end.
    mutating func leave(_ purchase: Purchase, _ number: Int, at time: Instant) {
        var left = purchase
        left.expires = min(left.expires ?? time, time)
        left.graceEnd = nil
        left.hasEnded = true
        left.willRenew = false
        left.resume = nil
        save(left, number, time)
    }
}
