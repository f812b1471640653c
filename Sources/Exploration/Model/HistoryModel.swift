internal import Contracts
internal import Providers
internal import Values

/// A model of the stores, RevenueCat and the users in a generated customer history.
///
/// It derives the events that each operation causes, and the state that the backend must have for
/// each user afterwards.
///
/// The operations run on the same simulated stores that the fakes use, so that no history contains
/// an event that no store sends.
package struct HistoryModel: Sendable {
    /// The reason why an operation cannot happen in a history.
    ///
    /// The reason is never shown to a user.
    package struct ImpossibleOperation: Error, Hashable, Sendable {
        package let reason: String
    }

    /// A webhook event, with the step of the history that caused it.
    package struct StepEvent: Hashable, Sendable {
        /// The ID of the step that caused the event.
        package var step: Int
        /// The index of the event among all events of its step, counted from 0.
        package var index: Int
        package var message: ProviderEvent
        /// The state of the purchase before this event happened.
        package var before: PurchaseState
    }

    /// The time at which the backend's state is read at the end of a run, relative to the run's
    /// base time (`RunRecord.base`).
    ///
    /// The base time is one hour before the real time.
    static let finalReadTime: Duration = .seconds(3600)
    /// The maximum duration of a campaign.
    ///
    /// The last histories of a campaign use the same times as the first histories.
    package static let campaignTimeMax: Duration = .seconds(18 * 3600)
    /// The times at which no paid period may end, because the end could pass while the campaign
    /// runs.
    static let unsafePeriodEnds: ClosedRange<Duration> =
        .seconds(-1800)...(finalReadTime + campaignTimeMax + .seconds(3600))

    static let zero = Instant(milliseconds: 1_800_000_000_000)

    private(set) var stores = SimulatedStores()
    private(set) var plans = PurchaselyModel()
    private(set) var accounts = HistoryAccounts()
    private(set) var userNames = UserIDTracker()
    /// The names of the users that the app registers before the first operation.
    let registered: Set<String>
    /// The names of the users that events or the app have named to the backend.
    private(set) var known: Set<String>
    private var lastStepTime: Duration?
    /// The names of the users that an event other than TEST has named.
    private var usersEverNamedInEvents: Set<String> = []
    /// The time of each user's latest event.
    private var lastEventTimeByUser: [String: Duration] = [:]

    package init(_ users: [CustomerHistory.HistoryUser]) {
        registered = Set(users.filter { $0.arrival == .registered }.map(\.name))
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
    package mutating func perform(_ step: CustomerHistory.Step) throws(ImpossibleOperation)
        -> [StepEvent]
    {
        let operation = step.operation
        guard operation.time <= .zero, lastStepTime.map({ $0 <= operation.time }) ?? true else {
            throw ImpossibleOperation(
                reason: "the time is before the previous step or after the start of the run"
            )
        }
        lastStepTime = operation.time
        var stepEvents: [StepEvent] = []
        while let next = stores.nextChangeTime, next <= Self.zero + operation.time {
            let before = stores.purchaseStates(at: next, of: known)
            stores.advance(to: next)
            try collectEvents(into: &stepEvents, of: step, isScheduledChange: true, before)
        }
        try HistoryOperationChecks(model: self, operation: operation).checkUserIDs()
        if operation.isPurchaselyPurchase {
            try addPurchaselyEvents(of: operation, step, &stepEvents)
            return try sortedByTime(stepEvents)
        }
        try HistoryOperationChecks(model: self, operation: operation).checkOperation()
        let before = stores.purchaseStates(at: Self.zero + operation.time, of: known)
        switch operation.kind {
        case .wait: break
        case .signUp: try accounts.signUp(operation.user)
        case .logIn: try logIn(operation)
        case .register: known.insert(operation.user)
        case .irrelevantEvent:
            stepEvents.append(try irrelevantEvent(operation, step, stepEvents.count))
        case .purchase, .renew, .cancel, .uncancel, .pause, .resume, .extend, .refund, .expire,
            .transfer, .grant, .revoke, .billingIssue, .recover, .changeProduct, .reverseRefund,
            .temporaryGrant, .share, .unshare:
            try stores.carryOut(operation)
            try collectEvents(into: &stepEvents, of: step, isScheduledChange: false, before)
        }
        return try sortedByTime(stepEvents)
    }

    /// Sorts events by the time at which they happened, because the simulated stores list them by
    /// purchase.
    private mutating func sortedByTime(_ stepEvents: [StepEvent]) throws(ImpossibleOperation)
        -> [StepEvent]
    {
        for (person, owner) in accounts.joinedUsers where stores.haveSameProductTwice(person, owner)
        {
            // A backend may store purchases by product (X-10 allows this). It could not distinguish
            // two purchases of the same product.
            throw ImpossibleOperation(reason: "two users of one account have had the same product")
        }
        let sorted = stepEvents.enumerated().sorted {
            ($0.element.message.time, $0.offset) < ($1.element.message.time, $1.offset)
        }.map(\.element)
        for event in sorted {
            for user in event.message.users {
                // Two events of one user at the same time have no order that a backend could
                // restore (S-09).
                guard lastEventTimeByUser[user].map({ $0 < event.message.time }) ?? true else {
                    throw ImpossibleOperation(reason: "a user has two events at the same time")
                }
                lastEventTimeByUser[user] = event.message.time
                if event.message.type != Self.testEventType { usersEverNamedInEvents.insert(user) }
            }
        }
        return sorted.enumerated().map { index, item in
            var stepEvents = item
            stepEvents.index = index
            return stepEvents
        }
    }

    private mutating func addPurchaselyEvents(
        of operation: HistoryOperation,
        _ step: CustomerHistory.Step,
        _ stepEvents: inout [StepEvent]
    ) throws(ImpossibleOperation) {
        for person in [operation.user, operation.from].compactMap(\.self)
        where accounts.hasUndeterminedOwner(person) {
            guard operation.kind != .transfer else {
                throw ImpossibleOperation(
                    reason: "after a login it is undetermined which user owns the purchases"
                )
            }
        }
        for (message, before) in try plans.perform(operation) {
            if !message.isSandbox { known.formUnion(message.users) }
            stepEvents.append(
                StepEvent(step: step.id, index: stepEvents.count, message: message, before: before)
            )
        }
    }

    private mutating func logIn(_ operation: HistoryOperation) throws(ImpossibleOperation) {
        guard let owner = operation.from else {
            throw ImpossibleOperation(reason: "the login names no account")
        }
        try accounts.logIn(operation.user, owner: owner)
    }

    /// Event types that change no subscription and therefore need no model (S-08, S-18; RevenueCat
    /// fact sheet 2.6).
    package static let irrelevantEventTypes =
        RevenueCatEventType.Documented.allCases.filter { $0.facts.effect == .noChange }
        .map(\.rawValue) + [ProviderEvent.unknownType]

    /// The event type that the dashboard's test button sends.
    static let testEventType = RevenueCatEventType.Documented.test.rawValue

    /// Returns whether any event other than the dashboard's TEST named the user, so that the
    /// backend may have created the user.
    func isNamedByEvent(_ user: String) -> Bool { usersEverNamedInEvents.contains(user) }

    private mutating func irrelevantEvent(
        _ operation: HistoryOperation,
        _ step: CustomerHistory.Step,
        _ index: Int
    ) throws(ImpossibleOperation) -> StepEvent {
        guard let type = operation.type, Self.irrelevantEventTypes.contains(type) else {
            throw ImpossibleOperation(
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
            throw ImpossibleOperation(reason: "the user has no web purchase to redeem")
        }
        var spec = EventSpec(
            type: RevenueCatEventType(rawValue: type),
            user: operation.user,
            product: heldPurchase?.productID ?? Self.monthlyProduct
        )
        spec.time = operation.time
        spec.store = heldPurchase?.store ?? spec.store
        spec.environment = heldPurchase?.environment ?? spec.environment
        if let heldPurchase {
            spec.purchased = heldPurchase.purchased - Self.zero
            spec.expires = heldPurchase.expires.map { $0 - Self.zero }
        }
        return StepEvent(
            step: step.id,
            index: index,
            message: .event(spec),
            before: PurchaseState(heldPurchase, at: Self.zero + operation.time)
        )
    }

    static let monthlyProduct = "premium_monthly"

    // MARK: Events

    private mutating func collectEvents(
        into stepEvents: inout [StepEvent],
        of step: CustomerHistory.Step,
        isScheduledChange: Bool,
        _ before: [PurchaseFacts.PurchaseKey: PurchaseState]
    ) throws(ImpossibleOperation) {
        for event in stores.takeEvents() {
            guard var spec = stores.spec(event) else { continue }
            let alias =
                spec.type.documented == .transfer && !isScheduledChange
                ? step.operation.additionalID : nil
            if let alias { spec.from.insert(alias, at: 0) }
            try stores.facts.checkTransaction(spec, event["original_transaction_id"]?.string)
            stores.facts.recordEvent(spec)
            if let user = spec.user {
                // A backend may store sandbox users separately, or not at all (S-19).
                let isSandbox = spec.environment == "SANDBOX"
                if !isSandbox { known.insert(user) }
                stores.facts.recordProduct(user, spec.product, isSandbox: isSandbox)
                // Events that became due before the operation name the user by the usual ID,
                // whichever ID the operation uses.
                let isForActingUser = !isScheduledChange && user == step.operation.user
                spec.userIDLocation = try userNames.known(
                    spec,
                    user,
                    by: isForActingUser ? step.operation.userIDLocation : nil
                )
            }
            // A backend need not know a user by an ID that a TRANSFER lists only as an alias.
            known.formUnion((spec.from + spec.to).filter { $0 != alias })
            userNames.recordTransfer(spec.from + spec.to, alias: alias)
            let heldPurchase = spec.user.map {
                PurchaseFacts.PurchaseKey(user: $0, product: spec.product)
            }
            stepEvents.append(
                StepEvent(
                    step: step.id,
                    index: stepEvents.count,
                    message: .event(spec),
                    before: heldPurchase.flatMap { before[$0] } ?? .none
                )
            )
        }
    }

    // MARK: State

    /// Returns the kind of ID by which the backend currently knows the user.
    func knownIDKind(of user: String) -> UserIDTracker.KnownIDKind {
        userNames.knownIDKind(of: user)
    }

    /// Returns whether the backend knows the user only by an anonymous ID that no event has linked
    /// to the user.
    func isKnownOnlyAnonymously(_ user: String) -> Bool {
        userNames.knownIDKind(of: user) == .anonymousID
    }

    /// Returns whether any earlier event named the user only by an anonymous ID.
    func wasAnonymous(_ user: String) -> Bool { userNames.usersEverAnonymous.contains(user) }

    /// Returns the purchases and Purchasely plans of a user, with their states at a time.
    func heldPurchases(of user: String, at time: Duration) -> [HeldPurchase] {
        stores.purchases(of: user).map {
            HeldPurchase(
                product: $0.productID,
                store: $0.store,
                environment: $0.environment,
                state: PurchaseState($0, at: Self.zero + time)
            )
        }
            + plans.heldPurchases(of: user).map {
                HeldPurchase(
                    product: $0.plan,
                    store: ProviderEvent.purchaselyStoreName,
                    environment: $0.environment,
                    state: $0.state
                )
            }
    }

    /// Returns the states of all other purchases that the users of an event have at the time of the
    /// event.
    func otherPurchases(of message: ProviderEvent) -> Set<HistoryCoverage.OtherPurchase> {
        Set(
            message.users.flatMap { heldPurchases(of: $0, at: message.time) }
                .filter { $0.product != message.product }
                .map { HistoryCoverage.OtherPurchase(state: $0.state, isSandbox: $0.isSandbox) }
        )
    }

    struct HeldPurchase: Hashable, Sendable {
        let product: String
        let store: String
        let environment: String
        let state: PurchaseState

        var isSandbox: Bool { environment == "SANDBOX" }
        var isPurchaselyPurchase: Bool { store == ProviderEvent.purchaselyStoreName }
    }

    /// Whether a paid period ends at a time that the real clock could reach while the campaign
    /// runs.
    package var hasUnsafePeriodEnd: Bool {
        stores.facts.productsEverHad.keys.contains { user in
            stores.purchases(of: user).contains { purchase in
                [purchase.expires, purchase.graceEnd].contains { end in
                    end.map { Self.unsafePeriodEnds.contains($0 - Self.zero) } ?? false
                }
            }
                || (stores.facts.shortenedPeriodEnds[user] ?? []).contains(
                    where: Self.unsafePeriodEnds.contains
                )
        } || plans.heldPurchases.contains { $0.end.map(Self.unsafePeriodEnds.contains) ?? false }
    }

    /// Whether two purchases of one user end within one second.
    ///
    /// RevenueCat's REST API has no finer times. If two purchases have ended, no source defines
    /// which of them the REST API shows.
    var hasSimultaneousPeriodEnds: Bool {
        stores.facts.productsEverHad.keys.contains { user in
            let endTimes = stores.purchases(of: user).compactMap(\.expires).sorted()
            return zip(endTimes, endTimes.dropFirst()).contains { $1 - $0 < .seconds(1) }
        }
    }
}
