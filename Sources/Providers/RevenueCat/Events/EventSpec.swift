package import Grammar
internal import Values

/// A short description of a RevenueCat event, from which the provider's event factory generates a
/// realistic request body.
package struct EventSpec: SubscriptionPeriodEvent {
    /// The ID by which an event names its customer.
    package enum UserIDLocation: String, Hashable, Codable, Sendable, CaseIterable {
        /// The field `app_user_id` contains the user's registered ID.
        case appUserID = "app_user_id"
        /// The field `app_user_id` contains an anonymous ID; the user's registered ID is only in
        /// `aliases`.
        case aliases
        /// The field `app_user_id` contains an anonymous ID; the user's registered ID is in
        /// `original_app_user_id`.
        case originalAppUserID = "original_app_user_id"
        /// Every ID in the body is anonymous or unknown.
        case anonymous
    }

    package static let stores = [
        defaultStore, "PLAY_STORE", "AMAZON", "STRIPE", "PROMOTIONAL", "ROKU", "RC_BILLING",
        "MAC_APP_STORE", "PADDLE", "TEST_STORE",
    ]

    /// The names of all documented event types.
    package static let types = RevenueCatEventType.Documented.allCases.map(\.rawValue)

    /// The type of the event.
    ///
    /// A contract may also use an unknown type that starts with `FUTURE_`.
    package var type: RevenueCatEventType
    package var user: String?
    package var userIDLocation: UserIDLocation = .appUserID
    /// The names of the users who lose their purchases by an event of type TRANSFER; `to` names the
    /// users who receive them.
    package var from: [String] = []
    package var to: [String] = []
    /// The product that the contract names; nil when the contract leaves the product open, so that a
    /// run may draw it.
    package var namedProduct: String?
    /// The entitlements in the event.
    ///
    /// Nil: those of the product in the standard catalog, or the profile's entitlement for any other
    /// product.
    package var entitlements: EntitlementSelection?
    package var newProduct: String?
    /// The product whose original transaction ID the event contains; nil: the product of the event.
    ///
    /// Stores keep the first transaction ID after a product change (RevenueCat fact sheet, section
    /// 2.3 and flow 10 of section 3).
    package var continuedProduct: String?
    /// The user whose original transaction ID the event contains; nil: the user of the event.
    ///
    /// Events after a TRANSFER still contain the first buyer's transaction ID (RevenueCat fact
    /// sheet, section 2.5 and flow 17 of section 3).
    package var firstBuyer: String?
    /// Whether a family member shares the purchase with the user (RevenueCat fact sheet, row 23 of
    /// section 3); nil means false.
    package var isFamilyShared: Bool?
    /// The store that the contract names; nil when the contract leaves the store open, so that a run
    /// may draw it.
    package var namedStore: String?
    package var environment = "PRODUCTION"
    package var period = "NORMAL"
    package var reason: String?
    /// The time at which the event was generated, relative to the start of the run.
    package var time: Duration = .zero
    /// The start of the subscription period, relative to the start of the run.
    ///
    /// Nil: the start of the period to which the event belongs, as calculated by `SubscriptionPeriods`.
    package var purchased: Duration?
    /// The end of the subscription period, relative to the start of the run.
    ///
    /// Nil: the end of the period to which the event belongs, or 30 days after the period's start.
    package var expires: Duration?
    /// Whether the purchase never ends, so that the event's field `expiration_at_ms` is null.
    package var isLifetime = false
    /// The end of the grace period, relative to the start of the run; nil: there is no grace
    /// period.
    package var grace: Duration?
    /// Whether the subscription period ends shortly after the start of the run, in real time
    /// (`expires: soon`); see `RunPlan.timed`.
    package var periodEndsSoon: Bool?
    /// Whether the grace period ends shortly after the start of the run, in real time (`grace:
    /// soon`).
    package var graceEndsSoon: Bool?

    /// The word in contracts for a time shortly after the start of the run.
    package static let soon = "soon"

    package init(
        type: RevenueCatEventType,
        user: String?,
        product: String? = nil
    ) {
        self.type = type
        self.user = user
        namedProduct = product
    }

    /// The product of an event that names none.
    package static let defaultProduct = "premium_monthly"
    /// The store of an event that names none.
    package static let defaultStore = "APP_STORE"

    package var product: String {
        get { namedProduct ?? Self.defaultProduct }
        set { namedProduct = newValue }
    }

    package var store: String {
        get { namedStore ?? Self.defaultStore }
        set { namedStore = newValue }
    }

    private enum CodingKeys: String, CodingKey {
        case type, user, userIDLocation, from, to
        case namedProduct = "product"
        case entitlements, newProduct, continuedProduct, firstBuyer, isFamilyShared
        case namedStore = "store"
        case environment, period, reason, time, purchased, expires, isLifetime, grace
        case periodEndsSoon, graceEndsSoon
    }

    /// Whether the subscription period is already over when the event arrives, because the event
    /// reports an expiration or a refund.
    package var endsSubscription: Bool {
        type.facts?.effect == .endsPeriod || reason == "CUSTOMER_SUPPORT"
    }

    package var users: [String] { (user.map { [$0] } ?? []) + from + to }
}

