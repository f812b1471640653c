internal import Conformance

/// A model of the Purchasely subscriptions in a generated customer history.
///
/// Source: Purchasely fact sheet, sections 4 to 7 and 9: only ACTIVATE and DEACTIVATE change
/// access, each for one subscription, plan and holder.
struct PlanModel: Sendable {
    struct Line: Hashable, Sendable {
        let subscription: String
        let plan: String
        let holder: String
        let store: String
        let environment: String
        var state: LineState
        var purchased: Duration
        /// The time at which access ends (`effective_next_renewal_at`); nil for a one-time
        /// purchase.
        var end: Duration?
        /// The time of the theoretical next renewal (`next_renewal_at`); nil when it equals `end`.
        var renews: Duration?

        var isOneTime: Bool { end == nil }
        var isSandbox: Bool { environment == "SANDBOX" }
        /// Whether the latest ACTIVATE or DEACTIVATE event of this plan was an ACTIVATE.
        var isOn: Bool { ![.ended, .refunded, .retrying].contains(state) }
    }

    static let monthly = "PLUS_MONTHLY"
    static let lifetime = "PLUS_LIFETIME"
    /// The names of the Purchasely plans, with the lengths of their periods in days; nil for a plan
    /// without an end.
    static let plans: [(name: String, days: Int?)] = [
        (monthly, 30), ("PLUS_YEARLY", 365), (lifetime, nil),
    ]

    /// Names of Purchasely events that change no access, even if the name suggests it (clause
    /// P-05).
    static let idleNames = [
        "SUBSCRIPTION_STARTED", "SUBSCRIPTION_RENEWED", "TRANSACTION_PROCESSED",
        "RENEWAL_DISABLED", "RENEWAL_ENABLED", "SUBSCRIPTION_TERMINATED",
        "SUBSCRIPTION_REFUNDED_REVOKED", "GRACE_PERIOD_STARTED", "GRACE_PERIOD_TERMINATED",
        "ENTERED_BILLING_RETRY", "SUBSCRIPTION_UPGRADED", "SUBSCRIPTION_DEFERRED",
        "SUBSCRIPTION_WILL_PAUSE", "SUBSCRIPTION_REACTIVATED", "PROMO_CODE_STARTED",
        Message.unknownType,
    ]

    /// The names from `idleNames` that an event about a one-time purchase may have.
    private static let idleNamesOfAll: Set = ["TRANSACTION_PROCESSED", Message.unknownType]

    /// The kinds of operations that are possible for Purchasely plans.
    static let kinds: Set<Act.Kind> = [
        .purchase, .renew, .cancel, .uncancel, .billingIssue, .recover, .changeProduct, .expire,
        .refund, .transfer, .tell,
    ]

    private(set) var lines: [Line] = []

    func lines(of user: String) -> [Line] { lines.filter { $0.holder == user } }

    func line(_ user: String, _ plan: String?) -> Line? {
        lines.last { $0.holder == user && $0.plan == plan }
    }

    // MARK: Operations

    /// Carries out an operation on a Purchasely plan.
    ///
    /// - Returns: The Purchasely events that the operation causes, in order, each with the state of
    ///   the plan before the event.
    /// - Throws: The reason why the operation cannot happen.
    mutating func perform(
        _ act: Act
    ) throws(LifeModel.Illegal) -> [(message: Message, before: LineState)] {
        guard Self.kinds.contains(act.kind) else {
            throw LifeModel.Illegal(reason: "Purchasely does not support \(act.kind.rawValue)")
        }
        if act.kind == .transfer { return try transfer(act) }
        let line = line(act.user, act.product)
        let before = line?.state ?? .none
        if act.kind == .purchase { return [(try buy(act, line), before)] }
        guard var line else {
            throw LifeModel.Illegal(reason: "\(act.user) does not have this plan")
        }
        if act.kind == .changeProduct { return try change(act, &line) }
        return [(try tell(act, &line), before)]
    }

    private func allow(_ line: Line, _ states: Set<LineState>) throws(LifeModel.Illegal) {
        guard states.contains(line.state) else {
            throw LifeModel.Illegal(
                reason:
                    "the operation is not possible for a plan in the state '\(line.state.rawValue)'"
            )
        }
    }

