package import Redaction
package import Values

/// The fake RevenueCat: customers with their IDs and purchases, the store model, and the REST API.
///
/// Every event is applied to this state, so that REST responses agree with the events (section 4 of
/// the architecture document). Source: RevenueCat fact sheet, sections 2 to 6.
///
/// The state is composed of values. Each value holds the data of one subject and keeps the
/// invariants of this data. A value that responses contain also encodes itself as JSON.
///
/// The operations are static functions of small enumerations, one for each subject. They take the
/// state as their first argument, check the preconditions, change the values, and create the
/// events. The folder `Store` contains the actions of customers and stores, `Events` the events,
/// and `REST` the handlers of calls. `StoreModel` selects the function of an action. The rows of
/// `V1Operation` and `V2Operation` name the handler of each call.
package struct RevenueCatState: Hashable, Sendable {
    package var settings: RevenueCatSettings
    package var catalog = Catalog()
    package var webhooks: [WebhookConfiguration] = []
    /// The API key that callers must send; nil to accept every caller.
    package var key: Secret?
    package var ids: RevenueCatIDs
    package var outbox = RevenueCatOutbox()
    var customers = CustomerDirectory()
    var currencies = VirtualCurrencies()
    var callLimit = CallRateLimit()
    var idempotentResults = IdempotentResults()

    package init(
        key: Secret?,
        settings: RevenueCatSettings = RevenueCatSettings(),
        seed: UInt64 = 0
    ) {
        self.key = key.flatMap { $0.isEmpty ? nil : $0 }
        self.settings = settings
        ids = RevenueCatIDs(seed: seed)
    }

    // MARK: Changes and their events

    /// Carries out an action of a customer, a store or a developer.
    ///
    /// `takeEvents` returns the events that the action causes.
    ///
    /// - Throws: A refusal that explains the problem; the state is then unchanged.
    package mutating func carryOut(
        _ action: StoreAction,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        try StoreModel.carryOut(&self, action, at: now)
    }

    /// Carries out all automatic changes that are due until this time, in the order of their due
    /// times.
    package mutating func advance(to now: Instant) { PassingOfTime.advance(&self, to: now) }

    /// Applies a RevenueCat event to the store model.
    ///
    /// An event that the model itself created must not be applied again.
    package mutating func apply(_ body: JSONValue) {
        catalog.recordResources(of: body)
        ScriptedEvents.apply(&self, body)
    }

    /// Returns and removes the webhook events created since the last call, in the order in which
    /// they happened.
    package mutating func takeEvents() -> [JSONObject] { outbox.takeEvents() }

    /// Saves the current state of the customers, which REST returns until the lag is over.
    ///
    /// Must be called before each change of customers.
    mutating func saveLaggedState(at now: Instant) {
        guard settings.restLagSeconds > 0 else { return }
        customers.saveState(until: now + .seconds(settings.restLagSeconds))
    }

    // MARK: Customers

    package func customer(_ id: String) -> Customer? { customers.customer(id) }

    /// Returns the current state of the purchase to which a store's transaction ID belongs; nil
    /// when no customer owns it.
    package func purchase(withTransaction id: String) -> Purchase? {
        customers.owners(of: .transaction(id)).lazy.flatMap(\.customer.purchases).first {
            $0.originalTransactionID == id || $0.transactionID == id
        }
    }
}

extension RevenueCatState: Codable {
    /// The members of the saved state.
    ///
    /// The API key is not among them, because it is configuration and secret.
    private enum CodingKeys: String, CodingKey {
        case settings, catalog, webhooks, ids, outbox, customers, currencies, callLimit
        case idempotentResults
    }
}
