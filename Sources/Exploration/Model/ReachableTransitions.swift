/// All state transitions that the sellers allow for the purchases of one user, by store.
///
/// The coverage report counts how many of these transitions occurred.
package struct ReachableTransitions: Sendable {
    /// The events that can occur for a purchase, by store and by the state of the purchase.
    package let transitions: [String: [PurchaseState: [String]]]

    /// Finds all transitions by exploring the models of the sellers.
    ///
    /// - Parameters:
    ///   - stores: The names of the stores to explore.
    ///   - sellers: The sellers of the stores.
    package init(stores: [String], _ sellers: SellerTable = .all) {
        var transitions: [String: [PurchaseState: [String]]] = [:]
        for store in stores {
            transitions[store] = TransitionSearch(store: store, sellers: sellers).transitions
        }
        self.transitions = transitions
    }
}

/// The search for all state transitions that the seller of one store allows.
private struct TransitionSearch {
    let store: String
    let sellers: SellerTable

    private static let searchStart: Duration = .seconds(-3000 * 86_400)

    private var seller: any SellerModel.Type { sellers[store] }

    /// A point in the exploration: the model after some operations, and the time.
    private struct SearchPoint {
        var model: HistoryModel
        var time: Duration
        var id: Int
    }

    /// The properties of a `SearchPoint` that determine its possible continuations.
    private struct VisitedState: Hashable {
        let state: PurchaseState
        let products: [String]
    }

    var transitions: [PurchaseState: [String]] {
        let person = CustomerHistory.HistoryUser("ada", .registered)
        var visitedStates: Set<VisitedState> = []
        var eventTypesByState: [PurchaseState: Set<String>] = [:]
        var unexploredPoints = [
            SearchPoint(model: HistoryModel([person], sellers), time: Self.searchStart, id: 0)
        ]
        while let searchPoint = unexploredPoints.popLast() {
            for operation in operations(searchPoint) {
                var model = searchPoint.model
                let step = CustomerHistory.Step(
                    id: searchPoint.id,
                    operation: operation,
                    readsStateAfterStep: false
                )
                // The search tries every operation, and skips those that are impossible in this
                // state.
                guard let stepEvents = try? model.perform(step) else { continue }
                for event in stepEvents where event.message.store == store {
                    eventTypesByState[event.before, default: []].insert(event.message.coverageLabel)
                }
                let heldPurchases = model.heldPurchases(of: "ada", at: operation.time)
                let visitedState = VisitedState(
                    state: heldPurchases.first?.state ?? .none,
                    products: heldPurchases.map(\.product)
                )
                guard heldPurchases.count < 3, visitedStates.insert(visitedState).inserted else {
                    continue
                }
                unexploredPoints.append(
                    SearchPoint(model: model, time: operation.time, id: searchPoint.id + 1)
                )
            }
        }
        // An event that changes nothing is possible at any time.
        for state in eventTypesByState.keys {
            eventTypesByState[state]?.insert(HistoryCoverage.Tracker.irrelevant)
        }
        return eventTypesByState.mapValues { $0.sorted() }
    }

    /// Operations that lead to no new state of a purchase, or that need a second user.
    private static let irrelevant: Set<HistoryOperation.Kind> = [
        .transfer, .share, .unshare, .register, .signUp, .logIn, .irrelevantEvent,
    ]

    /// Returns all operations to try next, such as a renewal shortly before the end of a period.
    private func operations(_ searchPoint: SearchPoint) -> [HistoryOperation] {
        let heldPurchases = searchPoint.model.heldPurchases(of: "ada", at: searchPoint.time)
        let products =
            heldPurchases.isEmpty
            ? [seller.standardProduct] + seller.oneTimeProducts : heldPurchases.map(\.product)
        var operations: [HistoryOperation] = []
        for product in products {
            for kind in HistoryOperation.Kind.allCases where !Self.irrelevant.contains(kind) {
                var operation = HistoryOperation(kind, "ada", at: searchPoint.time + .seconds(3600))
                operation.product = product
                operations += variants(of: operation)
            }
        }
        let endTimes = searchPoint.model.endTimes(of: "ada", after: searchPoint.time)
        for end in endTimes {
            for (kind, offset) in [
                (HistoryOperation.Kind.renew, -60), (.wait, 60), (.billingIssue, -60),
            ] {
                var operation = HistoryOperation(
                    kind,
                    "ada",
                    at: max(searchPoint.time, end + .seconds(offset))
                )
                operation.product = kind == .wait ? nil : products.first
                operations += variants(of: operation)
            }
        }
        return operations
    }

    private func variants(of operation: HistoryOperation) -> [HistoryOperation] {
        var operation = operation
        if operation.kind != .wait { operation.store = seller.storeName }
        func changedOperation(_ change: (inout HistoryOperation) -> Void) -> HistoryOperation {
            var operation = operation
            change(&operation)
            return operation
        }
        switch operation.kind {
        case .purchase:
            return ["NORMAL", "TRIAL", "INTRO", "PREPAID"].compactMap { period in
                let isPrepaid = period == "PREPAID"
                guard !isPrepaid || store == "PLAY_STORE" else { return nil }
                return changedOperation { operation in
                    operation.store = store
                    operation.period = period
                }
            }
        case .billingIssue:
            return [operation, changedOperation { $0.effectDuration = .seconds(7 * 86_400) }]
        case .changeProduct:
            return [false, true].map { isDeferred in
                changedOperation { operation in
                    operation.newProduct = seller.subscriptionProducts.dropFirst().first
                    operation.isDeferred = isDeferred
                }
            }
        case .cancel, .expire:
            return [operation]
                + seller.reasons(of: operation.kind).map { reason in
                    changedOperation { $0.reason = reason }
                }
        case .grant:
            return [
                changedOperation { operation in
                    operation.product = nil
                    operation.reason = "monthly"
                }
            ]
        case .revoke: return [changedOperation { $0.product = nil }]
        case .renew, .uncancel, .pause, .resume, .extend, .refund, .transfer, .recover,
            .reverseRefund, .temporaryGrant, .share, .unshare, .irrelevantEvent, .register, .signUp,
            .logIn,
            .wait:
            return [operation]
        }
    }
}
