package import Conformance

/// The stores behind RevenueCat: what a person or a store does, what follows from it, and what the
/// passing of time brings (fact sheet, section 3; the row of each flow is named).
extension RevenueCatState {
    typealias Refusal = StoreAction.Refusal

    /// How long each promotional duration is, in hours (section 4.1).
    package static let promotionalHours: [String: Int64] = [
        "daily": 24, "three_day": 72, "weekly": 7 * 24, "monthly": 31 * 24, "two_month": 61 * 24,
        "three_month": 92 * 24, "six_month": 183 * 24, "yearly": 365 * 24,
        "lifetime": 200 * 365 * 24,
    ]

    /// Between events that are born together, as captured (row 8b).
    static let burst: Duration = .milliseconds(11)

    /// Carries out an action; the events that it causes are taken with `takeEvents`.
    ///
    /// - Throws: A refusal that says what is missing; nothing has changed then.
    package mutating func carryOut(
        _ action: StoreAction,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        advance(to: now)
        guard !Self.blockedIDs.contains(action.user), !action.user.contains("/") else {
            throw Refusal("'\(action.user)' is an App User ID that RevenueCat refuses")
        }
        remember(at: now)
        switch action.kind {
        case .purchase: try buy(action, now)
        case .restore:
            guard let from = action.from else { throw Refusal("restore needs 'from'") }
            try restore(receiptOf: from, by: action.user, isPurchase: false, now)
        case .transfer: try transfer(action, now)
        case .grant: try grant(action, now)
        case .revoke: try revoke(action.user, action.entitlement, now)
        case .test: emitTest(at: now)
        case .invoice:
            let number = see(action.user, now)
            emitInvoice(newPurchase(action, store: "RC_BILLING", now), of: number, at: now)
        case .paywall:
            let type = action.type ?? "PAYWALL_IMPRESSION"
            emitPaywall(type, of: see(action.user, now), at: now)
        case .familyShare: try share(action, now)
        case .temporaryGrant:
            try requireStore(action.store, action.kind)
            grantTemporarily(action, now)
        case .redeem: try redeem(action, now)
        case .logIn:
            guard let from = action.from else { throw Refusal("log-in needs 'from'") }
            _ = identify(from, as: action.user, now)
        case .setAttributes:
            let number = see(action.user, now)
            for member in action.attributes.members {
                customers[number]?.attributes[member.key] = [
                    "value": member.value, "updated_at_ms": .integer(now.milliseconds),
                ]
            }
        case .enroll: emitEnrollment(action.variant, of: see(action.user, now), at: now)
        case .renew, .cancel, .uncancel, .pause, .resume, .extend, .refund, .expire,
            .billingIssue, .recover, .changeProduct, .reverseRefund, .stopFamilyShare,
            .priceConsent, .currency:
            try change(action, now)
        }
    }

    // MARK: Buying, rows 1, 5, 14 to 16, 18 and 19

    private mutating func transactionID(_ store: String) -> String {
        switch store {
        case "PLAY_STORE":
            "GPA." + [4, 4, 4, 5].map { ids.digits($0) }.joined(separator: "-")
        case "STRIPE": "si_" + ids.letters(14)
        case "PROMOTIONAL": ids.hex(32)
        default: "2000000" + ids.digits(9)
        }
    }

    private mutating func newPurchase(
        _ action: StoreAction,
        store: String? = nil,
        _ now: Instant
    ) -> Purchase {
        let store = store ?? action.store
        let parts = action.product.split(separator: ":", maxSplits: 1).map(String.init)
        let id = parts.first ?? action.product
        let product = catalog.product(id)
        let isTrial = action.period == "TRIAL"
        let transaction = action.transactionID ?? transactionID(store)
        let days = isTrial ? product.trialDays : product.days
        let rate = product.exchangeRate
        var purchase = Purchase(
            productID: id,
            planID: parts.count == 2
                ? parts[1]
                : store == "PLAY_STORE" && product.days != nil
                    ? product.basePlan ?? "base-plan" : nil,
            store: store,
            environment: action.environment,
            period: action.period,
            purchased: now,
            originallyPurchased: now,
            expires: days.map { now + .seconds($0 * 86_400) },
            transactionID: transaction,
            originalTransactionID: transaction,
            priceUSD: .number(
                JSONNumber(isTrial ? 0 : action.price.map { $0 / rate } ?? product.price)
            ),
            price: .number(JSONNumber(isTrial ? 0 : action.price ?? product.price * rate)),
            currency: .string(action.currency ?? product.currency),
            entitlements: product.entitlements,
            offering: action.offering,
            offerCode: action.offerCode,
            asOf: now
        )
        purchase.isOneTime = product.days == nil
        purchase.willRenew = product.days != nil && action.period != "PREPAID"
        return purchase
    }

