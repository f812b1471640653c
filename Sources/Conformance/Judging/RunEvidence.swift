extension RunRecord {
    /// The attempts of one delivery, in the order they were sent.
    package func attempts(of delivery: String) -> [Exchange] {
        exchanges.filter {
            if case .delivery(delivery, _) = $0.purpose { true } else { false }
        }
    }

    /// Effects that providers saw during this run, with the exchange that caused each.
    package var effects: [(effect: Effect, exchange: Exchange)] {
        exchanges.flatMap { exchange in exchange.effects.map { ($0, exchange) } }
    }

    /// The event that the named delivery carried.
    package func event(of delivery: String) -> JSONValue? {
        guard let attempt = attempts(of: delivery).first,
            let body = try? JSONValue(
                parsing: attempt.request.body,
                options: .init(depthMax: 100_000, duplicateKeys: .keep)
            )
        else { return nil }
        return body["event"]
    }

    /// What the probes last said about a user.
    package func state(of user: String, probe: String) -> ObservedState? {
        exchanges.last {
            guard $0.completed != nil, case .probe(probe, user) = $0.purpose else { return false }
            return true
        }.map(ObservedState.init)
    }

    /// The exchange of the app's call of that name.
    package func answer(to call: String) -> Exchange? {
        exchanges.last {
            if case .appCall(call) = $0.purpose { true } else { false }
        }
    }
}
