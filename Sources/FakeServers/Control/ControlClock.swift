internal import Conformance
internal import Providers

/// A namespace's time.
extension ControlAPI {
    func instant(_ value: JSONValue?, _ name: String) throws(Refusal) -> Instant? {
        switch value {
        case nil, .null: return nil
        case .number:
            if let time = value?.int64 { return Instant(milliseconds: time) }
        case .string(let text):
            if let time = Instant(iso8601: text) { return time }
        default: break
        }
        throw Refusal(
            400,
            "'\(name)' takes a time such as 2026-09-24T12:00:00Z, or milliseconds"
        )
    }

    func shownClock(_ namespace: String) -> JSONValue {
        let wall = world.now
        let clock = world.read(namespace) { services, _ in services.clock } ?? VirtualClock()
        let now = clock.now(at: wall)
        return [
            "namespace": .string(namespace), "now": .string(now.preciseText),
            "now_ms": .integer(now.milliseconds), "frozen": .bool(clock.frozen != nil),
            "ahead_ms": .integer((now - wall).milliseconds),
        ]
    }

    func clock(_ route: ControlRoute, _ call: Call) async throws(Refusal) -> JSONValue {
        let wall = world.now
        switch route {
        case .setClock:
            let time = try instant(call.body["now"], "now")
            let frozen = call.body["frozen"]?.bool
            guard time != nil || frozen != nil else {
                throw Refusal(400, "give 'now', 'frozen' or both")
            }
            world.edit(call.namespace) { services, _ in
                if let frozen { services.clock.freeze(frozen, at: wall) }
                if let time { services.clock.set(to: time, at: wall) }
            }
        case .advance: return try await advance(call)
        default: break
        }
        return shownClock(call.namespace)
    }

    private func advance(_ call: Call) async throws(Refusal) -> JSONValue {
        let now = world.read(call.namespace) { $1 } ?? world.now
        var target = try instant(call.body["to"], "to")
        if let text = call.body["by"]?.string {
            guard let span = Duration(contractText: text), span > .zero else {
                throw Refusal(400, "'by' is '\(text)', which is no duration such as 5m or 30d")
            }
            target = now + span
        }
        let isSettling = call.body["until"] == "settled"
        guard isSettling || target != nil else {
            throw Refusal(400, "give 'by', 'to' or 'until': 'settled'")
        }
        if let target, target < now {
            throw Refusal(400, "the clock does not go back; use PUT /assay/v1/clock")
        }
        let done = await courier.advance(call.namespace, to: isSettling ? nil : target)
        var shown = shownClock(call.namespace).object ?? JSONObject()
        shown["attempts"] = .integer(Int64(done.attemptCount))
        shown["settled"] = .bool(done.isSettled)
        return .object(shown)
    }
}
