package import Conformance
internal import Providers

/// The stores, RevenueCat and the people while a life goes on: what each act causes, and what
/// everybody has to have then.
///
/// It plays acts on the store model that the fakes are made of, so that no life holds an event which
/// no store sends.
package struct LifeModel: Sendable {
    /// Why an act cannot happen here; nobody needs to be told.
    package struct Illegal: Error, Hashable, Sendable {
        package let reason: String
    }

    /// An event, and which act caused it.
    package struct Told: Hashable, Sendable {
        /// The step's id.
        package var step: Int
        /// Its place among what that step caused.
        package var index: Int
        package var spec: EventSpec
        /// How what it tells of stood before.
        package var before: LineState
    }

    /// When the runs look, relative to their start: `base` lies an hour before the real present.
    static let look: Duration = .seconds(3600)
    /// No end lies so close to it that it could come while a campaign goes on.
    static let unsafeEnds: ClosedRange<Duration> = .seconds(-1800) ... .seconds(4 * 86_400)

    static let zero = Instant(milliseconds: 1_800_000_000_000)

    private var store: RevenueCatState
    /// Names that events or the app have told the backend.
    private var known: Set<String>
    /// What anybody ever had, by name.
    private var everHad: [String: Set<String>] = [:]
    /// Ends of periods that a change of product has left behind: RevenueCat tells of them no more.
    private var left: [String: [Duration]] = [:]
    /// Whose refund was taken back and who has paid nothing since: whether it renews nobody says
    /// (effect table C.1 leaves the flags as they are; the store goes on charging).
    private var reversed: Set<Line> = []
    /// What has ended and was paid for no more since: whether a charge had failed before, the sheets
    /// do not say of it (S-13; defect X-11).
    private var ended: Set<Line> = []
    /// What another product goes on with.
    private var replaced: Set<Line> = []
    /// The store's first transaction of what somebody bought.
    private var transactions: [Line: String] = [:]
    /// Who bought first what now belongs to somebody else, by holder and product.
    private var buyers: [Line: String] = [:]
    /// The product that a line's first transaction was for.
    private var firstProducts: [Line: String] = [:]
    private var lastTime: Duration?
    private var lastTold: Duration?

    struct Line: Hashable, Sendable {
        let user: String
        let product: String
    }

    package init(_ people: [Life.Person]) {
        var settings = RevenueCatSettings()
        // An end is told when it comes; how late the store is makes no difference to anybody.
        settings.expirationDelaySeconds = 0
        store = RevenueCatState(key: nil, settings: settings)
        known = Set(people.filter { $0.arrival == .registered }.map(\.name))
    }

    // MARK: What happens

    /// Lets what is due happen, and then the act.
    ///
    /// - Parameter step: Its time must not lie before the one before it.
    /// - Returns: The events, in the order in which they happened.
    /// - Throws: Why it cannot happen; the model is of no more use then.
    package mutating func perform(_ step: Life.Step) throws(Illegal) -> [Told] {
        let act = step.act
        guard act.time <= .zero, lastTime.map({ $0 <= act.time }) ?? true else {
            throw Illegal(reason: "it lies before what happened, or after the run has begun")
        }
        lastTime = act.time
        var told: [Told] = []
        while let next = store.nextMoment, next <= Self.zero + act.time {
            let before = states(at: next)
            store.advance(to: next)
            try take(into: &told, of: step, before)
        }
        try check(act)
        let before = states(at: Self.zero + act.time)
        switch act.kind {
        case .wait: break
        case .register: known.insert(act.user)
        case .tell: told.append(try tell(act, step, told.count))
        case .purchase, .renew, .cancel, .uncancel, .pause, .resume, .extend, .refund, .expire,
            .transfer, .grant, .revoke, .billingIssue, .recover, .changeProduct, .reverseRefund,
            .temporaryGrant:
            try carryOut(act)
            try take(into: &told, of: step, before)
        }
        let ordered = Self.inOrder(told)
        // What happens at one moment has no order that a backend could keep (S-09).
        for event in ordered {
            guard lastTold.map({ $0 < event.spec.time }) ?? true else {
                throw Illegal(reason: "two events at one moment")
            }
            lastTold = event.spec.time
        }
        return ordered
    }

    /// As they happened, where the store tells of one purchase after the other.
    private static func inOrder(_ told: [Told]) -> [Told] {
        let sorted = told.enumerated().sorted {
            ($0.element.spec.time, $0.offset) < ($1.element.spec.time, $1.offset)
        }
        return sorted.enumerated().map { index, item in
            var told = item.element
            told.index = index
            return told
        }
    }

    private mutating func carryOut(_ act: Act) throws(Illegal) {
        let action = try Self.action(act)
        noteLeaving(act)
        if act.kind == .transfer, let from = act.from { moveNotes(from, act.user) }
        do throws(StoreAction.Refusal) {
            try store.carryOut(action, at: Self.zero + act.time)
        } catch {
            throw Illegal(reason: error.description)
        }
    }

    /// Events that change nobody's subscription, and so need no model (S-08, S-18; fact sheet 2.6).
    package static let idleTypes = [
        "TEST", "INVOICE_ISSUANCE", "VIRTUAL_CURRENCY_TRANSACTION", "EXPERIMENT_ENROLLMENT",
        "PRICE_INCREASE_CONSENT_REQUIRED", "PRICE_INCREASE_CONSENT_APPROVED",
        "PAYWALL_IMPRESSION", "PAYWALL_CLOSE", "PAYWALL_CANCEL", "PAYWALL_EXIT_OFFER",
        "PAYWALL_COMPONENT_INTERACTED",
    ]

    private mutating func tell(
        _ act: Act,
        _ step: Life.Step,
        _ index: Int
    ) throws(Illegal) -> Told {
        guard let type = act.type, Self.idleTypes.contains(type) else {
            throw Illegal(reason: "\(act.type ?? "no type") changes something, or is unknown")
        }
        let line = line(of: act)
        var spec = EventSpec(type: type, user: act.user, product: line?.productID ?? Self.monthly)
        spec.time = act.time
        spec.store = line?.store ?? spec.store
        spec.environment = line?.environment ?? spec.environment
        if let line {
            spec.purchased = line.purchased - Self.zero
            spec.expires = line.expires.map { $0 - Self.zero }
        }
        return Told(
            step: step.id,
            index: index,
            spec: spec,
            before: LineState(line, at: Self.zero + act.time)
        )
    }

    static let monthly = "premium_monthly"

    // MARK: What must be so

    private static let ofStores: Set<Act.Kind> = [
        .purchase, .temporaryGrant, .recover, .refund, .expire, .extend, .cancel,
    ]

    /// What the store model leaves to whoever asks it, and the real stores do not.
    private func check(_ act: Act) throws(Illegal) {
        let state = LineState(line(of: act), at: Self.zero + act.time)
        if Self.ofStores.contains(act.kind), line(of: act)?.store == "PROMOTIONAL" {
            throw Illegal(reason: "no store sells what a team grants")
        }
        // What another product went on with is over, and of earlier periods nothing is told (fact
        // sheet 3, row 13b).
        if act.kind != .tell, let product = act.product,
            replaced.contains(Line(user: act.user, product: product))
        {
            throw Illegal(reason: "another product goes on with it")
        }
        func allow(_ states: Set<LineState>) throws(Illegal) {
            guard states.contains(state) else {
                throw Illegal(reason: "\(act.kind.rawValue) while \(state.rawValue)")
            }
        }
        switch act.kind {
        case .purchase: try checkPurchase(act, state)
        case .transfer: try checkTransfer(act)
        case .temporaryGrant:
            try allow([.none, .ended])
            guard !LifeGenerator.keptProducts.contains(act.product ?? "") else {
                throw Illegal(reason: "what is kept is not granted for a day")
            }
        case .extend: try allow([.active, .cancelled, .trial, .intro, .grace, .changing])
        case .uncancel: try allow([.cancelled])
        case .cancel: try allow([.active, .trial, .intro, .grace, .changing])
        case .pause: try allow([.active])
        case .resume: try allow([.paused])
        case .billingIssue: try allow([.active, .trial, .intro])
        case .changeProduct:
            try allow([.active, .trial, .intro])
            guard let wanted = act.newProduct, everHad[act.user]?.contains(wanted) != true else {
                throw Illegal(reason: "it was had before, perhaps elsewhere")
            }
        case .refund:
            try allow([.active, .cancelled, .intro, .grace, .changing, .lifetime, .ended])
        case .expire: try allow([.active, .cancelled, .trial, .intro, .grace, .retrying])
        case .renew:
            try allow([.active, .trial, .intro, .changing])
            // Stores charge up to a day ahead (fact sheet, section 3, row 2).
            guard let end = line(of: act)?.expires,
                end - (Self.zero + act.time) <= .seconds(86_400)
            else { throw Illegal(reason: "nobody is charged so long ahead") }
        case .grant, .revoke, .recover, .reverseRefund, .tell, .register, .wait: break
        }
    }

    /// One product is bought by one person in one store and one environment, and once if it is kept:
    /// the store's transactions tell no more apart in a contract.
    private func checkPurchase(_ act: Act, _ state: LineState) throws(Illegal) {
        let line = line(of: act)
        guard state != .lifetime, state != .consumed else {
            throw Illegal(reason: "it was bought already")
        }
        if let line, line.store != act.store ?? line.store || line.environment != act.place {
            throw Illegal(reason: "it is kept in another store")
        }
        // The money of a refund that may be taken back is not spent on the same again.
        if line == nil, everHad[act.user]?.contains(act.product ?? "") == true {
            throw Illegal(reason: "it was had before")
        }
    }

    private func checkTransfer(_ act: Act) throws(Illegal) {
        guard let from = act.from else { throw Illegal(reason: "nobody loses") }
        let moved = purchases(of: from)
        let kept = Set(purchases(of: act.user).map(\.productID))
        let isMovable = moved.allSatisfy {
            // No TRANSFER is sent of what a team grants (fact sheet 2.1).
            !$0.isSandbox && $0.store != "PROMOTIONAL" && !kept.contains($0.productID)
        }
        guard isMovable else {
            throw Illegal(reason: "both have the same, or it is nothing that a store sold")
        }
    }

    // MARK: Notes that the store model does not keep

    private mutating func noteLeaving(_ act: Act) {
        // A change that waits comes early with a charge that does.
        guard let line = line(of: act), let end = line.expires,
            act.kind == .changeProduct && !act.isDeferred
                || act.kind == .renew && line.nextProductID != nil
        else { return }
        left[act.user, default: []].append(end - Self.zero)
    }

    private mutating func moveNotes(_ from: String, _ to: String) {
        for purchase in purchases(of: from) {
            let old = Line(user: from, product: purchase.productID)
            let new = Line(user: to, product: purchase.productID)
            buyers[new] = buyers[old] ?? from
            firstProducts[new] = firstProducts[old]
            everHad[to, default: []].insert(purchase.productID)
            if reversed.remove(old) != nil { reversed.insert(new) }
            if ended.remove(old) != nil { ended.insert(new) }
            if replaced.remove(old) != nil { replaced.insert(new) }
        }
        left[to, default: []] += left[from] ?? []
        left[from] = nil
    }

    // MARK: Events

    private mutating func take(
        into told: inout [Told],
        of step: Life.Step,
        _ before: [Line: LineState]
    ) throws(Illegal) {
        for event in store.takeEvents() {
            guard var spec = spec(event) else { continue }
            try checkTransaction(spec, event["original_transaction_id"]?.string)
            note(spec)
            if let user = spec.user {
                known.insert(user)
                everHad[user, default: []].insert(spec.product)
                spec.knownBy = step.act.knownBy ?? spec.knownBy
            }
            known.formUnion(spec.from + spec.to)
            let line = spec.user.map { Line(user: $0, product: spec.product) }
            told.append(
                Told(
                    step: step.id,
                    index: told.count,
                    spec: spec,
                    before: line.flatMap { before[$0] } ?? .none
                )
            )
        }
    }

    /// A contract names a first transaction by who bought which product: it can tell of one purchase
    /// by each name, and stores never use one name for two.
    private mutating func checkTransaction(
        _ spec: EventSpec,
        _ transaction: String?
    ) throws(Illegal) {
        guard let user = spec.user, let transaction else { return }
        let name = Line(user: spec.boughtBy ?? user, product: spec.continues ?? spec.product)
        let known = transactions[name]
        // What is granted while a store is away gives way to the purchase that it stands for.
        let isTemporary = transaction.hasPrefix("tmp_")
        guard known == nil || known == transaction else {
            throw Illegal(reason: "one name for two transactions")
        }
        if !isTemporary { transactions[name] = transaction }
    }

    private mutating func note(_ spec: EventSpec) {
        guard let user = spec.user else { return }
        let line = Line(user: user, product: spec.product)
        switch spec.type {
        case "REFUND_REVERSED": reversed.insert(line)
        case "EXPIRATION": ended.insert(line)
        case "INITIAL_PURCHASE", "RENEWAL":
            reversed.remove(line)
            ended.remove(line)
        // The others leave open no more than they find.
        default: break
        }
    }

    /// The event as a contract writes it; nil for what the model tells of besides.
    private mutating func spec(_ event: JSONObject) -> EventSpec? {
        guard let type = event["type"]?.string, let time = moment(event["event_timestamp_ms"])
        else { return nil }
        var spec = EventSpec(type: type, user: event["app_user_id"]?.string)
        spec.time = time
        spec.store = event["store"]?.string ?? spec.store
        spec.environment = event["environment"]?.string ?? spec.environment
        if type == "TRANSFER" {
            spec.user = nil
            spec.from = event["transferred_from"]?.array?.compactMap(\.string) ?? []
            spec.to = event["transferred_to"]?.array?.compactMap(\.string) ?? []
            return spec
        }
        spec.product = Self.plain(event["product_id"]?.string) ?? spec.product
        spec.newProduct = Self.plain(event["new_product_id"]?.string)
        let period = event["period_type"]?.string ?? "NORMAL"
        spec.period = period == "PROMOTIONAL" ? "NORMAL" : period
        spec.purchased = moment(event["purchased_at_ms"])
        spec.expires = moment(event["expiration_at_ms"])
        spec.isLifetime = spec.expires == nil
        spec.grace = moment(event["grace_period_expiration_at_ms"])
        spec.reason = (event["cancel_reason"] ?? event["expiration_reason"])?.string
        if event["is_trial_conversion"]?.bool == true { spec.reason = "TRIAL_CONVERSION" }
        return origin(of: spec, event)
    }

    /// Which transaction it goes on with, where that is not its own.
    private mutating func origin(of spec: EventSpec, _ event: JSONObject) -> EventSpec {
        guard let user = spec.user else { return spec }
        var spec = spec
        let line = Line(user: user, product: spec.product)
        if firstProducts[line] == nil {
            // A line that goes on with another's first transaction.
            let first = event["original_transaction_id"]?.string
            let other = purchases(of: user).first {
                $0.originalTransactionID == first && $0.productID != spec.product
            }
            firstProducts[line] =
                other.map {
                    firstProducts[Line(user: user, product: $0.productID)] ?? $0.productID
                } ?? spec.product
            if let other {
                buyers[line] = buyers[Line(user: user, product: other.productID)]
            }
        }
        if let first = firstProducts[line], first != spec.product {
            spec.continues = first
            for purchase in purchases(of: user)
            where purchase.productID != spec.product
                && purchase.originalTransactionID == event["original_transaction_id"]?.string
            {
                replaced.insert(Line(user: user, product: purchase.productID))
            }
        }
        spec.boughtBy = buyers[line]
        return spec
    }

    private func moment(_ value: JSONValue?) -> Duration? {
        value?.int64.map { Instant(milliseconds: $0) - Self.zero }
    }

    /// Without Play's base plan, which the factory joins.
    private static func plain(_ product: String?) -> String? {
        product?.split(separator: ":").first.map(String.init)
    }

    // MARK: What there is

    func purchases(of user: String) -> [Purchase] { store.customer(user)?.purchases ?? [] }

    private func line(of act: Act) -> Purchase? {
        guard let product = act.product else { return nil }
        let holder = act.kind == .transfer ? act.from ?? act.user : act.user
        return purchases(of: holder).last { $0.productID == product }
    }

    /// How each line stands.
    private func states(at time: Instant) -> [Line: LineState] {
        var states: [Line: LineState] = [:]
        for user in known.union(everHad.keys) {
            for purchase in purchases(of: user) {
                states[Line(user: user, product: purchase.productID)] =
                    LineState(purchase, at: time)
            }
        }
        return states
    }

    /// How what somebody has stands, by product.
    func lines(of user: String, at time: Duration) -> [(product: String, state: LineState)] {
        purchases(of: user).map {
            ($0.productID, LineState($0, at: Self.zero + time))
        }
    }

    /// Whether any end lies where the real clock could reach it during a campaign.
    package var hasUnsafeEnd: Bool {
        everHad.keys.contains { user in
            purchases(of: user).contains { purchase in
                [purchase.expires, purchase.graceEnd].contains { end in
                    end.map { Self.unsafeEnds.contains($0 - Self.zero) } ?? false
                }
            }
                || (left[user] ?? []).contains(where: Self.unsafeEnds.contains)
        }
    }

    // MARK: What must show

    /// What a backend that has heard everything so far must show of somebody.
    package func expected(_ user: String) -> Expected {
        var expected = Expected(exists: known.contains(user))
        guard expected.exists else { return expected }
        let now = Self.zero + Self.look
        let all = purchases(of: user)
        let granting = all.filter { !$0.isSandbox && !$0.entitlements.isEmpty }
        let active = granting.filter { $0.isActive(at: now) && !$0.hasEnded }
        let isLeft = (left[user] ?? []).contains { $0 > Self.look }
        expected.access = Self.access(granting, active, isLeft: isLeft, at: now)
        guard expected.access == true, !isLeft, active.count == 1, let only = active.first else {
            return expected
        }
        if only.store != "PLAY_STORE", only.store != "PROMOTIONAL", !only.isTemporary {
            expected.product = only.productID
        }
        if only.graceEnd == nil {
            expected.expires = only.expires.map { .at($0 - Self.zero) } ?? .never
        }
        setFlags(of: only, in: &expected, user)
        return expected
    }

    /// Nil where the fact sheets leave it open.
    private static func access(
        _ granting: [Purchase],
        _ active: [Purchase],
        isLeft: Bool,
        at now: Instant
    ) -> Bool? {
        if active.contains(where: { !isOpen($0, at: now) }) { return true }
        // The end of a period that a change of product cut short is never told.
        if isLeft || granting.contains(where: { isOpen($0, at: now) }) { return nil }
        return false
    }

    /// Stripe counts the period whose charge failed as begun and may end it any time (fact sheet,
    /// section 3, row 8).
    private static func isOpen(_ purchase: Purchase, at now: Instant) -> Bool {
        purchase.store == "STRIPE" && purchase.billingIssue != nil && !purchase.hasEnded
    }

    /// Flags speak of one purchase; of whoever has had several no field says of which.
    private func setFlags(of purchase: Purchase, in expected: inout Expected, _ user: String) {
        guard everHad[user]?.count == 1, !purchase.isOneTime, !purchase.isTemporary,
            purchase.store != "PROMOTIONAL", purchase.period != "PREPAID", purchase.resume == nil
        else { return }
        let line = Line(user: user, product: purchase.productID)
        // A store that tries again may still renew it (effect table C.1, CANCELLATION BILLING_ERROR).
        if !reversed.contains(line), purchase.billingIssue == nil {
            expected.willRenew = purchase.willRenew && purchase.unsubscribed == nil
        }
        if !ended.contains(line) { expected.billingIssue = purchase.billingIssue != nil }
        expected.refunded = false
    }

    // MARK: The store's words

    private static func action(_ act: Act) throws(Illegal) -> StoreAction {
        guard let kind = StoreAction.Kind(act.kind) else {
            throw Illegal(reason: "\(act.kind.rawValue) is nothing that a store does")
        }
        var action = StoreAction(kind, user: act.user)
        action.from = act.from
        action.product = act.product ?? action.product
        action.newProduct = act.newProduct
        action.store = act.store ?? action.store
        action.environment = act.place
        action.period = act.period ?? action.period
        action.reason = act.reason
        action.isAtPeriodEnd = act.isDeferred
        switch act.kind {
        case .billingIssue: action.grace = act.span
        case .extend, .pause, .temporaryGrant: action.by = act.span
        case .grant: action.duration = act.reason
        case .purchase, .renew, .cancel, .uncancel, .resume, .refund, .expire, .transfer, .revoke,
            .recover, .changeProduct, .reverseRefund, .tell, .register, .wait:
            break
        }
        return action
    }
}

extension Act {
    var place: String { environment ?? "PRODUCTION" }
}

extension StoreAction.Kind {
    fileprivate init?(_ kind: Act.Kind) {
        switch kind {
        case .purchase: self = .purchase
        case .renew: self = .renew
        case .cancel: self = .cancel
        case .uncancel: self = .uncancel
        case .pause: self = .pause
        case .resume: self = .resume
        case .extend: self = .extend
        case .refund: self = .refund
        case .expire: self = .expire
        case .transfer: self = .transfer
        case .grant: self = .grant
        case .revoke: self = .revoke
        case .billingIssue: self = .billingIssue
        case .recover: self = .recover
        case .changeProduct: self = .changeProduct
        case .reverseRefund: self = .reverseRefund
        case .temporaryGrant: self = .temporaryGrant
        case .tell, .register, .wait: return nil
        }
    }
}
