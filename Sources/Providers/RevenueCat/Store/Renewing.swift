internal import Values

/// Actions of the store model that renew, cancel, pause and end subscriptions (RevenueCat fact
/// sheet, section 3, rows 2 to 4, 9, 14 and 16).
enum Renewing {
    /// Starts the next period of a subscription (RevenueCat fact sheet, section 3, rows 2, 12, 14
    /// and 16).
    static func renew(
        _ state: inout RevenueCatState,
        _ purchase: inout Purchase,
        of customerNumber: Int,
        at time: Instant
    ) {
        let isTrialConversion = purchase.period == "TRIAL"
        if let next = purchase.nextProductID {
            purchase.nextProductID = nil
            ProductChange.endOldProduct(&state, purchase, customerNumber, at: time)
            purchase.productID = next
            purchase.entitlements = state.catalog.product(next).entitlements
        }
        let product = state.catalog.product(purchase.productID)
        let start = max(purchase.expires ?? time, time)
        purchase.period = "NORMAL"
        purchase.purchased = purchase.isPaused ? time : start
        purchase.expires = purchase.purchased + .days(product.days ?? 30)
        purchase.renewalNumber += 1
        purchase.transactionID = state.ids.renewalTransactionID(of: purchase)
        if !purchase.isFamilyShared {
            purchase.priceUSD = .number(JSONNumber(product.price))
            purchase.price = .number(JSONNumber(product.price * product.exchangeRate))
        }
        purchase.graceEnd = nil
        purchase.billingIssue = nil
        purchase.resume = nil
        purchase.isPaused = false
        purchase.unsubscribed = nil
        purchase.willRenew = true
        state.customers.save(purchase, of: customerNumber, asOf: time)
        StoreEvents.emit(
            &state,
            .renewal,
            purchase,
            of: customerNumber,
            at: time,
            payment: .price,
            .renewed(isTrialConversion: isTrialConversion)
        )
    }

    static func cancel(
        _ state: inout RevenueCatState,
        _ purchase: inout Purchase,
        _ reason: String,
        of customerNumber: Int,
        at time: Instant
    ) {
        purchase.unsubscribed = time
        purchase.willRenew = false
        purchase.cancelReason = reason
        // A cancellation drops a planned pause that has not begun, together with the time at which
        // the subscription would resume.
        if !purchase.isPaused { purchase.resume = nil }
        state.customers.save(purchase, of: customerNumber, asOf: time)
        StoreEvents.emit(
            &state,
            .cancellation,
            purchase,
            of: customerNumber,
            at: time,
            .cancelled(reason: reason)
        )
    }

    /// Turns off the renewal of a subscription, as a customer, a store or a developer does.
    static func cancel(
        _ state: inout RevenueCatState,
        _ purchase: inout Purchase,
        _ action: StoreAction,
        _ customerNumber: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        try StorePreconditions.requireNotEnded(purchase, action)
        guard purchase.unsubscribed == nil || purchase.billingIssue != nil else {
            throw StoreAction.Refusal("\(purchase.productID) is already canceled")
        }
        // A cancellation with this reason is a refund (RevenueCat fact sheet, section 2.7).
        if action.reason == "CUSTOMER_SUPPORT" {
            Refunding.refund(&state, &purchase, customerNumber, now)
        } else {
            cancel(&state, &purchase, action.reason ?? "UNSUBSCRIBE", of: customerNumber, at: now)
        }
    }

    static func uncancel(
        _ state: inout RevenueCatState,
        _ purchase: inout Purchase,
        _ customerNumber: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        guard purchase.unsubscribed != nil, !purchase.hasEnded else {
            throw StoreAction.Refusal("\(purchase.productID) is not canceled")
        }
        purchase.unsubscribed = nil
        purchase.cancelReason = nil
        purchase.willRenew = true
        state.customers.save(purchase, of: customerNumber, asOf: now)
        StoreEvents.emit(&state, .uncancellation, purchase, of: customerNumber, at: now)
    }

    /// Extends the current period of a subscription, as the store does (RevenueCat fact sheet,
    /// section 3, row 24).
    static func extend(
        _ state: inout RevenueCatState,
        _ purchase: inout Purchase,
        _ action: StoreAction,
        _ customerNumber: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        guard let expires = purchase.expires, !purchase.hasEnded else {
            throw StoreAction.Refusal("\(purchase.productID) has no period to extend")
        }
        purchase.expires = expires + (action.by ?? .days(7))
        state.customers.save(purchase, of: customerNumber, asOf: now)
        StoreEvents.emit(&state, .subscriptionExtended, purchase, of: customerNumber, at: now)
    }

    static func end(
        _ state: inout RevenueCatState,
        _ purchase: inout Purchase,
        _ reason: String,
        of customerNumber: Int,
        _ time: Instant
    ) {
        purchase.hasEnded = true
        purchase.willRenew = false
        if let expires = purchase.expires, expires > time { purchase.expires = time }
        if purchase.unsubscribed == nil, !purchase.isPaused { purchase.unsubscribed = time }
        if let grace = purchase.graceEnd, grace > time { purchase.graceEnd = time }
        state.customers.save(purchase, of: customerNumber, asOf: time)
        StoreEvents.emit(
            &state,
            .expiration,
            purchase,
            of: customerNumber,
            at: time,
            .expired(reason: reason)
        )
    }

    // MARK: Pause, row 9

    static func pause(
        _ state: inout RevenueCatState,
        _ purchase: inout Purchase,
        _ action: StoreAction,
        _ customerNumber: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        try StorePreconditions.requireNotEnded(purchase, action)
        guard purchase.store == "PLAY_STORE" else {
            throw StoreAction.Refusal(
                "only Play can pause; \(purchase.productID) is from \(purchase.store)"
            )
        }
        let end = purchase.expires ?? now
        purchase.resume = end + (action.by ?? .days(30))
        state.customers.save(purchase, of: customerNumber, asOf: now)
        StoreEvents.emit(
            &state,
            .subscriptionPaused,
            purchase,
            of: customerNumber,
            at: now,
            .paused(until: purchase.resume ?? end)
        )
    }

    static func resume(
        _ state: inout RevenueCatState,
        _ purchase: inout Purchase,
        _ customerNumber: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        guard purchase.resume != nil else {
            throw StoreAction.Refusal("\(purchase.productID) is not paused")
        }
        guard purchase.isPaused else {
            // A planned pause that has not begun is removed without an event.
            purchase.resume = nil
            state.customers.save(purchase, of: customerNumber, asOf: now)
            return
        }
        purchase.hasEnded = false
        renew(&state, &purchase, of: customerNumber, at: now)
    }
}
