internal import Conformance

/// What a backend has to show of somebody, as far as the catalogue fixes it; nil: it does not.
///
/// Source: identity rules, effect table C.1 and S-09 to S-19.
package struct Expected: Hashable, Sendable {
    package enum End: Hashable, Sendable {
        case never
        /// Relative to the start of the run.
        case at(Duration)
    }

    /// Whether the backend has to know the person at all.
    package var exists = false
    package var access: Bool?
    package var product: String?
    package var expires: End?
    package var willRenew: Bool?
    package var billingIssue: Bool?
    package var refunded: Bool?

    /// The fields that a contract can ask for; an end is that of an event that names it.
    ///
    /// - Parameter end: How the contract writes an end.
    /// - Returns: The fields, in the order in which contracts write them.
    func fields(_ end: (Duration) -> JSONValue) -> [(name: String, value: JSONValue)] {
        var fields: [(String, JSONValue)] = []
        if let access { fields.append(("access", .bool(access))) }
        if let product { fields.append(("product", .string(product))) }
        switch expires {
        case .never: fields.append(("expires", .null))
        case .at(let time): fields.append(("expires", end(time)))
        case nil: break
        }
        if let willRenew { fields.append(("will-renew", .bool(willRenew))) }
        if let billingIssue { fields.append(("billing-issue", .bool(billingIssue))) }
        if let refunded { fields.append(("refunded", .bool(refunded))) }
        return fields
    }
}
