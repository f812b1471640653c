internal import Contracts
internal import Providers
internal import Values

/// Adds faults to the deliveries of a generated history.
extension HistoryGenerator {
    func addFaults(
        _ history: inout CustomerHistory,
        _ events: [HistoryModel.StepEvent],
        _ random: inout SeededGenerator
    ) {
        let capabilities = options.capabilities
        for index in history.steps.indices
        where capabilities.canReadState && random.occursOncePer(6) {
            history.steps[index].readsStateAfterStep = true
        }
        guard !random.occursOncePer(3) else {
            history.hasBaseline = !capabilities.canReadState
            return
        }
        let areRestartsRequested = options.faults.contains { $0 == .restart || $0 == .crash }
        let areProviderErrorsRequested = options.faults.contains { requestedKind in
            ServiceError.all.contains { requestedKind == .serviceError($0) }
        }
        let mayRestart =
            capabilities.has(.restart) && random.occursOncePer(areRestartsRequested ? 2 : 24)
        let mayProviderFail = areProviderErrorsRequested || random.occursOncePer(8)
        var hasRedelivery = false
        for (index, stepEvent) in events.enumerated() where random.occursOncePer(5) {
            let mayProviderFail = mayProviderFail && stepEvent.message.usuallyCausesPush
            guard
                let fault = fault(
                    mayRestart: mayRestart,
                    mayProviderFail: mayProviderFail,
                    &random
                ),
                capabilities.allows(fault),
                // If the backend shows no stored state, its effects alone do not show the result of
                // a delayed event.
                capabilities.canReadState || !fault.changesDeliveryOrder
            else { continue }
            history.placedFaults.append(stepEvent.placed(fault))
            if let redelivery = redelivery(showing: fault, ofEventAt: index, events) {
                hasRedelivery = true
                history.placedFaults.append(redelivery)
            }
        }
        let isBaselineWanted = random.occursOncePer(mayRestart ? 2 : 4) || hasRedelivery
        history.hasBaseline =
            !capabilities.canReadState || !history.placedFaults.isEmpty && isBaselineWanted
    }

    /// Returns the redelivery of an event that shows the effect of a fault; nil for a fault that
    /// needs no redelivery.
    private func redelivery(
        showing fault: HistoryFault,
        ofEventAt index: Int,
        _ events: [HistoryModel.StepEvent]
    ) -> CustomerHistory.PlacedFault? {
        guard isFaultEnabled(.redelivery(after: 1)) else { return nil }
        // A second fault delivers the same event again, so that the two deliveries have different
        // bytes.
        if fault == .reorderedKeys { return events[index].placed(.redelivery(after: 1)) }
        // A second delivery of an earlier event shows whether the backend lost state in the
        // restart.
        guard case .restart = fault,
            let earlierIndex = Self.latestEventIndex(before: index, events)
        else { return nil }
        return events[earlierIndex].placed(.redelivery(after: index - earlierIndex))
    }

    /// Returns the index of an earlier event whose users have no later event up to and including
    /// `index`.
    ///
    /// If the backend processes such an event twice, the result is visible, because no newer event
    /// hides it. An event that reports a payment is preferred.
    ///
    /// Without such an event, the result is the index of the previous event; nil when there is
    /// none.
    private static func latestEventIndex(before index: Int, _ events: [HistoryModel.StepEvent])
        -> Int?
    {
        var affectedUsers = Set(events[index].message.users)
        var earlierUnrelatedIndexes: [Int] = []
        for earlierIndex in (0..<index).reversed() {
            let users = events[earlierIndex].message.users
            if affectedUsers.isDisjoint(with: users) {
                earlierUnrelatedIndexes.append(earlierIndex)
            }
            affectedUsers.formUnion(users)
        }
        return earlierUnrelatedIndexes.first { events[$0].message.usuallyCausesPush }
            ?? earlierUnrelatedIndexes.first
            ?? (index > 0 ? index - 1 : nil)
    }

    private func isFaultEnabled(_ fault: HistoryFault) -> Bool {
        options.faults.isEmpty || options.faults.contains(fault.kind)
    }

    /// The maximum number of random faults to draw until one of them is of a requested kind.
    private static let randomFaultAttemptsMax = 24

    /// Returns a random fault of a kind that the user requested; nil when no draw produced such a
    /// fault.
    private func fault(
        mayRestart: Bool,
        mayProviderFail: Bool,
        _ random: inout SeededGenerator
    ) -> HistoryFault? {
        for _ in 0..<Self.randomFaultAttemptsMax {
            let fault = randomFault(
                mayRestart: mayRestart,
                mayProviderFail: mayProviderFail,
                &random
            )
            if isFaultEnabled(fault) { return fault }
        }
        return nil
    }

    private func randomFault(
        mayRestart: Bool,
        mayProviderFail: Bool,
        _ random: inout SeededGenerator
    ) -> HistoryFault {
        let repeatCount = Int.random(in: 1...2, using: &random)
        let copyOrDelayCount = Int.random(in: 1...3, using: &random)
        if mayRestart, random.occursOncePer(2) {
            let phase = Crash.Phase.allCases.randomElement(using: &random) ?? .sent
            // A backend that stops gracefully waits for the missing half of the request until it is
            // killed.
            let mayTerminate = phase != .halfSent && random.occursOncePer(2)
            let signal: Restart.Signal = mayTerminate ? .terminate : .kill
            return random.occursOncePer(2)
                ? .restart(signal) : .crash(Crash(signal: signal, phase: phase))
        }
        if mayProviderFail, random.occursOncePer(2) {
            let providerResponses: [ProviderPlan.PlannedResponse] = [
                .status(500), .status(503), .reset, .lostResponse,
            ]
            let providerResponse = providerResponses.randomElement(using: &random) ?? .reset
            if let error = ServiceError.all.randomElement(using: &random) {
                return .serviceError(error, providerResponse)
            }
        }
        return switch Int.random(in: 0..<18, using: &random) {
        case 0: .duplicate(repeatCount)
        case 1: .concurrentDuplicate(copyOrDelayCount)
        case 2...3: .redelivery(after: copyOrDelayCount)
        case 4...7: .delayed(by: copyOrDelayCount)
        case 8: .lostResponses(repeatCount)
        case 9: .truncatedRequests(1)
        case 10: .disconnects(1)
        case 11: .unknownType
        case 12: random.occursOncePer(2) ? .unknownFields : .reorderedKeys
        case 13...15: .overlap
        case 16: .registrationOverlap
        default: .register
        }
    }
}

extension HistoryModel.StepEvent {
    /// Returns a fault in the delivery of this event.
    fileprivate func placed(_ fault: HistoryFault) -> CustomerHistory.PlacedFault {
        CustomerHistory.PlacedFault(operation: step, event: index, fault)
    }
}