    private mutating func buy(_ act: Act, _ old: Line?) throws(LifeModel.Illegal) -> Message {
        guard let plan = Self.plans.first(where: { $0.name == act.product }) else {
            throw LifeModel.Illegal(reason: "'\(act.product ?? "")' is not a plan")
        }
        if let old {
            // A user cannot buy a one-time purchase again.
            guard !old.isOneTime, old.environment == act.place else {
                throw LifeModel.Illegal(reason: "the user had the plan before")
            }
            try allow(old, [.ended, .refunded])
        }
        let count = lines(of: act.user).count
        let line = Line(
            subscription: old?.subscription ?? "\(act.user)-\(count)",
            plan: plan.name,
            holder: act.user,
            // At one store, two plans would be a single subscription with a change of plan.
            store: old?.store ?? PurchaselySpec.stores[count % PurchaselySpec.stores.count],
            environment: act.place,
            state: plan.days == nil ? .lifetime : .active,
            purchased: act.time,
            end: plan.days.map { act.time + .days($0) }
        )
        return activate(line, at: act.time)
    }

    private mutating func tell(
        _ act: Act,
        _ line: inout Line
    ) throws(LifeModel.Illegal) -> Message {
        let end = line.end ?? act.time
        switch act.kind {
        case .renew:
            try allow(line, [.active])
            guard (Duration.zero ... .seconds(86_400)).contains(end - act.time) else {
                throw LifeModel.Illegal(
                    reason: "the store charges neither this early nor this late"
                )
            }
            return renewed(&line, from: end, at: act.time)
        case .recover:
            try allow(line, [.grace, .retrying])
            line.state = .active
            return renewed(&line, from: act.time, at: act.time)
        case .billingIssue:
            try allow(line, [.active])
            guard act.time >= end - .seconds(86_400) else {
                throw LifeModel.Illegal(
                    reason: "the store does not charge this long before the end of the period"
                )
            }
            guard let span = act.span else {
                return deactivate(&line, .retrying, status: "ON_HOLD", at: act.time)
            }
            line.state = .grace
            (line.renews, line.end) = (end, end + span)
            return activate(line, status: "IN_GRACE_PERIOD", at: act.time)
        case .expire:
            try allow(line, [.active, .cancelled, .grace])
            return deactivate(&line, .ended, status: "DEACTIVATED", at: act.time)
        case .refund:
            try allow(line, [.active, .cancelled, .lifetime])
            return deactivate(&line, .refunded, status: "REVOKED", at: act.time)
        case .cancel:
            try allow(line, [.active])
            line.state = .cancelled
            put(line)
            return told("RENEWAL_DISABLED", line, status: "AUTO_RENEWING_CANCELED", act.time)
        case .uncancel:
            try allow(line, [.cancelled])
            line.state = .active
            put(line)
            return told("RENEWAL_ENABLED", line, status: "AUTO_RENEWING", act.time)
        case .tell:
            guard let name = act.type, Self.idleNames.contains(name) else {
                throw LifeModel.Illegal(
                    reason: "an event with the name '\(act.type ?? "")' may change a subscription"
                )
            }
            guard !line.isOneTime || Self.idleNamesOfAll.contains(name) else {
                throw LifeModel.Illegal(reason: "a one-time purchase does not renew")
            }
            return told(name, line, status: nil, act.time)
        case .purchase, .changeProduct, .transfer, .pause, .resume, .extend, .grant, .revoke,
            .reverseRefund, .temporaryGrant, .register, .wait, .signUp, .logIn, .share, .unshare:
            throw LifeModel.Illegal(reason: "Purchasely does not support \(act.kind.rawValue)")
        }
    }

    /// Changes the plan of a subscription: deactivates the old plan and activates the new plan
    /// (Purchasely fact sheet, section 4).
    private mutating func change(
        _ act: Act,
        _ line: inout Line
    ) throws(LifeModel.Illegal) -> [(message: Message, before: LineState)] {
        try allow(line, [.active])
        let plan = Self.plans.first { $0.name == act.newProduct && $0.days != nil }
        guard let plan, let days = plan.days, plan.name != line.plan,
            self.line(act.user, plan.name) == nil
        else {
            throw LifeModel.Illegal(
                reason:
                    "the user cannot change to '\(act.newProduct ?? "")', which is not a new plan with an end"
            )
        }
        let before = line.state
        let off = deactivate(&line, .ended, status: "DEACTIVATED", at: act.time)
        let time = act.time + .milliseconds(1)
        let on = activate(
            Line(
                subscription: line.subscription,
                plan: plan.name,
                holder: line.holder,
                store: line.store,
                environment: line.environment,
                state: .active,
                purchased: time,
                end: time + .days(days)
            ),
            at: time
        )
        return [(off, before), (on, .none)]
    }

