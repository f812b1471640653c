extension ProviderPlan {
    /// The providers whose answers can be planned.
    package static let providers: [Exchange.Party] = [.oneSignal, .revenueCat, .firebase]

    /// One of them, by its name.
    static let party = Syntax<Exchange.Party>(
        .words(providers.map(\.description)),
        read: { node, reader in
            reader.word(node, "provider", among: providers.map(\.description))
                .flatMap { Exchange.Party(named: $0) }
        },
        write: { .plain($0.description) }
    )

    /// Backends only read from the others, so every call counts there.
    private static func readsByDefault(_ provider: Exchange.Party) -> Bool {
        provider != .oneSignal
    }

    static func grammar(_ provider: Exchange.Party) -> Construct<ProviderPlan> {
        let reads = readsByDefault(provider)
        return Construct(
            "\(provider)-plan",
            "a provider's plan",
            "How the fake \(provider) answers the backend's next calls; afterwards as usual.",
            blank: { _ in ProviderPlan(provider: provider, answers: [], includesReads: reads) }
        ) {
            Field.value(
                "answers",
                \.answers,
                .list(Answer.syntax),
                default: [],
                "The answers, one a call: a status, or what happens to the call.",
                fallback: "none"
            )
            Field<ProviderPlan>.lostAnswer
            Field.flag(
                "forever",
                \.isPermanent,
                "The last answer stays in force instead of the usual one."
            )
            Field.value(
                "reads",
                \.includesReads,
                .flag,
                default: reads,
                "Calls that only read count too."
            )
        }.checking { plan, keys, reader in
            guard plan.answers.isEmpty else { return }
            reader.fail(.missingKey("answers", of: "a provider's plan"), at: keys.node.location)
        }
    }
}

extension ProviderPlan.Answer {
    static let syntax = Syntax<ProviderPlan.Answer>(
        .either([
            .count(200...599), .words(words.map(\.word)),
            .pattern("^(slow|hang) [0-9]+(ms|s|m|h|d)$", "`slow 2s` or `hang 2s`"),
            .pattern("^busy [0-9]+(s|m|h|d)$", "`busy 3s`, a 429 with that `Retry-After`"),
            .pattern("^code \\S.*$", "`code QUOTA_EXCEEDED`, for Firebase"),
        ]),
        read: { node, reader in
            if node.json.int64 != nil { return .status(reader.count(node, in: 200...599)) }
            guard let text = reader.text(node) else { return nil }
            if let answer = Self(spelling: text) { return answer }
            reader.fail(
                .unknownValue(text, what: "answer", allowed: spellings),
                at: node.location
            )
            return nil
        },
        write: { answer in
            if case .status(let status) = answer { return .number(status) }
            return .text(answer.spelling)
        }
    )
}

extension Field where Owner == ProviderPlan {
    /// Short for a list of answers of which one is lost.
    fileprivate static var lostAnswer: Field {
        Field(
            KeyShape(
                "lose-answer-of",
                .count(1...20),
                "The effect of this call takes place, and its answer is lost; short for `ok` so "
                    + "many times but one, and `lose-answer`."
            ),
            read: { node, plan, reader in
                let index = reader.count(node, in: 1...20)
                while plan.answers.count < index { plan.answers.append(.asUsual) }
                if plan.answers[index - 1] != .asUsual {
                    reader.fail(
                        .conflict(
                            "call \(index) has another answer under 'answers'",
                            remedy: "Write 'lose-answer' there, or remove 'lose-answer-of'."
                        ),
                        at: node.location
                    )
                }
                plan.answers[index - 1] = .loseAnswer
            },
            write: { _ in nil }
        )
    }
}

extension StepForm {
    static func provider(_ provider: Exchange.Party) -> StepForm {
        StepForm(
            provider.description,
            ProviderPlan.grammar(provider).flow,
            "How the fake \(provider) answers the backend's next calls.",
            embed: { .provider($0) },
            extract: { step in
                guard case .provider(let plan) = step, plan.provider == provider else {
                    return nil
                }
                return plan
            }
        )
    }

    /// A plan, or a new key.
    static let firebase = StepForm(
        "firebase",
        Syntax<ProviderPlan?>.either(
            Syntax<Bool>.wish("rotate-keys", "change at Firebase").mapped(
                to: { _ in nil },
                from: { _ in true }
            ),
            orMapping: ProviderPlan.grammar(.firebase).flow.mapped(
                to: { $0 },
                from: { $0 ?? ProviderPlan(provider: .firebase, answers: []) }
            ),
            takesMapping: { $0 != nil }
        ),
        "How the fake Firebase answers the backend's next calls, or `rotate-keys`: it signs with a "
            + "new key from now on.",
        embed: { plan in plan.map { .provider($0) } ?? .rotateKeys },
        extract: { step in
            if case .rotateKeys = step { return .some(nil) }
            guard case .provider(let plan) = step, plan.provider == .firebase else { return nil }
            return .some(plan)
        }
    )
}

extension ProviderPlan {
    var traits: StepTraits {
        var traits = StepTraits(.provider)
        if provider == .revenueCat { traits.needs = [.subscriberReads] }
        traits.isShared = provider == .firebase
        traits.isDisturbance = true
        return traits
    }
}

extension StepTraits {
    /// Firebase signs with a new key from now on.
    static var rotation: StepTraits {
        var traits = StepTraits(.rotateKeys)
        traits.isShared = true
        return traits
    }
}
