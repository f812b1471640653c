internal import Conformance
internal import FakeServers
internal import Providers

/// Writes what a delivery carries, byte for byte as its sender would.
struct Bodies {
    let run: RunExecutor

    private var world: FakeWorld { run.world }

    /// The body of the contract's first event, in a namespace that nobody uses.
    func sampleBody(of contract: Contract) -> JSONValue? {
        let namespace = Namespace(name: "sample", idForm: run.profile.idForm)
        for case .deliver(let delivery) in contract.steps {
            switch delivery.subject {
            case .event(let spec): return run.factory(namespace).body(spec, name: delivery.name)
            case .purchasely(let spec):
                return PurchaselyEventFactory(namespace: namespace, base: run.base)
                    .body(spec, name: delivery.name)
            case .body, .raw, .repeats, .told: continue
            }
        }
        return nil
    }

    func body(of delivery: Delivery, _ progress: inout RunExecutor.Progress) -> [UInt8] {
        let factory = run.factory(progress.namespace)
        switch delivery.subject {
        case .repeats(let name):
            let bytes = progress.bodies[name] ?? []
            guard !delivery.edits.isEmpty, let value = try? JSONValue(parsing: bytes)
            else { return bytes }
            return Self.edited(value, delivery, &progress).bytes
        case .event(let spec):
            let body = factory.body(spec, name: delivery.name)
            while let next = progress.upcoming.first, next.time <= spec.time {
                world.apply(next.body, namespace: progress.namespace.name)
                progress.upcoming.removeFirst()
            }
            return Self.edited(body, delivery, &progress).bytes
        case .purchasely(let spec):
            let body = PurchaselyEventFactory(namespace: progress.namespace, base: run.base)
                .body(spec, name: delivery.name)
            return Self.edited(body, delivery, &progress).bytes
        case .body(let value):
            progress.values.namespace = progress.namespace
            let body = Self.edited(progress.values.fill(value), delivery, &progress)
            // What the event says, REST says.
            if delivery.provider == .revenueCat, body["event"]?["app_user_id"] != nil {
                world.apply(body, namespace: progress.namespace.name)
            }
            return body.bytes
        case .told(let type):
            let bytes = run.told(type, &progress)
            guard !delivery.edits.isEmpty, let value = try? JSONValue(parsing: bytes)
            else { return bytes }
            return Self.edited(value, delivery, &progress).bytes
        case .raw(.text(let text)):
            progress.values.namespace = progress.namespace
            return Array(progress.values.fill(text).utf8)
        case .raw(.truncated(let spec, let percent)):
            let bytes = factory.body(spec, name: delivery.name).bytes
            return Array(bytes.prefix(bytes.count * percent / 100))
        }
    }

    private static func edited(
        _ body: JSONValue,
        _ delivery: Delivery,
        _ progress: inout RunExecutor.Progress
    ) -> JSONValue {
        var body = body
        progress.values.namespace = progress.namespace
        let isFlat = delivery.provider == .purchasely
        for edit in delivery.edits {
            body.set(edit.pointer, to: edit.value.map { progress.values.fill($0) })
        }
        if delivery.paddingKilobytes > 0 {
            let text = String(repeating: "x", count: delivery.paddingKilobytes << 10)
            let place = (isFlat ? [] : ["event"]) + ["assay_padding"]
            body.set(JSONPointer(tokens: place), to: .string(text))
        }
        if delivery.nesting > 0 {
            let nested = (0..<delivery.nesting).reduce(JSONValue.null) { inner, _ in .array([inner])
            }
            let place = (isFlat ? [] : ["event"]) + ["assay_nesting"]
            body.set(JSONPointer(tokens: place), to: nested)
        }
        if delivery.shufflesKeys {
            var generator = SeededGenerator(seed: 0, text: progress.namespace.name + delivery.name)
            body = shuffled(body, &generator)
        }
        return body
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
