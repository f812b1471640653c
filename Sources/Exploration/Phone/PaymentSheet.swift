/// The payment sheet of the store on the phone, and the paywalls that led to it.
struct PaymentSheet: Sendable {
    enum State: Hashable, Sendable {
        case closed, open
        /// The payment sheet was requested during another operation, so that it may not have
        /// opened.
        case uncertain
    }

    private(set) var state = State.closed
    /// Whether the page receives the result of a payment sheet from the native side.
    var receivesResults = true
    /// Whether the page may still treat a payment sheet as open that was already closed.
    private var mayPageAssumeOpen = false
    /// The number of paywalls that must have opened so far; nil when the number is not predictable.
    private(set) var shownPaywallCount: Int? = 0

    /// Opens the payment sheet.
    ///
    /// - Parameter mayBeBlocked: Whether a fault may prevent the sheet.
    mutating func open(mayBeBlocked: Bool) {
        state = mayBeBlocked || mayPageAssumeOpen ? .uncertain : .open
        shownPaywallCount = state == .uncertain ? nil : shownPaywallCount.map { $0 + 1 }
    }

    /// Closes the payment sheet because the purchase is complete, or because the page was closed.
    mutating func close() { state = .closed }

    /// Closes the payment sheet without a purchase.
    mutating func closeWithoutPurchase() {
        close()
        if !receivesResults { mayPageAssumeOpen = true }
    }

    /// Closes the payment sheet with its page; a new page knows of no payment sheet.
    mutating func closeWithPage() {
        close()
        mayPageAssumeOpen = false
    }
}
