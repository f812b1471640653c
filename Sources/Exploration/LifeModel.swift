internal import Conformance
internal import Providers

/// A model of the stores, RevenueCat and the users in a generated customer history.
///
/// It derives the events that each operation causes, and the state that the backend must have for
/// each user afterwards.
///
/// The operations run on the same simulated stores that the fakes use, so that no history contains
/// an event that no store sends.
package struct LifeModel: Sendable {
    /// The reason why an operation cannot happen in a history.
    ///
    /// The reason is never shown to a user.
    package struct Illegal: Error, Hashable, Sendable {
        package let reason: String
    }

    /// A webhook event, with the step of the history that caused it.
    package struct Told: Hashable, Sendable {
        /// The ID of the step that caused the event.
        package var step: Int
        /// The index of the event among all events of its step, counted from 0.
        package var index: Int
        package var message: Message
        /// The state of the purchase before this event happened.
        package var before: LineState
    }

    /// The time at which a backend's state is read at the end, relative to the start of the run.
    ///
    /// `base` is one hour before the real time.
    static let look: Duration = .seconds(3600)
    /// The maximum duration of a campaign.
    ///
    /// The last histories of a campaign use the same times as the first histories.
    package static let campaignTimeMax: Duration = .seconds(18 * 3600)
    /// The times at which no paid period may end, because the end could pass while the campaign
    /// runs.
    static let unsafeEnds: ClosedRange<Duration> =
        .seconds(-1800)...(look + campaignTimeMax + .seconds(3600))

    static let zero = Instant(milliseconds: 1_800_000_000_000)

    private var store: RevenueCatState
    private(set) var plans = PlanModel()
    private(set) var notes = LifeNotes()
    private(set) var accounts = LifeAccounts()
    private(set) var names = LifeNames()
    /// The names of the users that the app registers before the first operation.
    let registered: Set<String>
    /// The names of the users that events or the app have named to the backend.
    private(set) var known: Set<String>
    private var lastTime: Duration?
    /// The names of the users that an event other than TEST has named.
    private var everNamed: Set<String> = []
    /// The time of each user's latest event.
    private var lastTold: [String: Duration] = [:]

    typealias Line = LifeNotes.Line

    package init(_ people: [Life.Person]) {
        var settings = RevenueCatSettings()
        // The simulated stores send an expiration event without delay, because a delay would make
        // no difference.
        settings.expirationDelaySeconds = 0
        store = RevenueCatState(key: nil, settings: settings)
        registered = Set(people.filter { $0.arrival == .registered }.map(\.name))
        known = registered
    }

    // MARK: Operations

    /// Advances the simulated stores to the time of a step, and then carries out the operation of
    /// the step.
    ///
    /// - Parameter step: The step of the history. Its time must not be before the time of the
    ///   previous step.
    /// - Returns: The events that the step caused, in the order in which they happened.
    /// - Throws: The reason why the operation cannot happen; the model must not be used afterwards.
    package mutating func perform(_ step: Life.Step) throws(Illegal) -> [Told] {
        let act = step.act
        guard act.time <= .zero, lastTime.map({ $0 <= act.time }) ?? true else {
            throw Illegal(
                reason: "the time is before the previous step or after the start of the run"
            )
        }
        lastTime = act.time
        var told: [Told] = []
        while let next = store.nextMoment, next <= Self.zero + act.time {
            let before = states(at: next)
            store.advance(to: next)
            try take(into: &told, of: step, isDue: true, before)
        }
        try checkNames(act)
        if act.isOfPlans {
            try ask(plansFor: act, step, &told)
            return try ordered(told)
        }
        try check(act)
        let before = states(at: Self.zero + act.time)
        switch act.kind {
        case .wait: break
        case .signUp: try accounts.signUp(act.user)
        case .logIn: try logIn(act)
        case .register: known.insert(act.user)
        case .tell: told.append(try tell(act, step, told.count))
        case .purchase, .renew, .cancel, .uncancel, .pause, .resume, .extend, .refund, .expire,
            .transfer, .grant, .revoke, .billingIssue, .recover, .changeProduct, .reverseRefund,
            .temporaryGrant, .share, .unshare:
            try carryOut(act)
            try take(into: &told, of: step, isDue: false, before)
        }
        return try ordered(told)
    }

    /// Sorts events by the time at which they happened, because the simulated stores list them by
    /// purchase.
    private mutating func ordered(_ told: [Told]) throws(Illegal) -> [Told] {
        for (person, owner) in accounts.joined where haveTwoOfOne(person, owner) {
            // A backend may store purchases by product (X-10 allows this). It could not distinguish
            // two purchases of the same product.
            throw Illegal(reason: "two users of one account have had the same product")
        }
        let sorted = told.enumerated().sorted {
            ($0.element.message.time, $0.offset) < ($1.element.message.time, $1.offset)
        }.map(\.element)
        for event in sorted {
            for user in event.message.users {
                // Two events of one user at the same time have no order that a backend could
                // restore (S-09).
                guard lastTold[user].map({ $0 < event.message.time }) ?? true else {
                    throw Illegal(reason: "a user has two events at the same time")
                }
                lastTold[user] = event.message.time
                if event.message.type != Self.testType { everNamed.insert(user) }
            }
        }
        return sorted.enumerated().map { index, item in
            var told = item
            told.index = index
            return told
        }
    }

    private mutating func ask(
        plansFor act: Act,
        _ step: Life.Step,
        _ told: inout [Told]
    ) throws(Illegal) {
        for person in [act.user, act.from].compactMap(\.self) where accounts.isJoined(person) {
            guard act.kind != .transfer else {
                throw Illegal(
                    reason: "after a login it is undetermined which user owns the purchases"
                )
            }
        }
        for (message, before) in try plans.perform(act) {
            if !message.isSandbox { known.formUnion(message.users) }
            told.append(
                Told(step: step.id, index: told.count, message: message, before: before)
            )
        }
    }

    private mutating func logIn(_ act: Act) throws(Illegal) {
        guard let owner = act.from else { throw Illegal(reason: "the login names no account") }
        try accounts.logIn(act.user, owner: owner)
    }

    private mutating func carryOut(_ act: Act) throws(Illegal) {
        let action = try Self.action(act)
        // A deferred product change takes effect before the end of the period when the store
        // charges early.
        if let line = line(of: act), let end = line.expires,
            act.kind == .changeProduct && !act.isDeferred
                || act.kind == .renew && line.nextProductID != nil
        {
            notes.leave(act.user, end - Self.zero)
        }
        if act.kind == .transfer, let from = act.from {
            notes.move(purchases(of: from), from, act.user)
        }
        do throws(StoreAction.Refusal) {
            try store.carryOut(action, at: Self.zero + act.time)
        } catch {
            throw Illegal(reason: error.description)
        }
    }

    /// The event type that the dashboard's test button sends.
    static let testType = "TEST"

    /// Event types that change no subscription and therefore need no model (S-08, S-18; RevenueCat
    /// fact sheet 2.6).
    package static let idleTypes = [
        testType, "INVOICE_ISSUANCE", "VIRTUAL_CURRENCY_TRANSACTION", "EXPERIMENT_ENROLLMENT",
        "PRICE_INCREASE_CONSENT_REQUIRED", "PRICE_INCREASE_CONSENT_APPROVED",
        "PAYWALL_IMPRESSION", "PAYWALL_CLOSE", "PAYWALL_CANCEL", "PAYWALL_EXIT_OFFER",
        "PAYWALL_COMPONENT_INTERACTED", "SUBSCRIBER_ALIAS", "PURCHASE_REDEEMED",
        Message.unknownType,
    ]

    /// Returns whether any event other than the dashboard's TEST named the user, so that the
    /// backend may have created the user.
    func isNamed(_ user: String) -> Bool { everNamed.contains(user) }

    private mutating func tell(
        _ act: Act,
        _ step: Life.Step,
        _ index: Int
    ) throws(Illegal) -> Told {
        guard let type = act.type, Self.idleTypes.contains(type) else {
            throw Illegal(
                reason:
                    "'\(act.type ?? "")' is not one of the event types that change no subscription"
            )
        }
        let line = line(of: act)
        // In this model, a web purchase is redeemed by a user who already has the purchase.
        guard type != "PURCHASE_REDEEMED" || line?.store == "RC_BILLING" else {
            throw Illegal(reason: "the user has no web purchase to redeem")
        }
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
            message: .event(spec),
            before: LineState(line, at: Self.zero + act.time)
        )
    }

    static let monthly = "premium_monthly"

    // MARK: Events

    private mutating func take(
        into told: inout [Told],
        of step: Life.Step,
        isDue: Bool,
        _ before: [Line: LineState]
    ) throws(Illegal) {
        for event in store.takeEvents() {
            guard var spec = spec(event) else { continue }
            let alias = spec.type == "TRANSFER" && !isDue ? step.act.also : nil
            if let alias { spec.from.insert(alias, at: 0) }
            try notes.checkTransaction(spec, event["original_transaction_id"]?.string)
            notes.note(spec)
            if let user = spec.user {
                // A backend may store sandbox users separately, or not at all (S-19).
                let isSandbox = spec.environment == "SANDBOX"
                if !isSandbox { known.insert(user) }
                notes.had(user, spec.product, isSandbox: isSandbox)
                // Events that became due before the operation name the user by the usual ID,
                // whichever ID the operation uses.
                let isOwn = !isDue && user == step.act.user
                spec.knownBy = try names.known(spec, user, by: isOwn ? step.act.knownBy : nil)
            }
            // A backend need not know a user by an ID that a TRANSFER lists only as an alias.
            known.formUnion((spec.from + spec.to).filter { $0 != alias })
            names.moved(spec.from + spec.to, alias: alias)
            let line = spec.user.map { Line(user: $0, product: spec.product) }
            told.append(
                Told(
                    step: step.id,
                    index: told.count,
                    message: .event(spec),
                    before: line.flatMap { before[$0] } ?? .none
                )
            )
        }
    }

    /// Returns an event of the simulated stores as a contract writes it; nil for an event without a
    /// type or a time.
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
        if event["is_family_share"]?.bool == true {
            // A family share has no first transaction here, because no source defines which
            // transaction ID a family member's events have.
            spec.isFamilyShared = true
            return spec
        }
        guard let user = spec.user else { return spec }
        return notes.origin(
            of: spec,
            purchases(of: user),
            event["original_transaction_id"]?.string
        )
    }

    private func moment(_ value: JSONValue?) -> Duration? {
        value?.int64.map { Instant(milliseconds: $0) - Self.zero }
    }

    /// Returns the product ID without Google Play's base plan.
    ///
    /// The code that creates the webhook event adds the base plan.
    private static func plain(_ product: String?) -> String? {
        product?.split(separator: ":").first.map(String.init)
    }

    // MARK: State

    /// Returns the kind of ID by which the backend currently knows the user.
    func naming(of user: String) -> LifeNames.Naming { names.naming(of: user) }

    /// Returns whether the backend knows the user only by an anonymous ID that no event has linked
    /// to the user.
    func isApart(_ user: String) -> Bool { names.naming(of: user) == .apart }

    /// Returns whether any earlier event named the user only by an anonymous ID.
    func wasAnonymous(_ user: String) -> Bool { names.everAnonymous.contains(user) }

    func purchases(of user: String) -> [Purchase] { store.customer(user)?.purchases ?? [] }

    func line(of act: Act) -> Purchase? {
        guard let product = act.product else { return nil }
        let holder = act.kind == .transfer ? act.from ?? act.user : act.user
        return purchases(of: holder).last { $0.productID == product }
    }

    /// Returns the state of each user's purchases at a time, by user and product.
    private func states(at time: Instant) -> [Line: LineState] {
        var states: [Line: LineState] = [:]
        for user in known.union(notes.everHad.keys) {
            for purchase in purchases(of: user) {
                states[Line(user: user, product: purchase.productID)] =
                    LineState(purchase, at: time)
            }
        }
        return states
    }

    /// Returns the purchases and Purchasely plans of a user, with their states at a time.
    func lines(of user: String, at time: Duration) -> [HeldLine] {
        purchases(of: user).map {
            HeldLine(
                product: $0.productID,
                store: $0.store,
                environment: $0.environment,
                state: LineState($0, at: Self.zero + time)
            )
        }
            + plans.lines(of: user).map {
                HeldLine(
                    product: $0.plan,
                    store: Message.planStore,
                    environment: $0.environment,
                    state: $0.state
                )
            }
    }

    /// Returns the states of all other purchases that the users of an event have at the time of the
    /// event.
    func neighbours(of message: Message) -> Set<LifeCoverage.Neighbour> {
        Set(
            message.users.flatMap { lines(of: $0, at: message.time) }
                .filter { $0.product != message.product }
                .map { LifeCoverage.Neighbour(state: $0.state, isSandbox: $0.isSandbox) }
        )
    }

    struct HeldLine: Hashable, Sendable {
        let product: String
        let store: String
        let environment: String
        let state: LineState

        var isSandbox: Bool { environment == "SANDBOX" }
        var isOfPlans: Bool { store == Message.planStore }
    }

    /// Whether a paid period ends at a time that the real clock could reach while the campaign
    /// runs.
    package var hasUnsafeEnd: Bool {
        notes.everHad.keys.contains { user in
            purchases(of: user).contains { purchase in
                [purchase.expires, purchase.graceEnd].contains { end in
                    end.map { Self.unsafeEnds.contains($0 - Self.zero) } ?? false
                }
            }
                || (notes.left[user] ?? []).contains(where: Self.unsafeEnds.contains)
        } || plans.lines.contains { $0.end.map(Self.unsafeEnds.contains) ?? false }
    }

    /// Whether two purchases of one user end within one second.
    ///
    /// RevenueCat's REST API has no finer times. If two purchases have ended, no source defines
    /// which of them the REST API shows.
    var hasTiedEnds: Bool {
        notes.everHad.keys.contains { user in
            let ends = purchases(of: user).compactMap(\.expires).sorted()
            return zip(ends, ends.dropFirst()).contains { $1 - $0 < .seconds(1) }
        }
    }

    // MARK: Store actions

    private static func action(_ act: Act) throws(Illegal) -> StoreAction {
        guard let kind = StoreAction.Kind(act.kind) else {
            throw Illegal(reason: "'\(act.kind.rawValue)' is not an operation of a store")
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
            .recover, .changeProduct, .reverseRefund, .share, .unshare, .tell, .register, .signUp,
            .logIn, .wait:
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
        case .share: self = .familyShare
        case .unshare: self = .stopFamilyShare
        case .tell, .register, .signUp, .logIn, .wait: return nil
        }
    }
}
