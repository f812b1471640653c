internal import Contracts
internal import FakeServers
internal import Grammar
internal import Providers
internal import Values

/// Creates the bodies of deliveries, byte for byte as the real sender would write them.
extension RunExecutor {
    /// Returns the body of the first event in a contract, with the user IDs of a namespace that no
    /// case uses.
    ///
    /// Returns nil if the contract has no event whose body Assay creates.
    func sampleBody(of contract: Contract) -> JSONValue? {
        let namespace = Namespace(name: "sample", idForm: profile.idForm)
        for case .deliver(let delivery) in contract.steps {
            if case .event(let event) = delivery.subject {
                return event.body(in: eventContext(namespace), name: delivery.name)
            }
        }
        return nil
    }
}

extension CaseExecution {
    mutating func body(of delivery: Delivery) -> [UInt8] {
        let eventContext = run.eventContext(namespace, of: plan)
        switch delivery.subject {
        case .repeats(let name):
            return bodyWithEdits(deliveries.bodies[name] ?? [], delivery)
        case .event(let event):
            let body = event.body(in: eventContext, name: delivery.name)
            while let next = deliveries.futureEvents.first, next.time <= event.time {
                if let nextBody = next.event?.body(in: eventContext, name: next.name) {
                    values.namespace = namespace
                    fakes.apply(
                        values.bodyForFake(nextBody, with: next.edits),
                        of: next.provider,
                        namespace: namespace.name
                    )
                }
                deliveries.futureEvents.removeFirst()
            }
            return Self.bytes(jsonWithEdits(body, delivery), delivery)
        case .body(let value):
            values.namespace = namespace
            let body = jsonWithEdits(values.fill(value), delivery)
            // The REST API of the fake has to return the state that this event reports.
            let fake = fakes.providers[delivery.provider]?.eventDrivenFake
            if let fake, fake.reportsUserState(body) {
                fakes.apply(body, of: delivery.provider, namespace: namespace.name)
            }
            return Self.bytes(body, delivery)
        case .storeEvent(let type):
            return bodyWithEdits(told(type), delivery)
        case .raw(.text(let text)):
            values.namespace = namespace
            return Array(values.fill(text).utf8)
        case .raw(.truncated(let event, let percent)):
            let bytes = event.body(in: eventContext, name: delivery.name).bytes
            return Array(bytes.prefix(bytes.count * percent / 100))
        }
    }

    /// Returns a body with the changes that the contract makes to it; unchanged if there are none.
    private mutating func bodyWithEdits(_ bytes: [UInt8], _ delivery: Delivery) -> [UInt8] {
        guard delivery.changesBody else { return bytes }
        guard let value = JSONValue(ifValid: bytes) else {
            runProblem =
                runProblem
                ?? .faultNotApplied(
                    "the delivery '\(delivery.name)' changes a body that is not JSON or too deep"
                )
            return bytes
        }
        return Self.bytes(jsonWithEdits(value, delivery), delivery)
    }

    private mutating func jsonWithEdits(_ body: JSONValue, _ delivery: Delivery) -> JSONValue {
        var body = body
        values.namespace = namespace
        let eventPointer = delivery.sender?.format.eventPointer ?? JSONPointer()
        for edit in delivery.edits {
            body.set(edit.pointer, to: edit.value.map { values.fill($0) })
        }
        if delivery.paddingKilobytes > 0 {
            let text = String(repeating: "x", count: delivery.paddingKilobytes << 10)
            body.set(eventPointer.appending("assay_padding"), to: .string(text))
        }
        if delivery.addedNestingDepth > 0 {
            body.set(
                eventPointer.appending("assay_nesting"),
                to: .string(Self.nestingPlaceholder)
            )
        }
        if delivery.shufflesKeys {
            var generator = SeededGenerator(seed: 0, text: namespace.name + delivery.name)
            body = Self.shuffled(body, &generator)
        }
        return body
    }

    /// A placeholder for a deep nesting, which is inserted only when the body is encoded.
    ///
    /// A JSON value of that depth would exhaust the stack of any code that traverses it.
    private static let nestingPlaceholder = "assay-nests-here"

    private static func bytes(_ body: JSONValue, _ delivery: Delivery) -> [UInt8] {
        let bytes = body.bytes
        let placeholderBytes = JSONValue.string(nestingPlaceholder).bytes
        guard delivery.addedNestingDepth > 0,
            let insertionPoint = bytes.firstRange(of: placeholderBytes)
        else { return bytes }
        let openingBrackets = [UInt8](
            repeating: UInt8(ascii: "["),
            count: delivery.addedNestingDepth
        )
        let closingBrackets = [UInt8](
            repeating: UInt8(ascii: "]"),
            count: delivery.addedNestingDepth
        )
        return bytes[..<insertionPoint.lowerBound] + openingBrackets + Array("null".utf8)
            + closingBrackets
            + bytes[insertionPoint.upperBound...]
    }

    private static func shuffled(
        _ value: JSONValue,
        _ generator: inout SeededGenerator
    ) -> JSONValue {
        switch value {
        case .object(let object):
            var members = object.members
            for index in members.indices {
                members[index].value = shuffled(members[index].value, &generator)
            }
            return .object(JSONObject(members: members.shuffled(using: &generator)))
        case .array(let elements):
            return .array(elements.map { shuffled($0, &generator) })
        case .null, .bool, .number, .string: return value
        }
    }
}

extension TemplateValues {
    /// Returns the body of an event with the values that a contract sets, as far as the sender
    /// could send them.
    ///
    /// The REST API of the fake has to agree with the event. A value of another kind than the usual
    /// one, and an added or removed member, make an event that the sender never sends. The fake
    /// ignores them.
    fileprivate mutating func bodyForFake(
        _ body: JSONValue,
        with edits: [Delivery.Edit]
    ) -> JSONValue {
        var body = body
        for edit in edits {
            guard let value = edit.value.map({ fill($0) }), let usualValue = body[edit.pointer],
                usualValue.kind == value.kind
            else { continue }
            body.set(edit.pointer, to: value)
        }
        return body
    }
}
