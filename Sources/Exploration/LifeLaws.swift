internal import Conformance
internal import Providers

/// Rules of real stores that the simulated stores do not enforce.
///
/// Without these rules, a history could contain an event that no real backend receives, or an event
/// whose meaning no source defines.
extension LifeModel {
    private static let ofStores: Set<Act.Kind> = [
        .purchase, .temporaryGrant, .recover, .refund, .expire, .extend, .cancel,
    ]

    private static let ofMembers: Set<Act.Kind> = [.unshare, .tell, .share]

    private func isShared(_ line: Purchase) -> Bool {
        notes.everHad.keys.contains { user in
            purchases(of: user).contains {
                $0.isFamilyShared && $0.originalTransactionID == line.originalTransactionID
            }
        }
    }

    /// Checks that an operation follows the rules that real stores enforce and the simulated stores
    /// do not.
    ///
    /// - Throws: The reason why the operation cannot happen in a real store.
    func check(_ act: Act) throws(Illegal) {
        let state = LineState(line(of: act), at: Self.zero + act.time)
        if Self.ofStores.contains(act.kind), line(of: act)?.store == "PROMOTIONAL" {
            throw Illegal(
                reason: "a promotional grant comes from the developer and cannot be bought"
            )
        }
        // A subscription that continues as another product is over under its old product, and no
        // event reports earlier periods (RevenueCat fact sheet 3, row 13b).
        if act.kind != .tell, let product = act.product,
            notes.replaced.contains(Line(user: act.user, product: product))
        {
            throw Illegal(reason: "another product continues the subscription")
        }
        if let line = line(of: act), !Self.ofMembers.contains(act.kind) {
            // A family member does not pay for a shared purchase, and no source defines product
            // changes of a shared purchase.
            guard !line.isFamilyShared, act.kind != .changeProduct || !isShared(line) else {
                throw Illegal(reason: "the purchase is shared in a family")
            }
        }
        func allow(_ states: Set<LineState>) throws(Illegal) {
            guard states.contains(state) else {
                throw Illegal(
                    reason:
                        "'\(act.kind.rawValue)' is not possible for a purchase in the state '\(state.rawValue)'"
                )
            }
        }
        switch act.kind {
        case .purchase: try checkPurchase(act, state)
        case .transfer: try checkTransfer(act)
        case .temporaryGrant:
            try allow([.none, .ended])
            guard !LifeGenerator.keptProducts.contains(act.product ?? "") else {
                throw Illegal(reason: "a one-day grant cannot be for a one-time product")
            }
            // The event of a one-day grant names no environment, so a backend could not recognize a
            // sandbox grant (RevenueCat fact sheet 2.6).
            guard act.place != "SANDBOX" else {
                throw Illegal(reason: "a one-day grant cannot be for a sandbox purchase")
            }
            try checkStore(act)
            try checkReturn(act)
        // The fact sheets leave open whether an extension of a subscription ends its grace period.
        case .extend: try allow([.active, .cancelled, .trial, .intro, .changing])
        case .uncancel: try allow([.cancelled])
        case .cancel: try allow([.active, .trial, .intro, .grace, .changing])
        case .pause: try allow([.active])
        case .resume: try allow([.paused])
        case .billingIssue:
            try allow([.active, .trial, .intro])
            try checkCharge(act)
        case .changeProduct:
            try allow([.active, .trial, .intro])
            guard let wanted = act.newProduct, notes.everHad[act.user]?.contains(wanted) != true
            else {
                throw Illegal(reason: "the user had the product before")
            }
        case .refund:
            try allow([.active, .cancelled, .intro, .grace, .changing, .lifetime, .ended])
            try checkBegun(act)
        case .expire:
            try allow([.active, .cancelled, .trial, .intro, .grace, .retrying])
            try checkBegun(act)
        case .renew:
            try allow([.active, .trial, .intro, .changing])
            try checkCharge(act)
        case .share: try checkShare(act, state)
        case .unshare: try allow([.active, .cancelled])
        case .signUp, .logIn:
            guard !accounts.isJoined(act.user) else {
                throw Illegal(reason: "the device is signed in to another account")
            }
        case .grant, .revoke, .recover, .reverseRefund, .tell, .register, .wait: break
        }
    }

    /// Checks that the earlier operations determine the owner of every user ID in an operation.
    ///
    /// A store would move an anonymous user's purchases under the anonymous ID, so only a later
    /// event could show their new owner. An alias of one user must not be the ID of another user.
    ///
    /// - Throws: The reason why the operation cannot happen in a real store.
    func checkNames(_ act: Act) throws(Illegal) {
        let isMove = [.transfer, .share, .signUp, .logIn].contains(act.kind)
        guard !isMove || act.people.allSatisfy({ !wasAnonymous($0) }) else {
            throw Illegal(
                reason: "purchases of a user in the operation belonged to an anonymous ID"
            )
        }
        guard act.people.allSatisfy({ !names.aliases.contains($0) }) else {
            throw Illegal(reason: "the ID of a user in the operation is an alias of another user")
        }
        guard let other = act.also else { return }
        guard act.kind == .transfer, other != act.user, other != act.from,
            names.naming(of: other) == .nobody, !known.contains(other)
        else { throw Illegal(reason: "the additional ID in the transfer belongs to another user") }
        // Clause S-17 leaves open which of two IDs is kept if the backend knows neither of them.
        guard act.from.map(registered.contains) ?? false else {
            throw Illegal(
                reason: "the backend knows neither ID of the user who loses the purchases"
            )
        }
    }

