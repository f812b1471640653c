internal import Contracts
internal import Providers
internal import Values

/// A model of the Purchasely subscriptions in a generated customer history.
///
/// Source: Purchasely fact sheet, sections 4 to 7 and 9: only ACTIVATE and DEACTIVATE change
/// access, each for one subscription, plan and holder.
struct PurchaselyModel: SellerModel {
    struct HeldPlan: Hashable, Sendable {
        let subscription: String
        let plan: String
        let owner: String
        let store: String
        let environment: String
        var state: PurchaseState
        var purchased: Duration
        /// The time at which access ends (`effective_next_renewal_at`); nil for a one-time
        /// purchase.
        var end: Duration?
        /// The time of the theoretical next renewal (`next_renewal_at`); nil when it equals `end`.
        var renewalTime: Duration?

        var isOneTime: Bool { end == nil }
        var isSandbox: Bool { environment == "SANDBOX" }
        /// Whether the latest ACTIVATE or DEACTIVATE event of this plan was an ACTIVATE.
        var isActive: Bool { ![.ended, .refunded, .retrying].contains(state) }
    }

    private var heldPlans: [HeldPlan] = []

    /// Purchasely names each user by the registered ID.
    var userIDs: (any SellerUserIDs)? { nil }

    private func heldPlans(of user: String) -> [HeldPlan] { heldPlans.filter { $0.owner == user } }

    private func heldPlan(_ user: String, _ plan: String?) -> HeldPlan? {
        heldPlans.last { $0.owner == user && $0.plan == plan }
    }

    // MARK: Operations

    /// An event about a plan, and the state of the plan before the event.
    private typealias PlanChange = (event: PurchaselyHistoryEvent, stateBefore: PurchaseState)

    /// Returns no event, because the model has no renewal without an operation.
    mutating func advance(to _: Duration, _: KnownUsers)
        throws(HistoryModel.ImpossibleOperation) -> [SellerEvent]
    { [] }

    mutating func perform(_ operation: HistoryOperation, _ users: KnownUsers)
        throws(HistoryModel.ImpossibleOperation) -> [SellerEvent]
    {
        let hasUndeterminedOwner = [operation.user, operation.from].compactMap(\.self)
            .contains(where: users.accounts.hasUndeterminedOwner)
        guard operation.kind != .transfer || !hasUndeterminedOwner else {
            throw HistoryModel.ImpossibleOperation(
                reason: "after a login it is undetermined which user owns the purchases"
            )
        }
        return try changes(by: operation).map { event, stateBefore in
            SellerEvent(
                event,
                stateBefore: stateBefore,
                knownUsers: event.isSandbox ? [] : event.users
            )
        }
    }

    private mutating func changes(by operation: HistoryOperation)
        throws(HistoryModel.ImpossibleOperation) -> [PlanChange]
    {
        guard Self.kinds.contains(operation.kind) else {
            throw HistoryModel.ImpossibleOperation(
                reason: "Purchasely does not support \(operation.kind.rawValue)"
            )
        }
        if operation.kind == .transfer { return try transfer(operation) }
        let heldPurchase = heldPlan(operation.user, operation.product)
        let stateBefore = heldPurchase?.state ?? .none
        if operation.kind == .purchase { return [(try buy(operation, heldPurchase), stateBefore)] }
        guard var heldPurchase else {
            throw HistoryModel.ImpossibleOperation(
                reason: "\(operation.user) does not have this plan"
            )
        }
        if operation.kind == .changeProduct { return try changePlan(operation, &heldPurchase) }
        return [(try event(of: operation, on: &heldPurchase), stateBefore)]
    }

    private func requireState(_ heldPurchase: HeldPlan, _ states: Set<PurchaseState>)
        throws(HistoryModel.ImpossibleOperation)
    {
        guard states.contains(heldPurchase.state) else {
            throw HistoryModel.ImpossibleOperation(
                reason:
                    "the operation is not possible for a plan in the state '\(heldPurchase.state.rawValue)'"
            )
        }
    }

