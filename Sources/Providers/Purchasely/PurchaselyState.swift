package import Conformance

/// The switches of the fake Purchasely.
package struct PurchaselySettings: Hashable, Codable, Sendable {
    package enum TransferOrder: String, Hashable, Codable, Sendable {
        case deactivateFirst = "deactivate-first"
        case activateFirst = "activate-first"
    }

    /// No order is promised (fact sheet, section 7).
    package var transferOrder = TransferOrder.deactivateFirst
    /// Whether 404 counts as handled: the documentation contradicts itself (section 3).
    package var takes404 = false
    /// The old header beside the new one.
    package var sendsDeprecatedSignature = false
    /// Only these events are sent, as the console toggles them; empty: all.
    package var events: [String] = []
    /// The console's currency, which names some of the members.
    package var currency = "EUR"
    package var bundleID = "com.example.app"

    package init() {}
}

/// Where Purchasely sends its events.
package struct PurchaselyWebhook: Hashable, Sendable {
    package var url: String
    package var secret: Secret?

    package init(url: String, secret: Secret?) {
        self.url = url
        self.secret = secret.flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension PurchaselyWebhook: Codable {
    /// The secret is configuration and never saved.
    private enum CodingKeys: String, CodingKey { case url }
}

/// The fake Purchasely: subscriptions of anonymous and connected users, and the events about them.
///
/// Facts: Purchasely fact sheet, sections 4 to 7.
package struct PurchaselyState: Hashable, Codable, Sendable {
    /// Something a person or a store does.
    package enum Action: String, Hashable, Sendable, CaseIterable {
        case purchase, renew, expire, refund, pause, unpause
        case disableRenewal = "disable-renewal"
        case enableRenewal = "enable-renewal"
        case startGrace = "start-grace"
        case enterBillingRetry = "enter-billing-retry"
        case recover
        case changePlan = "change-plan"
        case logIn = "log-in"
        case transfer
    }

    package struct Subscription: Hashable, Codable, Sendable {
        package let id: String
        package var userID: String?
        package var anonymousID: String?
        package var plan: String
        package var product: String
        package var storeProduct: String
        package var store: String
        package var purchaseType: String
        package var environment: String
        package var offerType: String
        package var previousOfferType: String?
        package var transactionID: String
        package var originalTransactionID: String
        package var purchased: Instant
        package var originallyPurchased: Instant
        package var nextRenewal: Instant?
        package var effectiveEnd: Instant?
        package var graceEnd: Instant?
        package var resume: Instant?
        package var status: String?
        package var price: Double
        package var revenue: Double
        package var renewalCount: Int64 = 0
        package var isActive = true

        package var isOneTime: Bool { !purchaseType.hasSuffix("SUBSCRIPTION") }

        /// Events of one holder go one after the other (section 3).
        package var holder: String { userID ?? anonymousID ?? "" }
    }

    /// An event that waits to be queued.
    package struct Event: Hashable, Codable, Sendable {
        package let id: String
        package let name: String
        /// Who has it; of a transfer both, so that its events keep their order.
        package let holders: [String]
        package let subscriptionID: String
        package let body: JSONObject

        package var holder: String { holders.first ?? "" }
    }

    package var settings = PurchaselySettings()
    package var webhook: PurchaselyWebhook?
    package private(set) var subscriptions: [String: Subscription] = [:]
    private var ids: IDSource
    private var outgoing: [Event] = []

    package init(seed: UInt64 = 0) {
        ids = IDSource(seed: seed, text: "purchasely")
    }

    /// The events since the last call, in order.
    package mutating func takeEvents() -> [Event] {
        defer { outgoing = [] }
        return outgoing
    }

    /// The events that `takeEvents` will hand out.
    package func peekEvents() -> [Event] { outgoing }

    /// The request of one attempt: signed anew, the body as it was.
    package func request(_ body: [UInt8], path: String, at now: Instant) -> HTTPMessage.Request {
        var fields = [
            HTTPMessage.Field("Accept", "application/json"),
            HTTPMessage.Field("Content-Type", "application/json"),
        ]
        if let secret = webhook?.secret?.exposed {
            let time = String(now.seconds)
            fields.append(HTTPMessage.Field(PurchaselySignature.timestampName, time))
            fields.append(
                HTTPMessage.Field(
                    PurchaselySignature.fieldName,
                    PurchaselySignature.code(of: body, timestamp: time, secret: secret)
                )
            )
            if settings.sendsDeprecatedSignature {
                fields.append(
                    HTTPMessage.Field(
                        PurchaselySignature.deprecatedName,
                        PurchaselySignature.deprecatedCode(timestamp: time, secret: secret)
                    )
                )
            }
        }
        return HTTPMessage.Request("POST", path, fields: fields, body: body)
    }

    // MARK: Actions

    /// What an action takes.
    package static let fields: Set<String> = [
        "user", "anonymous", "from", "plan", "product", "storeProduct", "store", "type", "offer",
        "environment", "way", "settle", "namespace",
    ]

    /// Carries out an action.
    ///
    /// - Throws: A refusal that says what is missing; nothing has changed then.
    package mutating func carryOut(
        _ action: Action,
        _ body: JSONObject,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        func text(_ name: String) -> String? {
            body[name]?.string.flatMap { $0.isEmpty ? nil : $0 }
        }
        if let unknown = body.keys.first(where: { !Self.fields.contains($0) }) {
            throw StoreAction.Refusal(
                "'\(unknown)' is no field of an action; there are "
                    + Self.fields.sorted().joined(separator: ", ")
            )
        }
        advance(to: now)
        switch action {
        case .purchase: try buy(body, at: now)
        case .logIn, .transfer:
            guard let from = text("from") else {
                throw StoreAction.Refusal("'from' is missing: the id that loses")
            }
            guard let user = text("user") else {
                throw StoreAction.Refusal("'user' is missing: the id that wins")
            }
            transfer(from: from, to: user, everything: action == .transfer, at: now)
        default:
            guard let holder = text("user") ?? text("anonymous") else {
                throw StoreAction.Refusal("'user' or 'anonymous' is missing")
            }
            let plan = text("plan")
            let found = subscriptions.values.filter {
                ($0.userID == holder || $0.anonymousID == holder)
                    && (plan == nil || action == .changePlan || $0.plan == plan)
            }.max { ($0.purchased, $0.id) < ($1.purchased, $1.id) }
            guard let found else {
                throw StoreAction.Refusal("\(holder) has no subscription; 'purchase' makes one")
            }
            try change(found, action, body, at: now)
        }
    }

    private mutating func buy(_ body: JSONObject, at now: Instant) throws(StoreAction.Refusal) {
        func text(_ name: String, _ normal: String) -> String { body[name]?.string ?? normal }
        let user = body["user"]?.string
        let anonymous = body["anonymous"]?.string
        guard user != nil || anonymous != nil else {
            throw StoreAction.Refusal("'user' or 'anonymous' is missing")
        }
        let type = text("type", "RENEWING_SUBSCRIPTION")
        let types = [
            "RENEWING_SUBSCRIPTION", "NON_RENEWING_SUBSCRIPTION", "CONSUMABLE", "NON_CONSUMABLE",
        ]
        guard types.contains(type) else {
            throw StoreAction.Refusal("'type' is none of \(types.joined(separator: ", "))")
        }
        let offer = text("offer", "NONE")
        let plan = text("plan", "PLUS_MONTHLY")
        let isOneTime = !type.hasSuffix("SUBSCRIPTION")
        let end = isOneTime ? nil : now + Self.period(plan)
        let store = text("store", "APPLE_APP_STORE")
        let transaction = transactionID(store)
        let price = offer == "FREE_TRIAL" ? 0 : 9.99
        let made = Subscription(
            id: (isOneTime ? "otp_" : "subs_")
                + ids.draw(17, from: "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"),
            userID: user,
            anonymousID: user == nil ? anonymous : nil,
            plan: plan,
            product: text("product", "PLUS"),
            storeProduct: text("storeProduct", Self.storeProduct(plan)),
            store: store,
            purchaseType: type,
            environment: text("environment", "SANDBOX"),
            offerType: offer,
            transactionID: transaction,
            originalTransactionID: transaction,
            purchased: now,
            originallyPurchased: now,
            nextRenewal: end,
            effectiveEnd: end,
            status: isOneTime ? nil : "AUTO_RENEWING",
            price: price,
            revenue: price
        )
        subscriptions[made.id] = made
        send("ACTIVATE", made, at: now)
        guard !isOneTime else { return }
        send("SUBSCRIPTION_STARTED", made, at: now)
        switch offer {
        case "FREE_TRIAL": send("TRIAL_STARTED", made, at: now)
        case "INTRO_OFFER": send("INTRO_OFFER_STARTED", made, at: now)
        case "PROMO_CODE": send("PROMO_CODE_STARTED", made, at: now)
        case "PROMOTIONAL_OFFER": send("PROMOTIONAL_OFFER_STARTED", made, at: now)
        default: charge(made, "SUBSCRIPTION_STARTED", made.price, at: now)
        }
    }

    private static func period(_ plan: String) -> Duration {
        let name = plan.lowercased()
        if name.contains("year") || name.contains("annual") { return .seconds(365 * 86_400) }
        return .seconds((name.contains("week") ? 7 : 30) * 86_400)
    }

    private static func storeProduct(_ plan: String) -> String {
        "com.example." + plan.lowercased().split(separator: "_").joined(separator: ".")
    }

    private mutating func transactionID(_ store: String) -> String {
        switch store {
        case "GOOGLE_PLAY_STORE":
            "GPA." + [4, 4, 4, 5].map { ids.digits($0) }.joined(separator: "-")
        case "STRIPE": "in_" + ids.letters(14)
        default: "2000000" + ids.digits(9)
        }
    }

    private mutating func change(
        _ old: Subscription,
        _ action: Action,
        _ body: JSONObject,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        var found = old
        guard !found.isOneTime || action == .refund else {
            throw StoreAction.Refusal("\(found.plan) is no subscription")
        }
        func save() { subscriptions[found.id] = found }
        switch action {
        case .renew:
            let wasTrial = found.offerType != "NONE"
            found.previousOfferType = found.offerType
            found.offerType = "NONE"
            found.price = 9.99
            beginPeriod(&found, at: now)
            save()
            send("ACTIVATE", found, at: now)
            send("SUBSCRIPTION_RENEWED", found, at: now)
            if wasTrial { send(Self.conversion(old.offerType), found, at: now) }
            charge(found, "SUBSCRIPTION_RENEWED", found.price, at: now)
        case .disableRenewal, .enableRenewal:
            let isOff = action == .disableRenewal
            found.status = isOff ? "AUTO_RENEWING_CANCELED" : "AUTO_RENEWING"
            save()
            send(isOff ? "RENEWAL_DISABLED" : "RENEWAL_ENABLED", found, at: now)
        case .expire:
            guard found.isActive else { throw StoreAction.Refusal("\(found.plan) has ended") }
            let wasTrial = found.offerType != "NONE"
            found.status = "DEACTIVATED"
            found.isActive = false
            save()
            send("DEACTIVATE", found, at: now)
            send("SUBSCRIPTION_TERMINATED", found, at: now)
            if wasTrial { send(Self.conversion(old.offerType, fails: true), found, at: now) }
        case .startGrace:
            found.status = "IN_GRACE_PERIOD"
            found.graceEnd = (found.nextRenewal ?? now) + .seconds(16 * 86_400)
            found.effectiveEnd = found.graceEnd
            save()
            send("ACTIVATE", found, at: now)
            send("GRACE_PERIOD_STARTED", found, at: now)
        case .enterBillingRetry:
            let wasGrace = found.graceEnd != nil
            found.status = "UNPAID"
            found.isActive = false
            found.graceEnd = nil
            found.effectiveEnd = found.nextRenewal
            save()
            send("DEACTIVATE", found, at: now)
            if wasGrace { send("GRACE_PERIOD_TERMINATED", found, at: now) }
            send("ENTERED_BILLING_RETRY", found, at: now)
        case .recover:
            let wasGrace = found.graceEnd != nil
            beginPeriod(&found, at: now)
            save()
            send("ACTIVATE", found, at: now)
            send(
                "SUBSCRIPTION_RECOVERED_FROM_" + (wasGrace ? "GRACE_PERIOD" : "BILLING_RETRY"),
                found,
                at: now
            )
            charge(found, "SUBSCRIPTION_RENEWED", found.price, at: now)
        case .refund:
            found.status = found.isOneTime ? nil : "REVOKED"
            found.isActive = false
            save()
            send("DEACTIVATE", found, at: now)
            if !found.isOneTime { send("SUBSCRIPTION_REFUNDED_REVOKED", found, at: now) }
            charge(found, "SUBSCRIPTION_REFUNDED_REVOKED", -found.price, at: now)
        case .pause:
            guard found.store == "GOOGLE_PLAY_STORE" else {
                throw StoreAction.Refusal("only Google Play pauses")
            }
            found.status = "PAUSED"
            found.isActive = false
            found.resume = now + .seconds(30 * 86_400)
            save()
            send("DEACTIVATE", found, at: now)
            send("SUBSCRIPTION_PAUSED", found, at: now)
        case .unpause:
            found.resume = nil
            beginPeriod(&found, at: now)
            save()
            send("ACTIVATE", found, at: now)
            send("SUBSCRIPTION_UNPAUSED", found, at: now)
        case .changePlan:
            guard let plan = body["plan"]?.string, plan != found.plan else {
                throw StoreAction.Refusal("'plan' is missing: the new plan")
            }
            let previous = found.plan
            let way = body["way"]?.string ?? "upgrade"
            let names = [
                "upgrade": "UPGRADED", "downgrade": "DOWNGRADED", "crossgrade": "CROSSGRADED",
            ]
            guard let name = names[way] else {
                throw StoreAction.Refusal("'way' is none of upgrade, downgrade, crossgrade")
            }
            send("DEACTIVATE", found, at: now)
            found.plan = plan
            found.storeProduct = Self.storeProduct(plan)
            found.previousOfferType = found.offerType
            found.purchased = now
            found.nextRenewal = now + Self.period(plan)
            found.effectiveEnd = found.nextRenewal
            save()
            send("ACTIVATE", found, at: now, with: ["previous_plan": .string(previous)])
            send("SUBSCRIPTION_" + name, found, at: now, with: ["previous_plan": .string(previous)])
        case .purchase, .logIn, .transfer: break
        }
    }

    private mutating func beginPeriod(_ found: inout Subscription, at now: Instant) {
        found.purchased = max(found.nextRenewal ?? now, now)
        found.nextRenewal = found.purchased + Self.period(found.plan)
        found.effectiveEnd = found.nextRenewal
        found.graceEnd = nil
        found.status = "AUTO_RENEWING"
        found.isActive = true
        found.transactionID =
            found.store == "GOOGLE_PLAY_STORE"
            ? found.originalTransactionID + "..\(found.renewalCount)" : transactionID(found.store)
        found.renewalCount += 1
        found.revenue += found.price
        found.previousOfferType = found.previousOfferType ?? found.offerType
    }

    private static func conversion(_ offer: String, fails: Bool = false) -> String {
        let name = offer == "FREE_TRIAL" ? "TRIAL" : offer
        return name + (fails ? "_NOT_CONVERTED" : "_CONVERTED")
    }

    // MARK: The passing of time

    /// When something next happens by itself; nil when nothing will.
    package var nextMoment: Instant? { subscriptions.values.compactMap(Self.moment).min() }

    private static func moment(_ found: Subscription) -> Instant? {
        guard !found.isOneTime else { return nil }
        if found.status == "PAUSED" { return found.resume }
        return found.isActive ? found.effectiveEnd : nil
    }

    /// Renews, ends and unpauses what is due by then, in the order of its time.
    package mutating func advance(to now: Instant) {
        while true {
            let due = subscriptions.values.compactMap { found in
                Self.moment(found).map { (time: $0, found: found) }
            }.filter { $0.time <= now }.min { ($0.time, $0.found.id) < ($1.time, $1.found.id) }
            guard let (time, found) = due else { return }
            let action: Action =
                switch found.status {
                case "PAUSED": .unpause
                case "IN_GRACE_PERIOD": .enterBillingRetry
                case "AUTO_RENEWING" where found.purchaseType == "RENEWING_SUBSCRIPTION": .renew
                default: .expire
                }
            do throws(StoreAction.Refusal) {
                try change(found, action, JSONObject(), at: time)
            } catch {
                // What cannot go on must not be tried for ever.
                subscriptions[found.id]?.isActive = false
            }
        }
    }

    // MARK: Transfer, section 7

    /// From an anonymous id only subscriptions move; a restore may take one-time purchases too.
    private mutating func transfer(
        from loser: String,
        to winner: String,
        everything: Bool,
        at now: Instant
    ) {
        let moving = subscriptions.values.filter {
            ($0.userID == loser || $0.anonymousID == loser) && (everything || !$0.isOneTime)
        }.sorted { $0.id < $1.id }
        for old in moving {
            var moved = old
            moved.userID = winner
            moved.anonymousID = nil
            moved.previousOfferType = moved.previousOfferType ?? moved.offerType
            var lost = old
            lost.previousOfferType = moved.previousOfferType
            subscriptions[moved.id] = moved
            let kind = old.isOneTime ? "ONE_TIME_PURCHASE" : "SUBSCRIPTION"
            // The published bodies have one time; no order is promised.
            if settings.transferOrder == .deactivateFirst {
                send("DEACTIVATE", lost, at: now, other: winner)
                send("ACTIVATE", moved, at: now, other: loser)
            } else {
                send("ACTIVATE", moved, at: now, other: loser)
                send("DEACTIVATE", lost, at: now, other: winner)
            }
            lost.status = lost.isOneTime ? nil : "DEACTIVATED"
            send(
                kind + "_TRANSFERRED",
                lost,
                at: now,
                with: ["transferred_to_user_id": .string(winner)],
                other: winner
            )
            let source = old.userID != nil ? "user" : "anonymous_user"
            send(
                kind + "_RECEIVED",
                moved,
                at: now,
                with: ["transferred_from_\(source)_id": .string(loser)],
                other: loser
            )
        }
    }

    // MARK: Bodies, section 5

    private mutating func charge(
        _ found: Subscription,
        _ source: String,
        _ amount: Double,
        at now: Instant
    ) {
        send(
            "TRANSACTION_PROCESSED",
            found,
            at: now,
            with: [
                "amount_in_\(settings.currency.lowercased())": .number(JSONNumber(amount)),
                "amount_in_customer_currency": .number(JSONNumber(amount)),
                "source_event_name": .string(source),
            ]
        )
    }

    private mutating func send(
        _ name: String,
        _ found: Subscription,
        at now: Instant,
        with special: JSONObject = JSONObject(),
        other: String? = nil
    ) {
        guard settings.events.isEmpty || settings.events.contains(name) else { return }
        func number(_ value: Double) -> JSONValue { .number(JSONNumber(value)) }
        let currency = settings.currency.lowercased()
        let id = ids.uuid()
        let isFirst =
            found.previousOfferType == nil
            && (name == "ACTIVATE" || name.hasSuffix("_STARTED"))
        var members: [(String, JSONValue?)] = [
            ("plan", .string(found.plan)), ("store", .string(found.store)),
            ("product", .string(found.product)),
            ("user_id", found.userID.map(JSONValue.string)),
            ("anonymous_user_id", found.anonymousID.map(JSONValue.string)),
            ("event_id", .string(id)), ("event_name", .string(name)),
            ("offer_type", .string(found.offerType)), ("api_version", 3),
            ("device_type", found.store == "STRIPE" ? nil : "PHONE"),
            ("environment", .string(found.environment)),
            ("purchase_type", .string(found.purchaseType)), ("store_country", "FR"),
            ("is_family_shared", false), ("store_product_id", .string(found.storeProduct)),
            ("store_app_bundle_id", found.store == "STRIPE" ? nil : .string(settings.bundleID)),
            ("customer_currency", .string(settings.currency)),
            ("plan_price_in_customer_currency", number(found.price)),
            ("plan_price_in_\(currency)", number(found.price)),
            ("cumulated_revenues_in_\(currency)", found.isOneTime ? nil : number(found.revenue)),
            ("subscription_status", found.status.map(JSONValue.string)),
            ("store_transaction_id", .string(found.transactionID)),
            ("store_original_transaction_id", .string(found.originalTransactionID)),
            (
                found.isOneTime ? "purchasely_one_time_purchase_id" : "purchasely_subscription_id",
                .string(found.id)
            ),
            (
                "previous_offer_type",
                isFirst ? nil : .string(found.previousOfferType ?? found.offerType)
            ),
            ("channel", found.store == "STRIPE" ? "web2app" : nil),
            ("provider", found.store == "STRIPE" ? "purchasely" : nil),
        ]
        let times: [(String, Instant?)] = [
            ("event_created_at", now), ("purchased_at", found.purchased),
            ("original_purchased_at", found.originallyPurchased),
            ("next_renewal_at", found.nextRenewal),
            ("effective_next_renewal_at", found.effectiveEnd),
            ("grace_period_expires_at", found.graceEnd), ("auto_resume_at", found.resume),
        ]
        // Every date has a text and a number.
        for (field, time) in times {
            guard let time else { continue }
            members.append((field, .string(time.preciseText)))
            members.append((field + "_ms", .integer(time.milliseconds)))
        }
        members += special.members.map { ($0.key, $0.value) }
        outgoing.append(
            Event(
                id: id,
                name: name,
                holders: [found.holder] + (other.map { [$0] } ?? []),
                subscriptionID: found.id,
                body: .present(members)
            )
        )
    }
}
