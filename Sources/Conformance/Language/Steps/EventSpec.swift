/// What the event says; the provider's factory knows how its bodies say it.
package struct EventSpec: Hashable, Codable, Sendable {
    /// Under which of its ids an event names a customer.
    package enum KnownBy: String, Hashable, Codable, Sendable, CaseIterable {
        /// `app_user_id` is the registered id.
        case appUserID = "app_user_id"
        /// `app_user_id` is an anonymous id; the registered one stands in `aliases` alone.
        case aliases
        /// `app_user_id` is an anonymous id; the registered one is `original_app_user_id`.
        case originalAppUserID = "original_app_user_id"
        /// Every id in the body is anonymous or unknown.
        case anonymous
    }

    /// The 21 core types and the five paywall types, in the order of the RevenueCat fact sheet,
    /// section 2.1.
    ///
    /// The set is open: a contract that wants an unknown type says `FUTURE_…`.
    package static let types = [
        "TEST", "INITIAL_PURCHASE", "RENEWAL", "CANCELLATION", "UNCANCELLATION",
        "NON_RENEWING_PURCHASE", "SUBSCRIPTION_PAUSED", "EXPIRATION", "BILLING_ISSUE",
        "PRODUCT_CHANGE", "SUBSCRIPTION_EXTENDED", "REFUND_REVERSED", "TRANSFER",
        "TEMPORARY_ENTITLEMENT_GRANT", "INVOICE_ISSUANCE", "VIRTUAL_CURRENCY_TRANSACTION",
        "EXPERIMENT_ENROLLMENT", "PURCHASE_REDEEMED", "PRICE_INCREASE_CONSENT_REQUIRED",
        "PRICE_INCREASE_CONSENT_APPROVED", "SUBSCRIBER_ALIAS", "PAYWALL_IMPRESSION",
        "PAYWALL_CLOSE", "PAYWALL_CANCEL", "PAYWALL_EXIT_OFFER", "PAYWALL_COMPONENT_INTERACTED",
    ]

    package static let stores = [
        "APP_STORE", "PLAY_STORE", "AMAZON", "STRIPE", "PROMOTIONAL", "ROKU", "RC_BILLING",
        "MAC_APP_STORE", "PADDLE", "TEST_STORE",
    ]

    /// Why something ended, as section 2.7 of the RevenueCat fact sheet lists it.
    ///
    /// A renewal may say that it is the first after a trial; other types say no reason. The set is
    /// open: a contract that wants an unknown reason says `FUTURE_…`.
    package static func reasons(of type: String) -> [String] {
        let ends = [
            "UNSUBSCRIBE", "BILLING_ERROR", "DEVELOPER_INITIATED", "PRICE_INCREASE",
            "CUSTOMER_SUPPORT", "UNKNOWN",
        ]
        return switch type {
        case "CANCELLATION": ends
        case "EXPIRATION": ends + ["SUBSCRIPTION_PAUSED"]
        case "RENEWAL": ["TRIAL_CONVERSION"]
        default: []
        }
    }

    package var type: String
    package var user: String?
    package var knownBy: KnownBy = .appUserID
    /// Users on the losing and winning side of a TRANSFER.
    package var from: [String] = []
    package var to: [String] = []
    package var product: String
    package var newProduct: String?
    /// The product whose original transaction it bears: stores keep the first one through a change
    /// of product (RevenueCat fact sheet 2.3 and 3, flow 10); nil: that of its own.
    package var continues: String?
    /// Who bought it at first: after a transfer what goes on bears their transaction (RevenueCat fact
    /// sheet 2.5 and 3, flow 17); nil: the user.
    package var boughtBy: String?
    /// It came through the family of whoever bought it (RevenueCat fact sheet 3, row 23); nil: not.
    package var isFamilyShared: Bool?
    package var store = "APP_STORE"
    package var environment = "PRODUCTION"
    package var period = "NORMAL"
    package var reason: String?
    /// When the event was generated, relative to the start of the run.
    package var time: Duration = .zero
    /// Start of the period, relative to the start of the run; by default that of the period which
    /// the event is about, see `Periods`.
    package var purchased: Duration?
    /// End of the period, relative to the start of the run; by default that of the period which the
    /// event is about, or 30 days after its start.
    package var expires: Duration?
    /// Never ends: `expiration_at_ms` is null.
    package var isLifetime = false
    /// End of the grace period, relative to the start of the run.
    package var grace: Duration?
    /// The period ends a little after the run begins, in real time; see `RunPlan.timed`.
    package var endsSoon: Bool?
    /// The grace period does.
    package var graceEndsSoon: Bool?

    /// What people write for a moment a little after the run begins.
    package static let soon = "soon"

    package init(type: String, user: String?, product: String = "premium_monthly") {
        self.type = type
        self.user = user
        self.product = product
    }

    /// It tells of an end or takes money back: what it is about is over when it comes.
    package var isOver: Bool { type == "EXPIRATION" || reason == "CUSTOMER_SUPPORT" }

    package var users: [String] { (user.map { [$0] } ?? []) + from + to }
}

