extension Contract {
    /// A contract file; its axes are filled in before it is read.
    package static let grammar = Construct<Contract>(
        "contract",
        "a contract",
        "What is given, what is sent and what must follow.",
        blank: { node in
            Contract(
                id: "",
                variant: "",
                title: "",
                clause: "",
                level: .must,
                source: "",
                needs: [],
                given: [],
                steps: [],
                expectation: Expectation(answers: .statuses([200])),
                location: node.location
            )
        }
    ) {
        headFields
        provenanceFields
        Field<Contract>.strangers
        Field.value(
            "values",
            \.values,
            .map(.anyKey("a name"), .json.templated(.value), isBlock: true),
            default: [:],
            "What `{{some.NAME}}` stands for, where the contract says so.",
            fallback: "it is made up, or learned from an answer"
        ).spaced
        Field<Contract>.variants
        Field<Contract>.crashPoints
        Field<Contract>.orders
        Field<Contract>.vary
        stepFields
        Field.required(
            "expect",
            \.expectation,
            Expectation.grammar.block,
            "What must follow."
        ).spaced
    }
    .exclusive(["crash-points", "orders", "vary"])
    .checking { contract, keys, reader in
        contract.check(keys, &reader)
    }

    @FieldBuilder<Contract> private static var headFields: [Field<Contract>] {
        Field.required(
            "contract",
            \.id,
            .text("a path"),
            "The file's path below the contracts folder, without `.yaml`."
        )
        Field.required("title", \.title, .text("a sentence"), "What it says, in a sentence.")
        Field.required(
            "clause",
            \.clause,
            clauseSyntax,
            "The rule it proves, as the clause catalogue names it."
        )
        Field.value(
            "level",
            \.level,
            .choice("level"),
            default: .must,
            "How much weight it has."
        )
        Field.required(
            "source",
            \.source,
            .text("a source"),
            "Where the rule comes from, for people."
        )
        Field.list(
            "needs",
            \.needs,
            .choice("feature"),
            "What a backend must have for it; a profile says so under `features`."
        )
    }

    @FieldBuilder<Contract> private static var provenanceFields: [Field<Contract>] {
        Field<Contract>.recorded
        Field<Contract>.ageMax
    }

    @FieldBuilder<Contract> private static var stepFields: [Field<Contract>] {
        Field.value(
            "given",
            \.given,
            Step.list,
            default: [],
            "What has happened before: it is in the twin too.",
            fallback: "nothing"
        ).spaced
        Field.required("steps", \.steps, Step.list, "What happens, in order.").spaced
    }

    /// `S-03`, `P-02`: a family letter and two digits.
    private static let clauseSyntax = Syntax<String>(
        .pattern("^[SCPFOAG]-[0-9]{2}$", "a clause such as S-03"),
        read: { node, reader in
            guard let text = reader.text(node) else { return nil }
            let parts = text.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 2, ["S", "C", "P", "F", "O", "A", "G"].contains(parts[0]),
                parts[1].count == 2, parts[1].allSatisfy({ $0.isASCII && $0.isNumber })
            else {
                reader.fail(
                    .wrongKind(expected: "a clause such as S-03", found: node.kind),
                    at: node.location
                )
                return nil
            }
            return text
        },
        write: { .plain($0) }
    )
}

extension Field where Owner == Contract {
    /// The names that nobody introduces, on purpose.
    fileprivate static var strangers: Field {
        let names = Syntax<[String]>(
            .list(.text("a name"), countMin: 1),
            read: { node, reader in reader.sequence(node).compactMap { reader.text($0) } },
            write: { .row($0.map { .text($0) }) }
        )
        return .optional(
            "strangers",
            \.strangers,
            names,
            "Users and accounts that nothing registers or creates, and that are meant: without "
                + "this, a name that only one event knows counts as misspelt.",
            fallback: "none"
        ).since("0.2")
    }

    /// The axes stand for many contracts, of which this is one: they are never written.
    fileprivate static var variants: Field {
        Field(
            KeyShape(
                "variants",
                .map(
                    key: .text("an axis"),
                    value: .list(.either([.scalar("a value"), .null]), countMin: 1),
                    countRange: 1...10
                ),
                "Axes with their values: one case for each combination, with the values in place "
                    + "of `{{axis}}`, `{{axis+1}}` and `{{axis-1}}`."
            ),
            read: { _, _, _ in },
            write: { _ in nil }
        )
    }

