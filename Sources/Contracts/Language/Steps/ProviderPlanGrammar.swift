internal import Grammar
package import Values

extension ProviderPlan {
    /// The providers for whose fakes a contract can plan responses.
    package static let providers: [Exchange.Party] = [.oneSignal, .revenueCat, .firebase]

    /// The syntax of one of the `providers`, written as its name.
    static let party = Syntax<Exchange.Party>(
        .words(providers.map(\.description)),
        read: { node, reader in
            reader.word(node, "provider", among: providers.map(\.description))
                .flatMap { Exchange.Party(named: $0) }
        },
        write: { .plain($0.description) }
    )

    /// Whether planned responses apply by default to calls that only read, for a given provider.
    ///
    /// Backends only read from RevenueCat and Firebase, so the default for these providers is true.
    private static func includesReadsByDefault(_ provider: Exchange.Party) -> Bool {
        provider != .oneSignal
    }

    static func grammar(_ provider: Exchange.Party) -> Construct<ProviderPlan> {
        let defaultIncludesReads = includesReadsByDefault(provider)
        return Construct(
            "\(provider)-plan",
            "a provider's plan",
            "Planned responses of the fake \(provider) to the backend's next calls.",
            makeEmptyOwner: { _ in
                ProviderPlan(provider: provider, responses: [], includesReads: defaultIncludesReads)
            }
        ) {
            Field.value(
                "responses",
                \.responses,
                .list(PlannedResponse.syntax),
                default: [],
                "The responses, one per call: a status, or a fault.",
                fallback: "none"
            )
            Field<ProviderPlan>.lostResponse
            Field.flag(
                "forever",
                \.repeatsLastResponse,
                "Repeats the last response for all later calls, instead of the usual response."
            )
            Field.value(
                "reads",
                \.includesReads,
                .flag,
                default: defaultIncludesReads,
                "Whether the planned responses also apply to calls that only read."
            )
        }.checking { plan, keys, reader in
            guard plan.responses.isEmpty else { return }
            reader.fail(.missingKey("responses", of: "a provider's plan"), at: keys.node.location)
        }
    }
}

extension ProviderPlan.PlannedResponse {
    static let syntax = Syntax<ProviderPlan.PlannedResponse>(
        .either([
            .count(200...599), .words(words.map(\.word)),
            .pattern("^(slow|hang) [0-9]+(ms|s|m|h|d)$", "`slow 2s` or `hang 2s`"),
            .pattern("^busy [0-9]+(s|m|h|d)$", "`busy 3s`, a 429 with that `Retry-After`"),
            .pattern("^code \\S.*$", "`code QUOTA_EXCEEDED`, for Firebase"),
        ]),
        read: { node, reader in
            if node.json.int64 != nil { return .status(reader.count(node, in: 200...599)) }
            guard let text = reader.text(node) else { return nil }
            if let answer = Self(notation: text) { return answer }
            reader.fail(
                .unknownValue(text, valueKind: "response", allowed: notations),
                at: node.location
            )
            return nil
        },
        write: { answer in
            if case .status(let status) = answer { return .number(status) }
            return .text(answer.notation)
        }
    )
}

extension Field where Owner == ProviderPlan {
    /// The field for the key `lost-response-of`: the number of the call whose response is lost,
    /// while earlier calls get the usual response.
    fileprivate static var lostResponse: Field {
        Field(
            KeyShape(
                "lost-response-of",
                .count(1...20),
                "The number of the call that takes effect but whose response is lost. `3` is "
                    + "short for `responses: [ok, ok, lost-response]`."
            ),
            read: { node, plan, reader in
                let index = reader.count(node, in: 1...20)
                while plan.responses.count < index { plan.responses.append(.asUsual) }
                if plan.responses[index - 1] != .asUsual {
                    reader.fail(
                        .conflict(
                            "call \(index) has another response under 'responses'",
                            remedy: "Write 'lost-response' there, or remove 'lost-response-of'."
                        ),
                        at: node.location
                    )
                }
                plan.responses[index - 1] = .lostResponse
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
            "Planned responses of the fake \(provider) to the backend's next calls.",
            embed: { .provider($0) },
            extract: { step in
                guard case .provider(let plan) = step, plan.provider == provider else {
                    return nil
                }
                return plan
            }
        )
    }

    /// The YAML form of the step `firebase`: planned responses, or `rotate-keys`.
    static let firebase = StepForm(
        "firebase",
        Syntax<ProviderPlan?>.either(
            Syntax<Bool>.switchWord("rotate-keys", "change at Firebase").mapped(
                to: { _ in nil },
                from: { _ in true }
            ),
            orMapping: ProviderPlan.grammar(.firebase).flow.mapped(
                to: { $0 },
                from: { $0 ?? ProviderPlan(provider: .firebase, responses: []) }
            ),
            takesMapping: { $0 != nil }
        ),
        "Planned responses of the fake Firebase to the backend's next calls, or `rotate-keys`: "
            + "Firebase signs with a new key from now on.",
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
        if provider == .revenueCat { traits.needs = [.readsSubscriberOnEvent] }
        traits.affectsConcurrentRuns = provider == .firebase
        traits.endDependsOnBackendTimers = true
        return traits
    }
}

extension StepTraits {
    /// The traits of the step `firebase: rotate-keys`, which also affects the runs of other cases.
    static var keyRotation: StepTraits {
        var traits = StepTraits(.rotateKeys)
        traits.affectsConcurrentRuns = true
        return traits
    }
}
