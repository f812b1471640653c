internal import Values

/// Functions that create the events about the fake Purchasely's subscriptions.
///
/// `PurchaselyEventWriter` encodes the events.
extension PurchaselyState {
    mutating func charge(
        _ subscription: Subscription,
        _ source: String,
        _ amount: Double,
        at now: Instant
    ) {
        queueEvent("TRANSACTION_PROCESSED", subscription, at: now) {
            $0.charge = .init(amount: amount, source: source)
        }
    }

    /// Sends an event about a subscription, unless the event is switched off in the console.
    mutating func queueEvent(
        _ name: String,
        _ subscription: Subscription,
        at now: Instant,
        _ change: (inout PurchaselyEvent) -> Void = { _ in }
    ) {
        var event = event(name, subscription, at: now)
        change(&event)
        let isVersion2 = settings.sendsVersion2 == true
        let body =
            isVersion2
            ? PurchaselyEventWriter.version2Object(event) : PurchaselyEventWriter.object(event)
        // The format of version 2 has no name for most events of version 3.
        guard let body else { return }
        let eventName = (isVersion2 ? body["name"]?.string : nil) ?? name
        guard settings.events.isEmpty || settings.events.contains(eventName) else { return }
        emit(
            Event(
                id: event.id,
                name: eventName,
                holders: [subscription.holder] + (event.other.map { [$0.id] } ?? []),
                subscriptionID: subscription.id,
                body: body
            )
        )
    }

    private mutating func event(
        _ name: String,
        _ subscription: Subscription,
        at now: Instant
    ) -> PurchaselyEvent {
        var dates = PurchaselyEvent.PurchaseDates(
            purchased: subscription.purchased,
            originallyPurchased: subscription.originallyPurchased
        )
        dates.nextRenewal = subscription.nextRenewal
        dates.effectiveRenewal = subscription.effectiveEnd
        dates.graceEnd = subscription.graceEnd
        dates.resume = subscription.resume
        return PurchaselyEvent(
            name: name,
            id: ids.uuid(),
            time: now,
            holder: subscription.userID.map { .user($0) }
                ?? .anonymous(subscription.anonymousID ?? ""),
            plan: subscription.plan,
            product: subscription.product,
            storeProduct: subscription.storeProduct,
            store: subscription.store,
            environment: subscription.environment,
            purchaseType: subscription.purchaseType,
            purchaseID: subscription.id,
            transactionID: subscription.transactionID,
            originalTransactionID: subscription.originalTransactionID,
            offer: subscription.offerType,
            previousOffer: subscription.previousOfferType,
            isFirstPurchaseEvent: subscription.previousOfferType == nil
                && subscription.originallyPurchased == now,
            status: subscription.status,
            price: subscription.price,
            revenue: subscription.revenue,
            currency: settings.currency,
            bundleID: settings.bundleID,
            dates: dates
        )
    }
}
