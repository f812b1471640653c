package import Redaction
package import Values

/// The fake RevenueCat: customers with their IDs and purchases, the store model, and the REST API.
///
/// Every event is applied to this state, so that REST responses agree with the events (section 4 of
/// the architecture document). Source: RevenueCat fact sheet, sections 2 to 6.
package struct RevenueCatState: Hashable, Sendable {
    package var settings: RevenueCatSettings
    package var catalog = Catalog()
    package var webhooks: [WebhookConfiguration] = []
    /// The API key that callers must send; nil to accept every caller.
    package var key: Secret?
    var customers = CustomerTable()
    var customerByID: SharedTable<String, Int> = [:]
    @JSONSafeInteger private var nextCustomer = 0
    var ids: IDSource
    /// The webhook events that `takeEvents` has not returned yet, oldest first.
    private var outgoing: [JSONObject] = []
    /// The times of recent REST calls, for the rate limit.
    var recentCalls: [Instant] = []
    /// The virtual currencies of the project, by currency code; nil until one is created.
    var currencies: [String: VirtualCurrency]?
    /// The stored responses to calls with an idempotency key (API description of REST v2).
    var keyed: IdempotentResults?
    /// Earlier states that REST still returns while it lags behind the webhook, oldest first.
    ///
    /// Each state has the time at which REST stops returning it.
    private var past: [LaggedState] = []

    private struct LaggedState: Hashable, Codable {
        let until: Instant
        let customers: CustomerTable
    }

    package init(
        key: Secret?,
        settings: RevenueCatSettings = RevenueCatSettings(),
        seed: UInt64 = 0
    ) {
        self.key = key.flatMap { $0.isEmpty ? nil : $0 }
        self.settings = settings
        ids = IDSource(seed: seed, text: "revenuecat")
    }

    // MARK: Outgoing events

    /// Returns and removes the webhook events created since the last call, in the order in which
    /// they happened.
    package mutating func takeEvents() -> [JSONObject] {
        defer { outgoing = [] }
        return outgoing
    }

    /// Returns the webhook events that `takeEvents` will return, without removing them.
    package func peekEvents() -> [JSONObject] { outgoing }

    /// Sends a webhook event that was created outside the store model.
    package mutating func enqueueExternalEvent(_ event: JSONObject) { emit(event) }

    package mutating func newEventID() -> String { ids.uuid().uppercased() }

    mutating func emit(_ event: JSONObject) { outgoing.append(event) }

    mutating func emitBeforeQueuedEvents(_ event: JSONObject) { outgoing.insert(event, at: 0) }

    // MARK: REST lag

    /// Saves the current state, which REST returns until the lag is over.
    ///
    /// Must be called before each change of customers.
    mutating func saveLaggedState(at now: Instant) {
        guard settings.restLagSeconds > 0 else { return }
        past.append(
            LaggedState(until: now + .seconds(settings.restLagSeconds), customers: customers)
        )
    }

    mutating func laggedCustomer(_ customerNumber: Int, at now: Instant) -> Customer? {
        past.removeAll { $0.until <= now }
        return past.first?.customers[customerNumber] ?? customers[customerNumber]
    }

    // MARK: Customers

    package func customer(_ id: String) -> Customer? {
        customerByID[id].flatMap { customers[$0] }
    }

    /// Returns the number of the customer with any of these IDs, or of a new customer.
    ///
    /// Afterwards, all IDs that were unknown belong to that customer.
    mutating func customer(named ids: [String], original: String, _ now: Instant) -> Int {
        let existingNumber = ids.compactMap { customerByID[$0] }.first
        let customerNumber = existingNumber ?? nextCustomer
        if existingNumber == nil {
            nextCustomer += 1
            customers[customerNumber] = Customer(
                ids: [],
                originalID: original,
                firstSeen: now,
                lastSeen: now
            )
        }
        for id in ids where customerByID[id] == nil {
            customerByID[id] = customerNumber
            customers[customerNumber]?.ids.append(id)
        }
        return customerNumber
    }

    mutating func recordActivity(_ id: String, _ now: Instant, platform: String? = nil) -> Int {
        let customerNumber = customer(named: [id], original: id, now)
        customers[customerNumber]?.lastSeenID = id
        if let platform {
            customers[customerNumber]?.lastSeen = now
            customers[customerNumber]?.lastPlatform = platform
        }
        return customerNumber
    }

    mutating func removeCustomer(_ customerNumber: Int) {
        guard let customer = customers[customerNumber] else { return }
        customers[customerNumber] = nil
        for id in customer.ids where customerByID[id] == customerNumber { customerByID[id] = nil }
    }

    /// Merges one customer into another.
    ///
    /// The remaining customer keeps the original ID of the older customer.
    ///
    /// No event is sent: a backend learns of the merge from the aliases in the next event
    /// (RevenueCat fact sheet, section 5.4).
    mutating func merge(_ removedNumber: Int, into remainingNumber: Int) {
        guard removedNumber != remainingNumber, let removedCustomer = customers[removedNumber],
            var remainingCustomer = customers[remainingNumber]
        else {
            return
        }
        if removedCustomer.firstSeen < remainingCustomer.firstSeen {
            remainingCustomer.originalID = removedCustomer.originalID
        }
        remainingCustomer.firstSeen = min(remainingCustomer.firstSeen, removedCustomer.firstSeen)
        remainingCustomer.ids = removedCustomer.ids + remainingCustomer.ids
        remainingCustomer.mergePurchases(from: removedCustomer)
        for member in removedCustomer.attributes.members
        where remainingCustomer.attributes[member.key] == nil {
            remainingCustomer.attributes[member.key] = member.value
        }
        customers[remainingNumber] = remainingCustomer
        customers[removedNumber] = nil
        for id in removedCustomer.ids { customerByID[id] = remainingNumber }
    }

    mutating func movePurchases(from sourceCustomerNumber: Int, to targetCustomerNumber: Int) {
        guard sourceCustomerNumber != targetCustomerNumber,
            let sourceCustomer = customers[sourceCustomerNumber]
        else { return }
        customers[sourceCustomerNumber]?.subscriptions = [:]
        customers[sourceCustomerNumber]?.oneTime = [:]
        customers[sourceCustomerNumber]?.refundedOneTime = nil
        customers[targetCustomerNumber]?.mergePurchases(from: sourceCustomer)
    }

    static func instantFromMilliseconds(_ value: JSONValue?) -> Instant? {
        value?.int64.map(Instant.init(milliseconds:))
    }
}

extension RevenueCatState: Codable {
    /// The members of the saved state.
    ///
    /// The API key is not among them, because it is configuration and secret.
    private enum CodingKeys: String, CodingKey {
        case settings, catalog, webhooks, customers, customerByID, nextCustomer, ids, outgoing
        case recentCalls, currencies, keyed, past
    }
}
