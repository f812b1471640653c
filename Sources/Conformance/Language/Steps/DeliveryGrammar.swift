extension Delivery {
    package static let grammar = Construct<Delivery>(
        "delivery",
        "a delivery",
        "Hands an event to the backend, once or more often, disturbed or not.",
        blank: { _ in Delivery(name: "", subject: .raw(.text(""))) }
    ) {
        Field<Delivery>.delivered
        Field<Delivery>.webhook
        subjectFields
        editFields
        copyFields
        disturbanceFields
        proofFields
        answerFields
    }
    .oneOf(
        ["event", "purchasely", "body", "raw", "repeats", "told"],
        example: "event: {type: INITIAL_PURCHASE, user: ada}"
    )
    .beside("cut-body-at", ["event"])
    .beside("to", ["event", "body", "raw", "told"])
    .changingBodies(["set", "remove", "edits", "keys", "padding", "nesting"])
    .exclusive(["answers", "answer"])
    .exclusive(["edits", "set"])
    .exclusive(["edits", "remove"])
    .checking { delivery, keys, reader in
        reader.webhooks[delivery.name] = delivery.provider
        let place = keys["deliver"]?.location ?? keys.node.location
        if delivery.disturbedCount > 0, !delivery.isAlongLadder {
            reader.fail(
                .conflict(
                    "a delivery that is disturbed is never completed unless it is retried",
                    remedy: "Add 'along: ladder' to it."
                ),
                at: place
            )
        }
        delivery.checkTogether(at: place, &reader)
    }

    // MARK: What is delivered

    @FieldBuilder<Delivery> private static var subjectFields: [Field<Delivery>] {
        Field<Delivery>.event
        Field<Delivery>.cutBodyAt
        Field<Delivery>.purchasely
        Field.choice(
            "told",
            \.subject,
            .word("event type", among: EventSpec.types),
            embed: { .told($0) },
            extract: { if case .told(let type) = $0 { type } else { nil } },
            "The next event of that type that the store told of, because of what an app did."
        )
        Field.choice(
            "body",
            \.subject,
            .json.templated(.request),
            embed: { .body($0) },
            extract: { if case .body(let value) = $0 { value } else { nil } },
            "A body of the contract's own, with templates such as `{{user.ada}}`."
        )
        Field.choice(
            "raw",
            \.subject,
            .verbatim("the bytes, as a text").templated(.request),
            embed: { .raw(.text($0)) },
            extract: { if case .raw(.text(let text)) = $0 { text } else { nil } },
            "Bytes that need not be JSON."
        )
        Field<Delivery>.repeated
    }

    // MARK: How it is changed

    @FieldBuilder<Delivery> private static var editFields: [Field<Delivery>] {
        Field<Delivery>.set
        Field<Delivery>.removed
        Field<Delivery>.edits
        Field.value(
            "keys",
            \.shufflesKeys,
            .wish("shuffled", "order of keys"),
            default: false,
            "Keys and nested keys come in another order than the factory drew.",
            fallback: "as the factory drew them"
        )
        Field.value(
            "padding",
            \.paddingKilobytes,
            .count(1...8192),
            default: 0,
            "So many kilobytes of text under a key that nobody knows.",
            fallback: "none"
        )
        Field.value(
            "nesting",
            \.nesting,
            .count(1...100_000),
            default: 0,
            "A key that nobody knows, whose value nests so deep.",
            fallback: "none"
        )
    }

    // MARK: How often, and when

    @FieldBuilder<Delivery> private static var copyFields: [Field<Delivery>] {
        Field.value(
            "times",
            \.times,
            .count(1...256),
            default: 1,
            "How many copies are delivered."
        )
        Field.flag(
            "together",
            \.isTogether,
            "All copies are released at once, on connections that are already open."
        )
        Field<Delivery>.withNext
        Field.value(
            "at",
            \.delay,
            .moment,
            default: .zero,
            "Virtual time since the step before."
        )
        Field.wish(
            "along",
            \.isAlongLadder,
            "ladder",
            "schedule",
            "It is retried by the provider's own schedule until the backend answers 200."
        )
    }

    // MARK: How it is disturbed

    @FieldBuilder<Delivery> private static var disturbanceFields: [Field<Delivery>] {
        Field.value(
            "lose-answers",
            \.answersLost,
            .count(0...5),
            default: 0,
            "So many first attempts are processed while their answer is lost; needs `along: ladder`."
        )
        Field.value(
            "cut-requests",
            \.requestsCut,
            .count(0...5),
            default: 0,
            "So many first attempts break off inside the request's body; needs `along: ladder`."
        )
        Field.value(
            "hang-ups",
            \.hangUps,
            .count(0...5),
            default: 0,
            "On so many first attempts the sender hangs up when its request is out; needs "
                + "`along: ladder`."
        )
        Field.optional(
            "store-fails",
            \.storeFailures,
            .count(1...5),
            "During so many first attempts the backend's store fails, the way the profile's `fault` "
                + "says; needs `along: ladder`.",
            fallback: "it never does"
        )
    }

    // MARK: What proves the sender

    @FieldBuilder<Delivery> private static var proofFields: [Field<Delivery>] {
        Field.value(
            "authorization",
            \.authorization,
            .choice("use of the Authorization"),
            default: .configured,
            "What the sender puts in `Authorization`."
        )
        Field.value(
            "signature",
            \.signature,
            .choice("use of the signature"),
            default: .configured,
            "What the sender puts in its signature's header."
        )
        Field.flag(
            "dropped",
            \.isDropped,
            "The event took place and is never delivered; REST knows of it."
        )
    }

    // MARK: What must come back

    @FieldBuilder<Delivery> private static var answerFields: [Field<Delivery>] {
        Field<Delivery>.answer
        Field<Delivery>.answers
    }
}