    fileprivate static var recorded: Field {
        Field(
            KeyShape(
                "recorded",
                .pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}", "a date such as 2026-11-21"),
                "The day of the recording that it was distilled from."
            ),
            read: { node, contract, reader in
                guard let text = reader.text(node) else { return }
                let isDay = text.count == 10
                guard let moment = Instant(iso8601: isDay ? text + "T00:00:00Z" : text) else {
                    reader.fail(
                        .wrongKind(expected: "a date such as 2026-11-21", found: node.kind),
                        at: node.location
                    )
                    return
                }
                contract.provenance = Provenance(
                    recorded: moment,
                    ageMax: nil,
                    location: node.location
                )
            },
            write: { contract in
                contract.provenance.map { provenance in
                    let text = provenance.recorded.preciseText
                    let isDay = provenance.recorded.milliseconds % 86_400_000 == 0
                    return isDay ? .plain(String(text.prefix(10))) : .quoted(text)
                }
            }
        )
    }

    fileprivate static var ageMax: Field {
        Field(
            KeyShape(
                "max-age",
                .duration,
                "After this long the services may have changed, and it should be recorded again."
            ),
            read: { node, contract, reader in
                contract.provenance?.ageMax = reader.duration(node)
            },
            write: { contract in
                contract.provenance?.ageMax.map { .plain($0.unsignedText) }
            }
        )
    }
}

// MARK: Checks of the whole

extension Contract {
    private func check(_ keys: ReadKeys, _ reader: inout NodeReader) {
        if let age = keys["max-age"], keys["recorded"] == nil {
            reader.fail(
                .missingKey("recorded", of: "a contract with 'max-age'"),
                at: age.location
            )
        }
        checkSearch(at: location, &reader)
        checkEnds(&reader)
        checkOverlaps(&reader)
        if let needs = keys["needs"] { checkClock(at: needs.location, &reader) }
        checkExpectation(keys, &reader)
        reader.errors += reader.names.errors(strangers: strangers ?? [])
    }

    private func checkEnds(_ reader: inout NodeReader) {
        let places = StepPlaces(reader.places)
        for (delivery, step) in endless {
            reader.fail(
                .conflict(
                    "'\(delivery)' tells of no end that comes soon",
                    remedy: "Write 'expires: soon' or 'grace: soon' in its event."
                ),
                at: places[step] ?? location
            )
        }
        for (call, step) in endlessTokens {
            reader.fail(
                .conflict(
                    "the token of '\(call)' has no end that comes soon",
                    remedy: "Write 'token: {expires: soon}' in that call, to a protected route."
                ),
                at: places[step] ?? location
            )
        }
        if hasSoon, expectation.relation != nil {
            reader.fail(
                .conflict(
                    "what ends soon ends at another moment in a twin",
                    remedy: "State what is expected under 'state', without 'like'."
                ),
                at: location
            )
        }
    }

    private func checkClock(at location: SourceLocation, _ reader: inout NodeReader) {
        guard needs.contains(.clock) else { return }
        let plan = RunPlan(steps: given + steps, users: [], observes: false)
        if plan.keepsMachineTime {
            reader.fail(
                .conflict(
                    "a restart, a phone and an end that comes soon go by the machine's clock",
                    remedy: "Leave them out, or leave 'clock' out of 'needs'."
                ),
                at: location
            )
        } else if !plan.takesTime {
            reader.fail(
                .conflict(
                    "no time passes that the backend's clock could show",
                    remedy: "Write 'at: +3d' in a delivery, or disturb one along the ladder."
                ),
                at: location
            )
        }
    }

    private func checkSearch(at location: SourceLocation, _ reader: inout NodeReader) {
        let events = steps.count { step in
            guard case .deliver(let delivery) = step else { return false }
            if case .repeats = delivery.subject { return false }
            return true
        }
        switch search {
        case .orders where events < 2:
            reader.fail(
                .conflict(
                    "one event has only one order",
                    remedy: "Deliver at least two events in 'steps'."
                ),
                at: location
            )
        case .generated where events != 1:
            reader.fail(
                .conflict(
                    "'vary' varies one event, and 'steps' delivers \(events)",
                    remedy: "Move the other deliveries to 'given'."
                ),
                at: location
            )
        case .orders, .generated, .crashPoints, nil: break
        }
    }

    /// A request says itself what must come back.
    private func checkExpectation(_ keys: ReadKeys, _ reader: inout NodeReader) {
        guard let node = keys["expect"], case .mapping(let entries) = node.content else { return }
        let saying = Expectation.grammar.shape.keys.filter(\.isSufficient).map(\.key)
        let hasAnswers = (given + steps).contains(where: \.traits.hasOwnAnswer)
        guard !hasAnswers, !entries.contains(where: { saying.contains($0.key) }) else { return }
        reader.fail(
            .conflict("this contract expects nothing", remedy: "Add 'answers: 200'."),
            at: node.location
        )
    }

    /// Restarts that say `during` belong to the delivery they name.
    package func crashing(_ crashes: [String: Crash]) -> Contract {
        func crashing(_ steps: [Step]) -> [Step] {
            steps.map { step in
                guard case .deliver(var delivery) = step, let crash = crashes[delivery.name] else {
                    return step
                }
                delivery.crash = crash
                return .deliver(delivery)
            }
        }
        var contract = self
        contract.given = crashing(given)
        contract.steps = crashing(steps)
        return contract
    }
}
