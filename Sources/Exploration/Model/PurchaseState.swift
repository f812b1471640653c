/// The state of a user's purchase of a product, with the names of RevenueCat's published life
/// cycles.
///
/// Source: RevenueCat fact sheet, section 3.
package enum PurchaseState: String, Hashable, Sendable, CaseIterable {
    case none
    case trial, intro, prepaid, active
    case cancelled
    /// The renewal charge failed, and access continues during the grace period.
    case grace
    /// The renewal charge failed, and the store retries the charge without a grace period.
    case retrying
    /// The subscription will pause at the end of the current period.
    case pausing
    case paused
    /// The subscription changes to another product at the start of the next period.
    case changing
    case ended
    case refunded
    /// A one-time purchase that the user keeps forever.
    case lifetime
    /// A one-time purchase that is used up, such as coins.
    case consumed
    case promotional
    case temporary
}