    private mutating func buy(_ operation: HistoryOperation, _ existingPlan: HeldPlan?)
        throws(HistoryModel.ImpossibleOperation) -> PurchaselyHistoryEvent
    {
        guard let plan = Self.plans.first(where: { $0.name == operation.product }) else {
            throw HistoryModel.ImpossibleOperation(
                reason: "'\(operation.product ?? "")' is not a plan"
            )
        }
        if let existingPlan {
            // A user cannot buy a one-time purchase again.
            guard !existingPlan.isOneTime,
                existingPlan.environment == operation.effectiveEnvironment
            else {
                throw HistoryModel.ImpossibleOperation(reason: "the user had the plan before")
            }
            try requireState(existingPlan, [.ended, .refunded])
        }
        let count = heldPlans(of: operation.user).count
        let heldPurchase = HeldPlan(
            subscription: existingPlan?.subscription ?? "\(operation.user)-\(count)",
            plan: plan.name,
            owner: operation.user,
            // Further plans of a user get another store, because two plans at one store would be a
            // single subscription with a change of plan.
            store: existingPlan?.store
                ?? PurchaselySpec.stores[count % PurchaselySpec.stores.count],
            environment: operation.effectiveEnvironment,
            state: plan.days == nil ? .lifetime : .active,
            purchased: operation.time,
            end: plan.days.map { operation.time + .days($0) }
        )
        return activate(heldPurchase, at: operation.time)
    }

    /// Performs an operation that affects only one plan, and returns its event.
    private mutating func event(
        of operation: HistoryOperation,
        on heldPurchase: inout HeldPlan
    ) throws(HistoryModel.ImpossibleOperation) -> PurchaselyHistoryEvent {
        let end = heldPurchase.end ?? operation.time
        switch operation.kind {
        case .renew:
            try requireState(heldPurchase, [.active])
            guard (Duration.zero ... .seconds(86_400)).contains(end - operation.time) else {
                throw HistoryModel.ImpossibleOperation(
                    reason: "the store charges neither this early nor this late"
                )
            }
            return renewal(&heldPurchase, from: end, at: operation.time)
        case .recover:
            try requireState(heldPurchase, [.grace, .retrying])
            heldPurchase.state = .active
            return renewal(&heldPurchase, from: operation.time, at: operation.time)
        case .billingIssue: return try billingIssue(operation, &heldPurchase, end)
        case .expire:
            try requireState(heldPurchase, [.active, .cancelled, .grace])
            return deactivate(&heldPurchase, .ended, status: "DEACTIVATED", at: operation.time)
        case .refund:
            try requireState(heldPurchase, [.active, .cancelled, .lifetime])
            return deactivate(&heldPurchase, .refunded, status: "REVOKED", at: operation.time)
        case .cancel:
            try requireState(heldPurchase, [.active])
            heldPurchase.state = .cancelled
            storeHeldPlan(heldPurchase)
            return planEvent(
                "RENEWAL_DISABLED",
                heldPurchase,
                status: "AUTO_RENEWING_CANCELED",
                operation.time
            )
        case .uncancel:
            try requireState(heldPurchase, [.cancelled])
            heldPurchase.state = .active
            storeHeldPlan(heldPurchase)
            return planEvent(
                "RENEWAL_ENABLED",
                heldPurchase,
                status: "AUTO_RENEWING",
                operation.time
            )
        case .irrelevantEvent: return try irrelevantEvent(operation, heldPurchase)
        case .purchase, .changeProduct, .transfer, .pause, .resume, .extend, .grant, .revoke,
            .reverseRefund, .temporaryGrant, .register, .wait, .signUp, .logIn, .share, .unshare:
            throw HistoryModel.ImpossibleOperation(
                reason: "Purchasely does not support \(operation.kind.rawValue)"
            )
        }
    }

    private mutating func billingIssue(
        _ operation: HistoryOperation,
        _ heldPurchase: inout HeldPlan,
        _ end: Duration
    ) throws(HistoryModel.ImpossibleOperation) -> PurchaselyHistoryEvent {
        try requireState(heldPurchase, [.active])
        guard operation.time >= end - .seconds(86_400) else {
            throw HistoryModel.ImpossibleOperation(
                reason: "the store does not charge this long before the end of the period"
            )
        }
        guard let effectDuration = operation.effectDuration else {
            return deactivate(&heldPurchase, .retrying, status: "ON_HOLD", at: operation.time)
        }
        heldPurchase.state = .grace
        (heldPurchase.renewalTime, heldPurchase.end) = (end, end + effectDuration)
        return activate(heldPurchase, status: "IN_GRACE_PERIOD", at: operation.time)
    }

