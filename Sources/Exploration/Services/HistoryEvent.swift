package import Providers
package import Contracts
internal import Values

/// A webhook event in a generated history, as the service that sends the event describes it.
///
/// Each service has its own conforming type in its folder.
package protocol HistoryEvent: Sendable {
    /// The time of the event, relative to the run's base time (`RunRecord.base`).
    var time: Duration { get }
    /// The names of all users that the event names.
    var users: [String] { get }
    /// The name of the user whose purchase the event reports; nil when the event reports no single
    /// purchase.
    var user: String? { get }
    /// The event type, as the provider names it.
    var type: String { get }
    /// The event type in the coverage report, with its reason or status if that changes the
    /// meaning.
    var detailedType: String { get }
    var product: String { get }
    /// The store of the purchase in `HistoryOperation.store` and in the coverage report.
    var store: String { get }
    var isSandbox: Bool { get }
    /// Whether the event changes no subscription.
    var isIrrelevant: Bool { get }
    /// Whether the event is the provider's test event, for which a backend creates no user.
    var isTest: Bool { get }
    /// Whether a backend that sends push notifications usually sends one for this event.
    var usuallyCausesPush: Bool { get }
    /// The kind of ID by which the event names its user, from the seller's `userIDLocations`; nil
    /// for the registered ID.
    var userIDLocation: String? { get }
    /// The end of access that the event reports; nil when it reports none.
    var reportedEnd: ReportedEnd? { get }
    /// The features that a backend needs to process the event.
    var needs: Set<Feature> { get }
    /// The name of the event's delivery in a contract, such as `purchase`, without a number.
    var deliveryName: String { get }
    /// The edits that add unknown fields to the event, where its provider would add new fields.
    var unknownFields: [Delivery.Edit] { get }

    /// Returns a delivery of the event as a contract writes it, without values that equal the
    /// defaults.
    func delivery(_ name: String) -> Delivery

    /// Returns a delivery, by the same provider, of an event with an unknown type.
    func deliveryOfUnknownType(_ name: String) -> Delivery
}

extension HistoryEvent {
    /// The kind of the event in the coverage report.
    package var coverageLabel: String {
        isIrrelevant ? HistoryCoverage.Tracker.irrelevant : detailedType
    }

    /// The name of the event's delivery when the provider's documentation suggests no better name.
    package var nameFromType: String { type.lowercased().replacing("_", with: "-") }
}

/// The end of access that an event reports.
package struct ReportedEnd: Hashable, Sendable {
    /// The end of access, relative to the run's base time (`RunRecord.base`).
    let time: Duration
    /// The name of the delivery's field that contains the end, as templates write it.
    let field: String

    package init(_ time: Duration, field: String) {
        (self.time, self.field) = (time, field)
    }
}

/// An event that a seller sends because of an operation, or because a period ended.
package struct SellerEvent: Sendable {
    let event: any HistoryEvent
    /// The state of the purchase before this event happened.
    let stateBefore: PurchaseState
    /// The names of the users that the backend must know after this event.
    let knownUsers: [String]

    package init(_ event: any HistoryEvent, stateBefore: PurchaseState, knownUsers: [String]) {
        (self.event, self.stateBefore, self.knownUsers) = (event, stateBefore, knownUsers)
    }
}

extension Delivery.Edit {
    /// Returns edits that add an unknown object below a member of the body, and an unknown string
    /// at the root of the body.
    ///
    /// - Parameter keys: The path of the member; empty for the root of the body.
    /// - Returns: The two edits.
    package static func unknownFields(inside keys: [String]) -> [Delivery.Edit] {
        [
            Delivery.Edit(
                pointer: JSONPointer(tokens: keys + ["future_object"]),
                value: ["access": false, "expires": .null]
            ),
            Delivery.Edit(pointer: JSONPointer(tokens: ["future_root"]), value: "later"),
        ]
    }
}