    private mutating func buy(_ action: StoreAction, _ now: Instant) throws(StoreAction.Refusal) {
        guard action.store != "PROMOTIONAL" else {
            throw Refusal("a promotional entitlement is a grant, not a purchase")
        }
        let number = see(action.user, now)
        var purchase = newPurchase(action, now)
        guard !purchase.isOneTime else {
            customers[number]?.put(purchase)
            emit("NON_RENEWING_PURCHASE", purchase, of: number, at: now, money: .price)
            return
        }
        let old = customers[number]?.subscriptions[purchase.productID]
        if let old, !old.hasEnded, old.isActive(at: now) {
            // A second subscription to the same product would be refused by the store.
            guard old.unsubscribed != nil || old.isTemporary else {
                throw Refusal("\(action.user) already has \(purchase.productID)")
            }
        }
        if let old, !old.isTemporary {
            purchase.originallyPurchased = old.originallyPurchased
            purchase.originalTransactionID = old.originalTransactionID
            purchase.renewalNumber = old.renewalNumber + 1
            if old.store == "STRIPE" { purchase.transactionID = old.transactionID }
            let isInGrace = old.graceEnd.map { $0 > now } ?? false
            let isRenewal =
                isInGrace || !old.hasEnded
                || settings.resubscriptionEvent == .renewal || old.period == "TRIAL"
            customers[number]?.put(purchase)
            if isRenewal {
                emit(
                    "RENEWAL",
                    purchase,
                    of: number,
                    at: now,
                    money: .price,
                    with: ["is_trial_conversion": .bool(old.period == "TRIAL")]
                )
                return
            }
        }
        customers[number]?.put(purchase)
        emit("INITIAL_PURCHASE", purchase, of: number, at: now, money: .price)
    }

    // MARK: Changes of a purchase that is there

    private func find(
        _ action: StoreAction,
        _ number: Int
    ) throws(StoreAction.Refusal) -> Purchase {
        let id = action.product.split(separator: ":").first.map(String.init) ?? action.product
        let customer = customers[number]
        if let found = customer?.subscriptions[id] { return found }
        if let found = customer?.oneTime[id]?.last { return found }
        if action.kind == .reverseRefund,
            let found = hidden.values.first(where: { $0.productID == id })
        {
            return found
        }
        // Only one purchase: no need to name it.
        let all = customer?.purchases ?? []
        if all.count == 1, action.product == "premium_monthly", let only = all.first { return only }
        let names = all.map(\.productID).joined(separator: ", ")
        throw Refusal(
            "\(action.user) has no purchase of \(id)"
                + (names.isEmpty ? "; make one with the action purchase" : "; there is \(names)")
        )
    }

