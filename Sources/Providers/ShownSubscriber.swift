package import Conformance

/// Somebody who has something at a service, as people look at it: the same for every service.
package struct ShownSubscriber: Hashable, Sendable {
    /// What was bought once, in its latest state.
    package struct Holding: Hashable, Sendable {
        package enum State: String, Hashable, Sendable {
            case active
            /// Paid for, and not going on after its end.
            case cancelled
            /// The charge failed and access stays for now.
            case grace
            case paused
            case ended
            case refunded
        }

        package let product: String
        package let store: String
        package let environment: String
        package let state: State
        /// When it was first bought.
        package let began: Instant
        /// When the latest period began.
        package let period: Instant
        /// When access ends unless something happens; nil: never.
        package let ends: Instant?

        package init(
            _ product: String,
            store: String,
            environment: String,
            state: State,
            began: Instant,
            period: Instant,
            ends: Instant?
        ) {
            (self.product, self.store, self.environment) = (product, store, environment)
            (self.state, self.began, self.period, self.ends) = (state, began, period, ends)
        }
    }

    /// All names of the one person, the one they go by first.
    package let ids: [String]
    /// When something of them was last heard.
    package let seen: Instant
    /// What they may use now.
    package let access: [String]
    package let holdings: [Holding]

    package init(ids: [String], seen: Instant, access: [String], holdings: [Holding]) {
        (self.ids, self.seen, self.access, self.holdings) = (ids, seen, access, holdings)
    }
}
