internal import Contracts
internal import Values

/// A model of the sellers and the users in a generated customer history.
///
/// It derives the events that each operation causes, and the state that the backend must have for
/// each user afterwards.
package struct HistoryModel: Sendable {
    /// The reason why an operation cannot happen in a history.
    ///
    /// The reason is never shown to a user.
    package struct ImpossibleOperation: Error, Hashable, Sendable {
        package let reason: String

        package init(reason: String) {
            self.reason = reason
        }
    }

    /// A webhook event, with the step of the history that caused it.
    package struct StepEvent: Sendable {
        /// The ID of the step that caused the event.
        package var step: Int
        /// The index of the event among all events of its step, counted from 0.
        package var index: Int
        package var message: any HistoryEvent
        /// The state of the purchase before this event happened.
        package var before: PurchaseState
    }

    /// The time at which the backend's state is read at the end of a run, relative to the run's
    /// base time (`RunRecord.base`).
    ///
    /// The base time is one hour before the real time.
    package static let finalReadTime: Duration = .seconds(3600)
    /// The maximum duration of a campaign.
    ///
    /// The last histories of a campaign use the same times as the first histories.
    package static let campaignTimeMax: Duration = .seconds(18 * 3600)
    /// The times at which no paid period may end, because the end could pass while the campaign
    /// runs.
    static let unsafePeriodEnds: ClosedRange<Duration> =
        .seconds(-1800)...(finalReadTime + campaignTimeMax + .seconds(3600))

    static let zero = Instant(milliseconds: 1_800_000_000_000)

    /// An event type that no provider sends yet.
    package static let unknownEventType = "FUTURE_STEP"

    private let table: SellerTable
    /// The models of the sellers, in the order of the table.
    private var sellers: [any SellerModel]
    private var users: KnownUsers
    private var lastStepTime: Duration?
    /// The names of the users that an event other than a test event has named.
    private var usersEverNamedInEvents: Set<String> = []
    /// The time of each user's latest event.
    private var lastEventTimeByUser: [String: Duration] = [:]

    /// Creates the model of a history before its first operation.
    package init(_ users: [CustomerHistory.HistoryUser], _ table: SellerTable) {
        self.table = table
        sellers = table.entries.map { $0.init() }
        self.users = KnownUsers(users)
    }

    var accounts: HistoryAccounts { users.accounts }
    /// The names of the users that the app registers before the first operation.
    var registered: Set<String> { users.registered }
    /// The names of the users that events or the app have named to the backend.
    var known: Set<String> { users.known }

    /// Returns the model of the seller of an operation.
    func seller(of operation: HistoryOperation) -> any SellerModel {
        sellers[table.index(of: operation.store)]
    }

    // MARK: Operations

    /// Lets time pass until the time of a step, and then carries out the operation of the step.
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
        var events: [SellerEvent] = []
        for index in sellers.indices {
            events += try sellers[index].advance(to: operation.time, users)
        }
        users.known.formUnion(events.flatMap(\.knownUsers))
        for userIDs in sellers.compactMap(\.userIDs) { try userIDs.check(operation, users) }
        let eventsOfOperation = try sellers[table.index(of: operation.store)].perform(
            operation,
            users
        )
        users.known.formUnion(eventsOfOperation.flatMap(\.knownUsers))
        try performInApp(operation)
        return try stepEvents(events + eventsOfOperation, of: step)
    }

    /// Carries out the part of an operation that happens in the app, such as a login.
    private mutating func performInApp(_ operation: HistoryOperation) throws(ImpossibleOperation) {
        switch operation.kind {
        case .signUp: try users.accounts.signUp(operation.user)
        case .logIn:
            guard let owner = operation.from else {
                throw ImpossibleOperation(reason: "the login names no account")
            }
            try users.accounts.logIn(operation.user, owner: owner)
        case .register: users.known.insert(operation.user)
        case .purchase, .renew, .cancel, .uncancel, .pause, .resume, .extend, .refund, .expire,
            .transfer, .grant, .revoke, .billingIssue, .recover, .changeProduct, .reverseRefund,
            .temporaryGrant, .share, .unshare, .irrelevantEvent, .wait:
            break
        }
    }

    /// Returns the events of a step, sorted by the time at which they happened, because a seller
    /// may list them by purchase.
    private mutating func stepEvents(
        _ events: [SellerEvent],
        of step: CustomerHistory.Step
    ) throws(ImpossibleOperation) -> [StepEvent] {
        for (person, owner) in accounts.joinedUsers
        where !sellers.allSatisfy({ $0.canDistinguishPurchases(of: person, owner) }) {
            // A backend may store purchases by product (X-10 allows this). It could not distinguish
            // two purchases of the same product.
            throw ImpossibleOperation(reason: "two users of one account have had the same product")
        }
        let sortedEvents = events.enumerated().sorted {
            ($0.element.event.time, $0.offset) < ($1.element.event.time, $1.offset)
        }.map(\.element)
        for event in sortedEvents.map(\.event) {
            for user in event.users {
                // Two events of one user at the same time have no order that a backend could
                // restore (S-09).
                guard lastEventTimeByUser[user].map({ $0 < event.time }) ?? true else {
                    throw ImpossibleOperation(reason: "a user has two events at the same time")
                }
                lastEventTimeByUser[user] = event.time
                if !event.isTest { usersEverNamedInEvents.insert(user) }
            }
        }
        return sortedEvents.enumerated().map { index, item in
            StepEvent(step: step.id, index: index, message: item.event, before: item.stateBefore)
        }
    }

    // MARK: State

    /// Returns whether any event other than a test event named the user, so that the backend may
    /// have created the user.
    func isNamedByEvent(_ user: String) -> Bool { usersEverNamedInEvents.contains(user) }

    /// Returns whether a seller's events named the user only by an anonymous ID, which no event has
    /// linked to the user.
    func isKnownOnlyAnonymously(_ user: String) -> Bool {
        sellers.contains { $0.userIDs?.isKnownOnlyAnonymously(user) ?? false }
    }

    /// Returns whether an event listed the user as an additional ID of another user.
    func isAlias(_ user: String) -> Bool {
        sellers.contains { $0.userIDs?.isAlias(user) ?? false }
    }

    /// Returns the purchases of a user at all sellers, with their states at a time.
    func heldPurchases(of user: String, at time: Duration) -> [HeldPurchase] {
        sellers.flatMap { $0.heldPurchases(of: user, at: time) }
    }

    /// Returns the times after `time` at which the paid periods of a user end.
    func endTimes(of user: String, after time: Duration) -> [Duration] {
        sellers.flatMap { $0.endTimes(of: user) }.filter { $0 > time }
    }

    /// Returns whether the purchases of a user give access at the end of the run; nil when the
    /// sources leave it open.
    func access(of user: String) -> Bool? {
        let accessBySeller = sellers.map { $0.access(of: user) }
        if accessBySeller.contains(true) { return true }
        return accessBySeller.contains(nil) ? nil : false
    }

    /// Returns the only seller at which a user has a purchase; nil when there is none or several.
    func onlySeller(of user: String) -> (any SellerModel)? {
        let usedSellers = sellers.filter {
            !$0.heldPurchases(of: user, at: Self.finalReadTime).isEmpty
        }
        return usedSellers.count == 1 ? usedSellers.first : nil
    }

    /// Returns the states of all other purchases that the users of an event have at the time of the
    /// event.
    func otherPurchases(of message: any HistoryEvent) -> Set<HistoryCoverage.OtherPurchase> {
        Set(
            message.users.flatMap { heldPurchases(of: $0, at: message.time) }
                .filter { $0.product != message.product }
                .map { HistoryCoverage.OtherPurchase(state: $0.state, isSandbox: $0.isSandbox) }
        )
    }

    /// A purchase of a user, with its state at a time.
    package struct HeldPurchase: Hashable, Sendable {
        package let product: String
        /// The store of the purchase, by which `SellerTable` finds its seller.
        package let store: String
        package let environment: String
        package let state: PurchaseState

        package init(product: String, store: String, environment: String, state: PurchaseState) {
            (self.product, self.store) = (product, store)
            (self.environment, self.state) = (environment, state)
        }

        var isSandbox: Bool { environment == "SANDBOX" }
    }

    /// Whether a paid period ends at a time that the real clock could reach while the campaign
    /// runs.
    package var hasUnsafePeriodEnd: Bool {
        sellers.contains { $0.accessEndTimes.contains(where: Self.unsafePeriodEnds.contains) }
    }

    /// Checks that the state at the end of the history is defined.
    ///
    /// - Throws: The reason why the history is impossible.
    func checkEnd() throws(ImpossibleOperation) {
        guard !hasUnsafePeriodEnd else {
            throw ImpossibleOperation(reason: "a period ends too close to the present")
        }
        for seller in sellers { try seller.checkEnd() }
    }
}