    private mutating func change(_ action: StoreAction, _ now: Instant) throws(StoreAction.Refusal)
    {
        guard let number = customerByID[action.user] else {
            throw Refusal("there is no customer '\(action.user)'; a purchase makes one")
        }
        customers[number]?.lastSeenID = action.user
        var purchase = try find(action, number)
        try requireStore(purchase.store, action.kind)
        switch action.kind {
        case .renew:
            try requireRunning(purchase, action)
            renew(&purchase, of: number, at: now)
        case .recover:
            guard purchase.billingIssue != nil else {
                throw Refusal("\(purchase.productID) has no billing issue")
            }
            recover(&purchase, of: number, at: now)
        case .cancel:
            try requireRunning(purchase, action)
            guard purchase.unsubscribed == nil || purchase.billingIssue != nil else {
                throw Refusal("\(purchase.productID) is cancelled already")
            }
            // That reason is a refund (section 2.7).
            if action.reason == "CUSTOMER_SUPPORT" {
                refund(&purchase, number, now)
            } else {
                cancel(&purchase, action.reason ?? "UNSUBSCRIBE", of: number, at: now)
            }
        case .uncancel:
            guard purchase.unsubscribed != nil, !purchase.hasEnded else {
                throw Refusal("\(purchase.productID) is not cancelled")
            }
            purchase.unsubscribed = nil
            purchase.cancelReason = nil
            purchase.willRenew = true
            save(purchase, number, now)
            emit("UNCANCELLATION", purchase, of: number, at: now)
        case .pause: try pause(&purchase, action, number, now)
        case .resume: try resume(&purchase, number, now)
        case .extend:
            guard let expires = purchase.expires, !purchase.hasEnded else {
                throw Refusal("\(purchase.productID) has no period to extend")
            }
            purchase.expires = expires + (action.by ?? .seconds(7 * 86_400))
            save(purchase, number, now)
            emit("SUBSCRIPTION_EXTENDED", purchase, of: number, at: now)
        case .billingIssue: try failBilling(&purchase, action, number, now)
        case .changeProduct: try changeProduct(&purchase, action, number, now)
        case .refund:
            guard purchase.refunded == nil else {
                throw Refusal("\(purchase.productID) is refunded already")
            }
            refund(&purchase, number, now)
        case .reverseRefund:
            guard purchase.refunded != nil else {
                throw Refusal("\(purchase.productID) was not refunded")
            }
            purchase.refunded = nil
            purchase.unsubscribed = nil
            purchase.hasEnded = false
            purchase.cancelReason = nil
            purchase.willRenew = !purchase.isOneTime
            // The period that was paid counts again; it may be over (row 13c).
            if !purchase.isOneTime, let days = catalog.product(purchase.productID).days {
                let end = purchase.purchased + .seconds(days * 86_400)
                purchase.expires = end
                // Over in the meantime: it stays over, and the event says so by its dates.
                if end <= now {
                    purchase.hasEnded = true
                    purchase.willRenew = false
                }
            }
            customers[number]?.put(purchase)
            save(purchase, number, now)
            emit("REFUND_REVERSED", purchase, of: number, at: now, money: .price)
        case .expire:
            try requireRunning(purchase, action)
            end(&purchase, action.reason ?? purchase.cancelReason ?? "UNSUBSCRIBE", of: number, now)
        case .stopFamilyShare:
            guard purchase.isFamilyShared, !purchase.hasEnded else {
                throw Refusal("\(purchase.productID) is not shared with \(action.user)")
            }
            end(&purchase, "UNSUBSCRIBE", of: number, now)
        case .priceConsent:
            emitPriceConsent(purchase, of: number, isApproved: action.isApproved, at: now)
        case .currency:
            emitVirtualCurrency(purchase, of: number, amount: action.amount, at: now)
        default: throw Refusal("\(action.kind.rawValue) changes no purchase")
        }
    }

    /// Stores that never send what an action would cause (section 2.1, the columns of the table).
    private static let excluded: [StoreAction.Kind: Set<String>] = [
        .uncancel: ["STRIPE", "PROMOTIONAL"],
        .billingIssue: ["PROMOTIONAL"],
        .changeProduct: ["AMAZON", "ROKU", "PROMOTIONAL"],
        .extend: ["ROKU", "RC_BILLING", "PROMOTIONAL"],
        .reverseRefund: ["PLAY_STORE", "STRIPE", "AMAZON", "ROKU", "RC_BILLING", "PROMOTIONAL"],
        .temporaryGrant: ["RC_BILLING", "PROMOTIONAL"],
        .currency: ["AMAZON", "ROKU", "PROMOTIONAL"],
    ]

    private func requireStore(
        _ store: String,
        _ kind: StoreAction.Kind
    ) throws(StoreAction.Refusal) {
        guard Self.excluded[kind]?.contains(store) == true else { return }
        throw Refusal("\(kind.rawValue) does not happen at \(store)")
    }

    private func requireRunning(
        _ purchase: Purchase,
        _ action: StoreAction
    ) throws(StoreAction.Refusal) {
        guard !purchase.isOneTime else {
            throw Refusal(
                "\(purchase.productID) is no subscription: it cannot "
                    + action.kind.rawValue
            )
        }
        guard !purchase.hasEnded else {
            throw Refusal("\(purchase.productID) has ended; buy it again with the action purchase")
        }
    }

