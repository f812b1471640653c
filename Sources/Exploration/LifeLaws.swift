internal import Conformance
internal import Providers

/// What no store lets happen, although the store model would: without it a life would hold an event
/// that nobody ever gets, or one of which no source says what it means.
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

    /// What the store model leaves to whoever asks it, and the real stores do not.
    ///
    /// - Throws: Why it cannot happen.
    func check(_ act: Act) throws(Illegal) {
        let state = LineState(line(of: act), at: Self.zero + act.time)
        if Self.ofStores.contains(act.kind), line(of: act)?.store == "PROMOTIONAL" {
            throw Illegal(reason: "no store sells what a team grants")
        }
        // What another product went on with is over, and of earlier periods nothing is told (fact
        // sheet 3, row 13b).
        if act.kind != .tell, let product = act.product,
            notes.replaced.contains(Line(user: act.user, product: product))
        {
            throw Illegal(reason: "another product goes on with it")
        }
        if let line = line(of: act), !Self.ofMembers.contains(act.kind) {
            // A member of the family pays nothing, and what is changed under them no source says.
            guard !line.isFamilyShared, act.kind != .changeProduct || !isShared(line) else {
                throw Illegal(reason: "it is shared in a family")
            }
        }
        func allow(_ states: Set<LineState>) throws(Illegal) {
            guard states.contains(state) else {
                throw Illegal(reason: "\(act.kind.rawValue) while \(state.rawValue)")
            }
        }
        switch act.kind {
        case .purchase: try checkPurchase(act, state)
        case .transfer: try checkTransfer(act)
        case .temporaryGrant:
            try allow([.none, .ended])
            guard !LifeGenerator.keptProducts.contains(act.product ?? "") else {
                throw Illegal(reason: "what is kept is not granted for a day")
            }
            // It names no environment, so that nobody could tell that it is none (fact sheet 2.6).
            guard act.place != "SANDBOX" else {
                throw Illegal(reason: "what spends no money is not granted for a day")
            }
            try checkStore(act)
            try checkReturn(act)
        // Whether an extension ends a grace period the sheets do not say.
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
                throw Illegal(reason: "it was had before, perhaps elsewhere")
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
                throw Illegal(reason: "it is somebody else's device by now")
            }
        case .grant, .revoke, .recover, .reverseRefund, .tell, .register, .wait: break
        }
    }

    /// What an anonymous id was sold changes hands under that id, which no act here does.
    ///
    /// Whose it is by then a late event would have to tell. And what is one person's other id is
    /// nobody else's.
    ///
    /// - Throws: Why it cannot happen.
    func checkNames(_ act: Act) throws(Illegal) {
        let isMove = [.transfer, .share, .signUp, .logIn].contains(act.kind)
        guard !isMove || act.people.allSatisfy({ !wasAnonymous($0) }) else {
            throw Illegal(reason: "it was an anonymous id's")
        }
        guard act.people.allSatisfy({ !names.aliases.contains($0) }) else {
            throw Illegal(reason: "it is another id of somebody")
        }
        guard let other = act.also else { return }
        guard act.kind == .transfer, other != act.user, other != act.from,
            names.naming(of: other) == .nobody, !known.contains(other)
        else { throw Illegal(reason: "it is somebody else's id") }
        // Which of two ids that nobody knows is kept is left open (S-17).
        guard act.from.map(registered.contains) ?? false else {
            throw Illegal(reason: "nobody knows either of them")
        }
    }

    /// The App Store shares subscriptions, with people who never had them (fact sheet 3, row 23).
    private func checkShare(_ act: Act, _ state: LineState) throws(Illegal) {
        guard let from = act.from,
            let shared = purchases(of: from).last(where: { $0.productID == act.product }),
            shared.store == "APP_STORE", !shared.isSandbox, !shared.isOneTime,
            !shared.isFamilyShared,
            [.active, .cancelled].contains(LineState(shared, at: Self.zero + act.time))
        else { throw Illegal(reason: "nothing is there that a family shares") }
        guard state == .none, notes.everHad[act.user]?.contains(act.product ?? "") != true else {
            throw Illegal(reason: "it was had before")
        }
    }

    /// Who charges up to a day ahead (fact sheet, sections 1.5 and 3, row 2); the others when the period
    /// is over.
    private static let earlyStores: Set<String> = ["APP_STORE", "MAC_APP_STORE", "STRIPE"]

    private func checkCharge(_ act: Act) throws(Illegal) {
        let lead: Duration =
            Self.earlyStores.contains(line(of: act)?.store ?? "")
            ? .seconds(86_400) : .seconds(60)
        guard let end = line(of: act)?.expires, end - (Self.zero + act.time) <= lead
        else { throw Illegal(reason: "nobody is charged so long ahead") }
    }

    /// What was charged ahead of its time has not begun, so that nothing of it can be over.
    private func checkBegun(_ act: Act) throws(Illegal) {
        guard line(of: act).map({ $0.purchased <= Self.zero + act.time }) ?? true else {
            throw Illegal(reason: "its period has not begun")
        }
    }

    /// One product is bought by one person in one store and one environment, and once if it is kept:
    /// the store's transactions tell no more apart in a contract, and the provider's REST API has one
    /// place for each product, whatever its environment.
    private func checkPurchase(_ act: Act, _ state: LineState) throws(Illegal) {
        guard state != .lifetime, state != .consumed else {
            throw Illegal(reason: "it was bought already")
        }
        try checkStore(act)
        // A purchase of what is to come next is how a change comes about (S-14).
        guard !purchases(of: act.user).contains(where: { $0.nextProductID == act.product }) else {
            throw Illegal(reason: "it is changed to already")
        }
        try checkReturn(act)
    }

    /// Where something is bought of which nobody says where.
    private static let usualStore = "APP_STORE"

    private func checkStore(_ act: Act) throws(Illegal) {
        guard let line = line(of: act) else { return }
        guard line.store == act.store ?? Self.usualStore, line.environment == act.place else {
            throw Illegal(reason: "it is kept in another store")
        }
    }

    /// The money of a refund that may be taken back is not spent on the same again, and what was handed
    /// over goes on elsewhere.
    private func checkReturn(_ act: Act) throws(Illegal) {
        guard line(of: act) != nil || notes.everHad[act.user]?.contains(act.product ?? "") != true
        else { throw Illegal(reason: "it was had before") }
    }

    private func checkTransfer(_ act: Act) throws(Illegal) {
        guard let from = act.from else { throw Illegal(reason: "nobody loses") }
        let isMovable = purchases(of: from).allSatisfy {
            // No TRANSFER is sent of what a team grants (fact sheet 2.1).
            !$0.isSandbox && $0.store != "PROMOTIONAL" && !$0.isFamilyShared && !isShared($0)
        }
        guard !accounts.isJoined(act.user), !accounts.isJoined(from) else {
            throw Illegal(reason: "whose it is is open after a login")
        }
        // Whoever keeps purchases by product (X-10 allows it) cannot tell two of one apart.
        guard isMovable, !haveTwoOfOne(from, act.user) else {
            throw Illegal(reason: "both have the same, or it is nothing that a store sold")
        }
    }

    /// Whether two people together have had one product twice, or will have when a change takes effect:
    /// whether a renewal is that change then, or goes on with the other one, only a transaction could
    /// tell (S-14).
    func haveTwoOfOne(_ one: String, _ other: String) -> Bool {
        func changes(_ person: String, toOneOf had: String) -> Bool {
            purchases(of: person).compactMap(\.nextProductID)
                .contains { notes.everHad[had]?.contains($0) ?? false }
        }
        return notes.haveTwoOfOne(one, other) || changes(one, toOneOf: other)
            || changes(other, toOneOf: one)
    }
}