extension Field where Owner == Delivery {
    fileprivate static var delivered: Field {
        .required(
            "deliver",
            \.name,
            Syntax(
                .name(.delivery, .introduces),
                read: { node, reader in
                    guard let name = reader.text(node) else { return nil }
                    if reader.names.introduced(.delivery).contains(name) {
                        reader.fail(.duplicateDelivery(name), at: node.location)
                    }
                    reader.names.note(.delivery, .introduces, name, at: node.location)
                    return name
                },
                write: { .text($0) }
            ),
            "What the contract calls this delivery."
        )
    }

    fileprivate static var event: Field {
        .choice(
            "event",
            \.subject,
            EventSpec.grammar.flow,
            embed: { .event($0) },
            extract: {
                switch $0 {
                case .event(let spec), .raw(.truncated(let spec, _)): spec
                case .purchasely, .body, .raw(.text), .repeats, .told: nil
                }
            },
            "A RevenueCat event; the factory fills in a realistic body."
        )
    }

    fileprivate static var purchasely: Field {
        Field(
            KeyShape(
                "purchasely",
                PurchaselySpec.grammar.flow.shape,
                "A Purchasely event; the factory fills in a realistic body."
            ),
            read: { node, delivery, reader in
                guard let spec = PurchaselySpec.grammar.read(node, &reader) else { return }
                delivery.subject = .purchasely(spec)
                delivery.provider = .purchasely
            },
            write: { delivery in
                guard case .purchasely(let spec) = delivery.subject else { return nil }
                return PurchaselySpec.grammar.flow.write(spec)
            }
        )
    }

    /// A share of the event's bytes.
    fileprivate static var cutBodyAt: Field {
        let share = Syntax.count(1...99)
        return Field(
            KeyShape("cut-body-at", share.shape, "The event's bytes end after this many percent."),
            read: { node, delivery, reader in
                guard let percent = share.read(node, &reader),
                    case .event(let spec) = delivery.subject
                else { return }
                delivery.subject = .raw(.truncated(spec, percent: percent))
            },
            write: { delivery in
                guard case .raw(.truncated(_, let percent)) = delivery.subject else { return nil }
                return share.write(percent)
            }
        )
    }

    /// Whose webhook it goes to, where neither its event nor what it repeats says so.
    fileprivate static var webhook: Field {
        let word = Syntax.word("webhook", among: ["revenuecat", "purchasely"])
        var shape = KeyShape("to", word.shape, "Whose webhook it goes to.")
        shape.fallback = "revenuecat"
        return Field(
            shape,
            read: { node, delivery, reader in
                guard let name = word.read(node, &reader) else { return }
                delivery.provider = name == "purchasely" ? .purchasely : .revenueCat
            },
            write: { delivery in
                guard delivery.provider != .revenueCat else { return nil }
                return switch delivery.subject {
                case .event, .body, .raw, .told: .plain(delivery.provider.description)
                case .purchasely, .repeats: nil
                }
            }
        )
    }

    /// The same bytes as an earlier delivery, to the same webhook.
    fileprivate static var repeated: Field {
        Field(
            KeyShape(
                "repeats",
                .name(.delivery, .refers),
                "The same bytes as that earlier delivery, on a new connection."
            ),
            read: { node, delivery, reader in
                guard let name = reader.text(node) else { return }
                let own = delivery.name
                let earlier = reader.names.introduced(.delivery).filter { $0 != own }
                guard earlier.contains(name) else {
                    reader.fail(.unknownDelivery(name, known: earlier), at: node.location)
                    return
                }
                delivery.subject = .repeats(name)
                delivery.provider = reader.webhooks[name] ?? .revenueCat
            },
            write: { delivery in
                guard case .repeats(let name) = delivery.subject else { return nil }
                return .text(name)
            }
        )
    }

    // MARK: Edits

