package import Providers
internal import Contracts
package import Values

/// A model of one seller in a generated customer history: its products, the operations on its
/// purchases, the events that it sends, and the access that the purchases give.
///
/// A new seller is a type that conforms to this protocol, in its own folder, and an entry in
/// `SellerTable.all`.
package protocol SellerModel: Sendable {
    // MARK: Facts about the seller

    /// The name of the seller in the titles of histories; nil for the seller whose operations need
    /// no mention.
    static var titleName: String? { get }
    /// The feature that a backend needs for operations of this seller; nil when every backend
    /// supports the seller.
    static var feature: Feature? { get }
    /// The value of `HistoryOperation.store` in all operations of this seller; nil for the seller
    /// whose operations name the store that bills the purchase.
    static var storeName: String? { get }
    /// The store of an operation that names no unusual store.
    static var defaultStore: String { get }
    /// The product that titles do not mention.
    static var standardProduct: String { get }
    /// The product to which the shrinker changes other products; nil when the shrinker keeps them.
    static var simplestProduct: String? { get }
    /// The product IDs of the subscriptions on sale.
    static var subscriptionProducts: [String] { get }
    /// The product IDs of the purchases that do not renew, one for each kind.
    static var oneTimeProducts: [String] { get }
    /// The kinds of operations that the seller can carry out.
    static var kinds: Set<HistoryOperation.Kind> { get }
    /// Event types that change no subscription, for `HistoryOperation.type`.
    static var irrelevantEventTypes: [String] { get }
    /// The type from `irrelevantEventTypes` for which a backend creates no user, such as the event
    /// of a dashboard's test button; nil when the seller has no such type.
    static var testEventType: String? { get }
    /// Whether events that change no access may give a backend further information.
    ///
    /// A history that ends with such an event compares only the access.
    static var irrelevantEventsAddInformation: Bool { get }
    /// The kinds of IDs by which an event can name a user, for `HistoryOperation.userIDLocation`;
    /// empty when each event names the registered ID.
    static var userIDLocations: [String] { get }

    /// Returns the stores that the coverage report lists for a backend with these capabilities,
    /// which supports this seller.
    static func stores(_ capabilities: Capabilities) -> [String]

    /// Returns the reasons that an operation of this kind can have, except for the user's own
    /// decision.
    static func reasons(of kind: HistoryOperation.Kind) -> [String]

    /// Returns the ID of the contract clause that an operation of a history tests.
    static func clause(of operation: HistoryOperation, in history: CustomerHistory) -> String

    /// Returns the words that distinguish an operation of this seller from a similar operation with
    /// another cause of failure.
    static func signatureWords(of operation: HistoryOperation) -> [String]

    // MARK: Operations

    init()

    /// The kinds of IDs by which this seller's events named the users; nil when each event names
    /// the registered ID.
    var userIDs: (any SellerUserIDs)? { get }

    /// Lets time pass until an operation of any seller.
    ///
    /// - Returns: The events that happen without an operation, such as renewals.
    /// - Throws: The reason why the history is impossible.
    mutating func advance(to time: Duration, _ users: KnownUsers)
        throws(HistoryModel.ImpossibleOperation) -> [SellerEvent]

    /// Carries out an operation of this seller.
    ///
    /// - Returns: The events that the operation causes, in order.
    /// - Throws: The reason why the operation cannot happen.
    mutating func perform(_ operation: HistoryOperation, _ users: KnownUsers)
        throws(HistoryModel.ImpossibleOperation) -> [SellerEvent]

    /// Chooses the details of an operation that only this seller knows, after all other details.
    func chooseDetails(
        of operation: inout HistoryOperation,
        _ heldPurchase: HistoryModel.HeldPurchase?,
        _ capabilities: Capabilities,
        _ random: inout SeededGenerator
    )

    // MARK: State

    /// Returns the purchases of a user, with their states at a time.
    func heldPurchases(of user: String, at time: Duration) -> [HistoryModel.HeldPurchase]

    /// Returns the times at which periods of a user's purchases end.
    func endTimes(of user: String) -> [Duration]

    /// The times at which the access of any user may end.
    var accessEndTimes: [Duration] { get }

    /// Returns whether the purchases of two users stay distinguishable after both users get the
    /// same account.
    func canDistinguishPurchases(of user: String, _ otherUser: String) -> Bool

    /// Checks that the sources define the state at the end of the history.
    ///
    /// - Throws: The reason why the history is impossible.
    func checkEnd() throws(HistoryModel.ImpossibleOperation)

    /// Returns whether the purchases of a user give access at the end of the run; nil when the
    /// sources leave it open.
    func access(of user: String) -> Bool?

    /// Adds to the expected state the values that describe the purchases of a user who has no
    /// purchase at another seller.
    func addDetails(of user: String, to state: inout ExpectedState)
}

/// The IDs by which the events of a seller named the users of a history.
package protocol SellerUserIDs: Sendable {
    /// Returns whether the seller named the user only by IDs that show no user.
    func isKnownOnlyAnonymously(_ user: String) -> Bool

    /// Returns whether an event listed the user only as an additional ID of another user.
    func isAlias(_ user: String) -> Bool

    /// Checks that the earlier operations determine the owner of each user ID in an operation of
    /// any seller.
    ///
    /// - Throws: The reason why the operation cannot happen.
    func check(_ operation: HistoryOperation, _ users: KnownUsers)
        throws(HistoryModel.ImpossibleOperation)

    /// Chooses the kind of ID by which the events of an operation name the user; nil for the
    /// registered ID.
    func chooseLocation(
        of user: CustomerHistory.HistoryUser,
        _ capabilities: Capabilities,
        _ random: inout SeededGenerator
    ) -> String?
}

/// The users of a history, as the app and the backend know them at the time of an operation.
package struct KnownUsers: Sendable {
    package internal(set) var accounts = HistoryAccounts()
    /// The names of the users that the app registers before the first operation.
    package let registered: Set<String>
    /// The names of the users that events or the app have named to the backend.
    package internal(set) var known: Set<String>

    init(_ users: [CustomerHistory.HistoryUser]) {
        registered = Set(users.filter { $0.arrival == .registered }.map(\.name))
        known = registered
    }
}
