internal import Contracts
internal import Providers
internal import Values

/// Operations of the control API on the virtual clock of a namespace.
extension ControlRoute {
    static let clockRoutes = [
        ControlRoute(
            "clock",
            "GET",
            "/clock",
            "Returns the time of a namespace's clock.",
            handler: .response { api, call in api.clockSummary(call.namespace) }
        ),
        ControlRoute(
            "setClock",
            "PUT",
            "/clock",
            "Sets the clock of a namespace, stops it, or lets it run.",
            members: [
                ControlMember("now", .timestamp, "A time in ISO 8601, or milliseconds since 1970."),
                ControlMember("frozen", .flag, "Whether the clock is stopped."),
            ],
            handler: .response { (api, call) async throws(ControlRefusal) in try api.setClock(call)
            }
        ),
        ControlRoute(
            "advance",
            "POST",
            "/clock/advance",
            "Moves the clock forward, and makes all deliveries and renewals on the way.",
            members: [
                ControlMember("by", .text, "A duration such as 5m or 30d."),
                ControlMember("to", .timestamp, "A time in ISO 8601, or milliseconds since 1970."),
                ControlMember(
                    "until",
                    .choice(["settled"]),
                    "settled: the clock moves until no delivery is waiting any more."
                ),
            ],
            handler: .response { (api, call) async throws(ControlRefusal) in
                try await api.advance(call)
            }
        ),
    ]
}

extension ControlAPI {
    fileprivate func clockSummary(_ namespace: String) -> JSONValue {
        let wallTime = fakes.now
        let clock = fakes.read(namespace) { services, _ in services.clock } ?? VirtualClock()
        let now = clock.now(at: wallTime)
        return [
            "namespace": .string(namespace), "now": .string(now.preciseText),
            "now_ms": .integer(now.milliseconds), "frozen": .bool(clock.frozen != nil),
            "ahead_ms": .integer((now - wallTime).milliseconds),
        ]
    }

    fileprivate func setClock(_ call: Call) throws(Refusal) -> JSONValue {
        let wallTime = fakes.now
        let time = ControlMember.timestamp(call.body["now"])
        let frozen = call.body["frozen"]?.bool
        guard time != nil || frozen != nil else {
            throw Refusal(400, "the body needs 'now', 'frozen' or both")
        }
        if let time { try checkRenewalLimit(call.namespace, time) }
        fakes.edit(call.namespace) { services, _ in
            if let frozen { services.clock.setFrozen(frozen, at: wallTime) }
            if let time { services.clock.set(to: time, at: wallTime) }
        }
        return clockSummary(call.namespace)
    }

    fileprivate func advance(_ call: Call) async throws(Refusal) -> JSONValue {
        let now = fakes.read(call.namespace) { $1 } ?? fakes.now
        let targetTime = try targetTime(call, now)
        if let targetTime { try checkRenewalLimit(call.namespace, targetTime) }
        let advanceResult = await dispatcher.advance(call.namespace, to: targetTime)
        var clockState = clockSummary(call.namespace).object ?? JSONObject()
        clockState["attempts"] = .integer(Int64(advanceResult.attemptCount))
        clockState["settled"] = .bool(advanceResult.isSettled)
        return .object(clockState)
    }

    /// Refuses a move of the clock that leaves the allowed range, or that causes more renewals than
    /// one call can carry out in a few seconds.
    private func checkRenewalLimit(_ namespace: String, _ time: Instant) throws(Refusal) {
        guard Instant.acceptedRange.contains(time) else {
            throw Refusal(
                400,
                "the clock cannot move to \(time), only within \(Instant.acceptedRangeText)"
            )
        }
        let count = fakes.read(namespace) { services, _ in services.renewalCount(by: time) } ?? 0
        guard count <= Services.renewalsMax else {
            throw Refusal(
                400,
                "a move to \(time) would cause \(count) renewals; one move may cause at most "
                    + "\(Services.renewalsMax) renewals",
                hint: "move the clock in several steps, or cancel subscriptions first"
            )
        }
    }

    /// Returns the time to which a call moves the clock.
    ///
    /// Nil means that the clock moves until no delivery is waiting any more.
    private func targetTime(_ call: Call, _ now: Instant) throws(Refusal) -> Instant? {
        let givenMemberNames = ["by", "to", "until"].filter(call.hasMember)
        guard let memberName = givenMemberNames.first else {
            throw Refusal(400, "the body needs 'by', 'to' or 'until': 'settled'")
        }
        guard givenMemberNames.count == 1 else {
            throw Refusal(
                400,
                "the body may have only one of \(givenMemberNames.joined(separator: ", "))"
            )
        }
        if memberName == "until" { return nil }
        if memberName == "to" {
            guard let targetTime = ControlMember.timestamp(call.body["to"]), targetTime >= now
            else {
                throw Refusal(
                    400,
                    "'to' is in the past; PUT /assay/v1/clock can move the clock back"
                )
            }
            return targetTime
        }
        let text = call.body["by"]?.string ?? ""
        guard let advanceDuration = Duration(contractText: text), advanceDuration > .zero else {
            throw Refusal(400, "'by' is '\(text)', which is not a duration such as 5m or 30d")
        }
        return now + advanceDuration
    }
}
