internal import Providers
internal import Contracts
internal import Values

/// The plans and event names of Purchasely in generated histories.
extension PurchaselyModel {
    static var titleName: String? { "Purchasely" }
    static var feature: Feature? { .purchasely }
    static var storeName: String? { PurchaselyHistoryEvent.store }
    static var defaultStore: String { PurchaselyHistoryEvent.store }
    static let standardProduct = "PLUS_MONTHLY"
    static var simplestProduct: String? { nil }
    private static let lifetimePlan = "PLUS_LIFETIME"
    /// The names of the Purchasely plans, with the lengths of their periods in days; nil for a plan
    /// without an end.
    static let plans: [(name: String, days: Int?)] = [
        (standardProduct, 30), ("PLUS_YEARLY", 365), (lifetimePlan, nil),
    ]

    static let subscriptionProducts = plans.filter { $0.days != nil }.map(\.name)
    static let oneTimeProducts = [lifetimePlan]

    /// The kinds of operations that are possible for Purchasely plans.
    static let kinds: Set<HistoryOperation.Kind> = [
        .purchase, .renew, .cancel, .uncancel, .billingIssue, .recover, .changeProduct, .expire,
        .refund, .transfer, .irrelevantEvent,
    ]

    /// Names of Purchasely events that change no access, even if the name suggests it (clause
    /// P-05).
    static let irrelevantEventTypes = [
        "SUBSCRIPTION_STARTED", "SUBSCRIPTION_RENEWED", "TRANSACTION_PROCESSED",
        "RENEWAL_DISABLED", "RENEWAL_ENABLED", "SUBSCRIPTION_TERMINATED",
        "SUBSCRIPTION_REFUNDED_REVOKED", "GRACE_PERIOD_STARTED", "GRACE_PERIOD_TERMINATED",
        "ENTERED_BILLING_RETRY", "SUBSCRIPTION_UPGRADED", "SUBSCRIPTION_DEFERRED",
        "SUBSCRIPTION_WILL_PAUSE", "SUBSCRIPTION_REACTIVATED", "PROMO_CODE_STARTED",
        HistoryModel.unknownEventType,
    ]

    /// The names from `irrelevantEventTypes` that an event about a one-time purchase may have.
    static let irrelevantOneTimeEventTypes: Set = [
        "TRANSACTION_PROCESSED", HistoryModel.unknownEventType,
    ]

    static var testEventType: String? { nil }

    /// Events other than ACTIVATE and DEACTIVATE do not change access, but may give a backend
    /// further information (P-05).
    static var irrelevantEventsAddInformation: Bool { true }
    static var userIDLocations: [String] { [] }

    static func stores(_: Capabilities) -> [String] { [PurchaselyHistoryEvent.store] }

    static func reasons(of _: HistoryOperation.Kind) -> [String] { [] }

    static func clause(of operation: HistoryOperation, in _: CustomerHistory) -> String {
        if operation.environment == "SANDBOX" { return "P-09" }
        return switch operation.kind {
        case .transfer: "P-07"
        case .billingIssue, .purchase: "P-09"
        case .cancel, .uncancel, .irrelevantEvent: "P-05"
        case .renew, .recover, .expire, .refund, .changeProduct, .pause, .resume, .extend, .grant,
            .revoke, .reverseRefund, .temporaryGrant, .share, .unshare, .register, .signUp,
            .logIn, .wait:
            "P-08"
        }
    }

    static func signatureWords(of _: HistoryOperation) -> [String] { ["plan"] }

    /// Chooses nothing, because an operation on a plan has no other details.
    func chooseDetails(
        of _: inout HistoryOperation,
        _: HistoryModel.HeldPurchase?,
        _: Capabilities,
        _: inout SeededGenerator
    ) {}
}
