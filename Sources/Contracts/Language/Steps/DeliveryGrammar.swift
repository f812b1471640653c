package import Grammar
internal import Providers
internal import Values

extension Delivery {
    private static let grammarOfTable = TableDerived { makeGrammar($0) }

    package static var grammar: Construct<Delivery> { grammarOfTable.value }

    private static func makeGrammar(_ table: ProviderTable) -> Construct<Delivery> {
        Construct<Delivery>(
            "delivery",
            "a delivery",
            "Sends an event to the backend, once or several times, with or without faults.",
            makeEmptyOwner: { _ in Delivery(name: "", subject: .raw(.text(""))) }
        ) {
            Field<Delivery>.deliveryName
            Field<Delivery>.webhookProvider
            subjectFields
            editFields
            copyFields
            faultFields
            proofFields
            responseFields
        }
        .alternativeKeys(
            table.eventNotations.map(\.key) + ["body", "raw", "repeats", "store-event"],
            example: "event: {type: INITIAL_PURCHASE, user: ada}"
        )
        .companionKeys("cut-body-at", table.eventNotations.map(\.key))
        .companionKeys(
            "to",
            table.eventNotations.prefix(1).map(\.key) + ["body", "raw", "store-event"]
        )
        .requiringBody(["set", "remove", "edits", "keys", "padding", "nesting"])
        .mutuallyExclusiveKeys(["status", "response"])
        .mutuallyExclusiveKeys(["edits", "set"])
        .mutuallyExclusiveKeys(["edits", "remove"])
        .checking { delivery, keys, reader in
            reader.providersByDelivery[delivery.name] = delivery.provider
            let deliveryLocation = keys["deliver"]?.location ?? keys.node.location
            if delivery.faultyAttemptCount > 0, !delivery.followsRetrySchedule {
                reader.fail(
                    .conflict(
                        "a delivery with faults never completes without retries",
                        remedy: "Add 'retry: schedule' to the delivery."
                    ),
                    at: deliveryLocation
                )
            }
            delivery.checkConcurrentCopies(at: deliveryLocation, &reader)
        }
    }

    // MARK: Content

    @FieldBuilder<Delivery> private static var subjectFields: [Field<Delivery>] {
        ProviderTable.all.eventNotations.map { Field<Delivery>.event($0) }
        Field<Delivery>.bodyTruncationPercent
        Field.choice(
            "store-event",
            \.subject,
            .word("event type", among: ProviderTable.all.storeEventTypes),
            embed: { .storeEvent($0) },
            extract: { if case .storeEvent(let type) = $0 { type } else { nil } },
            "Sends the next event of this type that the fake store reports because of an action in "
                + "the app."
        )
        Field.choice(
            "body",
            \.subject,
            .json.templated(.request),
            embed: { .body($0) },
            extract: { if case .body(let value) = $0 { value } else { nil } },
            "A literal JSON body. It may contain templates such as `{{user.ada}}`."
        )
        Field.choice(
            "raw",
            \.subject,
            .verbatim("a string").templated(.request),
            embed: { .raw(.text($0)) },
            extract: { if case .raw(.text(let text)) = $0 { text } else { nil } },
            "A literal body that need not be JSON."
        )
        Field<Delivery>.repeatedDelivery
    }

    // MARK: Changes of the body

    @FieldBuilder<Delivery> private static var editFields: [Field<Delivery>] {
        Field<Delivery>.valueChanges
        Field<Delivery>.removedPointers
        Field<Delivery>.edits
        Field.value(
            "keys",
            \.shufflesKeys,
            .switchWord("reordered", "value of 'keys'"),
            default: false,
            "Reorders the keys and nested keys of the body.",
            fallback: "the generated order"
        )
        Field.value(
            "padding",
            \.paddingKilobytes,
            .count(1...8192),
            default: 0,
            "Kilobytes of text to add to the body under an unknown key.",
            fallback: "none"
        )
        Field.value(
            "nesting",
            \.addedNestingDepth,
            .count(1...100_000),
            default: 0,
            "The nesting depth of a value to add to the body under an unknown key.",
            fallback: "none"
        )
    }

    // MARK: Copies and time

    @FieldBuilder<Delivery> private static var copyFields: [Field<Delivery>] {
        Field.value(
            "times",
            \.times,
            .count(1...256),
            default: 1,
            "The number of copies to deliver."
        )
        Field.flag(
            "together",
            \.sendsCopiesConcurrently,
            "Sends all copies at the same time, on connections that are already open."
        )
        Field<Delivery>.concurrentWithNext
        Field.value(
            "at",
            \.delay,
            .signedDuration,
            default: .zero,
            "The virtual time since the previous step."
        )
        Field.switchWord(
            "retry",
            \.followsRetrySchedule,
            "schedule",
            "value of 'retry'",
            "Retries the delivery by the provider's schedule until the backend responds with 200."
        )
    }

