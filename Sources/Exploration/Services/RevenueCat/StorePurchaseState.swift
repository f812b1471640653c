internal import Providers
internal import Values

extension PurchaseState {
    /// Derives the state of a purchase at a given time from the record of the simulated store.
    ///
    /// - Parameters:
    ///   - purchase: The latest record of the purchase; nil when the user bought nothing.
    ///   - time: The time for which to derive the state.
    init(_ purchase: Purchase?, at time: Instant) {
        guard let purchase else {
            self = .none
            return
        }
        self = Self.specialState(purchase) ?? Self.runningState(purchase, at: time)
    }

    private static func specialState(_ purchase: Purchase) -> PurchaseState? {
        if purchase.refunded != nil { return .refunded }
        if purchase.isOneTime { return purchase.entitlements.isEmpty ? .consumed : .lifetime }
        if purchase.isPaused { return .paused }
        if purchase.hasEnded { return .ended }
        if purchase.isTemporary { return .temporary }
        return purchase.store == "PROMOTIONAL" ? .promotional : nil
    }

    private static func runningState(_ purchase: Purchase, at time: Instant) -> PurchaseState {
        if purchase.resume != nil { return .pausing }
        if purchase.billingIssue != nil {
            return purchase.graceEnd.map { $0 > time } ?? false ? .grace : .retrying
        }
        if purchase.unsubscribed != nil { return .cancelled }
        if purchase.nextProductID != nil { return .changing }
        return switch purchase.period {
        case "TRIAL": .trial
        case "INTRO": .intro
        case "PREPAID": .prepaid
        // Any other period type is a period that was paid in full.
        default: .active
        }
    }
}
