internal import Providers
package import Values

/// The plans of the runs for a contract with a search. A search tries many variations of the
/// contract's steps.
extension CasePlan {
    /// One call that the backend makes in the fault-free run, and the fault that is injected at
    /// this call.
    package struct CrashPoint: Hashable, Sendable {
        package let party: Exchange.Party
        /// The position of the call among the backend's calls to this party, counted from 1.
        package let position: Int
        package let fault: CrashFault

        package init(party: Exchange.Party, position: Int, fault: CrashFault) {
            self.party = party
            self.position = position
            self.fault = fault
        }

        package var name: String { "call:\(party)-\(position),fault:\(fault.rawValue)" }
    }

    /// Returns every call that the backend made in the fault-free run, combined with each fault.
    package static func crashPoints(
        in faultFreeRun: RunRecord,
        faults: [CrashFault]
    ) -> [CrashPoint] {
        var callCounts: [Exchange.Party: Int] = [:]
        return faultFreeRun.exchangesOfSteps.filter { $0.from == .backend }.flatMap {
            call -> [CrashPoint] in
            callCounts[call.to, default: 0] += 1
            let position = callCounts[call.to] ?? 1
            return faults.map { CrashPoint(party: call.to, position: position, fault: $0) }
        }
    }

    /// Returns the plan of the case with a fault at one call of the backend.
    ///
    /// After a kill of the backend, the events of the case are delivered again.
    package func injectingFault(at crashPoint: CrashPoint) -> CasePlan {
        var contract = contract
        contract.variant = [contract.variant, crashPoint.name].filter { !$0.isEmpty }
            .joined(separator: ",")
        contract.search = nil
        let usualResponses = [ProviderPlan.PlannedResponse](
            repeating: .asUsual,
            count: crashPoint.position - 1
        )
        let plan = ProviderPlan(
            provider: crashPoint.party,
            responses: usualResponses + [crashPoint.fault.plannedResponse],
            includesReads: true
        )
        // The positions count from here, after the backend has processed the events of `given`.
        var steps = [.provider(plan)] + contract.steps
        if crashPoint.fault.isKill {
            steps.append(.killAtCall(party: crashPoint.party, position: crashPoint.position))
            for case .deliver(let delivery) in contract.steps {
                var repeatedDelivery = Delivery(
                    name: delivery.name + "Again",
                    subject: .repeats(delivery.name)
                )
                repeatedDelivery.provider = delivery.provider
                repeatedDelivery.followsRetrySchedule = true
                steps.append(.deliver(repeatedDelivery))
            }
        }
        return CasePlan(contract, steps: steps)
    }

    /// Returns the plan of the case with the events of its steps in another order.
    package func reordered(_ order: [Int]) -> CasePlan {
        let deliveries = contract.steps.filter { if case .deliver = $0 { true } else { false } }
        var remainingDeliveries = order.map { deliveries[$0] }[...]
        let steps = contract.steps.map { step in
            if case .deliver = step { remainingDeliveries.popFirst() ?? step } else { step }
        }
        return CasePlan(contract, steps: steps)
    }

    /// Returns the plan of the case with edits applied to the event of its steps.
    ///
    /// Edits that change the identity of the subscription are also applied to the `given` events.
    /// Otherwise the edited event would concern another subscription, and any response to it would
    /// be correct.
    package func applyingEdits(_ edits: [Delivery.Edit], shufflesKeys: Bool = false) -> CasePlan {
        var contract = contract
        contract.search = nil
        let identityEdits = edits.filter(\.changesSubscriptionIdentity)
        contract.given = contract.given.map { $0.edited(identityEdits, shufflesKeys: false) }
        contract.steps = contract.steps.map { $0.edited(edits, shufflesKeys: shufflesKeys) }
        return CasePlan(contract)
    }
}

extension Step {
    /// Returns the step with these edits applied, when it delivers an event; other steps and
    /// repetitions of an event stay unchanged.
    fileprivate func edited(_ edits: [Delivery.Edit], shufflesKeys: Bool) -> Step {
        guard case .deliver(var delivery) = self else { return self }
        if case .repeats = delivery.subject { return self }
        delivery.edits += edits
        delivery.shufflesKeys = delivery.shufflesKeys || shufflesKeys
        return .deliver(delivery)
    }
}

extension Delivery.Edit {
    /// Whether the edit changes the store, which is part of a subscription's identity: two stores
    /// may use the same transaction ID.
    fileprivate var changesSubscriptionIdentity: Bool { pointer.tokens.last == "store" }
}

extension RunRecord {
    /// The exchanges since the first request of the contract's own steps; the preparation of the
    /// case (`given`) comes before it.
    fileprivate var exchangesOfSteps: ArraySlice<Exchange> {
        let steps = plan.steps.dropFirst(plan.preparationStepCount ?? 0)
        let deliveryNames = Set(
            steps.compactMap { step in
                if case .deliver(let delivery) = step { delivery.name } else { nil }
            }
        )
        let callNames = Set(
            steps.flatMap { step in
                if case .call(let calls) = step { calls.map(\.name) } else { [String]() }
            }
        )
        let first = exchanges.firstIndex { exchange in
            switch exchange.purpose {
            case .delivery(let name, _): deliveryNames.contains(name)
            case .appCall(let name): callNames.contains(name)
            default: false
            }
        }
        return exchanges[(first ?? exchanges.startIndex)...]
    }
}