    private mutating func save(_ purchase: Purchase, _ number: Int, _ now: Instant) {
        var purchase = purchase
        purchase.asOf = now
        customers[number]?.put(purchase)
    }

    private mutating func renewalTransaction(_ purchase: Purchase) -> String {
        switch purchase.store {
        // Stripe repeats one id, Play counts behind it (section 2.5).
        case "STRIPE": purchase.transactionID
        case "PLAY_STORE": purchase.originalTransactionID + "..\(purchase.renewalNumber - 2)"
        default: transactionID(purchase.store)
        }
    }

    /// The next period begins (rows 2, 12, 14 and 16).
    private mutating func renew(_ purchase: inout Purchase, of number: Int, at time: Instant) {
        let isConversion = purchase.period == "TRIAL"
        if let next = purchase.nextProductID {
            purchase.nextProductID = nil
            leave(purchase, number, at: time)
            purchase.productID = next
            purchase.entitlements = catalog.product(next).entitlements
        }
        let product = catalog.product(purchase.productID)
        let start = max(purchase.expires ?? time, time)
        purchase.period = "NORMAL"
        purchase.purchased = purchase.isPaused ? time : start
        purchase.expires = purchase.purchased + .seconds((product.days ?? 30) * 86_400)
        purchase.renewalNumber += 1
        purchase.transactionID = renewalTransaction(purchase)
        if !purchase.isFamilyShared {
            purchase.priceUSD = .number(JSONNumber(product.price))
            purchase.price = .number(JSONNumber(product.price * product.exchangeRate))
        }
        purchase.graceEnd = nil
        purchase.billingIssue = nil
        purchase.resume = nil
        purchase.isPaused = false
        purchase.unsubscribed = nil
        purchase.willRenew = true
        save(purchase, number, time)
        emit(
            "RENEWAL",
            purchase,
            of: number,
            at: time,
            money: .price,
            with: ["is_trial_conversion": .bool(isConversion)]
        )
    }

    private mutating func cancel(
        _ purchase: inout Purchase,
        _ reason: String,
        of number: Int,
        at time: Instant
    ) {
        purchase.unsubscribed = time
        purchase.willRenew = false
        purchase.cancelReason = reason
        // A pause that has not begun has nothing to come back from.
        if !purchase.isPaused { purchase.resume = nil }
        save(purchase, number, time)
        emit(
            "CANCELLATION",
            purchase,
            of: number,
            at: time,
            with: ["cancel_reason": .string(reason)]
        )
    }

    private mutating func end(
        _ purchase: inout Purchase,
        _ reason: String,
        of number: Int,
        _ time: Instant
    ) {
        purchase.hasEnded = true
        purchase.willRenew = false
        if let expires = purchase.expires, expires > time { purchase.expires = time }
        if purchase.unsubscribed == nil, !purchase.isPaused { purchase.unsubscribed = time }
        if let grace = purchase.graceEnd, grace > time { purchase.graceEnd = time }
        save(purchase, number, time)
        emit(
            "EXPIRATION",
            purchase,
            of: number,
            at: time,
            with: ["expiration_reason": .string(reason)]
        )
    }

    // MARK: Billing, rows 7, 8 and 8b

    private mutating func failBilling(
        _ purchase: inout Purchase,
        _ action: StoreAction,
        _ number: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        try requireRunning(purchase, action)
        let days = catalog.product(purchase.productID).days ?? 30
        purchase.billingIssue = now
        var grace: JSONValue = .null
        if purchase.store == "STRIPE" {
            // Stripe counts the failed period as begun and goes on trying.
            let start = purchase.expires ?? now
            purchase.period = "NORMAL"
            purchase.purchased = start
            purchase.expires = start + .seconds(days * 86_400)
            purchase.renewalNumber += 1
        } else if let span = action.grace {
            let end = max(purchase.expires ?? now, now) + span
            purchase.graceEnd = end
            grace = .integer(end.milliseconds)
        } else {
            purchase.expires = min(purchase.expires ?? now, now)
        }
        save(purchase, number, now)
        emit(
            "BILLING_ISSUE",
            purchase,
            of: number,
            at: now,
            with: ["grace_period_expiration_at_ms": grace]
        )
        purchase.cancelReason = "BILLING_ERROR"
        purchase.unsubscribed = now
        save(purchase, number, now)
        emit(
            "CANCELLATION",
            purchase,
            of: number,
            at: now + Self.burst,
            with: ["cancel_reason": "BILLING_ERROR"]
        )
        guard grace.isNull, purchase.store != "STRIPE" else { return }
        end(&purchase, "BILLING_ERROR", of: number, now + Self.burst + Self.burst)
    }

