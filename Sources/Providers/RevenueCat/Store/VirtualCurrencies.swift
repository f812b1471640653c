internal import Values

/// The virtual currencies of the project, by currency code.
struct VirtualCurrencies: Hashable, Codable, Sendable {
    private var currenciesByCode: [String: VirtualCurrency] = [:]

    subscript(code: String) -> VirtualCurrency? {
        get { currenciesByCode[code] }
        set { currenciesByCode[code] = newValue }
    }

    /// All currencies with their codes, sorted by code.
    var sorted: [(code: String, currency: VirtualCurrency)] {
        currenciesByCode.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Returns the currency with this code.
    ///
    /// An unknown currency is created with the name `Credits`.
    mutating func findOrCreate(_ code: String, at now: Instant) -> VirtualCurrency {
        if let currency = currenciesByCode[code] { return currency }
        let currency = VirtualCurrency(
            name: "Credits",
            description: "Credits to spend",
            made: now
        )
        currenciesByCode[code] = currency
        return currency
    }
}