    /// Transfers each active subscription: deactivates it for the user who loses it and activates
    /// it for the other user (Purchasely fact sheet, section 7).
    private mutating func transfer(
        _ act: Act
    ) throws(LifeModel.Illegal) -> [(message: Message, before: LineState)] {
        guard let from = act.from else {
            throw LifeModel.Illegal(reason: "the transfer names no user who loses the plans")
        }
        let moved = lines(of: from).filter { $0.isOn && !$0.isOneTime && !$0.isSandbox }
        guard !moved.isEmpty else {
            throw LifeModel.Illegal(reason: "the user has no plan to transfer")
        }
        var told: [(Message, LineState)] = []
        var time = act.time
        for var line in moved {
            guard
                self.line(act.user, line.plan).map({ $0.subscription == line.subscription })
                    ?? true
            else { throw LifeModel.Illegal(reason: "both users have the same plan") }
            let state = line.state
            // The DEACTIVATE event for the user who loses the plan may still have the status of an
            // active plan (Purchasely fact sheet, trap 16).
            told.append((deactivate(&line, .ended, status: "AUTO_RENEWING", at: time), state))
            time += .milliseconds(1)
            let won = Line(
                subscription: line.subscription,
                plan: line.plan,
                holder: act.user,
                store: line.store,
                environment: line.environment,
                state: state,
                purchased: line.purchased,
                end: line.end,
                renews: line.renews
            )
            let before = self.line(act.user, line.plan)?.state ?? .none
            told.append((activate(won, status: Self.status(of: state), at: time), before))
            time += .milliseconds(1)
        }
        return told
    }

    private static func status(of state: LineState) -> String {
        switch state {
        case .cancelled: "AUTO_RENEWING_CANCELED"
        case .grace: "IN_GRACE_PERIOD"
        case .none, .trial, .intro, .prepaid, .active, .retrying, .pausing, .paused, .changing,
            .ended, .refunded, .lifetime, .consumed, .promotional, .temporary:
            "AUTO_RENEWING"
        }
    }

    // MARK: Parts

    private mutating func put(_ line: Line) {
        lines.removeAll {
            ($0.subscription, $0.plan, $0.holder) == (line.subscription, line.plan, line.holder)
        }
        lines.append(line)
    }

    private mutating func renewed(
        _ line: inout Line,
        from start: Duration,
        at time: Duration
    ) -> Message {
        let days = Self.plans.first { $0.name == line.plan }?.days ?? 30
        (line.purchased, line.end, line.renews) = (time, start + .days(days), nil)
        return activate(line, at: time)
    }

    private mutating func activate(
        _ line: Line,
        status: String = "AUTO_RENEWING",
        at time: Duration
    ) -> Message {
        put(line)
        return told("ACTIVATE", line, status: line.isOneTime ? nil : status, time)
    }

    private mutating func deactivate(
        _ line: inout Line,
        _ state: LineState,
        status: String,
        at time: Duration
    ) -> Message {
        line.state = state
        put(line)
        return told("DEACTIVATE", line, status: line.isOneTime ? nil : status, time)
    }

    private func told(
        _ name: String,
        _ line: Line,
        status: String?,
        _ time: Duration
    ) -> Message {
        var spec = PurchaselySpec(name: name, user: line.holder)
        spec.plan = line.plan
        spec.subscription = line.subscription
        spec.purchaseType = line.isOneTime ? "NON_CONSUMABLE" : "RENEWING_SUBSCRIPTION"
        spec.store = line.store
        spec.environment = line.environment
        spec.status = status
        spec.time = time
        spec.purchased = line.purchased
        spec.expires = line.end
        spec.renews = line.renews
        return .purchasely(spec)
    }

    // MARK: Expectations

    /// Returns whether a user has access through a Purchasely plan at the time when the backend's
    /// state is read.
    ///
    /// The result is nil when a backend that ends access by date may give another result
    /// (Purchasely fact sheet, section 9: a fail-safe end, if any).
    func access(of user: String, at look: Duration) -> Bool? {
        let on = lines(of: user).filter { $0.isOn && !$0.isSandbox }
        if on.contains(where: { $0.end.map { $0 > look } ?? true }) { return true }
        return on.isEmpty ? false : nil
    }
}
