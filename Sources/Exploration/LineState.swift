internal import Conformance
internal import Providers

/// How somebody's purchase of a product stands, as the published life-cycles name it.
///
/// Source: RevenueCat fact sheet, section 3.
package enum LineState: String, Hashable, Sendable, CaseIterable {
    case none
    case trial, intro, prepaid, active
    case cancelled
    /// The charge failed and access stays for now.
    case grace
    /// The charge failed, and the store goes on trying without a grace period.
    case retrying
    /// It will pause at the end of the period.
    case pausing
    case paused
    /// Another product comes with the next period.
    case changing
    case ended
    case refunded
    /// Bought once and kept.
    case lifetime
    /// Bought once and used up.
    case consumed
    case promotional
    case temporary
}

extension LineState {
    /// - Parameters:
    ///   - purchase: The latest state of what was bought; nil: nothing was.
    ///   - time: When.
    init(_ purchase: Purchase?, at time: Instant) {
        guard let purchase else {
            self = .none
            return
        }
        self = Self.special(purchase) ?? Self.running(purchase, at: time)
    }

    private static func special(_ purchase: Purchase) -> LineState? {
        if purchase.refunded != nil { return .refunded }
        if purchase.isOneTime { return purchase.entitlements.isEmpty ? .consumed : .lifetime }
        if purchase.isPaused { return .paused }
        if purchase.hasEnded { return .ended }
        if purchase.isTemporary { return .temporary }
        return purchase.store == "PROMOTIONAL" ? .promotional : nil
    }

    private static func running(_ purchase: Purchase, at time: Instant) -> LineState {
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
        // A period that was paid for in full, however it is called.
        default: .active
        }
    }
}