    /// Returns an event that changes no subscription.
    private func irrelevantEvent(
        _ operation: HistoryOperation,
        _ heldPurchase: HeldPlan
    ) throws(HistoryModel.ImpossibleOperation) -> PurchaselyHistoryEvent {
        guard let name = operation.type, Self.irrelevantEventTypes.contains(name) else {
            throw HistoryModel.ImpossibleOperation(
                reason: "an event with the name '\(operation.type ?? "")' may change a subscription"
            )
        }
        guard !heldPurchase.isOneTime || Self.irrelevantOneTimeEventTypes.contains(name) else {
            throw HistoryModel.ImpossibleOperation(reason: "a one-time purchase does not renew")
        }
        return planEvent(name, heldPurchase, status: nil, operation.time)
    }

    /// Changes the plan of a subscription: deactivates the old plan and activates the new plan
    /// (Purchasely fact sheet, section 4).
    private mutating func changePlan(
        _ operation: HistoryOperation,
        _ heldPurchase: inout HeldPlan
    ) throws(HistoryModel.ImpossibleOperation) -> [PlanChange] {
        try requireState(heldPurchase, [.active])
        let plan = Self.plans.first { $0.name == operation.newProduct && $0.days != nil }
        guard let plan, let days = plan.days, plan.name != heldPurchase.plan,
            heldPlan(operation.user, plan.name) == nil
        else {
            throw HistoryModel.ImpossibleOperation(
                reason:
                    "the user cannot change to '\(operation.newProduct ?? "")', which is not a new plan with an end"
            )
        }
        let stateBefore = heldPurchase.state
        let deactivation = deactivate(
            &heldPurchase,
            .ended,
            status: "DEACTIVATED",
            at: operation.time
        )
        let time = operation.time + .milliseconds(1)
        let on = activate(
            HeldPlan(
                subscription: heldPurchase.subscription,
                plan: plan.name,
                owner: heldPurchase.owner,
                store: heldPurchase.store,
                environment: heldPurchase.environment,
                state: .active,
                purchased: time,
                end: time + .days(days)
            ),
            at: time
        )
        return [(deactivation, stateBefore), (on, .none)]
    }

    /// Transfers each active subscription: deactivates it for the user who loses it and activates
    /// it for the other user (Purchasely fact sheet, section 7).
    private mutating func transfer(
        _ operation: HistoryOperation
    ) throws(HistoryModel.ImpossibleOperation) -> [PlanChange] {
        guard let from = operation.from else {
            throw HistoryModel.ImpossibleOperation(
                reason: "the transfer names no user who loses the plans"
            )
        }
        let movedPlans = heldPlans(of: from).filter {
            $0.isActive && !$0.isOneTime && !$0.isSandbox
        }
        guard !movedPlans.isEmpty else {
            throw HistoryModel.ImpossibleOperation(reason: "the user has no plan to transfer")
        }
        var changes: [PlanChange] = []
        var time = operation.time
        for var heldPurchase in movedPlans {
            guard
                heldPlan(operation.user, heldPurchase.plan).map({
                    $0.subscription == heldPurchase.subscription
                })
                    ?? true
            else { throw HistoryModel.ImpossibleOperation(reason: "both users have the same plan") }
            let state = heldPurchase.state
            // The DEACTIVATE event for the user who loses the plan may still have the status of an
            // active plan (Purchasely fact sheet, trap 16).
            changes.append(
                (deactivate(&heldPurchase, .ended, status: "AUTO_RENEWING", at: time), state)
            )
            time += .milliseconds(1)
            let receivedPlan = HeldPlan(
                subscription: heldPurchase.subscription,
                plan: heldPurchase.plan,
                owner: operation.user,
                store: heldPurchase.store,
                environment: heldPurchase.environment,
                state: state,
                purchased: heldPurchase.purchased,
                end: heldPurchase.end,
                renewalTime: heldPurchase.renewalTime
            )
            let stateBefore = heldPlan(operation.user, heldPurchase.plan)?.state ?? .none
            changes.append(
                (activate(receivedPlan, status: Self.status(of: state), at: time), stateBefore)
            )
            time += .milliseconds(1)
        }
        return changes
    }

