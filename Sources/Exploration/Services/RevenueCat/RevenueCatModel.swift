internal import Contracts
internal import Providers
internal import Values

/// A model of the app stores in a generated customer history, and of RevenueCat, which reports
/// their purchases.
///
/// The operations run on the same simulated stores that the fakes use, so that no history contains
/// an event that no store sends.
struct RevenueCatModel: SellerModel {
    private(set) var stores = SimulatedStores()
    private var userIDTracker = UserIDTracker()

    var userIDs: (any SellerUserIDs)? { userIDTracker }

    // MARK: Operations

    mutating func advance(to time: Duration, _ users: KnownUsers)
        throws(HistoryModel.ImpossibleOperation) -> [SellerEvent]
    {
        var events: [SellerEvent] = []
        while let next = stores.nextChangeTime, next <= HistoryModel.zero + time {
            let before = stores.purchaseStates(at: next, of: users.known)
            stores.advance(to: next)
            events += try collectEvents(of: nil, before)
        }
        return events
    }

    mutating func perform(_ operation: HistoryOperation, _ users: KnownUsers)
        throws(HistoryModel.ImpossibleOperation) -> [SellerEvent]
    {
        try HistoryOperationChecks(stores: stores, users: users, operation: operation)
            .checkOperation()
        switch operation.kind {
        case .wait, .signUp, .logIn, .register: return []
        case .irrelevantEvent: return [try irrelevantEvent(operation)]
        case .purchase, .renew, .cancel, .uncancel, .pause, .resume, .extend, .refund, .expire,
            .transfer, .grant, .revoke, .billingIssue, .recover, .changeProduct, .reverseRefund,
            .temporaryGrant, .share, .unshare:
            let before = stores.purchaseStates(
                at: HistoryModel.zero + operation.time,
                of: users.known
            )
            try stores.carryOut(operation)
            return try collectEvents(of: operation, before)
        }
    }

    private func irrelevantEvent(_ operation: HistoryOperation)
        throws(HistoryModel.ImpossibleOperation) -> SellerEvent
    {
        guard let type = operation.type, Self.irrelevantEventTypes.contains(type) else {
            throw HistoryModel.ImpossibleOperation(
                reason:
                    "an event of type '\(operation.type ?? "")' may change a subscription"
            )
        }
        let heldPurchase = stores.heldPurchase(of: operation)
        // In this model, a web purchase is redeemed by a user who already has the purchase.
        guard
            type != RevenueCatEventType.Documented.purchaseRedeemed.rawValue
                || heldPurchase?.store == "RC_BILLING"
        else {
            throw HistoryModel.ImpossibleOperation(
                reason: "the user has no web purchase to redeem"
            )
        }
        var spec = EventSpec(
            type: RevenueCatEventType(rawValue: type),
            user: operation.user,
            product: heldPurchase?.productID ?? Self.standardProduct
        )
        spec.time = operation.time
        spec.store = heldPurchase?.store ?? spec.store
        spec.environment = heldPurchase?.environment ?? spec.environment
        if let heldPurchase {
            spec.purchased = heldPurchase.purchased - HistoryModel.zero
            spec.expires = heldPurchase.expires.map { $0 - HistoryModel.zero }
        }
        return SellerEvent(
            RevenueCatHistoryEvent(spec: spec),
            stateBefore: PurchaseState(heldPurchase, at: HistoryModel.zero + operation.time),
            knownUsers: []
        )
    }

    /// Collects the events that the stores caused since the last call.
    ///
    /// - Parameters:
    ///   - operation: The operation that caused the events; nil for a change that happened without
    ///     an operation.
    ///   - before: The states of all purchases before the events.
    /// - Returns: The events, in the order of the stores.
    /// - Throws: The reason why the operation cannot happen.
    private mutating func collectEvents(
        of operation: HistoryOperation?,
        _ before: [PurchaseFacts.PurchaseKey: PurchaseState]
    ) throws(HistoryModel.ImpossibleOperation) -> [SellerEvent] {
        var events: [SellerEvent] = []
        for event in stores.takeEvents() {
            guard var spec = stores.spec(event) else { continue }
            let alias = spec.type.documented == .transfer ? operation?.additionalID : nil
            if let alias { spec.from.insert(alias, at: 0) }
            try stores.facts.checkTransaction(spec, event["original_transaction_id"]?.string)
            stores.facts.recordEvent(spec)
            var knownUsers: [String] = []
            if let user = spec.user {
                // A backend may store sandbox users separately, or not at all (S-19).
                let isSandbox = spec.environment == "SANDBOX"
                if !isSandbox { knownUsers.append(user) }
                stores.facts.recordProduct(user, spec.product, isSandbox: isSandbox)
                // Events that became due before the operation name the user by the usual ID,
                // whichever ID the operation uses.
                let location = user == operation?.user ? operation?.userIDLocation : nil
                spec.userIDLocation = try userIDTracker.known(
                    spec,
                    user,
                    by: location.flatMap(EventSpec.UserIDLocation.init)
                )
            }
            // A backend need not know a user by an ID that a TRANSFER lists only as an alias.
            knownUsers += (spec.from + spec.to).filter { $0 != alias }
            userIDTracker.recordTransfer(spec.from + spec.to, alias: alias)
            let purchaseKey = spec.user.map {
                PurchaseFacts.PurchaseKey(user: $0, product: spec.product)
            }
            events.append(
                SellerEvent(
                    RevenueCatHistoryEvent(spec: spec),
                    stateBefore: purchaseKey.flatMap { before[$0] } ?? .none,
                    knownUsers: knownUsers
                )
            )
        }
        return events
    }

    // MARK: State

    func heldPurchases(of user: String, at time: Duration) -> [HistoryModel.HeldPurchase] {
        stores.purchases(of: user).map {
            HistoryModel.HeldPurchase(
                product: $0.productID,
                store: $0.store,
                environment: $0.environment,
                state: PurchaseState($0, at: HistoryModel.zero + time)
            )
        }
    }

    func endTimes(of user: String) -> [Duration] {
        stores.purchases(of: user).flatMap { [$0.expires, $0.graceEnd, $0.resume] }
            .compactMap { $0.map { $0 - HistoryModel.zero } }
    }

    var accessEndTimes: [Duration] {
        stores.facts.productsEverHad.keys.flatMap { user in
            stores.purchases(of: user).flatMap { [$0.expires, $0.graceEnd] }
                .compactMap { $0.map { $0 - HistoryModel.zero } }
                + (stores.facts.shortenedPeriodEnds[user] ?? [])
        }
    }

    func canDistinguishPurchases(of user: String, _ otherUser: String) -> Bool {
        !stores.haveSameProductTwice(user, otherUser)
    }

    /// Checks that no two purchases of one user end within one second.
    ///
    /// RevenueCat's REST API has no finer times. If two purchases have ended, no source defines
    /// which of them the REST API shows.
    func checkEnd() throws(HistoryModel.ImpossibleOperation) {
        for user in stores.facts.productsEverHad.keys {
            let endTimes = stores.purchases(of: user).compactMap(\.expires).sorted()
            for (first, second) in zip(endTimes, endTimes.dropFirst())
            where second - first < .seconds(1) {
                throw HistoryModel.ImpossibleOperation(reason: "two purchases end at the same time")
            }
        }
    }

    func access(of user: String) -> Bool? { UserPurchases(user, in: stores).access }

    func addDetails(of user: String, to state: inout ExpectedState) {
        state.addDetails(of: UserPurchases(user, in: stores))
    }
}
