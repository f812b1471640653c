package import Contracts
package import Values

extension RunRecord {
    /// Returns the attempts at the delivery of that name, in the order in which they were sent.
    package func attempts(of delivery: String) -> [Exchange] {
        exchanges.filter {
            if case .delivery(delivery, _) = $0.purpose { true } else { false }
        }
    }

    /// The effects at providers during this run, such as pushes, each with the exchange that caused
    /// it.
    ///
    /// An effect source lists its messages in every response, so only its last response counts.
    package var effects: [(effect: Effect, exchange: Exchange)] {
        var lastReads: [Exchange.Purpose: Int] = [:]
        for exchange in exchanges where exchange.completed != nil {
            if case .probe = exchange.purpose { lastReads[exchange.purpose] = exchange.sequence }
        }
        return exchanges.flatMap { exchange in
            (lastReads[exchange.purpose] ?? exchange.sequence) == exchange.sequence
                ? exchange.effects.map { ($0, exchange) } : []
        }
    }

    /// Returns the event in the body of the delivery of that name; nil when it was not sent or
    /// contains no event.
    package func event(of delivery: String) -> JSONValue? {
        guard let attempt = attempts(of: delivery).first,
            let body = JSONValue(
                ifValid: attempt.request.body,
                options: .init(depthMax: 100_000, duplicateKeys: .keep)
            )
        else { return nil }
        // RevenueCat wraps the event in an object; Purchasely's body is the event.
        return body["event"] ?? body
    }

    /// Returns the last state of a user that the probe of that name returned; nil when the probe
    /// was not sent.
    package func state(of user: String, probe: String) -> ObservedState? {
        exchanges.last {
            guard $0.completed != nil, case .probe(probe, user) = $0.purpose else { return false }
            return true
        }.map(ObservedState.init)
    }

    /// Whether a probe refused to look up the ID of a user with status 400 or 422, because it is no
    /// valid ID.
    func refusesLookup(of user: String, probe: String) -> Bool {
        let exchange = exchanges.last {
            guard $0.completed != nil, case .probe(probe, user) = $0.purpose else { return false }
            return true
        }
        return exchange?.response.map { [400, 422].contains($0.status) } ?? false
    }

    /// Returns the last exchange of the app's call of that name; nil when the call was not made.
    package func exchange(ofCall call: String) -> Exchange? {
        exchanges.last {
            if case .appCall(call) = $0.purpose { true } else { false }
        }
    }
}
