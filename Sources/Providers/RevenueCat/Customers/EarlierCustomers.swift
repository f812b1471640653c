internal import Values

/// Earlier states of all customers that REST still returns while it lags behind the webhook.
///
/// The oldest state comes first. Each state has the time at which REST stops returning it.
struct EarlierCustomers: Hashable, Codable, Sendable {
    private struct EarlierState: Hashable, Codable {
        let until: Instant
        let customers: CustomerTable
    }

    private var states: [EarlierState] = []

    mutating func add(_ customers: CustomerTable, until time: Instant) {
        states.append(EarlierState(until: time, customers: customers))
    }

    /// Returns a customer in the oldest state that REST still returns, and removes the states that
    /// REST no longer returns.
    ///
    /// Nil when there is no earlier state, or when the customer did not exist in it.
    mutating func customer(_ number: Int, at now: Instant) -> Customer? {
        states.removeAll { $0.until <= now }
        return states.first?.customers[number]
    }
}
