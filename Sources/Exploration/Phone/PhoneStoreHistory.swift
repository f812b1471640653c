internal import Contracts

/// The purchase history of the store account, as the app on the phone receives it.
struct PhoneStoreHistory: Sendable {
    /// The entries that the contract defines; nil when it defines no history.
    var entries: [PurchaseHistoryEntry]?
    /// The form of the native side's response to a history request; nil for the usual form.
    ///
    /// An app may not understand every form.
    var responseForm: String?
    /// Whether the user completed a purchase, which is now in the store's history.
    var hasCompletedPurchase = false

    /// The user that the app finds in the store's purchase history (C-06).
    ///
    /// A missing history may contain any user.
    var user: StoreHistoryUser {
        if responseForm != nil || hasCompletedPurchase { return .undetermined }
        return StoreHistoryUser(entries ?? [])
    }

    /// Whether the history may contain a user that the contract does not define.
    var mayContainUser: Bool { entries != nil || hasCompletedPurchase }

    /// The users of all entries, without anonymous users.
    var namedUsers: [String] { (entries ?? []).filter { !$0.isAnonymous }.compactMap(\.user) }

    /// Predicts the subscription status that the page must show at a status check.
    ///
    /// - Parameter areAllEffectsRequired: Whether no fault can have prevented effects.
    /// - Returns: The status; nil when it is not predictable.
    func status(areAllEffectsRequired: Bool) -> PhoneModel.Status? {
        guard !hasCompletedPurchase else { return nil }
        if let responseForm { return ["silent", "null"].contains(responseForm) ? .unknown : nil }
        guard areAllEffectsRequired, let onlyEntry = entries?.first, entries?.count == 1,
            onlyEntry.isActive,
            onlyEntry.environment == "production", !onlyEntry.isAnonymous
        else { return nil }
        return .active(product: onlyEntry.product)
    }
}

/// The user in the store account's purchase history (C-06): the user of the latest active purchase,
/// or without active purchases the user of the latest ended purchase.
enum StoreHistoryUser: Hashable, Sendable {
    case user(String)
    case noUser
    /// The latest purchases are at the same time and belong to different users.
    case undetermined

    init(_ history: [PurchaseHistoryEntry]) {
        let namedEntries = history.filter {
            $0.user != nil && !$0.isAnonymous && $0.environment == "production"
        }
        let active = namedEntries.filter(\.isActive)
        let candidateEntries = active.isEmpty ? namedEntries : active
        guard let latestPurchaseTime = candidateEntries.map(\.purchased).max() else {
            self = .noUser
            return
        }
        let users = Set(
            candidateEntries.filter { $0.purchased == latestPurchaseTime }.compactMap(\.user)
        )
        self = users.count == 1 ? users.first.map { .user($0) } ?? .undetermined : .undetermined
    }
}
