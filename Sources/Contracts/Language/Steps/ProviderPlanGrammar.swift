internal import Grammar
package import Providers
package import Values

extension ProviderPlan {
    /// The providers for whose fakes a contract can plan responses.
    package static var providers: [Exchange.Party] {
        ProviderTable.all.sortedEntries.filter { $0.plannedCalls != nil }.map(\.party)
    }

    /// The syntax of one of the `providers`, written as its name.
    static var party: Syntax<Exchange.Party> {
        Syntax(
            .words(providers.map(\.description)),
            read: { node, reader in
                reader.word(node, "provider", among: providers.map(\.description))
                    .flatMap { ProviderTable.all.named($0)?.party }
            },
            write: { .plain($0.description) }
        )
    }

    static func grammar(
        _ provider: Exchange.Party,
        _ calls: PlannedCalls
    ) -> Construct<ProviderPlan> {
        let defaultIncludesReads = calls.includesReads
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
    /// Creates the form of the step that plans responses of a provider, or rotates its keys; nil
    /// for a provider whose responses contracts cannot plan.
    static func plan(_ provider: ProviderEntry) -> StepForm? {
        provider.plannedCalls.map { calls in
            calls.keyRotationWord.map { planOrRotation(provider, calls, rotation: $0) }
                ?? plan(provider, calls)
        }
    }

    private static func plan(_ provider: ProviderEntry, _ calls: PlannedCalls) -> StepForm {
        let party = provider.party
        return StepForm(
            party.description,
            ProviderPlan.grammar(party, calls).flow,
            "Planned responses of the fake \(provider.title) to the backend's next calls.",
            embed: { .provider($0) },
            extract: { step in
                guard case .provider(let plan) = step, plan.provider == party else { return nil }
                return plan
            }
        )
    }

    private static func planOrRotation(
        _ provider: ProviderEntry,
        _ calls: PlannedCalls,
        rotation: String
    ) -> StepForm {
        let (party, title) = (provider.party, provider.title)
        return StepForm(
            party.description,
            Syntax<ProviderPlan?>.either(
                Syntax<Bool>.switchWord(rotation, "change of \(title)").mapped(
                    to: { _ in nil },
                    from: { _ in true }
                ),
                orMapping: ProviderPlan.grammar(party, calls).flow.mapped(
                    to: { $0 },
                    from: { $0 ?? ProviderPlan(provider: party, responses: []) }
                ),
                takesMapping: { $0 != nil }
            ),
            "Planned responses of the fake \(title) to the backend's next calls, or "
                + "`\(rotation)`: the fake signs with a new key from now on.",
            embed: { plan in plan.map { .provider($0) } ?? .rotateKeys },
            extract: { step in
                if case .rotateKeys = step { return .some(nil) }
                guard case .provider(let plan) = step, plan.provider == party else { return nil }
                return .some(plan)
            }
        )
    }
}

extension ProviderPlan {
    var traits: StepTraits {
        var traits = StepTraits(.provider)
        let calls = ProviderTable.all[provider]?.plannedCalls
        traits.needs = calls?.requiredFeatures ?? []
        traits.affectsConcurrentRuns = calls?.affectsConcurrentRuns ?? false
        traits.endDependsOnBackendTimers = true
        return traits
    }
}

extension StepTraits {
    /// The traits of a rotation of a provider's keys, which also affects the runs of other cases.
    static var keyRotation: StepTraits {
        var traits = StepTraits(.rotateKeys)
        traits.affectsConcurrentRuns = true
        return traits
    }
}