    // MARK: Faults

    @FieldBuilder<Delivery> private static var faultFields: [Field<Delivery>] {
        Field.value(
            "lost-responses",
            \.lostResponses,
            .count(0...5),
            default: 0,
            "The number of initial attempts that the backend processes but whose response is lost; "
                + "needs `retry: schedule`."
        )
        Field.value(
            "truncated-requests",
            \.truncatedRequests,
            .count(0...5),
            default: 0,
            "The number of initial attempts that break off inside the request body; needs `retry: "
                + "schedule`."
        )
        Field.value(
            "disconnects",
            \.disconnects,
            .count(0...5),
            default: 0,
            "The number of initial attempts on which the sender disconnects after sending the "
                + "request; needs `retry: schedule`."
        )
        Field.optional(
            "database-failures",
            \.databaseFailureCount,
            .count(1...5),
            "The number of initial attempts during which the backend's database fails; needs "
                + "`retry: schedule` and the profile's `fault`.",
            fallback: "none"
        )
    }

    // MARK: Proof of the sender

    @FieldBuilder<Delivery> private static var proofFields: [Field<Delivery>] {
        Field.value(
            "authorization",
            \.authorization,
            .choice("value of 'authorization'"),
            default: .configured,
            "The sender's `Authorization` header."
        )
        Field.value(
            "signature",
            \.signature,
            .choice("value of 'signature'"),
            default: .configured,
            "The sender's signature header."
        )
        Field.flag(
            "dropped",
            \.isNeverDelivered,
            "The event happens at the provider but is never delivered. RevenueCat's REST API shows "
                + "its result."
        )
    }

    // MARK: Expected response

    @FieldBuilder<Delivery> private static var responseFields: [Field<Delivery>] {
        Field<Delivery>.answer
        Field<Delivery>.responses
    }
}

extension Field where Owner == Delivery {
    fileprivate static var deliveryName: Field {
        .required(
            "deliver",
            \.name,
            Syntax(
                .name(.delivery, .introduces),
                read: { node, reader in
                    guard let name = reader.text(node) else { return nil }
                    if reader.names.introducedNames(.delivery).contains(name) {
                        reader.fail(.duplicateDelivery(name), at: node.location)
                    }
                    reader.names.recordUse(.delivery, .introduces, name, at: node.location)
                    return name
                },
                write: { .text($0) }
            ),
            "A name for this delivery."
        )
    }

    /// Creates the field for the events of one provider.
    fileprivate static func event(_ notation: EventNotation) -> Field {
        Field(
            KeyShape(notation.key, notation.shape, notation.doc),
            read: { node, delivery, reader in
                guard let event = notation.read(node, &reader) else { return }
                delivery.subject = .event(event)
                // A contract may send an event of the default sender to another webhook.
                if notation.provider != ProviderTable.all.defaultSender {
                    delivery.provider = notation.provider
                }
            },
            write: { $0.event.flatMap(notation.write) }
        )
    }

    /// The field for the key `cut-body-at`: the percentage of the event's bytes after which the
    /// body is cut off.
    fileprivate static var bodyTruncationPercent: Field {
        let percentSyntax = Syntax.count(1...99)
        return Field(
            KeyShape(
                "cut-body-at",
                percentSyntax.shape,
                "Cuts off the body after this percentage of its bytes."
            ),
            read: { node, delivery, reader in
                guard let percent = percentSyntax.read(node, &reader),
                    case .event(let spec) = delivery.subject
                else { return }
                delivery.subject = .raw(.truncated(spec, percent: percent))
            },
            write: { delivery in
                guard case .raw(.truncated(_, let percent)) = delivery.subject else { return nil }
                return percentSyntax.write(percent)
            }
        )
    }

    /// The field for the key `to`: the provider whose webhook is called.
    ///
    /// The key is needed only when neither the event nor the repeated delivery determines the
    /// provider.
    fileprivate static var webhookProvider: Field {
        let table = ProviderTable.all
        let word = Syntax.word("webhook", among: table.senders.map(\.party.description))
        var shape = KeyShape("to", word.shape, "The provider whose webhook is called.")
        shape.fallback = table.defaultSender.description
        return Field(
            shape,
            read: { node, delivery, reader in
                guard let name = word.read(node, &reader), let provider = table.named(name) else {
                    return
                }
                delivery.provider = provider.party
            },
            write: { delivery in
                if case .repeats = delivery.subject { return nil }
                let usualProvider =
                    delivery.event.flatMap { table.eventNotation($0.key)?.provider }
                    ?? table.defaultSender
                return delivery.provider == usualProvider
                    ? nil : .plain(delivery.provider.description)
            }
        )
    }

