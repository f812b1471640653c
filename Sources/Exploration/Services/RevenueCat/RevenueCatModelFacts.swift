internal import Contracts
internal import Providers
internal import Values

/// The stores, products and event types of RevenueCat in generated histories, and the details of
/// operations that only the app stores have.
extension RevenueCatModel {
    static var titleName: String? { nil }
    static var feature: Feature? { nil }
    static var storeName: String? { nil }
    static let defaultStore = "APP_STORE"
    static let standardProduct = "premium_monthly"
    static var simplestProduct: String? { standardProduct }
    static let subscriptionProducts = [standardProduct, "premium_yearly", "premium_weekly"]
    /// A lifetime purchase and a consumable.
    static let oneTimeProducts = ["premium_lifetime", "coins_100"]
    static let kinds = Set(HistoryOperation.Kind.allCases)

    /// Event types that change no subscription and therefore need no model (S-08, S-18; RevenueCat
    /// fact sheet 2.6).
    static let irrelevantEventTypes =
        RevenueCatEventType.Documented.allCases.filter { $0.facts.effect == .noChange }
        .map(\.rawValue) + [HistoryModel.unknownEventType]

    /// The event type that the dashboard's test button sends.
    static var testEventType: String? { RevenueCatEventType.Documented.test.rawValue }
    static var irrelevantEventsAddInformation: Bool { false }
    static let userIDLocations = EventSpec.UserIDLocation.allCases.map(\.rawValue)

    /// The stores that every backend must support.
    static let commonStores = ["APP_STORE", "PLAY_STORE"]
    /// The other stores; a store that is listed twice is chosen twice as often.
    private static let rareStores = [
        "STRIPE", "STRIPE", "AMAZON", "RC_BILLING", "ROKU", "MAC_APP_STORE", "PADDLE", "TEST_STORE",
    ]

    static func stores(_ capabilities: Capabilities) -> [String] {
        var stores = commonStores
        if capabilities.has(.acceptsEveryStore) {
            for store in rareStores where !stores.contains(store) { stores.append(store) }
        }
        return stores
    }

    /// Returns the reasons that a cancellation or expiration can have, except for the user's own
    /// decision (RevenueCat fact sheet 2.7).
    static func reasons(of kind: HistoryOperation.Kind) -> [String] {
        kind == .cancel
            ? ["DEVELOPER_INITIATED", "PRICE_INCREASE", "UNKNOWN"] : ["PRICE_INCREASE", "UNKNOWN"]
    }

    static func clause(of operation: HistoryOperation, in history: CustomerHistory) -> String {
        switch operation.kind {
        case .purchase:
            history.users.contains { $0.arrival == .unknown }
                ? "S-20" : oneTimeProducts.contains(operation.product ?? "") ? "S-16" : "S-10"
        case .cancel, .refund, .reverseRefund: "S-11"
        case .uncancel, .renew, .recover: "S-13"
        case .billingIssue: "S-12"
        case .changeProduct: "S-14"
        case .expire: "S-15"
        case .transfer: "S-17"
        case .irrelevantEvent: operation.type == testEventType ? "S-18" : "S-08"
        case .register: "S-21"
        case .signUp: "S-26"
        case .logIn: "S-28"
        case .pause, .resume, .extend, .grant, .revoke, .temporaryGrant, .share, .unshare, .wait:
            "S-10"
        }
    }

    static func signatureWords(of operation: HistoryOperation) -> [String] {
        oneTimeProducts.contains(operation.product ?? "") ? ["kept"] : []
    }

    // MARK: Details of operations

    func chooseDetails(
        of operation: inout HistoryOperation,
        _ heldPurchase: HistoryModel.HeldPurchase?,
        _ capabilities: Capabilities,
        _ random: inout SeededGenerator
    ) {
        switch operation.kind {
        case .purchase: choosePurchase(&operation, heldPurchase, capabilities, &random)
        case .temporaryGrant: operation.store = heldPurchase?.store
        case .changeProduct: operation.isDeferred = random.occursOncePer(2)
        case .grant:
            operation.product = nil
            operation.reason = ["weekly", "monthly", "yearly", "lifetime"].randomElement(
                using: &random
            )
        case .cancel, .expire:
            operation.reason =
                random.occursOncePer(2)
                ? nil : Self.reasons(of: operation.kind).randomElement(using: &random)
        case .renew, .uncancel, .pause, .resume, .extend, .refund, .transfer, .revoke,
            .billingIssue, .recover, .reverseRefund, .share, .unshare, .irrelevantEvent, .register,
            .signUp, .logIn, .wait:
            break
        }
    }

    private func choosePurchase(
        _ operation: inout HistoryOperation,
        _ heldPurchase: HistoryModel.HeldPurchase?,
        _ capabilities: Capabilities,
        _ random: inout SeededGenerator
    ) {
        if let heldPurchase {
            operation.store = heldPurchase.store
        } else {
            let usesRareStore = capabilities.has(.acceptsEveryStore) && random.occursOncePer(3)
            let stores = usesRareStore ? Self.rareStores : Self.commonStores
            operation.store = stores.randomElement(using: &random)
        }
        let isOneTimeProduct = Self.oneTimeProducts.contains(operation.product ?? "")
        let isFirstPurchase = stores.purchases(of: operation.user).isEmpty
        guard !isOneTimeProduct, isFirstPurchase, random.occursOncePer(2) else { return }
        operation.period = ["TRIAL", "TRIAL", "INTRO", "PREPAID"].randomElement(using: &random)
        if operation.period == "PREPAID" { operation.store = "PLAY_STORE" }
    }
}