    private static func status(of state: PurchaseState) -> String {
        switch state {
        case .cancelled: "AUTO_RENEWING_CANCELED"
        case .grace: "IN_GRACE_PERIOD"
        case .none, .trial, .intro, .prepaid, .active, .retrying, .pausing, .paused, .changing,
            .ended, .refunded, .lifetime, .consumed, .promotional, .temporary:
            "AUTO_RENEWING"
        }
    }

    // MARK: Parts

    private mutating func storeHeldPlan(_ heldPurchase: HeldPlan) {
        heldPlans.removeAll {
            ($0.subscription, $0.plan, $0.owner) == (
                heldPurchase.subscription, heldPurchase.plan, heldPurchase.owner
            )
        }
        heldPlans.append(heldPurchase)
    }

    private mutating func renewal(
        _ heldPurchase: inout HeldPlan,
        from start: Duration,
        at time: Duration
    ) -> PurchaselyHistoryEvent {
        let days = Self.plans.first { $0.name == heldPurchase.plan }?.days ?? 30
        (heldPurchase.purchased, heldPurchase.end, heldPurchase.renewalTime) = (
            time, start + .days(days), nil
        )
        return activate(heldPurchase, at: time)
    }

    private mutating func activate(
        _ heldPurchase: HeldPlan,
        status: String = "AUTO_RENEWING",
        at time: Duration
    ) -> PurchaselyHistoryEvent {
        storeHeldPlan(heldPurchase)
        return planEvent(
            "ACTIVATE",
            heldPurchase,
            status: heldPurchase.isOneTime ? nil : status,
            time
        )
    }

    private mutating func deactivate(
        _ heldPurchase: inout HeldPlan,
        _ state: PurchaseState,
        status: String,
        at time: Duration
    ) -> PurchaselyHistoryEvent {
        heldPurchase.state = state
        storeHeldPlan(heldPurchase)
        return planEvent(
            "DEACTIVATE",
            heldPurchase,
            status: heldPurchase.isOneTime ? nil : status,
            time
        )
    }

    private func planEvent(
        _ name: String,
        _ heldPurchase: HeldPlan,
        status: String?,
        _ time: Duration
    ) -> PurchaselyHistoryEvent {
        var spec = PurchaselySpec(name: name, user: heldPurchase.owner)
        spec.plan = heldPurchase.plan
        spec.subscription = heldPurchase.subscription
        spec.purchaseType = heldPurchase.isOneTime ? "NON_CONSUMABLE" : "RENEWING_SUBSCRIPTION"
        spec.store = heldPurchase.store
        spec.environment = heldPurchase.environment
        spec.status = status
        spec.time = time
        spec.purchased = heldPurchase.purchased
        spec.expires = heldPurchase.end
        spec.renewalTime = heldPurchase.renewalTime
        return PurchaselyHistoryEvent(spec: spec)
    }

    // MARK: State

    func heldPurchases(of user: String, at _: Duration) -> [HistoryModel.HeldPurchase] {
        heldPlans(of: user).map {
            HistoryModel.HeldPurchase(
                product: $0.plan,
                store: PurchaselyHistoryEvent.store,
                environment: $0.environment,
                state: $0.state
            )
        }
    }

    func endTimes(of user: String) -> [Duration] { heldPlans(of: user).compactMap(\.end) }

    var accessEndTimes: [Duration] { heldPlans.compactMap(\.end) }

    /// Two users can have the same plan, because each event names its subscription.
    func canDistinguishPurchases(of _: String, _: String) -> Bool { true }

    func checkEnd() throws(HistoryModel.ImpossibleOperation) {}

    /// Returns whether a user has access through a Purchasely plan at the time when the backend's
    /// state is read.
    ///
    /// The result is nil when a backend that ends access by date may give another result
    /// (Purchasely fact sheet, section 9: a fail-safe end, if any).
    func access(of user: String) -> Bool? {
        let on = heldPlans(of: user).filter { $0.isActive && !$0.isSandbox }
        if on.contains(where: { $0.end.map { $0 > HistoryModel.finalReadTime } ?? true }) {
            return true
        }
        return on.isEmpty ? false : nil
    }

    /// Adds nothing, because the clauses about Purchasely define only the access.
    func addDetails(of _: String, to _: inout ExpectedState) {}
}