    private mutating func recover(_ purchase: inout Purchase, of number: Int, at now: Instant) {
        guard purchase.store == "STRIPE" else {
            purchase.hasEnded = false
            renew(&purchase, of: number, at: now)
            return
        }
        // The same period and number as the failed charge announced.
        let product = catalog.product(purchase.productID)
        purchase.billingIssue = nil
        purchase.unsubscribed = nil
        purchase.cancelReason = nil
        purchase.willRenew = true
        purchase.priceUSD = .number(JSONNumber(product.price))
        purchase.price = .number(JSONNumber(product.price * product.exchangeRate))
        save(purchase, number, now)
        emit(
            "RENEWAL",
            purchase,
            of: number,
            at: now,
            money: .price,
            with: ["is_trial_conversion": false]
        )
    }

    // MARK: Pause, row 9

    private mutating func pause(
        _ purchase: inout Purchase,
        _ action: StoreAction,
        _ number: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        try requireRunning(purchase, action)
        guard purchase.store == "PLAY_STORE" else {
            throw Refusal("only Play pauses; \(purchase.productID) is from \(purchase.store)")
        }
        let end = purchase.expires ?? now
        purchase.resume = end + (action.by ?? .seconds(30 * 86_400))
        save(purchase, number, now)
        emit(
            "SUBSCRIPTION_PAUSED",
            purchase,
            of: number,
            at: now,
            with: ["auto_resume_at_ms": .integer((purchase.resume ?? end).milliseconds)]
        )
    }

    private mutating func resume(
        _ purchase: inout Purchase,
        _ number: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        guard purchase.resume != nil else {
            throw Refusal("\(purchase.productID) is not paused")
        }
        guard purchase.isPaused else {
            // Before the pause began there is nothing to tell anybody.
            purchase.resume = nil
            save(purchase, number, now)
            return
        }
        purchase.hasEnded = false
        renew(&purchase, of: number, at: now)
    }

    // MARK: Product change, rows 10 to 12

    private mutating func changeProduct(
        _ purchase: inout Purchase,
        _ action: StoreAction,
        _ number: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        try requireRunning(purchase, action)
        guard let wanted = action.newProduct else {
            throw Refusal("change-product needs 'newProduct'")
        }
        let product = catalog.product(wanted)
        guard let days = product.days else { throw Refusal("\(wanted) is no subscription") }
        let isImmediatePlay = purchase.store == "PLAY_STORE" && !action.isAtPeriodEnd
        let plan = purchase.planID.map { ":\($0)" } ?? ""
        emit(
            "PRODUCT_CHANGE",
            purchase,
            of: number,
            at: now,
            // Missing on immediate Play changes, never null.
            with: isImmediatePlay ? JSONObject() : ["new_product_id": .string(wanted + plan)]
        )
        guard !action.isAtPeriodEnd else {
            purchase.nextProductID = wanted
            save(purchase, number, now)
            return
        }
        let wasTrial = purchase.period == "TRIAL"
        leave(purchase, number, at: now)
        purchase.productID = wanted
        purchase.entitlements = product.entitlements
        purchase.period = "NORMAL"
        // Stripe repeats the old start of the period.
        if purchase.store != "STRIPE" { purchase.purchased = now }
        purchase.expires = now + .seconds(days * 86_400)
        purchase.priceUSD = .number(JSONNumber(product.price))
        purchase.price = .number(JSONNumber(product.price * product.exchangeRate))
        purchase.unsubscribed = nil
        purchase.willRenew = true
        let isInitial = isImmediatePlay && settings.playChangeEvent == .initialPurchase
        if isInitial {
            purchase.transactionID = transactionID(purchase.store)
            purchase.originalTransactionID = purchase.transactionID
            purchase.originallyPurchased = now
            purchase.renewalNumber = 1
        } else {
            purchase.renewalNumber += 1
            purchase.transactionID = renewalTransaction(purchase)
        }
        save(purchase, number, now)
        emit(
            isInitial ? "INITIAL_PURCHASE" : "RENEWAL",
            purchase,
            of: number,
            at: now + Self.burst,
            money: .price,
            with: isInitial ? JSONObject() : ["is_trial_conversion": .bool(wasTrial)]
        )
    }