extension EventSpec {
    package static let grammar = Construct<EventSpec>(
        "event",
        "an event",
        "What a RevenueCat event says; the factory fills in a realistic body.",
        blank: { _ in EventSpec(type: "", user: nil) }
    ) {
        Field.required(
            "type",
            \.type,
            .openWord("event type", among: types),
            "RevenueCat's name of what happened."
        )
        Field.optional(
            "user",
            \.user,
            .name(.user, .mentions),
            "Whom it happened to; only a TRANSFER names nobody here."
        )
        Field.value(
            "known-by",
            \.knownBy,
            .choice("way to name a user"),
            default: .appUserID,
            "Under which of the user's ids the event names them."
        )
        Field.value(
            "from",
            \.from,
            .oneOrMore(.name(.user, .mentions)),
            default: [],
            "Who loses what a TRANSFER moves.",
            fallback: "nobody"
        )
        Field.value(
            "to",
            \.to,
            .oneOrMore(.name(.user, .mentions)),
            default: [],
            "Who gets what a TRANSFER moves.",
            fallback: "nobody"
        )
        productFields
        Field<EventSpec>.reason
        timeFields
    }.checking { spec, keys, reader in
        if !spec.type.isEmpty, spec.type != "TRANSFER", keys["user"] == nil {
            reader.fail(
                .missingKey("user", of: "an event of type \(spec.type)"),
                at: keys.node.location
            )
        }
    }

    @FieldBuilder<EventSpec> private static var productFields: [Field<EventSpec>] {
        Field.value(
            "product",
            \.product,
            .text("a product, by the name that the profile maps to the store's id"),
            default: "premium_monthly",
            "What was bought."
        )
        Field.optional(
            "new-product",
            \.newProduct,
            .text("a product"),
            "What a PRODUCT_CHANGE changes to.",
            fallback: "the event does not say it"
        )
        Field.optional(
            "continues",
            \.continues,
            .text("a product"),
            "The product whose `original_transaction_id` it bears: a store keeps the first one "
                + "through a change of product.",
            fallback: "`product`"
        )
        Field.optional(
            "bought-by",
            \.boughtBy,
            .name(.user, .mentions),
            "Who bought it at first: after a TRANSFER what goes on bears their "
                + "`original_transaction_id`.",
            fallback: "`user`"
        )
        Field.optional(
            "family-share",
            \.isFamilyShared,
            .flag,
            "It came to the user through the family of whoever bought it.",
            fallback: "`false`"
        )
        Field.value(
            "store",
            \.store,
            .word("store", among: stores),
            default: "APP_STORE",
            "Where it was bought."
        )
        Field.value(
            "environment",
            \.environment,
            .word("environment", among: ["PRODUCTION", "SANDBOX"]),
            default: "PRODUCTION",
            "Whether money changed hands."
        )
        Field.value(
            "period",
            \.period,
            .word("period type", among: ["NORMAL", "TRIAL", "INTRO", "PREPAID"]),
            default: "NORMAL",
            "Which kind of period the subscription is in."
        )
    }

