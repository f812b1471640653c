internal import Conformance

/// Functions that create the events about the fake Purchasely's subscriptions.
///
/// `PurchaselyEventWriter` encodes the events.
extension PurchaselyState {
    mutating func charge(
        _ found: Subscription,
        _ source: String,
        _ amount: Double,
        at now: Instant
    ) {
        send("TRANSACTION_PROCESSED", found, at: now) {
            $0.charge = .init(amount: amount, source: source)
        }
    }

    /// Sends an event about a subscription, unless the event is switched off in the console.
    mutating func send(
        _ name: String,
        _ found: Subscription,
        at now: Instant,
        _ change: (inout PurchaselyEvent) -> Void = { _ in }
    ) {
        var event = event(name, found, at: now)
        change(&event)
        let isOld = settings.sendsVersion2 == true
        let body =
            isOld
            ? PurchaselyEventWriter.version2(event) : PurchaselyEventWriter.object(event)
        // The format of version 2 has no name for most events of version 3.
        guard let body else { return }
        let told = (isOld ? body["name"]?.string : nil) ?? name
        guard settings.events.isEmpty || settings.events.contains(told) else { return }
        emit(
            Event(
                id: event.id,
                name: told,
                holders: [found.holder] + (event.other.map { [$0.id] } ?? []),
                subscriptionID: found.id,
                body: body
            )
        )
    }

    private mutating func event(
        _ name: String,
        _ found: Subscription,
        at now: Instant
    ) -> PurchaselyEvent {
        var dates = PurchaselyEvent.Dates(
            purchased: found.purchased,
            originallyPurchased: found.originallyPurchased
        )
        dates.nextRenewal = found.nextRenewal
        dates.effectiveRenewal = found.effectiveEnd
        dates.graceEnd = found.graceEnd
        dates.resume = found.resume
        return PurchaselyEvent(
            name: name,
            id: ids.uuid(),
            time: now,
            holder: found.userID.map { .user($0) } ?? .anonymous(found.anonymousID ?? ""),
            plan: found.plan,
            product: found.product,
            storeProduct: found.storeProduct,
            store: found.store,
            environment: found.environment,
            purchaseType: found.purchaseType,
            purchaseID: found.id,
            transactionID: found.transactionID,
            originalTransactionID: found.originalTransactionID,
            offer: found.offerType,
            previousOffer: found.previousOfferType,
            isFirst: found.previousOfferType == nil && found.originallyPurchased == now,
            status: found.status,
            price: found.price,
            revenue: found.revenue,
            currency: settings.currency,
            bundleID: settings.bundleID,
            dates: dates
        )
    }
}
