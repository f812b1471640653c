package import Grammar
package import Redaction
package import Values

/// A webhook event of a provider, as a contract describes it.
///
/// A conforming type contains only the values that a contract writes. The provider generates the
/// rest of a realistic body.
package protocol ProviderEvent: Hashable, Codable, Sendable {
    /// The notation of the event in contracts.
    ///
    /// The name of the construct is the key of the event in a delivery.
    static var grammar: Construct<Self> { get }

    /// The type of the event, as the provider names it.
    var typeName: String { get }
    /// The names of all users that the event names.
    var users: [String] { get }
    /// The time of the event, relative to the run's base time (`RunRecord.base`).
    var time: Duration { get }
    /// A summary of the event for people: its type and the values that decide its meaning.
    var summary: String { get }
    /// The names of the products or plans in the event, which the profile may map to other IDs.
    var products: [String] { get }
    /// Whether the event transfers purchases from one user to another.
    var isTransfer: Bool { get }

    /// Returns the features without which a backend cannot be expected to process the event like
    /// any other.
    ///
    /// - Parameter editedValues: The values that the contract writes into the body in place of the
    ///   generated ones, by their location.
    /// - Returns: The features; empty for a usual event.
    func requiredFeatures(editedValues: [JSONPointer: JSONValue]) -> [Feature]

    /// Returns the event with secrets in its strings redacted.
    func redacted(by redaction: Redaction) -> Self

    /// Returns the event with the usual ID of its user in place of an alias or an anonymous ID.
    func withUsualUserID() -> Self

    /// Returns the complete webhook body of the event.
    ///
    /// - Parameters:
    ///   - context: The values of the run from which IDs and dates are derived.
    ///   - name: The name of the event's delivery in the contract.
    /// - Returns: The body as the provider would send it.
    func body(in context: EventContext, name: String) -> JSONValue

    /// Returns the products and stores that a run may draw for the events of one contract.
    static func openChoices(of events: [Self], within limits: DrawLimits) -> EventChoices

    /// Returns the event with drawn values in place of those that the contract leaves open.
    func drawing(_ values: DrawnValues) -> Self
}

extension ProviderEvent {
    /// The key of the event in a delivery of a contract.
    package static var key: String { grammar.shape.name }

    package static func openChoices(
        of _: [Self],
        within _: DrawLimits
    ) -> EventChoices { EventChoices() }

    package func drawing(_: DrawnValues) -> Self { self }
}

/// A webhook event about a subscription period.
///
/// A contract may omit the dates of the period, or let the period end while the case runs.
package protocol SubscriptionPeriodEvent: ProviderEvent {
    /// Whether a subscription period or a grace period of the event ends while the case runs
    /// (`soon` in contracts).
    var hasPeriodEndingSoon: Bool { get }

    /// The end of the purchase in the event, relative to the run's base time; if the grace period
    /// ends later, its end.
    ///
    /// Nil: the purchase never ends.
    var purchaseEnd: Duration? { get }

    /// Returns the event with a time in place of each `soon`.
    func endingPeriod(at end: Duration) -> Self

    /// Returns the event after filling in the dates that it omits, from the events of the same
    /// contract that begin periods.
    func fillingDates(from events: [Self]) -> Self
}