    @FieldBuilder<EventSpec> private static var timeFields: [Field<EventSpec>] {
        Field.value(
            "time",
            \.time,
            .moment,
            default: .zero,
            "When the event was generated, relative to the start of the run."
        )
        Field.optional(
            "purchased",
            \.purchased,
            .moment,
            "When the period began, relative to the start of the run.",
            fallback: "that of the purchase or renewal before it which it is about, else its time"
        )
        Field<EventSpec>.expires
        Field<EventSpec>.grace
    }
}

extension Field where Owner == EventSpec {
    /// A moment, or never.
    fileprivate static var expires: Field {
        var shape = KeyShape(
            "expires",
            .either([.duration, .words([EventSpec.soon]), .null]),
            "When the period ends, relative to the start of the run; `null`: never; `soon`: while the "
                + "case goes on, so that `pass` can wait for it."
        )
        shape.fallback =
            "that of its period, else 30 days after its start; of what has ended or was refunded, a "
            + "minute before the event"
        return Field(
            shape,
            read: { node, spec, reader in
                if node.json.isNull {
                    spec.isLifetime = true
                } else if node.json == .string(EventSpec.soon) {
                    spec.endsSoon = true
                } else {
                    spec.expires = reader.duration(node)
                }
            },
            write: { spec in
                if spec.isLifetime { return .plain("null") }
                return spec.endsSoon == true
                    ? .plain(EventSpec.soon) : spec.expires.map { .plain($0.contractText) }
            }
        )
    }

    fileprivate static var grace: Field {
        var shape = KeyShape(
            "grace",
            .either([.duration, .words([EventSpec.soon])]),
            "When the grace period ends, relative to the start of the run; `soon`: while the case goes "
                + "on, so that `pass` can wait for it."
        )
        shape.fallback = "there is none"
        return Field(
            shape,
            read: { node, spec, reader in
                if node.json == .string(EventSpec.soon) {
                    spec.graceEndsSoon = true
                } else {
                    spec.grace = reader.duration(node)
                }
            },
            write: { spec in
                spec.graceEndsSoon == true
                    ? .plain(EventSpec.soon) : spec.grace.map { .plain($0.contractText) }
            }
        )
    }

    /// Out of the reasons that its type has; an unknown type may say any.
    fileprivate static var reason: Field {
        let words = ["CANCELLATION", "EXPIRATION", "RENEWAL"].flatMap(EventSpec.reasons)
        var shape = KeyShape(
            "reason",
            .openWords(
                words.reduce(into: []) { if !$0.contains($1) { $0.append($1) } },
                prefix: "FUTURE_"
            ),
            "Why it was cancelled or ended, or how a trial became a renewal."
        )
        shape.fallback = "UNSUBSCRIBE"
        return Field(
            shape,
            read: { node, spec, reader in
                guard let reason = reader.text(node) else { return }
                let isFuture = [reason, spec.type].contains { $0.hasFuturePrefix }
                let allowed = EventSpec.reasons(of: spec.type)
                guard !isFuture, !allowed.contains(reason), EventSpec.types.contains(spec.type)
                else {
                    spec.reason = reason
                    return
                }
                reader.fail(
                    allowed.isEmpty
                        ? .conflict(
                            "an event of type \(spec.type) says no reason",
                            remedy: "Remove 'reason': CANCELLATION and EXPIRATION have one."
                        )
                        : .unknownValue(
                            reason,
                            what: "reason of \(spec.type)",
                            allowed: allowed
                        ),
                    at: node.location
                )
            },
            write: { $0.reason.map { .text($0) } }
        )
    }
}

extension String {
    /// Whether it stands for something that the service does not know yet.
    fileprivate var hasFuturePrefix: Bool { uppercased().hasPrefix("FUTURE_") }
}