    fileprivate static var set: Field {
        Field(
            KeyShape(
                "set",
                .map(
                    key: .pointer,
                    value: .templated(.json, .contract(.request)),
                    countRange: 0...1000
                ),
                "Values that the body gets after the factory made it, by JSON pointer."
            ),
            read: { node, delivery, reader in
                for entry in reader.entries(node) ?? [] {
                    guard let pointer = JSONPointer(entry.key) else {
                        reader.fail(
                            .wrongKind(
                                expected: "a JSON pointer such as /event/price",
                                found: "'\(entry.key)'"
                            ),
                            at: entry.keyLocation
                        )
                        continue
                    }
                    delivery.edits.append(.init(pointer: pointer, value: entry.value.json))
                }
            },
            write: { delivery in
                let kept = delivery.edits.filter { $0.value != nil }
                guard delivery.hasPlainEdits, !kept.isEmpty else { return nil }
                return .block(
                    kept.map { .init($0.pointer.description, .json($0.value ?? .null)) }
                )
            }
        )
    }

    fileprivate static var removed: Field {
        let pointers = Syntax.list(.pointer)
        return Field(
            KeyShape("remove", pointers.shape, "Places of the body that are removed."),
            read: { node, delivery, reader in
                for pointer in pointers.read(node, &reader) ?? [] {
                    delivery.edits.append(.init(pointer: pointer, value: nil))
                }
            },
            write: { delivery in
                let removed = delivery.edits.filter { $0.value == nil }
                guard delivery.hasPlainEdits, !removed.isEmpty else { return nil }
                return pointers.write(removed.map(\.pointer))
            }
        )
    }

    /// What `set` and `remove` say, where their order counts.
    fileprivate static var edits: Field {
        let edits = Syntax.lines(Delivery.Edit.grammar.flow)
        return Field(
            KeyShape(
                "edits",
                edits.shape,
                "The same as `set` and `remove`, one after the other, where the order counts."
            ),
            read: { node, delivery, reader in
                delivery.edits = (edits.read(node, &reader) ?? []).map {
                    .init(pointer: $0.pointer, value: $0.value)
                }
            },
            write: { delivery in
                delivery.hasPlainEdits || delivery.edits.isEmpty
                    ? nil : edits.write(delivery.edits.map { .init($0) })
            }
        )
    }

    // MARK: Answers

    fileprivate static var answer: Field {
        Field(
            KeyShape(
                "answer",
                AnswerPattern.syntax.shape,
                "What the answer has to look like: a status, or a mapping that says more."
            ),
            read: { node, delivery, reader in
                guard let pattern = AnswerPattern.syntax.read(node, &reader) else { return }
                delivery.answerPattern = pattern
                delivery.answers = .statuses([pattern.status])
            },
            write: { $0.answerPattern.map(AnswerPattern.syntax.write) }
        )
    }

    fileprivate static var answers: Field {
        Field(
            KeyShape(
                "answers",
                AnswerExpectation.syntax.shape,
                "Which statuses satisfy this delivery, in place of those under `expect`."
            ),
            read: { node, delivery, reader in
                delivery.answers = AnswerExpectation.syntax.read(node, &reader)
            },
            write: {
                $0.answerPattern == nil ? $0.answers.map(AnswerExpectation.syntax.write) : nil
            }
        )
    }
}

extension Delivery {
    /// Each place is set once, and removals come last.
    fileprivate var hasPlainEdits: Bool {
        let kept = edits.prefix { $0.value != nil }
        let places = kept.map(\.pointer)
        return edits.dropFirst(kept.count).allSatisfy { $0.value == nil }
            && Set(places).count == places.count
    }
}

extension Delivery.Edit {
    /// An edit while it is read.
    fileprivate struct Draft: Sendable {
        var pointer = JSONPointer()
        var value: JSONValue?

        init() {}

        init(_ edit: Delivery.Edit) {
            pointer = edit.pointer
            value = edit.value
        }
    }

    fileprivate static let grammar = Construct<Draft>(
        "edit",
        "an edit",
        "One change of a body.",
        blank: { _ in Draft() }
    ) {
        Field(
            KeyShape("set", .pointer, "The place that gets a value."),
            read: { node, draft, reader in draft.pointer = reader.pointer(node) ?? draft.pointer },
            write: { $0.value == nil ? nil : Syntax.pointer.write($0.pointer) }
        )
        Field.optional("to", \.value, .json.templated(.request), "The value that it gets.")
        Field(
            KeyShape("remove", .pointer, "The place that is removed."),
            read: { node, draft, reader in draft.pointer = reader.pointer(node) ?? draft.pointer },
            write: { $0.value == nil ? Syntax.pointer.write($0.pointer) : nil }
        )
    }
    .oneOf(["set", "remove"], example: "set: /event/price")
    .beside("to", ["set"])
    .beside("set", ["to"])
}

extension StepForm {
    static let deliver = StepForm(
        Delivery.grammar,
        embed: { .deliver($0) },
        extract: { if case .deliver(let delivery) = $0 { delivery } else { nil } }
    )
}
