internal import Values

/// The state that a backend must return for a user at the end of a history.
///
/// A nil value means that the specification allows any value.
///
/// Source: identity rules, effect table C.1 and S-09 to S-19.
package struct ExpectedState: Hashable, Sendable {
    package enum Expiration: Hashable, Sendable {
        case never
        /// Access ends at this time, relative to the run's base time (`RunRecord.base`).
        case at(Duration)
    }

    /// Whether the backend must have a record of the user.
    package var exists = false
    package var access: Bool?
    package var product: String?
    package var expires: Expiration?
    package var willRenew: Bool?
    package var billingIssue: Bool?
    package var refunded: Bool?
    package var pendingProduct: PendingProduct?

    /// The product to which a subscription changes at the end of its period (S-14).
    package enum PendingProduct: Hashable, Sendable {
        case nothing
        case product(String)
    }

    /// Returns the fields of this state that the `expect` section of a contract can check.
    ///
    /// - Parameter expirationValue: Returns the contract's notation for the time at which access ends, such as
    ///   a reference to the event that contains this time.
    /// - Returns: The names and values of the fields, in the order in which contracts list them.
    func fields(_ expirationValue: (Duration) -> JSONValue) -> [(name: String, value: JSONValue)] {
        var fields: [(String, JSONValue)] = []
        if let access { fields.append(("access", .bool(access))) }
        if let product { fields.append(("product", .string(product))) }
        switch expires {
        case .never: fields.append(("expires", .null))
        case .at(let time): fields.append(("expires", expirationValue(time)))
        case nil: break
        }
        if let willRenew { fields.append(("will-renew", .bool(willRenew))) }
        if let billingIssue { fields.append(("billing-issue", .bool(billingIssue))) }
        if let refunded { fields.append(("refunded", .bool(refunded))) }
        switch pendingProduct {
        case .nothing: fields.append(("pending-product", .null))
        case .product(let next): fields.append(("pending-product", .string(next)))
        case nil: break
        }
        return fields
    }
}

extension ExpectedState {
    /// Creates the state that a backend must have for a user after it has processed all events of a
    /// history.
    package init(of user: String, in model: HistoryModel) {
        self.init(exists: model.known.contains(user))
        // If events named the user only by an anonymous ID, the owner of that ID is still unknown.
        guard exists, !model.isKnownOnlyAnonymously(user) else { return }
        access = model.access(of: user)
        if model.accounts.hasUndeterminedOwner(user) {
            // S-28 leaves open who owns the device now, and which of the two users keeps the
            // purchases.
            exists = model.accounts.joinedUsers[user] == nil
            if access != true { access = nil }
            return
        }
        // With purchases at several sellers, no field shows which purchase it describes.
        model.onlySeller(of: user)?.addDetails(of: user, to: &self)
    }
}
