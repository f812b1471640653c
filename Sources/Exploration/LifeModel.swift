internal import Conformance
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

    /// Something told, and which act caused it.
    package struct Told: Hashable, Sendable {
        /// The step's id.
        package var step: Int
        /// Its place among what that step caused.
        package var index: Int
        package var message: Message
        /// How what it tells of stood before.
        package var before: LineState
    }

    /// When the runs look, relative to their start: `base` lies an hour before the real present.
    static let look: Duration = .seconds(3600)
    /// How long a campaign may go on: the lives that it plays last are as old as those that it played
    /// first.
    package static let campaignTimeMax: Duration = .seconds(18 * 3600)
    /// No end lies so close to the look that it could come while a campaign goes on.
    static let unsafeEnds: ClosedRange<Duration> =
        .seconds(-1800)...(look + campaignTimeMax + .seconds(3600))

    static let zero = Instant(milliseconds: 1_800_000_000_000)

    private var store: RevenueCatState
    private(set) var plans = PlanModel()
    private(set) var notes = LifeNotes()
    private(set) var accounts = LifeAccounts()
    private(set) var names = LifeNames()
    /// Whom the app has told the backend of before anything happens.
    let registered: Set<String>
    /// Names that events or the app have told the backend.
    private(set) var known: Set<String>
    private var lastTime: Duration?
    /// Whom anything but a TEST was told of.
    private var everNamed: Set<String> = []
    /// When anything was told of each person last.
    private var lastTold: [String: Duration] = [:]

    typealias Line = LifeNotes.Line

    package init(_ people: [Life.Person]) {
        var settings = RevenueCatSettings()
        // An end is told when it comes; how late the store is makes no difference to anybody.
        settings.expirationDelaySeconds = 0
        store = RevenueCatState(key: nil, settings: settings)
        registered = Set(people.filter { $0.arrival == .registered }.map(\.name))
        known = registered
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

    /// As they happened, where the store tells of one purchase after the other.
    private mutating func ordered(_ told: [Told]) throws(Illegal) -> [Told] {
        for (person, owner) in accounts.joined where haveTwoOfOne(person, owner) {
            // Whoever keeps purchases by product (X-10 allows it) cannot tell two of one apart.
            throw Illegal(reason: "both have the same at one account")
        }
        let sorted = told.enumerated().sorted {
            ($0.element.message.time, $0.offset) < ($1.element.message.time, $1.offset)
        }.map(\.element)
        for event in sorted {
            for user in event.message.users {
                // What happens to one person at one moment has no order that a backend could keep
                // (S-09).
                guard lastTold[user].map({ $0 < event.message.time }) ?? true else {
                    throw Illegal(reason: "two events at one moment")
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
                throw Illegal(reason: "whose it is is open after a login")
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
        guard let owner = act.from else { throw Illegal(reason: "into whose account?") }
        try accounts.logIn(act.user, owner: owner)
    }

    private mutating func carryOut(_ act: Act) throws(Illegal) {
        let action = try Self.action(act)
        // A change that waits comes early with a charge that does.
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

    /// What the dashboard's button sends.
    static let testType = "TEST"

    /// Events that change nobody's subscription, and so need no model (S-08, S-18; fact sheet 2.6).
    package static let idleTypes = [
        testType, "INVOICE_ISSUANCE", "VIRTUAL_CURRENCY_TRANSACTION", "EXPERIMENT_ENROLLMENT",
        "PRICE_INCREASE_CONSENT_REQUIRED", "PRICE_INCREASE_CONSENT_APPROVED",
        "PAYWALL_IMPRESSION", "PAYWALL_CLOSE", "PAYWALL_CANCEL", "PAYWALL_EXIT_OFFER",
        "PAYWALL_COMPONENT_INTERACTED", "SUBSCRIBER_ALIAS", "PURCHASE_REDEEMED",
        Message.unknownType,
    ]

    /// Whether anything but the dashboard's TEST was ever told of somebody, so that a user may have come
    /// of it.
    func isNamed(_ user: String) -> Bool { everNamed.contains(user) }

    private mutating func tell(
        _ act: Act,
        _ step: Life.Step,
        _ index: Int
    ) throws(Illegal) -> Told {
        guard let type = act.type, Self.idleTypes.contains(type) else {
            throw Illegal(reason: "\(act.type ?? "no type") changes something, or is unknown")
        }
        let line = line(of: act)
        // What was bought on the web is redeemed in an app; here by whoever has it already.
        guard type != "PURCHASE_REDEEMED" || line?.store == "RC_BILLING" else {
            throw Illegal(reason: "nothing was bought on the web")
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
                // Whoever spends no money may be kept elsewhere, or not at all (S-19).
                let isSandbox = spec.environment == "SANDBOX"
                if !isSandbox { known.insert(user) }
                notes.had(user, spec.product, isSandbox: isSandbox)
                // What was due is told by the usual name, whatever the act's own is told by.
                let isOwn = !isDue && user == step.act.user
                spec.knownBy = try names.known(spec, user, by: isOwn ? step.act.knownBy : nil)
            }
            // Whoever is told of by another id alone need not be known by it.
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
        if event["is_family_share"]?.bool == true {
            // What a family shares is each one's own: no source says whose transaction it bears.
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

    /// Without Play's base plan, which the factory joins.
    private static func plain(_ product: String?) -> String? {
        product?.split(separator: ":").first.map(String.init)
    }

    // MARK: What there is

    /// Under which ids the backend has heard of somebody.
    func naming(of user: String) -> LifeNames.Naming { names.naming(of: user) }

    /// Whether all that they have belongs, as far as the backend can know, to somebody else.
    func isApart(_ user: String) -> Bool { names.naming(of: user) == .apart }

    /// Whether anything of theirs was told by an anonymous id alone.
    func wasAnonymous(_ user: String) -> Bool { names.everAnonymous.contains(user) }

    func purchases(of user: String) -> [Purchase] { store.customer(user)?.purchases ?? [] }

    func line(of act: Act) -> Purchase? {
        guard let product = act.product else { return nil }
        let holder = act.kind == .transfer ? act.from ?? act.user : act.user
        return purchases(of: holder).last { $0.productID == product }
    }

    /// How each line stands.
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

    /// What somebody has, and how it stands.
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

    /// How everything else stands that the people of an event have.
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

    /// Whether any end lies where the real clock could reach it during a campaign.
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

    /// Whether two purchases of one person end within one second: REST tells no more of when, and of two
    /// that are over nobody says which is shown.
    var hasTiedEnds: Bool {
        notes.everHad.keys.contains { user in
            let ends = purchases(of: user).compactMap(\.expires).sorted()
            return zip(ends, ends.dropFirst()).contains { $1 - $0 < .seconds(1) }
        }
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
