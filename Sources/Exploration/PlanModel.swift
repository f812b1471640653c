internal import Conformance

/// What Purchasely knows of everybody while a life goes on.
///
/// Source: Purchasely fact sheet, sections 4 to 7 and 9: only ACTIVATE and DEACTIVATE change access,
/// each for one subscription, plan and holder.
struct PlanModel: Sendable {
    struct Line: Hashable, Sendable {
        let subscription: String
        let plan: String
        let holder: String
        let store: String
        let environment: String
        var state: LineState
        var purchased: Duration
        /// `effective_next_renewal_at`; nil: it was bought once.
        var end: Duration?
        /// `next_renewal_at`.
        var renews: Duration?

        var isOneTime: Bool { end == nil }
        var isSandbox: Bool { environment == "SANDBOX" }
        /// ACTIVATE came last.
        var isOn: Bool { ![.ended, .refunded, .retrying].contains(state) }
    }

    static let monthly = "PLUS_MONTHLY"
    static let lifetime = "PLUS_LIFETIME"
    /// What may be bought, and for how many days; nil: for ever.
    static let plans: [(name: String, days: Int?)] = [
        (monthly, 30), ("PLUS_YEARLY", 365), (lifetime, nil),
    ]

    /// Names that change nothing, whatever they sound like (clause P-05).
    static let idleNames = [
        "SUBSCRIPTION_STARTED", "SUBSCRIPTION_RENEWED", "TRANSACTION_PROCESSED",
        "RENEWAL_DISABLED", "RENEWAL_ENABLED", "SUBSCRIPTION_TERMINATED",
        "SUBSCRIPTION_REFUNDED_REVOKED", "GRACE_PERIOD_STARTED", "GRACE_PERIOD_TERMINATED",
        "ENTERED_BILLING_RETRY", "SUBSCRIPTION_UPGRADED", "SUBSCRIPTION_DEFERRED",
        "SUBSCRIPTION_WILL_PAUSE", "SUBSCRIPTION_REACTIVATED", "PROMO_CODE_STARTED",
        Message.unknownType,
    ]

    /// Those that may tell of what was bought once as well.
    private static let idleNamesOfAll: Set = ["TRANSACTION_PROCESSED", Message.unknownType]

    /// What happens to whom Purchasely sells to.
    static let kinds: Set<Act.Kind> = [
        .purchase, .renew, .cancel, .uncancel, .billingIssue, .recover, .changeProduct, .expire,
        .refund, .transfer, .tell,
    ]

    private(set) var lines: [Line] = []

    func lines(of user: String) -> [Line] { lines.filter { $0.holder == user } }

    func line(_ user: String, _ plan: String?) -> Line? {
        lines.last { $0.holder == user && $0.plan == plan }
    }

    // MARK: What happens

    /// - Returns: What it tells, in the order in which it happened, with how the line stood before.
    /// - Throws: Why it cannot happen.
    mutating func perform(
        _ act: Act
    ) throws(LifeModel.Illegal) -> [(message: Message, before: LineState)] {
        guard Self.kinds.contains(act.kind) else {
            throw LifeModel.Illegal(reason: "Purchasely knows no \(act.kind.rawValue)")
        }
        if act.kind == .transfer { return try transfer(act) }
        let line = line(act.user, act.product)
        let before = line?.state ?? .none
        if act.kind == .purchase { return [(try buy(act, line), before)] }
        guard var line else { throw LifeModel.Illegal(reason: "\(act.user) has no such plan") }
        if act.kind == .changeProduct { return try change(act, &line) }
        return [(try tell(act, &line), before)]
    }

    private func allow(_ line: Line, _ states: Set<LineState>) throws(LifeModel.Illegal) {
        guard states.contains(line.state) else {
            throw LifeModel.Illegal(reason: "nothing for what is \(line.state.rawValue)")
        }
    }

    private mutating func buy(_ act: Act, _ old: Line?) throws(LifeModel.Illegal) -> Message {
        guard let plan = Self.plans.first(where: { $0.name == act.product }) else {
            throw LifeModel.Illegal(reason: "\(act.product ?? "nothing") is no plan")
        }
        if let old {
            // What was bought once is not bought again.
            guard !old.isOneTime, old.environment == act.place else {
                throw LifeModel.Illegal(reason: "it was had before")
            }
            try allow(old, [.ended, .refunded])
        }
        let count = lines(of: act.user).count
        let line = Line(
            subscription: old?.subscription ?? "\(act.user)-\(count)",
            plan: plan.name,
            holder: act.user,
            // Two plans at one store would be one subscription that changes.
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
                throw LifeModel.Illegal(reason: "nobody is charged so long ahead, or so late")
            }
            return renewed(&line, from: end, at: act.time)
        case .recover:
            try allow(line, [.grace, .retrying])
            line.state = .active
            return renewed(&line, from: act.time, at: act.time)
        case .billingIssue:
            try allow(line, [.active])
            guard act.time >= end - .seconds(86_400) else {
                throw LifeModel.Illegal(reason: "nobody is charged so long ahead")
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
                throw LifeModel.Illegal(reason: "\(act.type ?? "nothing") may change something")
            }
            guard !line.isOneTime || Self.idleNamesOfAll.contains(name) else {
                throw LifeModel.Illegal(reason: "what was bought once does not renew")
            }
            return told(name, line, status: nil, act.time)
        case .purchase, .changeProduct, .transfer, .pause, .resume, .extend, .grant, .revoke,
            .reverseRefund, .temporaryGrant, .register, .wait, .signUp, .logIn, .share, .unshare:
            throw LifeModel.Illegal(reason: "Purchasely knows no \(act.kind.rawValue)")
        }
    }

    /// The old plan goes off and the new one on, at one subscription (section 4).
    private mutating func change(
        _ act: Act,
        _ line: inout Line
    ) throws(LifeModel.Illegal) -> [(message: Message, before: LineState)] {
        try allow(line, [.active])
        let plan = Self.plans.first { $0.name == act.newProduct && $0.days != nil }
        guard let plan, let days = plan.days, plan.name != line.plan,
            self.line(act.user, plan.name) == nil
        else { throw LifeModel.Illegal(reason: "\(act.newProduct ?? "nothing") is no other plan") }
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

    /// Each running subscription goes off for the one and on for the other (section 7).
    private mutating func transfer(
        _ act: Act
    ) throws(LifeModel.Illegal) -> [(message: Message, before: LineState)] {
        guard let from = act.from else { throw LifeModel.Illegal(reason: "nobody loses") }
        let moved = lines(of: from).filter { $0.isOn && !$0.isOneTime && !$0.isSandbox }
        guard !moved.isEmpty else { throw LifeModel.Illegal(reason: "nothing is there to move") }
        var told: [(Message, LineState)] = []
        var time = act.time
        for var line in moved {
            guard
                self.line(act.user, line.plan).map({ $0.subscription == line.subscription })
                    ?? true
            else { throw LifeModel.Illegal(reason: "both have the same plan") }
            let state = line.state
            // What is told of the loser may still call it running (trap 16).
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

    // MARK: What must show

    /// Whether somebody has access by it; nil where a backend that ends it by its date may say
    /// otherwise (section 9: a fail-safe end, if any).
    func access(of user: String, at look: Duration) -> Bool? {
        let on = lines(of: user).filter { $0.isOn && !$0.isSandbox }
        if on.contains(where: { $0.end.map { $0 > look } ?? true }) { return true }
        return on.isEmpty ? false : nil
    }
}
