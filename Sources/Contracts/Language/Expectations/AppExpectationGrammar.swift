package import Grammar
internal import Values

extension AppExpectation {
    package static let grammar = Construct<AppExpectation>(
        "app-expectation",
        "'app'",
        "The expected behavior of the app on a simulated phone.",
        makeEmptyOwner: { AppExpectation(location: $0.location) }
    ) {
        Field<AppExpectation>.requiredInvariants
        Field.value(
            "commands",
            \.commands,
            .lines(Command.grammar.flow),
            default: [],
            "Commands that the app must, or must not, send over the bridge.",
            fallback: "any"
        )
        Field<AppExpectation>.identities
        Field<AppExpectation>.screens
        Field.switchWord(
            "start",
            \.requiresTimelyRegistration,
            "bounded",
            "value of 'start'",
            "The first launch must lead to a registration that the backend acknowledges, within "
                + "the profile's `startup` time."
        )
        Field<AppExpectation>.registered
    }.checking { _, keys, reader in
        guard case .mapping(let entries) = keys.node.content, entries.isEmpty else { return }
        reader.fail(
            .conflict(
                "'app' contains no expectation",
                remedy: "Add an expectation, for example 'invariants: [one-identity]'."
            ),
            at: keys.node.location
        )
    }
}

extension Field where Owner == AppExpectation {
    fileprivate static var requiredInvariants: Field {
        .list(
            "invariants",
            \.requiredInvariants,
            Syntax(
                .words(AppInvariant.allCases.map(\.rawValue)),
                read: { node, reader in
                    let name: AppInvariant? = reader.choice(node, "invariant")
                    return name.map { .init(name: $0, location: node.location) }
                },
                write: { .plain($0.name.rawValue) }
            ),
            "Invariants that must hold over the app's whole timeline, by name."
        )
    }

    fileprivate static var identities: Field {
        let expectedValue = AppExpectation.Identity.IdentityCondition.syntax
        return Field(
            KeyShape(
                "id",
                .map(key: .name(.phone, .refers), value: expectedValue.shape, countRange: 1...20),
                "The app user ID that each phone must have at the end of the run."
            ),
            read: { node, expected, reader in
                for entry in reader.entries(node) ?? [] {
                    guard let phone = reader.name(entry.keyNode, .phone, .refers),
                        let expectedValue = expectedValue.read(entry.value, &reader)
                    else { continue }
                    expected.identities.append(
                        .init(
                            phone: phone,
                            expectedValue: expectedValue,
                            location: entry.value.location
                        )
                    )
                }
            },
            write: { expected in
                expected.identities.isEmpty
                    ? nil
                    : .flow(
                        expected.identities.map {
                            .init($0.phone, expectedValue.write($0.expectedValue))
                        }
                    )
            }
        )
    }

    fileprivate static var screens: Field {
        let shape = AppExpectation.Screen.shape
        return Field(
            KeyShape(
                "screen",
                .construct(shape),
                "The expected contents of the page at the end of the run, by the element names of "
                    + "the profile."
            ),
            read: { node, expected, reader in
                let names = shape.keys.map(\.key)
                for entry in reader.entries(node) ?? [] {
                    guard let element = AppExpectation.Screen.Element(rawValue: entry.key) else {
                        reader.fail(.unknownKey(entry.key, allowed: names), at: entry.keyLocation)
                        continue
                    }
                    expected.screens.append(.init(element, entry.value, &reader))
                }
            },
            write: { expected in
                let entries = expected.screens.map { screen in
                    let expectedValue = YAMLNode.json(screen.expectedValue)
                    return YAMLNode.Entry(
                        screen.element.rawValue,
                        screen.isNegated ? .flow([.init("not", expectedValue)]) : expectedValue
                    )
                }
                return entries.isEmpty ? nil : .flow(entries)
            }
        )
    }

    fileprivate static var registered: Field {
        let bounds = CountBounds.syntax(0...100)
        var shape = KeyShape(
            "registered",
            bounds.shape,
            "The number of registrations that the backend acknowledges."
        )
        shape.fallback = "any number"
        return Field(
            shape,
            read: { node, expected, reader in
                guard let count = bounds.read(node, &reader) else { return }
                expected.registrationCountMin = count.minimum
                expected.registrationCountMax = count.maximum
            },
            write: { expected in
                let (minimum, maximum) = (
                    expected.registrationCountMin, expected.registrationCountMax
                )
                return minimum == nil && maximum == nil
                    ? nil : bounds.write(CountBounds(minimum: minimum, maximum: maximum))
            }
        )
    }
}