    /// The field for the key `repeats`: sends the same bytes as an earlier delivery, to the same
    /// webhook.
    fileprivate static var repeatedDelivery: Field {
        Field(
            KeyShape(
                "repeats",
                .name(.delivery, .refers),
                "Sends the bytes of the earlier delivery with this name again, on a new connection."
            ),
            read: { node, delivery, reader in
                guard let name = reader.text(node) else { return }
                let ownName = delivery.name
                let earlierDeliveryNames = reader.names.introducedNames(.delivery).filter {
                    $0 != ownName
                }
                guard earlierDeliveryNames.contains(name) else {
                    reader.fail(
                        .unknownDelivery(name, knownNames: earlierDeliveryNames),
                        at: node.location
                    )
                    return
                }
                delivery.subject = .repeats(name)
                delivery.provider = reader.providersByDelivery[name] ?? delivery.provider
            },
            write: { delivery in
                guard case .repeats(let name) = delivery.subject else { return nil }
                return .text(name)
            }
        )
    }

    // MARK: Edits

    fileprivate static var valueChanges: Field {
        Field(
            KeyShape(
                "set",
                .map(
                    key: .pointer,
                    value: .templated(.json, .contract(.request)),
                    countRange: 0...1000
                ),
                "Values to set in the generated body, by JSON pointer."
            ),
            read: { node, delivery, reader in
                for entry in reader.entries(node) ?? [] {
                    guard let pointer = JSONPointer(entry.key) else {
                        reader.fail(
                            .wrongValueKind(
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
                let valueEdits = delivery.edits.filter { $0.value != nil }
                guard delivery.hasPlainEdits, !valueEdits.isEmpty else { return nil }
                return .block(
                    valueEdits.map { .init($0.pointer.description, .json($0.value ?? .null)) }
                )
            }
        )
    }

    fileprivate static var removedPointers: Field {
        let pointers = Syntax.list(.pointer)
        return Field(
            KeyShape("remove", pointers.shape, "JSON pointers of fields to remove."),
            read: { node, delivery, reader in
                for pointer in pointers.read(node, &reader) ?? [] {
                    delivery.edits.append(.init(pointer: pointer, value: nil))
                }
            },
            write: { delivery in
                let removedPointers = delivery.edits.filter { $0.value == nil }
                guard delivery.hasPlainEdits, !removedPointers.isEmpty else { return nil }
                return pointers.write(removedPointers.map(\.pointer))
            }
        )
    }

    /// The field for the key `edits`: a list of changes like those of `set` and `remove`, applied
    /// in order.
    fileprivate static var edits: Field {
        let edits = Syntax.lines(Delivery.Edit.grammar.flow)
        return Field(
            KeyShape(
                "edits",
                edits.shape,
                "A list of changes like `set` and `remove`, applied in order."
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

    // MARK: Responses

    fileprivate static var answer: Field {
        Field(
            KeyShape(
                "response",
                ResponsePattern.syntax.shape,
                "The expected response: a status, or a mapping with more details."
            ),
            read: { node, delivery, reader in
                guard let pattern = ResponsePattern.syntax.read(node, &reader) else { return }
                delivery.responsePattern = pattern
                delivery.responses = .statuses([pattern.status])
            },
            write: { $0.responsePattern.map(ResponsePattern.syntax.write) }
        )
    }

    fileprivate static var responses: Field {
        Field(
            KeyShape(
                "status",
                ResponseExpectation.syntax.shape,
                "The statuses that satisfy this delivery, instead of `status` under `expect`."
            ),
            read: { node, delivery, reader in
                delivery.responses = ResponseExpectation.syntax.read(node, &reader)
            },
            write: {
                $0.responsePattern == nil ? $0.responses.map(ResponseExpectation.syntax.write) : nil
            }
        )
    }
}

extension Delivery {
    /// Whether the edits can be written under the keys `set` and `remove`: no location is set
    /// twice, and the removals come last.
    fileprivate var hasPlainEdits: Bool {
        let valueEdits = edits.prefix { $0.value != nil }
        let pointers = valueEdits.map(\.pointer)
        return edits.dropFirst(valueEdits.count).allSatisfy { $0.value == nil }
            && Set(pointers).count == pointers.count
    }
}

extension StepForm {
    static var deliver: StepForm {
        StepForm(
            Delivery.grammar,
            embed: { .deliver($0) },
            extract: { if case .deliver(let delivery) = $0 { delivery } else { nil } }
        )
    }
}