    /// The line of the product that is left stays in REST, with its end.
    private mutating func leave(_ purchase: Purchase, _ number: Int, at time: Instant) {
        var left = purchase
        left.expires = min(left.expires ?? time, time)
        left.graceEnd = nil
        left.hasEnded = true
        left.willRenew = false
        left.resume = nil
        save(left, number, time)
    }

    // MARK: Refund, rows 13 and 18

    private mutating func refund(_ purchase: inout Purchase, _ number: Int, _ now: Instant) {
        purchase.refunded = now
        purchase.unsubscribed = now
        purchase.cancelReason = "CUSTOMER_SUPPORT"
        purchase.willRenew = false
        if let expires = purchase.expires { purchase.expires = min(expires, now) }
        if purchase.isOneTime {
            // Refunded one-time purchases disappear from REST; the event still names them.
            customers[number]?.remove(purchase)
            hidden[purchase.transactionID] = purchase
        } else {
            save(purchase, number, now)
        }
        emit(
            "CANCELLATION",
            purchase,
            of: number,
            at: now,
            money: .refund,
            with: ["cancel_reason": "CUSTOMER_SUPPORT"]
        )
        guard !purchase.isOneTime, settings.expiresAfterRefund else { return }
        end(&purchase, "CUSTOMER_SUPPORT", of: number, now + Self.burst)
    }

    // MARK: Promotional grants, rows 20 to 22

    mutating func grant(_ action: StoreAction, until: Instant? = nil, _ now: Instant)
        throws(StoreAction.Refusal)
    {
        let entitlement = action.entitlement ?? catalog.entitlement
        let name = action.duration ?? "monthly"
        guard let hours = Self.promotionalHours[name] else {
            throw Refusal(
                "'duration' is '\(name)', which is none of "
                    + Self.promotionalHours.keys.sorted().joined(separator: ", ")
            )
        }
        let number = see(action.user, now)
        let transaction = transactionID("PROMOTIONAL")
        let purchase = Purchase(
            productID: "rc_promo_\(entitlement)_\(name)",
            store: "PROMOTIONAL",
            environment: "PRODUCTION",
            period: "PROMOTIONAL",
            purchased: now,
            originallyPurchased: now,
            expires: until ?? now + .seconds(hours * 3600),
            transactionID: transaction,
            originalTransactionID: transaction,
            priceUSD: 0,
            price: 0,
            currency: "USD",
            entitlements: [entitlement],
            asOf: now
        )
        customers[number]?.put(purchase)
        emit("NON_RENEWING_PURCHASE", purchase, of: number, at: now)
    }

    mutating func revoke(_ user: String, _ entitlement: String?, _ now: Instant)
        throws(StoreAction.Refusal)
    {
        guard let number = customerByID[user] else {
            throw Refusal("there is no customer '\(user)'")
        }
        let wanted = entitlement ?? catalog.entitlement
        let grants = (customers[number]?.purchases ?? []).filter {
            $0.store == "PROMOTIONAL" && $0.entitlements.contains(wanted) && !$0.hasEnded
        }
        for var purchase in grants {
            purchase.expires = now
            purchase.unsubscribed = now
            save(purchase, number, now)
            emit(
                "CANCELLATION",
                purchase,
                of: number,
                at: now,
                with: ["cancel_reason": "DEVELOPER_INITIATED"]
            )
            // The reasons differ between the two (captured).
            end(&purchase, "UNSUBSCRIBE", of: number, now + .milliseconds(100))
        }
    }

    // MARK: Sharing, outage, web, rows 23, 25 and 26