extension AppExpectation.Screen {
    /// The allowed keys and values under `screen`: for each page element an expected value, or
    /// `{not: value}`.
    fileprivate static let shape = ConstructShape(
        name: "screen",
        owner: "a screen",
        doc: "The expected contents of the page at the end of the run.",
        keys: Element.allCases.map { element in
            let doc =
                switch element {
                case .loading: "Whether the page shows that it is loading."
                case .access: "Whether the page shows content that requires access."
                case .error: "Whether the page shows an error."
                case .status: "The subscription status on the page: `active`, `none`, `unknown`."
                case .product: "The name of the product on the page."
                }
            return KeyShape(
                element.rawValue,
                .templated(.either([displayedValue, .construct(not)]), .contract(.phone)),
                doc
            )
        }
    )

    private static let displayedValue = Shape.either([.flag, .text("a string")])

    private static let not = ConstructShape(
        name: "not",
        owner: "'not'",
        doc: "Any value except this one.",
        keys: [KeyShape("not", displayedValue, "The value that must not be shown.")]
    ).requiringKey("not")

    fileprivate init(_ element: Element, _ node: LocatedNode, _ reader: inout NodeReader) {
        self.init(element: element, expectedValue: .null, location: node.location)
        guard case .mapping = node.content else {
            expectedValue = Self.displayedValue(node, &reader)
            return
        }
        let parts = reader.mapping(node, allowed: ["not"])
        if parts["not"] == nil {
            reader.fail(.missingKey("not", of: "a screen"), at: node.location)
        }
        isNegated = true
        expectedValue = parts["not"].map { Self.displayedValue($0, &reader) } ?? .null
    }

    /// Reads the expected visibility (true or false) or text of a page element; returns null after
    /// an error.
    private static func displayedValue(_ node: LocatedNode, _ reader: inout NodeReader) -> JSONValue
    {
        if case .bool = node.json { return node.json }
        guard case .scalar(let text, _) = node.content, !node.json.isNull else {
            reader.fail(
                .wrongValueKind(expected: "true, false or a string", found: node.kind),
                at: node.location
            )
            return .null
        }
        return .string(text)
    }
}

extension AppExpectation.Command {
    fileprivate static let grammar = Construct<AppExpectation.Command>(
        "command",
        "a command",
        "A command that the app must, or must not, send over the bridge.",
        makeEmptyOwner: { .init(name: "", countMin: 1, countMax: nil, location: $0.location) }
    ) {
        Field.required(
            "command",
            \.name,
            scheme,
            "The command's scheme, or its scheme and path: `revenuecat://launchPaywall`."
        )
        Field.optional(
            "key",
            \.role,
            .choice("vault key"),
            "The vault key that the command names.",
            fallback: "any"
        )
        Field.optional(
            "value",
            \.value,
            .text("a string").templated(.phone),
            "The value that the command carries."
        )
        Field<AppExpectation.Command>.count
        Field.switchWord(
            "before",
            \.countsOnlyBeforeIDWrite,
            "id-written",
            "value of 'before'",
            "Counts only commands that the app sends before its first command that writes the app "
                + "user ID."
        )
        Field.optional(
            "on",
            \.phone,
            .name(.phone, .refers),
            "Counts only commands of this phone.",
            fallback: "every phone"
        )
    }

    private static let scheme = Syntax<String>(
        .either([.words(BridgeCommand.schemes.sorted()), .pattern("^[a-z]+:.*$", "a command")]),
        read: { node, reader in
            guard let name = reader.text(node) else { return nil }
            let scheme = name.split(separator: ":").first.map(String.init) ?? name
            if !BridgeCommand.schemes.contains(scheme) {
                reader.fail(
                    .unknownValue(
                        name,
                        valueKind: "command",
                        allowed: BridgeCommand.schemes.sorted()
                    ),
                    at: node.location
                )
            }
            return name
        },
        write: { .text($0) }
    )
}

