package import Grammar
internal import Providers
package import Values

/// An effect on a provider, such as a push message, that the backend must, or must not, cause.
package struct EffectExpectation: Hashable, Codable, Sendable {
    /// The IDs by which a message may address users.
    package enum AllowedAddresses: String, Hashable, Codable, Sendable, CaseIterable {
        /// The IDs of users of the case.
        case personal
        /// The IDs of users of the case, without their anonymous IDs.
        case registered
    }

    package var kind: String
    /// The user that an effect must reach to count; nil: the effects for all users of the case
    /// count.
    package var user: String?
    package var countMin: Int
    package var countMax: Int?
    /// Whether all attempts of the backend to cause one effect must carry the same idempotency key.
    package var requiresSameIdempotencyKey: Bool
    /// The IDs that messages may address, by the method that the provider documents; nil: not
    /// checked.
    package var allowedAddresses: AllowedAddresses?
    /// Another user, for whom the messages that the steps cause must differ from those for `user`;
    /// nil: not checked.
    package var userWithOtherContent: String?
    /// The maximum number of effects beyond those of the baseline run (a simpler form of the same
    /// steps); nil: not checked.
    package var countMaxAboveBaseline: Int?
    /// Another user, for which the steps must cause as many additional effects as for `user`; nil:
    /// not checked.
    package var userWithSameAddedCount: String?
    /// Another user, for which a call to the provider gets no response while the effect must come;
    /// nil: not checked.
    package var userWithHangingCall: String?
    /// The maximum number of calls to the provider for the effect, whether accepted or not; nil:
    /// not checked.
    package var attemptsMax: Int?
    /// Whether the backend's next attempt after a 429 must wait for the time in `Retry-After`.
    package var obeysRetryAfter = false
    /// The exact recipients that an effect must have to count; nil: any recipients.
    package var audience: Audience?
    /// The required number of different idempotency keys over all attempts, each of which must have
    /// a key; nil: not checked.
    package var idempotencyKeyCount: Int?
    /// The pattern that the content of an effect must match to count; nil: any content.
    package var expectedContent: JSONValue?
    package var location: SourceLocation

    package init(
        kind: String,
        user: String?,
        countMin: Int,
        countMax: Int?,
        requiresSameIdempotencyKey: Bool,
        location: SourceLocation
    ) {
        self.kind = kind
        self.user = user
        self.countMin = countMin
        self.countMax = countMax
        self.requiresSameIdempotencyKey = requiresSameIdempotencyKey
        self.location = location
    }
}

extension EffectExpectation {
    /// Whether the expectation is about the effects that `steps` cause, so that the effects of a
    /// baseline run with only the `given` steps must be subtracted.
    package var countsOnlyEffectsOfSteps: Bool {
        userWithOtherContent != nil || countMaxAboveBaseline != nil
            || userWithSameAddedCount != nil
    }

    package static var grammar: Construct<EffectExpectation> { grammarOfTable.value }

    private static let grammarOfTable = TableDerived { makeGrammar($0.providersWithEffects) }

    private static func makeGrammar(_ providers: [ProviderEntry]) -> Construct<EffectExpectation> {
        Construct<EffectExpectation>(
            "effect",
            "an effect",
            "An effect on a provider that the backend must, or must not, cause.",
            makeEmptyOwner: { node in
                EffectExpectation(
                    kind: "",
                    user: nil,
                    countMin: 1,
                    countMax: nil,
                    requiresSameIdempotencyKey: false,
                    location: node.location
                )
            }
        ) {
            providers.map {
                Field<EffectExpectation>.kind($0, isOnlyProvider: providers.count == 1)
            }
            Field.optional(
                "to",
                \.user,
                .name(.user, .refers),
                "Counts only effects that reach this user.",
                fallback: "all users of the case"
            )
            contentFields
            attemptFields
            Field<EffectExpectation>.count
        }
        .companionKeys("independent-of", ["to"])
        .alternativeKeys(
            providers.count > 1 ? providers.map(\.party.description) : [],
            example: providers.first.map { "\($0.party): \($0.effects.first?.name ?? "")" } ?? ""
        )
    }

    @FieldBuilder<EffectExpectation> private static var contentFields: [Field<EffectExpectation>] {
        Field.optional(
            "audience",
            \.audience,
            Audience.syntax,
            "Counts only effects with exactly these recipients."
        )
        Field.optional(
            "unlike",
            \.userWithOtherContent,
            .name(.user, .refers),
            "Messages that the steps cause for this user must differ from those for the user in "
                + "`to`. If the steps cause none for this user, the case is not applicable."
        )
        Field.optional(
            "added",
            \.countMaxAboveBaseline,
            CountBounds.maximum(0...1000),
            "The maximum number of effects beyond those of the baseline run (see `like`)."
        )
        Field.optional(
            "added-like",
            \.userWithSameAddedCount,
            .name(.user, .refers),
            "The steps must cause as many additional effects for this user as for the user in "
                + "`to`. If they cause none for either, the case is not applicable."
        )
    }