    private mutating func share(_ action: StoreAction, _ now: Instant) throws(StoreAction.Refusal) {
        guard let from = action.from, let owner = customerByID[from] else {
            throw Refusal("family-share needs 'from', a customer with a purchase")
        }
        var purchase = try find(action, owner)
        let number = see(action.user, now)
        guard number != owner else { throw Refusal("'from' and 'user' are one customer") }
        purchase.isFamilyShared = true
        purchase.transactionID = transactionID(purchase.store)
        purchase.priceUSD = 0
        purchase.price = 0
        purchase.asOf = now
        customers[number]?.put(purchase)
        emit("INITIAL_PURCHASE", purchase, of: number, at: now, money: .price)
    }

    private mutating func grantTemporarily(_ action: StoreAction, _ now: Instant) {
        let number = see(action.user, now)
        var purchase = newPurchase(action, now)
        purchase.transactionID = "tmp_" + ids.hex(16)
        purchase.originalTransactionID = purchase.transactionID
        purchase.expires = now + min(action.by ?? .seconds(86_400), .seconds(86_400))
        purchase.isTemporary = true
        purchase.isOneTime = false
        purchase.willRenew = false
        customers[number]?.put(purchase)
        emitTemporaryGrant(purchase, of: number, at: now)
    }

    private mutating func redeem(_ action: StoreAction, _ now: Instant) throws(StoreAction.Refusal)
    {
        guard let from = action.from, let source = customerByID[from] else {
            throw Refusal("redeem needs 'from', the customer who bought on the web")
        }
        let target = see(action.user, now)
        let losers = customers[source]?.ids ?? [from]
        let winners = customers[target]?.ids ?? [action.user]
        let place = customers[source]?.purchases.first?.environment ?? "PRODUCTION"
        let isAlias = customers[source]?.isAnonymous ?? false
        emitRedemption(
            from: losers,
            by: winners,
            outcome: source == target ? "redeemer_owns" : isAlias ? "alias" : "transfer",
            environment: place,
            at: now
        )
        guard source != target else { return }
        if isAlias {
            merge(source, into: target)
        } else {
            movePurchases(from: source, to: target)
            emitTransfer(
                from: losers,
                to: winners,
                store: "RC_BILLING",
                environment: place,
                at: now + Self.burst
            )
        }
    }

    // MARK: Identity, sections 5.3 and 5.4

    /// `logIn`: whether the id was new.
    mutating func identify(_ current: String, as wanted: String, _ now: Instant) -> Bool {
        let source = customer(named: [current], original: current, now)
        defer {
            if let number = customerByID[wanted] {
                customers[number]?.lastSeenID = wanted
                customers[number]?.lastSeen = now
            }
        }
        guard let target = customerByID[wanted] else {
            if Customer.isAnonymous(current), customers[source]?.isAnonymous == true {
                customerByID[wanted] = source
                customers[source]?.ids.append(wanted)
            } else {
                _ = customer(named: [wanted], original: wanted, now)
            }
            return true
        }
        let hasAnonymousAlias =
            customers[target]?.ids.contains(where: Customer.isAnonymous) ?? false
        if Customer.isAnonymous(current), customers[source]?.isAnonymous == true,
            !hasAnonymousAlias
        {
            merge(source, into: target)
        }
        return false
    }

    private mutating func transfer(_ action: StoreAction, _ now: Instant)
        throws(StoreAction.Refusal)
    {
        guard let from = action.from, let source = customerByID[from] else {
            throw Refusal("transfer needs 'from', a customer with a purchase")
        }
        let target = see(action.user, now)
        guard source != target else { throw Refusal("'from' and 'user' are one customer") }
        guard customers[source]?.purchases.isEmpty == false else {
            throw Refusal("\(from) has no purchase to transfer")
        }
        announceTransfer(source, target, now)
    }

    private mutating func announceTransfer(_ source: Int, _ target: Int, _ now: Instant) {
        let first = customers[source]?.purchases.first
        let losers = customers[source]?.ids ?? []
        let winners = customers[target]?.ids ?? []
        movePurchases(from: source, to: target)
        // Only one event, addressed for the destination; no EXPIRATION for the loser (row 17).
        emitTransfer(
            from: losers,
            to: winners,
            store: first?.store ?? "APP_STORE",
            environment: first?.environment ?? "PRODUCTION",
            at: now
        )
    }