extension Field where Owner == AppExpectation.Command {
    fileprivate static var count: Field {
        let bounds = CountBounds.syntax(0...100)
        var shape = KeyShape("count", bounds.shape, "The expected number of these commands.")
        shape.fallback = "one or more"
        return Field(
            shape,
            read: { node, command, reader in
                guard let count = bounds.read(node, &reader) else { return }
                command.countMin = count.minimum ?? 0
                command.countMax = count.maximum
            },
            write: { command in
                let (minimum, maximum) = (command.countMin, command.countMax)
                if minimum == 1, maximum == nil { return nil }
                let writesMinimum = minimum > 0 || maximum == nil || maximum == 0
                return bounds.write(
                    CountBounds(minimum: writesMinimum ? minimum : nil, maximum: maximum)
                )
            }
        )
    }
}

extension AppExpectation.Identity.IdentityCondition {
    /// The values of an expected ID that is written as a mapping, collected while the file is
    /// parsed.
    private struct ConditionDraft: Sendable {
        var not: String?
        var sameAsPhone: String?
        var differentFromPhone: String?
        var changed: Bool?
    }

    private static let draftGrammar = Construct<ConditionDraft>(
        "identity",
        "an ID",
        "The expected app user ID of a phone.",
        makeEmptyOwner: { _ in ConditionDraft() }
    ) {
        Field.optional("not", \.not, .name(.user, .refers), "Any ID except that of this user.")
        Field.optional(
            "same-as",
            \.sameAsPhone,
            .name(.phone, .refers),
            "The same ID as the ID of this phone."
        )
        Field.optional(
            "other-than",
            \.differentFromPhone,
            .name(.phone, .refers),
            "A different ID than the ID of this phone."
        )
        Field.optional(
            "changed",
            \.changed,
            Syntax<Bool>.switchWord("true", "value of 'changed'"),
            "A different ID than the first ID that the phone's app reported."
        )
    }.alternativeKeys(["not", "same-as", "other-than", "changed"], example: "changed: true")

    /// The syntax of an expected ID: the name of a user, or a mapping such as `{changed: true}`.
    fileprivate static let syntax = Syntax<AppExpectation.Identity.IdentityCondition>(
        .either([.name(.user, .refers), .construct(draftGrammar.shape)]),
        read: { node, reader in
            guard case .mapping = node.content else {
                return reader.name(node, .user, .refers).map { .user($0) }
            }
            guard let draft = draftGrammar.read(node, &reader) else { return nil }
            if let user = draft.not { return .notUser(user) }
            if let phone = draft.sameAsPhone { return .sameAsPhone(phone) }
            if let phone = draft.differentFromPhone { return .differentFromPhone(phone) }
            return draft.changed == true ? .changed : nil
        },
        write: { expectedValue in
            switch expectedValue {
            case .user(let user): .plain(user)
            case .notUser(let user): draftGrammar.flow.write(ConditionDraft(not: user))
            case .sameAsPhone(let phone):
                draftGrammar.flow.write(ConditionDraft(sameAsPhone: phone))
            case .differentFromPhone(let phone):
                draftGrammar.flow.write(ConditionDraft(differentFromPhone: phone))
            case .changed: draftGrammar.flow.write(ConditionDraft(changed: true))
            }
        }
    )
}

extension Field where Owner == Expectation {
    static var app: Field {
        .optional(
            "app",
            \.app,
            AppExpectation.grammar.block,
            "The expected behavior of the app on a simulated phone."
        )
    }
}

extension AppExpectation {
    /// The capabilities that a target must have to check the expectations, each with the
    /// expectation's location in the file.
    var requiredCapabilities: [(capability: RequiredCapability, location: SourceLocation)] {
        var requiredCapabilities = requiredInvariants.map {
            (capability: RequiredCapability.appInvariant($0.name), location: $0.location)
        }
        requiredCapabilities += commands.map { (.app(.commands), $0.location) }
        requiredCapabilities += identities.map { (.app(.id), $0.location) }
        requiredCapabilities += screens.map { (.app(.screen), $0.location) }
        if requiresTimelyRegistration { requiredCapabilities.append((.app(.start), location)) }
        if registrationCountMin != nil || registrationCountMax != nil {
            requiredCapabilities.append((.app(.registered), location))
        }
        return requiredCapabilities
    }
}