    @FieldBuilder<EffectExpectation> private static var attemptFields: [Field<EffectExpectation>] {
        Field.switchWord(
            "key",
            \.requiresSameIdempotencyKey,
            "steady",
            "value of 'key'",
            "All attempts of the backend to cause one effect must carry the same idempotency key."
        )
        Field.optional(
            "keys",
            \.idempotencyKeyCount,
            .count(1...1000),
            "The required number of different idempotency keys over all attempts. A backend should "
                + "use one key per event, also for retries."
        )
        Field.optional(
            "address",
            \.allowedAddresses,
            .choice("value of 'address'"),
            "The IDs that messages may address, by the method that the provider documents. "
                + "`personal`: any ID of a user of the case; `registered`: no anonymous ID. If "
                + "there is no message, the case is not applicable."
        )
        Field.optional(
            "attempts",
            \.attemptsMax,
            CountBounds.maximum(0...1000),
            "The maximum number of calls to the provider for the effect, whether accepted or not."
        )
        Field.optional(
            "independent-of",
            \.userWithHangingCall,
            .name(.user, .refers),
            "While a call to the provider for this user gets no response, the effect for the user "
                + "in `to` must come. The contract plans the response `no-response`."
        )
        Field.switchWord(
            "pace",
            \.obeysRetryAfter,
            "retry-after",
            "value of 'pace'",
            "After a 429, the next attempt must wait for the time in `Retry-After`."
        )
        Field.optional(
            "content",
            \.expectedContent,
            .json.templated(.answer),
            "Counts only effects whose content matches this pattern."
        )
    }

    /// The minimum number of effects when the contract does not set `count`.
    fileprivate var defaultCountMin: Int {
        (ProviderTable.all.effect(kind)?.isExpectedByDefault ?? true)
            && !countsOnlyEffectsOfSteps
            && allowedAddresses == nil ? 1 : 0
    }
}

extension Field where Owner == EffectExpectation {
    /// Creates the field for the kind of an effect on one provider.
    fileprivate static func kind(_ provider: ProviderEntry, isOnlyProvider: Bool) -> Field {
        let prefix = "\(provider.party)."
        let word = Syntax<String>.word("effect", among: provider.effects.map(\.name))
        var shape = KeyShape(
            provider.party.description,
            word.shape,
            "The kind of effect on \(provider.title)."
        )
        shape.isRequired = isOnlyProvider
        return Field(
            shape,
            read: { node, effect, reader in
                if let name = word.read(node, &reader) { effect.kind = prefix + name }
            },
            write: { effect in
                guard effect.kind.hasPrefix(prefix) else { return nil }
                return word.write(String(effect.kind.dropFirst(prefix.count)))
            }
        )
    }

    /// The field for the key `count`, the allowed number of effects.
    ///
    /// Its default depends on other keys, so this field comes after them.
    fileprivate static var count: Field {
        let bounds = CountBounds.syntax(0...1000)
        var shape = KeyShape("count", bounds.shape, "The allowed number of effects.")
        shape.fallback =
            "one or more; any number for `tags` or with `unlike`, `added`, "
            + "`added-like` or `address`"
        var field = Field(
            shape,
            read: { node, effect, reader in
                guard let count = bounds.read(node, &reader) else { return }
                effect.countMin = count.minimum ?? 0
                effect.countMax = count.maximum
                effect.location = node.location
            },
            write: { effect in
                let isDefaultCount =
                    effect.countMax == nil && effect.countMin == effect.defaultCountMin
                guard !isDefaultCount else { return nil }
                let writesMinimum = effect.countMin > 0 || effect.countMax == nil
                let minimum =
                    writesMinimum || effect.countMax == effect.countMin ? effect.countMin : nil
                return bounds.write(CountBounds(minimum: minimum, maximum: effect.countMax))
            }
        )
        field.applyDefault = { $0.countMin = $0.defaultCountMin }
        return field
    }
}

extension Expectation {
    /// Adds `like: before` and `compare: []` to an expectation about the effects that the steps
    /// cause.
    ///
    /// The effects of `given` are subtracted from those of the case. Without a baseline run that
    /// contains only `given`, they would be judged as effects of the steps.
    fileprivate mutating func addBaselineForEffectsOfSteps(_ reader: inout NodeReader) {
        guard let effect = effects.first(where: \.countsOnlyEffectsOfSteps) else { return }
        switch relation {
        case .before: break
        case nil: (relation, relationLocation, compared) = (.before, effect.location, [])
        case .once, .inOrder, .faultFree, .direct, .plain:
            reader.fail(
                .conflict(
                    "'unlike', 'added' and 'added-like' compare with 'like: before' only",
                    remedy: "Remove 'like', or move the effect to a contract of its own."
                ),
                at: relationLocation ?? effect.location
            )
        }
    }
}

extension Field where Owner == Expectation {
    /// The field for the key `effects`.
    ///
    /// Effects of steps imply `like` and `compare`, so this field comes after the fields of these
    /// keys.
    static var effects: Field {
        let list = Field.value(
            "effects",
            \.effects,
            .lines(EffectExpectation.grammar.block),
            default: [],
            "Effects of the backend on the providers.",
            fallback: "not checked"
        )
        var field = Field(
            list.shape,
            read: { node, expectation, reader in
                list.read(node, &expectation, &reader)
                expectation.addBaselineForEffectsOfSteps(&reader)
            },
            write: list.write
        )
        field.applyDefault = list.applyDefault
        return field
    }
}