extension EventSpec {
    package static let grammar = Construct<EventSpec>(
        "event",
        "an event",
        "A RevenueCat event. Assay generates the rest of a realistic body.",
        makeEmptyOwner: { _ in EventSpec(type: .unknown(""), user: nil) }
    ) {
        Field.required(
            "type",
            \.type,
            typeSyntax,
            "The RevenueCat event type."
        )
        Field.optional(
            "user",
            \.user,
            .name(.user, .mentions),
            "The user of the event. Only a TRANSFER has none."
        )
        Field.value(
            "known-by",
            \.userIDLocation,
            .choice("way to name a user"),
            default: .appUserID,
            "The ID by which the event names its user."
        )
        Field.value(
            "from",
            \.from,
            .oneOrMore(.name(.user, .mentions)),
            default: [],
            "The users who lose the purchases of a TRANSFER.",
            fallback: "none"
        )
        Field.value(
            "to",
            \.to,
            .oneOrMore(.name(.user, .mentions)),
            default: [],
            "The users who receive the purchases of a TRANSFER.",
            fallback: "none"
        )
        productFields
        Field<EventSpec>.reason
        timeFields
    }.checking { spec, keys, reader in
        if spec.type != .unknown(""), spec.type.documented != .transfer, keys["user"] == nil {
            reader.fail(
                .missingKey("user", of: "an event of type \(spec.type)"),
                at: keys.node.location
            )
        }
    }

    private static let typeSyntax = Syntax<String>.openWord("event type", among: types).mapped(
        to: { RevenueCatEventType(rawValue: $0) },
        from: { (type: RevenueCatEventType) in type.rawValue }
    )

    @FieldBuilder<EventSpec> private static var productFields: [Field<EventSpec>] {
        Field.optional(
            "product",
            \.namedProduct,
            .text("a product name, which the profile maps to the store's ID"),
            "The product that was bought.",
            fallback: "a product that unlocks the profile's entitlement, drawn by the seed"
        )
        Field.optional(
            "entitlements",
            \.entitlements,
            .choice("selection of entitlements"),
            "The entitlements in the event: `main` is the profile's, `other` is another one of the "
                + "same project.",
            fallback: "those of the product; `main` for a product that is not in the catalog"
        )
        Field.optional(
            "new-product",
            \.newProduct,
            .text("a product"),
            "The new product of a PRODUCT_CHANGE.",
            fallback: "not in the event"
        )
        Field.optional(
            "continues",
            \.continuedProduct,
            .text("a product"),
            "The product whose `original_transaction_id` the event contains. Stores keep the first "
                + "transaction ID after a product change.",
            fallback: "`product`"
        )
        Field.optional(
            "bought-by",
            \.firstBuyer,
            .name(.user, .mentions),
            "The first buyer of the product. After a TRANSFER, events still contain the first "
                + "buyer's `original_transaction_id`.",
            fallback: "`user`"
        )
        Field.optional(
            "family-share",
            \.isFamilyShared,
            .flag,
            "Whether a family member shares the purchase with the user.",
            fallback: "`false`"
        )
        Field.optional(
            "store",
            \.namedStore,
            .word("store", among: stores),
            "The store of the purchase.",
            fallback: "a store that sends such events, drawn by the seed"
        )
        Field.value(
            "environment",
            \.environment,
            .word("environment", among: ["PRODUCTION", "SANDBOX"]),
            default: "PRODUCTION",
            "Whether the purchase is real or a sandbox test."
        )
        Field.value(
            "period",
            \.period,
            .word("period type", among: ["NORMAL", "TRIAL", "INTRO", "PREPAID"]),
            default: "NORMAL",
            "The type of the subscription period."
        )
    }

