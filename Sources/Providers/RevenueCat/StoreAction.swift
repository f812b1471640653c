package import Conformance

/// Something a customer, a store or a developer does, by name, as the control API and the command
/// line say it.
package struct StoreAction: Hashable, Codable, Sendable {
    package enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
        case purchase, renew, cancel, uncancel, pause, resume, extend, refund, expire, transfer
        case grant, revoke, restore, test, invoice, paywall
        case billingIssue = "billing-issue"
        case recover
        case changeProduct = "change-product"
        case reverseRefund = "reverse-refund"
        case familyShare = "family-share"
        case stopFamilyShare = "stop-family-share"
        case temporaryGrant = "temporary-grant"
        case redeem
        case logIn = "log-in"
        case setAttributes = "set-attributes"
        case enroll
        case priceConsent = "price-consent"
        case currency

        /// One line for a person who asks what it does.
        package var summary: String {
            switch self {
            case .purchase: "buys a product: subscription, trial, intro, lifetime or consumable"
            case .renew: "charges the next period now"
            case .cancel: "turns renewal off; reason UNSUBSCRIBE unless given"
            case .uncancel: "turns renewal on again"
            case .pause: "Play: pauses at the end of the period"
            case .resume: "Play: ends the pause"
            case .extend: "moves the end of the period"
            case .refund: "takes the latest period's money back"
            case .expire: "ends the subscription now"
            case .transfer: "moves all purchases of `from` to `user`"
            case .grant: "a promotional entitlement"
            case .revoke: "ends promotional entitlements"
            case .restore: "`user` shows the receipt of `from`"
            case .test: "the dashboard's test event"
            case .invoice: "web billing: an invoice that is not paid yet"
            case .paywall: "a paywall event, `type` names it"
            case .billingIssue: "the renewal's charge fails; `grace` gives a grace period"
            case .recover: "the failed charge succeeds"
            case .changeProduct: "another product, now or `when: period-end`"
            case .reverseRefund: "the refund is taken back"
            case .familyShare: "`user` gets the purchase of `from` through family sharing"
            case .stopFamilyShare: "family sharing is withdrawn from `user`"
            case .temporaryGrant: "store outage: access for a day"
            case .redeem: "`user` redeems the web purchase of `from`"
            case .logIn: "`from` logs in as `user`, as the SDK does"
            case .setAttributes: "customer attributes, by name"
            case .enroll: "an experiment, `variant` names the arm"
            case .priceConsent: "a price rise needs consent, or `approved: true`"
            case .currency: "virtual currency, `amount` of it"
            }
        }
    }

    /// Why an action cannot be carried out, in words for the person who asked for it.
    package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String

        package init(_ description: String) {
            self.description = description
        }
    }

    package var kind: Kind
    package var user: String
    package var from: String?
    package var product = "premium_monthly"
    package var newProduct: String?
    package var store = "APP_STORE"
    package var environment = "PRODUCTION"
    package var period = "NORMAL"
    package var reason: String?
    package var offering: String?
    package var offerCode: String?
    package var entitlement: String?
    /// A promotional duration's name, for example `weekly`.
    package var duration: String?
    package var grace: Duration?
    /// By how much, for `extend` and `pause`.
    package var by: Duration?
    package var isAtPeriodEnd = false
    package var isApproved = false
    package var amount: Int64 = 100
    package var variant = "b"
    package var type: String?
    /// The store's id of the transaction; none: one is made.
    package var transactionID: String?
    /// What is paid, in `currency`; none: what the catalogue says.
    package var price: Double?
    package var currency: String?
    package var attributes = JSONObject()

    package init(_ kind: Kind, user: String) {
        self.kind = kind
        self.user = user
    }

    static let environments = ["PRODUCTION", "SANDBOX"]
    static let periods = ["NORMAL", "TRIAL", "INTRO", "PREPAID"]
    /// When a product changes.
    static let moments = ["now", "period-end"]
    private static let fields = Set(members.map(\.name) + ["namespace", "settle"])

    /// Reads what the control API takes.
    ///
    /// - Throws: `Refusal` that names the field and says what it takes.
    package init(_ kind: Kind, _ body: JSONObject) throws(Refusal) {
        self.init(kind, user: body["user"]?.string ?? "assay-user")
        for key in body.keys where !Self.fields.contains(key) {
            throw Refusal(
                "'\(key)' is no field of a store action; there are "
                    + Self.fields.sorted().joined(separator: ", ")
            )
        }
        let fields = Fields(body)
        user = try fields.text("user") ?? user
        from = try fields.text("from")
        product = try fields.text("product") ?? product
        newProduct = try fields.text("newProduct")
        store = try fields.choice("store", EventSpec.stores, "APP_STORE")
        environment = try fields.choice("environment", Self.environments, "PRODUCTION")
        period = try fields.choice("period", Self.periods, "NORMAL")
        reason = try fields.text("reason")
        offering = try fields.text("offering")
        offerCode = try fields.text("offerCode")
        entitlement = try fields.text("entitlement")
        duration = try fields.text("duration")
        grace = try fields.span("grace")
        by = try fields.span("by")
        if let when = try fields.text("when") {
            guard Self.moments.contains(when) else {
                throw Refusal("'when' is '\(when)', which is neither now nor period-end")
            }
            isAtPeriodEnd = when == "period-end"
        }
        currency = try fields.text("currency")
        if case .number(let number)? = body["price"] { price = number.double }
        isApproved = body["approved"]?.bool ?? false
        amount = body["amount"]?.int64 ?? amount
        variant = try fields.text("variant") ?? variant
        type = try fields.text("type")
        attributes = body["attributes"]?.object ?? JSONObject()
    }

    /// Members of an action's body, each read as what it must be.
    private struct Fields {
        let body: JSONObject

        init(_ body: JSONObject) { self.body = body }

        func text(_ name: String) throws(Refusal) -> String? {
            guard let value = body[name], !value.isNull else { return nil }
            guard let text = value.string, !text.isEmpty else {
                throw Refusal("'\(name)' takes a text, not \(value.kind)")
            }
            return text
        }

        func span(_ name: String) throws(Refusal) -> Duration? {
            guard let text = try text(name) else { return nil }
            guard let span = Duration(contractText: text) else {
                throw Refusal("'\(name)' is '\(text)', which is no duration such as 3d or 16h")
            }
            return span
        }

        func choice(
            _ name: String,
            _ values: [String],
            _ normal: String
        ) throws(Refusal) -> String {
            let text = try text(name)?.uppercased() ?? normal
            guard values.contains(text) else {
                throw Refusal(
                    "'\(name)' is '\(text)', which is none of "
                        + values.joined(separator: ", ")
                )
            }
            return text
        }
    }
}
