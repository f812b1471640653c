/// Preconditions that several actions of the store model share.
enum StorePreconditions {
    /// The stores that never send the event of an action, by the kind of action (RevenueCat fact
    /// sheet, section 2.1, columns of the table).
    private static let storesWithoutEvent: [StoreAction.Kind: Set<String>] = [
        .uncancel: ["STRIPE", "PROMOTIONAL"],
        .billingIssue: ["PROMOTIONAL"],
        .changeProduct: ["AMAZON", "ROKU", "PROMOTIONAL"],
        .extend: ["ROKU", "RC_BILLING", "PROMOTIONAL"],
        .reverseRefund: ["PLAY_STORE", "STRIPE", "AMAZON", "ROKU", "RC_BILLING", "PROMOTIONAL"],
        .temporaryGrant: ["RC_BILLING", "PROMOTIONAL"],
        .currency: ["AMAZON", "ROKU", "PROMOTIONAL"],
    ]

    static func requireStore(
        _ store: String,
        _ kind: StoreAction.Kind
    ) throws(StoreAction.Refusal) {
        guard Self.storesWithoutEvent[kind]?.contains(store) == true else { return }
        throw StoreAction.Refusal(
            "the action \(kind.rawValue) is not possible in the store \(store)"
        )
    }

    static func requireNotEnded(
        _ purchase: Purchase,
        _ action: StoreAction
    ) throws(StoreAction.Refusal) {
        guard !purchase.isOneTime else {
            throw StoreAction.Refusal(
                "\(purchase.productID) is a one-time purchase; it does not support the action "
                    + action.kind.rawValue
            )
        }
        guard !purchase.hasEnded else {
            throw StoreAction.Refusal(
                "\(purchase.productID) has ended; buy it again with the action purchase"
            )
        }
    }
}