    @FieldBuilder<EventSpec> private static var timeFields: [Field<EventSpec>] {
        Field.value(
            "time",
            \.time,
            .signedDuration,
            default: .zero,
            "The time at which the event was generated, relative to the start of the run."
        )
        Field.optional(
            "purchased",
            \.purchased,
            .signedDuration,
            "The start of the period, relative to the start of the run.",
            fallback: "the start of the period to which the event belongs, or `time` if there is "
                + "none"
        )
        Field<EventSpec>.expires
        Field<EventSpec>.grace
    }
}

extension Field where Owner == EventSpec {
    /// The field for the key `expires`, the end of the subscription period: a time, `soon`, or null
    /// for a purchase that never ends.
    fileprivate static var expires: Field {
        var shape = KeyShape(
            "expires",
            .either([.duration, .words([EventSpec.soon]), .null]),
            "The end of the period, relative to the start of the run. `null`: it never ends; "
                + "`soon`: it ends while the case runs, so that `wait-for-end` can wait for it."
        )
        shape.fallback =
            "the end of the period to which the event belongs, or 30 days after its start; for an "
            + "expiration or a refund, one minute before the event"
        return Field(
            shape,
            read: { node, spec, reader in
                if node.json.isNull {
                    spec.isLifetime = true
                } else if node.json == .string(EventSpec.soon) {
                    spec.periodEndsSoon = true
                } else {
                    spec.expires = reader.duration(node)
                }
            },
            write: { spec in
                if spec.isLifetime { return .plain("null") }
                return spec.periodEndsSoon == true
                    ? .plain(EventSpec.soon) : spec.expires.map { .plain($0.contractText) }
            }
        )
    }

    fileprivate static var grace: Field {
        var shape = KeyShape(
            "grace",
            .either([.duration, .words([EventSpec.soon])]),
            "The end of the grace period, relative to the start of the run. `soon`: it ends while "
                + "the case runs, so that `wait-for-end` can wait for it."
        )
        shape.fallback = "no grace period"
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

    /// The field for the key `reason`: one of the reasons of the event's type.
    ///
    /// An unknown event type may have any reason.
    fileprivate static var reason: Field {
        let words = RevenueCatEventType.Documented.allCases.flatMap(\.facts.reasons)
        var shape = KeyShape(
            "reason",
            .openWords(
                words.reduce(into: []) { if !$0.contains($1) { $0.append($1) } },
                prefix: "FUTURE_"
            ),
            "The reason for a cancellation or an expiration. A renewal may only have the reason "
                + "`TRIAL_CONVERSION`."
        )
        shape.fallback = "UNSUBSCRIBE"
        return Field(
            shape,
            read: { node, spec, reader in
                guard let reason = reader.text(node) else { return }
                let isFuture = [reason, spec.type.rawValue].contains { $0.hasFuturePrefix }
                let allowed = spec.type.facts?.reasons ?? []
                guard !isFuture, !allowed.contains(reason), spec.type.documented != nil
                else {
                    spec.reason = reason
                    return
                }
                reader.fail(
                    allowed.isEmpty
                        ? .conflict(
                            "an event of type \(spec.type) has no reason",
                            remedy: "Remove 'reason': only events of the types "
                                + RevenueCatEventType.namesWithReasons.joined(separator: ", ")
                                + " have one."
                        )
                        : .unknownValue(
                            reason,
                            valueKind: "reason of \(spec.type)",
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
    /// Whether the word starts with `FUTURE_`, the prefix for words of a future version of the
    /// provider.
    fileprivate var hasFuturePrefix: Bool { uppercased().hasPrefix("FUTURE_") }
}
