internal import Values

/// Functions that create the events about the fake Purchasely's subscriptions.
///
/// `PurchaselyEventWriter` encodes the events.
enum PurchaselyStoreEvents {
    static func charge(
        _ state: inout PurchaselyState,
        _ subscription: PurchaselySubscription,
        _ source: String,
        _ amount: Double,
        at now: Instant
    ) {
        queueEvent(&state, "TRANSACTION_PROCESSED", subscription, at: now) {
            $0.charge = .init(amount: amount, source: source)
        }
    }

    /// Sends an event about a subscription, unless the event is switched off in the console.
    static func queueEvent(
        _ state: inout PurchaselyState,
        _ name: String,
        _ subscription: PurchaselySubscription,
        at now: Instant,
        _ change: (inout PurchaselyEvent) -> Void = { _ in }
    ) {
        var event = event(&state, name, subscription, at: now)
        change(&event)
        let isVersion2 = state.settings.sendsVersion2 == true
        let body =
            isVersion2
            ? PurchaselyEventWriter.version2Object(event) : PurchaselyEventWriter.object(event)
        // The format of version 2 has no name for most events of version 3.
        guard let body else { return }
        let eventName = (isVersion2 ? body["name"]?.string : nil) ?? name
        guard state.settings.events.isEmpty || state.settings.events.contains(eventName) else {
            return
        }
        state.outbox.add(
            PurchaselyWebhookEvent(
                id: event.id,
                name: eventName,
                holders: [subscription.holder] + (event.other.map { [$0.id] } ?? []),
                subscriptionID: subscription.id,
                body: body
            )
        )
    }

    private static func event(
        _ state: inout PurchaselyState,
        _ name: String,
        _ subscription: PurchaselySubscription,
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
            id: state.ids.newEventID(),
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
            currency: state.settings.currency,
            bundleID: state.settings.bundleID,
            dates: dates
        )
    }
}
