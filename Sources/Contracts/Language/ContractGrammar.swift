package import Grammar
internal import Providers
internal import Values

extension Contract {
    /// The grammar of a contract file.
    ///
    /// Before the grammar reads a file, the values of its `variants` replace templates such as
    /// `{{copies}}`.
    package static var grammar: Construct<Contract> { grammarOfTable.value }

    private static let grammarOfTable = TableDerived { _ in makeGrammar() }

    private static func makeGrammar() -> Construct<Contract> {
        Construct<Contract>(
            "contract",
            "a contract",
            "A test case for a backend or an app: its steps and the expected outcome.",
            makeEmptyOwner: { node in
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
                    expectation: Expectation(responses: .statuses([200])),
                    location: node.location
                )
            }
        ) {
            headingFields
            provenanceFields
            Field<Contract>.unknownUsers
            Field.value(
                "values",
                \.values,
                .map(.anyKey("a name"), .json.templated(.value), isBlock: true),
                default: [:],
                "Fixed template values; the key `token1` sets the value of `{{some.token1}}`.",
                fallback: "generated, or learned from a response"
            ).precededByBlankLine
            Field<Contract>.variants
            Field<Contract>.crashPoints
            Field<Contract>.orders
            Field<Contract>.vary
            stepFields
            Field.required(
                "expect",
                \.expectation,
                Expectation.grammar.block,
                "The expected outcome."
            ).precededByBlankLine
        }
        .mutuallyExclusiveKeys(["crash-points", "orders", "vary"])
        .checking { contract, keys, reader in
            contract.check(keys, &reader)
        }
    }

    @FieldBuilder<Contract> private static var headingFields: [Field<Contract>] {
        Field.required(
            "contract",
            \.id,
            .text("a path"),
            "The path of the file below the contracts folder, without its extension."
        )
        Field.required("title", \.title, .text("a sentence"), "A summary in one sentence.")
        Field.required(
            "clause",
            \.clause,
            clauseSyntax,
            "The clause (requirement) that the contract tests, by its ID in the clause catalogue."
        )
        Field.value(
            "level",
            \.level,
            .choice("level"),
            default: .must,
            "The requirement level of the clause."
        )
        Field.required(
            "source",
            \.source,
            .text("a source"),
            "The document that the clause comes from, for human readers."
        )
        Field.list(
            "needs",
            \.needs,
            .choice("feature"),
            "Features that the backend needs and that do not follow from the steps and "
                + "expectations. A profile lists missing features under `features`."
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
            "Initial steps, which the baseline run (`like`) executes too.",
            fallback: "none"
        ).precededByBlankLine
        Field.required("steps", \.steps, Step.list, "The tested steps, in order.")
            .precededByBlankLine
    }

    /// The syntax of a clause's ID, such as `S-03` or `P-02`: a letter for the family of clauses,
    /// and two digits.
    private static let clauseSyntax = Syntax<String>(
        .pattern("^[SCPFOAG]-[0-9]{2}$", "a clause such as S-03"),
        read: { node, reader in
            guard let text = reader.text(node) else { return nil }
            let parts = text.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 2, ["S", "C", "P", "F", "O", "A", "G"].contains(parts[0]),
                parts[1].count == 2, parts[1].allSatisfy({ $0.isASCII && $0.isNumber })
            else {
                reader.fail(
                    .wrongValueKind(expected: "a clause such as S-03", found: node.kind),
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
    /// The field for the key `unknown-users`: the names of users that no step registers or creates,
    /// on purpose.
    fileprivate static var unknownUsers: Field {
        let names = Syntax<[String]>(
            .list(.text("a name"), countMin: 1),
            read: { node, reader in reader.sequence(node).compactMap { reader.text($0) } },
            write: { .row($0.map { .text($0) }) }
        )
        return .optional(
            "unknown-users",
            \.unknownUsers,
            names,
            "Users and accounts that no step registers or creates, on purpose. Without this key, "
                + "such a name may be reported as misspelled.",
            fallback: "none"
        ).sinceVersion("0.2")
    }

    /// The field for the key `variants`, which this grammar neither reads nor writes.
    ///
    /// The file is expanded to one contract for each combination of values before the grammar reads
    /// it.
    fileprivate static var variants: Field {
        Field(
            KeyShape(
                "variants",
                .map(
                    key: .text("an axis"),
                    value: .list(.either([.scalar("a value"), .null]), countMin: 1),
                    countRange: 1...10
                ),
                "Named lists of values (axes). Each combination of values is one test case, in "
                    + "which `{{axis}}`, `{{axis+1}}` and `{{axis-1}}` are replaced."
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
                "The date of the recording that the contract was distilled from."
            ),
            read: { node, contract, reader in
                guard let text = reader.text(node) else { return }
                let isDay = text.count == 10
                guard let moment = Instant(iso8601: isDay ? text + "T00:00:00Z" : text) else {
                    reader.fail(
                        .wrongValueKind(expected: "a date such as 2026-11-21", found: node.kind),
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
                "The age at which the session should be recorded again, because the services may "
                    + "have changed."
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

// MARK: Checks of the whole contract

extension Contract {
    private func check(_ keys: ParsedMapping, _ reader: inout NodeReader) {
        if let age = keys["max-age"], keys["recorded"] == nil {
            reader.fail(
                .missingKey("recorded", of: "a contract with 'max-age'"),
                at: age.location
            )
        }
        checkSearch(at: location, &reader)
        checkWaitForEndSteps(&reader)
        checkConcurrentRequests(&reader)
        if let needs = keys["needs"] { checkClock(at: needs.location, &reader) }
        checkExpectation(keys, &reader)
        reader.errors += reader.names.errors(unknownUsers: unknownUsers ?? [])
    }

    private func checkWaitForEndSteps(_ reader: inout NodeReader) {
        let sourceLocations = StepLocations(reader.sourceLocations)
        for (delivery, step) in waitStepsWithoutPeriodEndingSoon {
            reader.fail(
                .conflict(
                    "the event of the delivery '\(delivery)' has no end to wait for",
                    remedy: "Write 'expires: soon' or 'grace: soon' in its event."
                ),
                at: sourceLocations[step] ?? location
            )
        }
        for (call, step) in callsWithoutExpiringToken {
            reader.fail(
                .conflict(
                    "the token of the call '\(call)' does not expire during the case",
                    remedy: "Write 'token: {expires: soon}' in that call; its route must be "
                        + "'protected'."
                ),
                at: sourceLocations[step] ?? location
            )
        }
        if hasPeriodEndingSoon, expectation.relation != nil {
            reader.fail(
                .conflict(
                    "'like' cannot compare the runs, because 'soon' is a different time in each "
                        + "run",
                    remedy: "Remove 'like', and write the expected values under the key 'state'."
                ),
                at: location
            )
        }
    }

    private func checkClock(at location: SourceLocation, _ reader: inout NodeReader) {
        guard needs.contains(.clock) else { return }
        let plan = RunPlan(steps: given + steps, users: [], observesFinalState: false)
        if plan.requiresMachineTime {
            reader.fail(
                .conflict(
                    "'needs: [clock]' cannot be combined with a restart, a phone step or 'soon': "
                        + "they use the machine's clock",
                    remedy: "Remove those steps, or remove 'clock' from 'needs'."
                ),
                at: location
            )
        } else if !plan.hasPlannedDelays {
            reader.fail(
                .conflict(
                    "'needs: [clock]' has no effect, because no time passes in this contract",
                    remedy: "Write 'at: +3d' in a delivery, or add 'retry: schedule' and "
                        + "'lost-responses: 1' to it."
                ),
                at: location
            )
        }
    }

    private func checkSearch(at location: SourceLocation, _ reader: inout NodeReader) {
        let eventCount = steps.count { step in
            guard case .deliver(let delivery) = step else { return false }
            if case .repeats = delivery.subject { return false }
            return true
        }
        switch search {
        case .orders where eventCount < 2:
            reader.fail(
                .conflict(
                    "'orders' needs at least two events",
                    remedy: "Deliver at least two events in 'steps'."
                ),
                at: location
            )
        case .generated where eventCount != 1:
            reader.fail(
                .conflict(
                    "'vary' needs exactly one event, but 'steps' delivers \(eventCount)",
                    remedy: "Move the other deliveries to 'given'."
                ),
                at: location
            )
        case .orders, .generated, .crashPoints, nil: break
        }
    }

    /// Reports an error when the contract expects nothing, neither under `expect` nor in a step
    /// with its own expected response.
    private func checkExpectation(_ keys: ParsedMapping, _ reader: inout NodeReader) {
        guard let node = keys["expect"], case .mapping(let entries) = node.content else { return }
        let keysDefiningExpectations = Expectation.grammar.shape.keys.filter(\.definesExpectation)
            .map(\.key)
        let hasExpectedResponses = (given + steps).contains(where: \.traits.definesExpectedResponse)
        guard !hasExpectedResponses,
            !entries.contains(where: { keysDefiningExpectations.contains($0.key) })
        else { return }
        reader.fail(
            .conflict(
                "'expect' contains no expectation",
                remedy: "Add an expectation, for example 'status: 200'."
            ),
            at: node.location
        )
    }

    /// Returns a copy of the contract in which each crash is stored in the delivery that the crash
    /// interrupts.
    package func addingCrashes(_ crashesByDelivery: [String: Crash]) -> Contract {
        func addingCrashes(_ steps: [Step]) -> [Step] {
            steps.map { step in
                guard case .deliver(var delivery) = step,
                    let crash = crashesByDelivery[delivery.name]
                else {
                    return step
                }
                delivery.crash = crash
                return .deliver(delivery)
            }
        }
        var contract = self
        contract.given = addingCrashes(given)
        contract.steps = addingCrashes(steps)
        return contract
    }
}
