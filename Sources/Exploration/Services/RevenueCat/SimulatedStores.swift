internal import Contracts
internal import Providers
internal import Values

/// The simulated stores of a history, with the facts about purchases that the stores do not record.
struct SimulatedStores: Sendable {
    private var state: RevenueCatState
    var facts = PurchaseFacts()

    init() {
        var settings = RevenueCatSettings()
        // The simulated stores send an expiration event without delay, because a delay would make
        // no difference.
        settings.expirationDelaySeconds = 0
        state = RevenueCatState(key: nil, settings: settings)
    }

    // MARK: Purchases

    func purchases(of user: String) -> [Purchase] { state.customer(user)?.purchases ?? [] }

    func heldPurchase(of operation: HistoryOperation) -> Purchase? {
        guard let product = operation.product else { return nil }
        let owner = operation.kind == .transfer ? operation.from ?? operation.user : operation.user
        return purchases(of: owner).last { $0.productID == product }
    }

    /// Returns whether a user shares the purchase with a family member.
    func isShared(_ heldPurchase: Purchase) -> Bool {
        facts.productsEverHad.keys.contains { user in
            purchases(of: user).contains {
                $0.isFamilyShared && $0.originalTransactionID == heldPurchase.originalTransactionID
            }
        }
    }

    /// Returns whether two users together bought the same product twice, or will have done so after
    /// a pending product change.
    ///
    /// Only a transaction ID could show whether a renewal carries out the product change or
    /// continues the other user's purchase (S-14).
    func haveSameProductTwice(_ firstUser: String, _ otherUser: String) -> Bool {
        func hasPendingChange(_ person: String, toProductOf owner: String) -> Bool {
            purchases(of: person).compactMap(\.nextProductID)
                .contains { facts.productsEverHad[owner]?.contains($0) ?? false }
        }
        return facts.haveSameProductTwice(firstUser, otherUser)
            || hasPendingChange(firstUser, toProductOf: otherUser)
            || hasPendingChange(otherUser, toProductOf: firstUser)
    }

    /// Returns the state of each user's purchases at a time, by user and product.
    ///
    /// - Parameters:
    ///   - time: The time of the states.
    ///   - users: Users who may have purchases, in addition to the users who had a product.
    /// - Returns: The states; users without purchases have none.
    func purchaseStates(at time: Instant, of users: Set<String>) -> [PurchaseFacts.PurchaseKey:
        PurchaseState]
    {
        var purchaseStates: [PurchaseFacts.PurchaseKey: PurchaseState] = [:]
        for user in users.union(facts.productsEverHad.keys) {
            for purchase in purchases(of: user) {
                purchaseStates[PurchaseFacts.PurchaseKey(user: user, product: purchase.productID)] =
                    PurchaseState(purchase, at: time)
            }
        }
        return purchaseStates
    }

    // MARK: Time and operations

    /// The time of the next change that happens without an operation, such as a renewal.
    var nextChangeTime: Instant? { state.nextChangeTime }

    mutating func advance(to time: Instant) { state.advance(to: time) }

    /// Carries out an operation of a store.
    ///
    /// - Throws: The reason why the store refuses the operation.
    mutating func carryOut(_ operation: HistoryOperation)
        throws(HistoryModel.ImpossibleOperation)
    {
        let storeAction = try StoreAction(operation)
        // If the store charges early, a deferred product change takes effect before the end of the
        // current period.
        if let heldPurchase = heldPurchase(of: operation), let end = heldPurchase.expires,
            operation.kind == .changeProduct && !operation.isDeferred
                || operation.kind == .renew && heldPurchase.nextProductID != nil
        {
            facts.recordShortenedPeriod(operation.user, end - HistoryModel.zero)
        }
        if operation.kind == .transfer, let from = operation.from {
            facts.transferPurchases(purchases(of: from), from, operation.user)
        }
        do throws(StoreAction.Refusal) {
            try state.carryOut(storeAction, at: HistoryModel.zero + operation.time)
        } catch {
            throw HistoryModel.ImpossibleOperation(reason: error.description)
        }
    }

    // MARK: Events

    /// Returns the events since the last call, in the form of webhook bodies.
    mutating func takeEvents() -> [JSONObject] { state.takeEvents() }

    /// Returns an event of the simulated stores as a contract writes it; nil for an event without a
    /// type or a time.
    mutating func spec(_ event: JSONObject) -> EventSpec? {
        guard let name = event["type"]?.string, let time = relativeTime(event["event_timestamp_ms"])
        else { return nil }
        let type = RevenueCatEventType(rawValue: name)
        var spec = EventSpec(type: type, user: event["app_user_id"]?.string)
        spec.time = time
        spec.store = event["store"]?.string ?? spec.store
        spec.environment = event["environment"]?.string ?? spec.environment
        if type.documented == .transfer {
            spec.user = nil
            spec.from = event["transferred_from"]?.array?.compactMap(\.string) ?? []
            spec.to = event["transferred_to"]?.array?.compactMap(\.string) ?? []
            return spec
        }
        spec.product = Self.withoutBasePlan(event["product_id"]?.string) ?? spec.product
        spec.newProduct = Self.withoutBasePlan(event["new_product_id"]?.string)
        let period = event["period_type"]?.string ?? "NORMAL"
        spec.period = period == "PROMOTIONAL" ? "NORMAL" : period
        spec.purchased = relativeTime(event["purchased_at_ms"])
        spec.expires = relativeTime(event["expiration_at_ms"])
        spec.isLifetime = spec.expires == nil
        spec.grace = relativeTime(event["grace_period_expiration_at_ms"])
        spec.reason = (event["cancel_reason"] ?? event["expiration_reason"])?.string
        if event["is_trial_conversion"]?.bool == true { spec.reason = "TRIAL_CONVERSION" }
        if event["is_family_share"]?.bool == true {
            // A family share has no first transaction here, because no source defines which
            // transaction ID a family member's events have.
            spec.isFamilyShared = true
            return spec
        }
        guard let user = spec.user else { return spec }
        return facts.origin(
            of: spec,
            purchases(of: user),
            event["original_transaction_id"]?.string
        )
    }

    private func relativeTime(_ value: JSONValue?) -> Duration? {
        value?.int64.map { Instant(milliseconds: $0) - HistoryModel.zero }
    }

    /// Returns the product ID without Google Play's base plan.
    ///
    /// The code that creates the webhook event adds the base plan.
    private static func withoutBasePlan(_ product: String?) -> String? {
        product?.split(separator: ":").first.map(String.init)
    }
}