    /// A receipt that belongs to `owner` is shown by `user`.
    mutating func restore(
        receiptOf owner: String,
        by user: String,
        isPurchase: Bool,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        guard let source = customerByID[owner] else {
            throw Refusal("there is no customer '\(owner)'")
        }
        let target = see(user, now)
        guard source != target else { return }
        let behavior = customers[target]?.restoreBehavior ?? settings.restoreBehavior
        // An anonymous owner is merged under every behaviour; nothing is sent.
        if customers[source]?.isAnonymous == true {
            merge(source, into: target)
            return
        }
        let isActive = customers[source]?.subscriptions.values.contains { $0.isActive(at: now) }
        let belongs = Refusal("7102: the receipt belongs to another subscriber")
        switch behavior {
        case .transfer: announceTransfer(source, target, now)
        case .transferIfNoActiveSubscriptions:
            guard isActive != true else { throw belongs }
            announceTransfer(source, target, now)
        case .keep: throw belongs
        case .share:
            guard !isPurchase else { throw belongs }
            merge(source, into: target)
        }
    }

    // MARK: The passing of time

    /// When something next happens by itself; nil when nothing will.
    package var nextMoment: Instant? {
        customers.values.lazy.flatMap(\.purchases).compactMap(moment).min()
    }

    private func moment(_ purchase: Purchase) -> Instant? {
        guard !purchase.isScripted, !purchase.isOneTime else { return nil }
        if purchase.isPaused { return purchase.resume }
        guard !purchase.hasEnded, let end = purchase.effectiveEnd else { return nil }
        let isRenewal =
            purchase.willRenew && purchase.resume == nil && purchase.billingIssue == nil
            && !purchase.isTemporary
        // An end is noticed after it has come (row 3), a renewal at its moment.
        return isRenewal ? end : end + .seconds(settings.expirationDelaySeconds)
    }

    /// The purchase that a store transaction belongs to, as it is now.
    package func purchase(withTransaction id: String) -> Purchase? {
        customers.values.lazy.flatMap(\.purchases).first {
            $0.originalTransactionID == id || $0.transactionID == id
        }
    }

    /// Lets everything happen that is due by then, in the order of its time.
    package mutating func advance(to now: Instant) {
        while let (time, number, purchase) = nextDue(by: now) {
            remember(at: time)
            var purchase = purchase
            if purchase.isPaused {
                purchase.hasEnded = false
                renew(&purchase, of: number, at: time)
            } else if purchase.resume != nil {
                purchase.isPaused = true
                end(&purchase, "SUBSCRIPTION_PAUSED", of: number, time)
            } else if purchase.billingIssue != nil {
                end(&purchase, "BILLING_ERROR", of: number, time)
            } else if purchase.store == "PROMOTIONAL" {
                end(&purchase, settings.promotionalEndReason, of: number, time)
            } else if purchase.willRenew, !purchase.isTemporary, isStillShared(purchase, time) {
                renew(&purchase, of: number, at: time)
            } else {
                end(&purchase, purchase.cancelReason ?? "UNSUBSCRIBE", of: number, time)
            }
        }
    }

    /// A shared purchase goes on for as long as its owner's does.
    private func isStillShared(_ purchase: Purchase, _ time: Instant) -> Bool {
        guard purchase.isFamilyShared else { return true }
        return customers.values.contains { customer in
            customer.subscriptions.values.contains {
                $0.originalTransactionID == purchase.originalTransactionID && !$0.isFamilyShared
                    && !$0.hasEnded && ($0.willRenew || $0.effectiveEnd.map { $0 > time } ?? true)
            }
        }
    }

    private func nextDue(by now: Instant) -> (Instant, Int, Purchase)? {
        var best: (time: Instant, number: Int, purchase: Purchase)?
        for (number, customer) in customers {
            for purchase in customer.subscriptions.values {
                guard let time = moment(purchase), time <= now else { continue }
                if let best,
                    (best.time, best.number, best.purchase.productID)
                        <= (time, number, purchase.productID)
                {
                    continue
                }
                best = (time, number, purchase)
            }
        }
        return best.map { ($0.time, $0.number, $0.purchase) }
    }
}
