package struct EffectExpectation: Hashable, Codable, Sendable {
    package var kind: String
    /// Only effects that reach this user count; nil counts all of the case.
    package var user: String?
    package var countMin: Int
    package var countMax: Int?
    /// Every attempt of one effect must carry the same idempotency key.
    package var hasSteadyKey: Bool
    /// Nobody but the users of the case is addressed, in the provider's documented way.
    package var isPersonal = false
    /// What this user is told must differ from what the other one is told.
    package var unlike: String?
    /// How many more there may be than in the twin.
    package var addedMax: Int?
    /// For whom the steps add as many as for `user`.
    package var addedLike: String?
    /// How many calls the backend may make for it, accepted or not.
    package var attemptsMax: Int?
    /// After a 429, the next attempt comes no earlier than `Retry-After`.
    package var obeysRetryAfter = false
    /// Only effects that reach exactly these people count.
    package var audience: Audience?
    /// How many idempotency keys all attempts have together; each of them has one.
    package var keyCount: Int?
    /// Only effects whose content matches this pattern count.
    package var says: JSONValue?
    package var location: SourceLocation

    package init(
        kind: String,
        user: String?,
        countMin: Int,
        countMax: Int?,
        hasSteadyKey: Bool,
        location: SourceLocation
    ) {
        self.kind = kind
        self.user = user
        self.countMin = countMin
        self.countMax = countMax
        self.hasSteadyKey = hasSteadyKey
        self.location = location
    }
}

extension EffectExpectation {
    /// What a backend can do to OneSignal.
    package static let oneSignalKinds = [
        "notification", "tags", "cancel", "user", "user-deleted", "aliases", "alias-removed",
        "subscription", "subscription-transferred", "subscription-deleted", "email", "sms", "event",
        "live-activity",
    ]

    private static let provider = "onesignal."

    package static let grammar = Construct<EffectExpectation>(
        "effect",
        "an effect",
        "What the backend must do, or must not do, to OneSignal.",
        blank: { node in
            EffectExpectation(
                kind: provider,
                user: nil,
                countMin: 1,
                countMax: nil,
                hasSteadyKey: false,
                location: node.location
            )
        }
    ) {
        Field.required(
            "onesignal",
            \.kind,
            Syntax<String>.word("effect", among: oneSignalKinds).mapped(
                to: { provider + $0 },
                from: { String($0.dropFirst(provider.count)) }
            ),
            "What kind of effect."
        )
        Field.optional(
            "to",
            \.user,
            .name(.user, .refers),
            "Only effects that reach this user count.",
            fallback: "all of the case count"
        )
        contentFields
        Field<EffectExpectation>.count
        attemptFields
    }

    @FieldBuilder<EffectExpectation> private static var contentFields: [Field<EffectExpectation>] {
        Field.optional(
            "audience",
            \.audience,
            Audience.syntax,
            "Only effects that reach exactly these users, and nobody beside, count."
        )
        Field.optional(
            "unlike",
            \.unlike,
            .name(.user, .refers),
            "What the user of `to` is told must differ from what this one is told."
        )
        Field.optional(
            "added",
            \.addedMax,
            Bounds.most(0...1000),
            "How many more there may be than in the twin."
        )
        Field.optional(
            "added-like",
            \.addedLike,
            .name(.user, .refers),
            "The steps add as many for the user of `to` as for this one."
        )
    }

    @FieldBuilder<EffectExpectation> private static var attemptFields: [Field<EffectExpectation>] {
        Field.wish(
            "key",
            \.hasSteadyKey,
            "steady",
            "key",
            "Every attempt of one effect carries the same idempotency key."
        )
        Field.optional(
            "keys",
            \.keyCount,
            .count(1...1000),
            "How many idempotency keys all attempts have together: one for each event, however often "
                + "it is tried."
        )
        Field.wish(
            "address",
            \.isPersonal,
            "personal",
            "address",
            "Nobody but the users of the case is addressed, in the provider's documented way."
        )
        Field.optional(
            "attempts",
            \.attemptsMax,
            Bounds.most(0...1000),
            "How many calls the backend may make for it, accepted or not."
        )
        Field.wish(
            "pace",
            \.obeysRetryAfter,
            "retry-after",
            "pace",
            "After a 429, the next attempt comes no earlier than `Retry-After`."
        )
        Field.optional(
            "says",
            \.says,
            .json.templated(.answer),
            "Only effects whose content looks like this count."
        )
    }

    /// How many there have to be where the contract gives no count.
    fileprivate var usualCountMin: Int {
        kind != Self.provider + "tags" && unlike == nil && addedMax == nil
            && addedLike == nil ? 1 : 0
    }
}

extension Field where Owner == EffectExpectation {
    /// Read after what changes its default, whether it is there or not.
    fileprivate static var count: Field {
        let bounds = Bounds.syntax(0...1000)
        var shape = KeyShape("count", bounds.shape, "How many there must be.")
        shape.fallback =
            "one or more; any number for `tags`, and beside `unlike`, `added` or "
            + "`added-like`"
        var field = Field(
            shape,
            read: { node, effect, reader in
                guard let count = bounds.read(node, &reader) else { return }
                effect.countMin = count.least ?? 0
                effect.countMax = count.most
                effect.location = node.location
            },
            write: { effect in
                let isUsual = effect.countMax == nil && effect.countMin == effect.usualCountMin
                guard !isUsual else { return nil }
                let hasLeast = effect.countMin > 0 || effect.countMax == nil
                let least = hasLeast || effect.countMax == effect.countMin ? effect.countMin : nil
                return bounds.write(Bounds(least: least, most: effect.countMax))
            }
        )
        field.absent = { $0.countMin = $0.usualCountMin }
        return field
    }
}

extension Field where Owner == Expectation {
    static var effects: Field {
        .value(
            "effects",
            \.effects,
            .lines(EffectExpectation.grammar.block),
            default: [],
            "What the backend does to the providers.",
            fallback: "it is not looked at"
        )
    }
}
