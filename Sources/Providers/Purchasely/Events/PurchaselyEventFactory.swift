package import Values

/// A factory for the Purchasely events that a contract describes.
///
/// `PurchaselyEventWriter` encodes them.
package struct PurchaselyEventFactory: Sendable {
    /// The price of every plan, in the currency of the event.
    ///
    /// No contract may depend on this price.
    private static let price = 9.99

    package let namespace: Namespace
    package let base: Instant
    /// The IDs of plans, by the names that contracts use.
    private let plans: [String: String]

    package init(_ context: EventContext) {
        (namespace, base, plans) = (context.namespace, context.base, context.products)
    }

    /// Returns the ID of the event with this name in a contract, in lower case as in every
    /// published body.
    package func eventID(of name: String) -> String { namespace.eventID(of: name).lowercased() }

    /// Returns the complete webhook body of an event that a contract describes.
    ///
    /// The order of its keys is derived from the event's ID.
    package func body(_ spec: PurchaselySpec, name: String) -> JSONValue {
        let event = event(spec, name: name)
        var generator = SeededGenerator(seed: 0, text: event.id)
        let eventObject = PurchaselyEventWriter.object(event)
        return .object(JSONObject(members: eventObject.members.shuffled(using: &generator)))
    }

    /// Returns the event that a contract describes.
    ///
    /// `name` is the name of the event's delivery in the contract.
    package func event(_ spec: PurchaselySpec, name: String) -> PurchaselyEvent {
        let holder = namespace.id(of: spec.user)
        let purchaseIDSuffix = namespace.hex("subscription", spec.subscription, count: 16)
            .uppercased()
        let transactionDigits = namespace.transactionID(of: spec.subscription, "purchasely")
        let storeTransactionID =
            spec.store == "GOOGLE_PLAY_STORE"
            ? "GPA.\(transactionDigits.prefix(12))" : transactionDigits
        let isCharge = spec.name == "TRANSACTION_PROCESSED"
        return PurchaselyEvent(
            name: spec.name,
            id: eventID(of: name),
            time: base + spec.time,
            holder: spec.isAnonymous ? .anonymous(holder) : .user(holder),
            other: spec.other.map { .user(namespace.id(of: $0)) },
            plan: plans[spec.plan] ?? spec.plan,
            previousPlan: spec.previousPlan.map { plans[$0] ?? $0 },
            product: spec.plan.split(separator: "_").first.map(String.init) ?? spec.plan,
            storeProduct: plans[spec.plan] ?? PurchaselyPlan.storeProduct(of: spec.plan),
            store: spec.store,
            environment: spec.environment,
            purchaseType: spec.purchaseType,
            purchaseID: (spec.isOneTime ? "otp_" : "subs_") + purchaseIDSuffix,
            transactionID: storeTransactionID,
            originalTransactionID: storeTransactionID,
            offer: "NONE",
            isFirstPurchaseEvent: isFirstPurchaseEvent(spec),
            status: status(spec),
            price: Self.price,
            revenue: Self.price,
            charge: isCharge
                ? .init(amount: Self.price, source: "SUBSCRIPTION_STARTED") : nil,
            currency: "EUR",
            bundleID: "com.example.app",
            dates: dates(spec)
        )
    }

    /// Whether the event starts a purchase.
    ///
    /// Such an event happens at the time of the purchase, and is neither a change of plan nor a
    /// transfer.
    private func isFirstPurchaseEvent(_ spec: PurchaselySpec) -> Bool {
        (spec.purchased ?? spec.time) == spec.time && spec.previousPlan == nil
            && spec.other == nil
    }

    private func status(_ spec: PurchaselySpec) -> String? {
        if spec.isOneTime { return nil }
        if let status = spec.status { return status }
        // The DEACTIVATE event of a transfer still contains AUTO_RENEWING (trap 16 of the
        // Purchasely fact sheet).
        return spec.name == "RENEWAL_DISABLED" ? "AUTO_RENEWING_CANCELED" : "AUTO_RENEWING"
    }

    private func dates(_ spec: PurchaselySpec) -> PurchaselyEvent.PurchaseDates {
        let purchased = spec.purchased ?? spec.time
        let accessEnd = spec.expires ?? purchased + .days(30)
        var dates = PurchaselyEvent.PurchaseDates(
            purchased: base + purchased,
            originallyPurchased: base + purchased
        )
        guard !spec.isOneTime else { return dates }
        dates.nextRenewal = base + (spec.renewalTime ?? accessEnd)
        dates.effectiveRenewal = base + accessEnd
        if spec.status == "IN_GRACE_PERIOD" { dates.graceEnd = base + accessEnd }
        if spec.status == "PAUSED" { dates.resume = base + accessEnd + .days(30) }
        return dates
    }
}