    /// Checks that a purchase can be shared with a family member.
    ///
    /// The App Store shares subscriptions only with users who never had the subscription
    /// (RevenueCat fact sheet 3, row 23).
    private func checkShare(_ act: Act, _ state: LineState) throws(Illegal) {
        guard let from = act.from,
            let shared = purchases(of: from).last(where: { $0.productID == act.product }),
            shared.store == "APP_STORE", !shared.isSandbox, !shared.isOneTime,
            !shared.isFamilyShared,
            [.active, .cancelled].contains(LineState(shared, at: Self.zero + act.time))
        else {
            throw Illegal(
                reason: "the user has no active App Store subscription that a family can share"
            )
        }
        guard state == .none, notes.everHad[act.user]?.contains(act.product ?? "") != true else {
            throw Illegal(reason: "the user had the product before")
        }
    }

    /// The stores that charge up to one day before a paid period ends (RevenueCat fact sheet,
    /// sections 1.5 and 3, row 2).
    ///
    /// The other stores charge at its end.
    private static let earlyStores: Set<String> = ["APP_STORE", "MAC_APP_STORE", "STRIPE"]

    private func checkCharge(_ act: Act) throws(Illegal) {
        let lead: Duration =
            Self.earlyStores.contains(line(of: act)?.store ?? "")
            ? .seconds(86_400) : .seconds(60)
        guard let end = line(of: act)?.expires, end - (Self.zero + act.time) <= lead
        else {
            throw Illegal(
                reason: "the store does not charge this long before the end of the period"
            )
        }
    }

    /// Checks that the current period of the purchase has begun.
    ///
    /// A period that was charged early cannot end before it begins.
    private func checkBegun(_ act: Act) throws(Illegal) {
        guard line(of: act).map({ $0.purchased <= Self.zero + act.time }) ?? true else {
            throw Illegal(reason: "its period has not begun")
        }
    }

    /// Checks a purchase: a user buys each product in one store and one environment only, and a
    /// one-time product only once.
    ///
    /// A contract can name only one store transaction for each user and product. RevenueCat's REST
    /// API also has only one entry for each product in all environments.
    private func checkPurchase(_ act: Act, _ state: LineState) throws(Illegal) {
        guard state != .lifetime, state != .consumed else {
            throw Illegal(reason: "the product was already bought")
        }
        try checkStore(act)
        // A purchase of a product to which a change is pending would be the change itself (S-14).
        guard !purchases(of: act.user).contains(where: { $0.nextProductID == act.product }) else {
            throw Illegal(reason: "a change to the product is already pending")
        }
        try checkReturn(act)
    }

    /// The store of a purchase in a contract that names no store.
    private static let usualStore = "APP_STORE"

    private func checkStore(_ act: Act) throws(Illegal) {
        guard let line = line(of: act) else { return }
        guard line.store == act.store ?? Self.usualStore, line.environment == act.place else {
            throw Illegal(reason: "the user bought the product in another store or environment")
        }
    }

    /// Checks that a user does not buy a product again after the user lost it by a refund or a
    /// transfer.
    ///
    /// A refund may still be reversed, which would give the user the product twice. A transferred
    /// purchase continues under another user.
    private func checkReturn(_ act: Act) throws(Illegal) {
        guard line(of: act) != nil || notes.everHad[act.user]?.contains(act.product ?? "") != true
        else { throw Illegal(reason: "the user had the product before") }
    }

    private func checkTransfer(_ act: Act) throws(Illegal) {
        guard let from = act.from else {
            throw Illegal(reason: "the transfer names no user who loses the purchases")
        }
        let isMovable = purchases(of: from).allSatisfy {
            // No TRANSFER event reports promotional grants (RevenueCat fact sheet 2.1).
            !$0.isSandbox && $0.store != "PROMOTIONAL" && !$0.isFamilyShared && !isShared($0)
        }
        guard !accounts.isJoined(act.user), !accounts.isJoined(from) else {
            throw Illegal(reason: "after a login it is undetermined which user owns the purchases")
        }
        // A backend may store purchases by product (X-10 allows this). It could not distinguish two
        // purchases of the same product.
        guard isMovable, !haveTwoOfOne(from, act.user) else {
            throw Illegal(
                reason:
                    "both users have had the same product, or one of the purchases cannot be transferred"
            )
        }
    }

    /// Returns whether two users together bought the same product twice, or will have done so after
    /// a pending product change.
    ///
    /// Only a transaction ID could show whether a renewal carries out the product change or
    /// continues the other user's purchase (S-14).
    func haveTwoOfOne(_ one: String, _ other: String) -> Bool {
        func changes(_ person: String, toOneOf had: String) -> Bool {
            purchases(of: person).compactMap(\.nextProductID)
                .contains { notes.everHad[had]?.contains($0) ?? false }
        }
        return notes.haveTwoOfOne(one, other) || changes(one, toOneOf: other)
            || changes(other, toOneOf: one)
    }
}
