package import Values

/// An action of a customer, a store or a developer at the fake RevenueCat.
///
/// The control API and the command line request such actions.
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

        /// A one-line description of the action for users.
        package var summary: String {
            switch self {
            case .purchase: "buys a product: subscription, trial, intro, lifetime or consumable"
            case .renew: "renews the subscription for the next period now"
            case .cancel: "turns off the renewal of the subscription (default reason: UNSUBSCRIBE)"
            case .uncancel: "turns on the renewal of the subscription again"
            case .pause: "Play: pauses the subscription at the end of the period"
            case .resume: "Play: ends the pause of the subscription"
            case .extend: "extends the current period of the subscription"
            case .refund: "refunds the latest period of the purchase"
            case .expire: "ends the subscription now"
            case .transfer: "moves all purchases of `from` to `user`"
            case .grant: "grants a promotional entitlement"
            case .revoke: "ends promotional entitlements"
            case .restore: "restores purchases: `user` sends the receipt of `from`"
            case .test: "sends the dashboard's test event"
            case .invoice: "web billing: issues an invoice that is not paid yet"
            case .paywall: "sends a paywall event of the given `type`"
            case .billingIssue: "the renewal payment fails; `grace` sets a grace period"
            case .recover: "the renewal payment that failed succeeds now"
            case .changeProduct:
                "changes the product now, or at the end of the period with `when: period-end`"
            case .reverseRefund: "reverses the refund of a purchase"
            case .familyShare: "shares the purchase of `from` with `user` (family sharing)"
            case .stopFamilyShare: "ends family sharing for `user`"
            case .temporaryGrant: "store outage: grants access for a day"
            case .redeem: "`user` redeems the web purchase of `from`"
            case .logIn: "`from` logs in as `user`, as the SDK does"
            case .setAttributes: "sets customer attributes by name"
            case .enroll: "enrolls the customer in an experiment, in the arm `variant`"
            case .priceConsent:
                "a price increase needs the customer's consent; `approved: true` gives it"
            case .currency: "grants `amount` of a virtual currency"
            }
        }
    }

    /// The reason why an action cannot be carried out, worded for the user who requested it.
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
    /// The name of the duration of a promotional grant, for example `weekly`.
    package var duration: String?
    package var grace: Duration?
    /// The length of an extension, a pause or a temporary grant; nil for the default of the action.
    package var by: Duration?
    package var isAtPeriodEnd = false
    package var isApproved = false
    package var amount: Int64 = 100
    package var variant = "b"
    package var type: String?
    /// The transaction ID that the store assigns to the purchase.
    ///
    /// If nil, the store model creates a new one.
    package var transactionID: String?
    /// The price that the customer paid, in `currency`.
    ///
    /// If nil, the price of the catalog applies.
    package var price: Double?
    package var currency: String?
    package var attributes = JSONObject()

    package init(_ kind: Kind, user: String) {
        self.kind = kind
        self.user = user
    }

    static let environments = ["PRODUCTION", "SANDBOX"]
    static let periods = ["NORMAL", "TRIAL", "INTRO", "PREPAID"]
    /// The times at which a product change can take effect: now, or at the end of the period.
    static let effectTimes = ["now", "period-end"]
    private static let fields = Set(members.map(\.name) + ["namespace", "settle"])

    /// Creates an action from the body of a control API request.
    ///
    /// - Throws: A `Refusal` that names the invalid field and describes the values that it accepts.
    package init(_ kind: Kind, _ body: JSONObject) throws(Refusal) {
        self.init(kind, user: body["user"]?.string ?? "assay-user")
        for key in body.keys where !Self.fields.contains(key) {
            throw Refusal(
                "'\(key)' is not a field of a store action; the fields are "
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
        grace = try fields.durationValue("grace")
        by = try fields.durationValue("by")
        if let when = try fields.text("when") {
            guard Self.effectTimes.contains(when) else {
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

    /// A reader for the members of an action's request body.
    ///
    /// It checks that each member has the required type.
    private struct Fields {
        let body: JSONObject

        init(_ body: JSONObject) { self.body = body }

        func text(_ name: String) throws(Refusal) -> String? {
            guard let value = body[name], !value.isNull else { return nil }
            guard let text = value.string, !text.isEmpty else {
                throw Refusal("'\(name)' takes a string, not \(value.kind)")
            }
            return text
        }

        func durationValue(_ name: String) throws(Refusal) -> Duration? {
            guard let text = try text(name) else { return nil }
            guard let durationValue = Duration(contractText: text) else {
                throw Refusal("'\(name)' is '\(text)', which is not a duration such as 3d or 16h")
            }
            return durationValue
        }

        func choice(
            _ name: String,
            _ values: [String],
            _ defaultValue: String
        ) throws(Refusal) -> String {
            let text = try text(name)?.uppercased() ?? defaultValue
            guard values.contains(text) else {
                throw Refusal(
                    "'\(name)' is '\(text)', which is not one of "
                        + values.joined(separator: ", ")
                )
            }
            return text
        }
    }
}
