/// The runs that a contract with a search stands for.
extension CasePlan {
    /// One call of the golden run, and what happens to it.
    package struct CrashPoint: Hashable, Sendable {
        package let party: Exchange.Party
        /// Counts the calls to this party, from 1.
        package let position: Int
        package let fault: CrashFault

        package init(party: Exchange.Party, position: Int, fault: CrashFault) {
            self.party = party
            self.position = position
            self.fault = fault
        }

        package var name: String { "call:\(party)-\(position),fault:\(fault.rawValue)" }
    }

    /// Every call that the backend made in the golden run, with each fault.
    package static func crashPoints(
        in golden: RunRecord,
        faults: [CrashFault]
    ) -> [CrashPoint] {
        var counts: [Exchange.Party: Int] = [:]
        return golden.exchanges.filter { $0.from == .backend }.flatMap { call -> [CrashPoint] in
            counts[call.to, default: 0] += 1
            let position = counts[call.to] ?? 1
            return faults.map { CrashPoint(party: call.to, position: position, fault: $0) }
        }
    }

    /// The case that disturbs one call; its events are delivered once more after a kill.
    package func disturbed(at point: CrashPoint) -> CasePlan {
        var contract = contract
        contract.variant = [contract.variant, point.name].filter { !$0.isEmpty }
            .joined(separator: ",")
        contract.search = nil
        let usual = [ProviderPlan.Answer](repeating: .asUsual, count: point.position - 1)
        let plan = ProviderPlan(
            provider: point.party,
            answers: usual + [point.fault.answer],
            includesReads: true
        )
        var steps = contract.steps
        if point.fault.isKill {
            steps.append(.killAtCall(party: point.party, position: point.position))
            for case .deliver(let delivery) in contract.steps {
                var again = Delivery(
                    name: delivery.name + "Again",
                    subject: .repeats(delivery.name)
                )
                again.provider = delivery.provider
                again.isAlongLadder = true
                steps.append(.deliver(again))
            }
        }
        return CasePlan(contract, given: [.provider(plan)], steps: steps)
    }

    /// The case with its steps' events in another order.
    package func reordered(_ order: [Int]) -> CasePlan {
        let deliveries = contract.steps.filter { if case .deliver = $0 { true } else { false } }
        var next = order.map { deliveries[$0] }[...]
        let steps = contract.steps.map { step in
            if case .deliver = step { next.popFirst() ?? step } else { step }
        }
        return CasePlan(contract, steps: steps)
    }

    /// The case with its one event varied.
    ///
    /// What names the subscription is varied in the events before it as well: else the varied one
    /// would speak of another subscription, and no receiver could be wrong about it.
    package func varied(_ edits: [Delivery.Edit], shufflesKeys: Bool = false) -> CasePlan {
        var contract = contract
        contract.search = nil
        let identity = edits.filter(\.namesSubscription)
        contract.given = contract.given.map { $0.edited(identity, shufflesKeys: false) }
        contract.steps = contract.steps.map { $0.edited(edits, shufflesKeys: shufflesKeys) }
        return CasePlan(contract)
    }
}

extension Step {
    /// An event with these edits; anything else as it is, and so is what repeats an event.
    fileprivate func edited(_ edits: [Delivery.Edit], shufflesKeys: Bool) -> Step {
        guard case .deliver(var delivery) = self else { return self }
        if case .repeats = delivery.subject { return self }
        delivery.edits += edits
        delivery.shufflesKeys = delivery.shufflesKeys || shufflesKeys
        return .deliver(delivery)
    }
}

extension Delivery.Edit {
    /// Whether it changes what tells one subscription from another: two stores may use one
    /// transaction id.
    ///
    /// Source: the fact sheets of both senders, identity of a subscription.
    fileprivate var namesSubscription: Bool { pointer.tokens.last == "store" }
}
