internal import Conformance

/// Adds faults to the deliveries of a generated history.
extension HistoryGenerator {
    func addFaults(
        _ history: inout CustomerHistory,
        _ events: [HistoryModel.StepEvent],
        _ random: inout SeededGenerator
    ) {
        let means = options.means
        for index in history.steps.indices where means.showsState && chance(6, &random) {
            history.steps[index].isQuietPoint = true
        }
        guard !chance(3, &random) else {
            history.hasBaseline = !means.showsState
            return
        }
        let isStopWanted = options.faults.contains { $0 == .restart || $0 == .crash }
        let isFailureWanted = options.faults.contains {
            $0 == .oneSignalError || $0 == .revenueCatError
        }
        let mayStop = means.has(.restart) && chance(isStopWanted ? 2 : 24, &random)
        let mayFail = isFailureWanted || chance(8, &random)
        var isRedelivered = false
        for (index, stepEvent) in events.enumerated() where chance(5, &random) {
            let mayFail = mayFail && stepEvent.usuallyCausesPush
            guard let fault = fault(mayStop: mayStop, mayFail: mayFail, &random),
                means.allows(fault),
                // If the backend shows no stored state, its effects alone do not show the result of
                // a delayed event.
                means.showsState || !fault.changesOrder
            else { continue }
            history.placedFaults.append(
                CustomerHistory.PlacedFault(
                    operation: stepEvent.step,
                    event: stepEvent.index,
                    fault
                )
            )
            // A second fault delivers the same event again, so that the two deliveries have
            // different bytes.
            if fault == .reorderedKeys, isWanted(.redelivery(after: 1)) {
                isRedelivered = true
                let copy = HistoryFault.redelivery(after: 1)
                history.placedFaults.append(
                    CustomerHistory.PlacedFault(
                        operation: stepEvent.step,
                        event: stepEvent.index,
                        copy
                    )
                )
            }
            // If the backend lost state in a restart, that becomes visible when an earlier event is
            // delivered again.
            if case .restart = fault, isWanted(.redelivery(after: 1)),
                let position = Self.latestEventIndex(before: index, events)
            {
                isRedelivered = true
                let copy = HistoryFault.redelivery(after: index - position)
                let before = events[position]
                history.placedFaults.append(
                    CustomerHistory.PlacedFault(operation: before.step, event: before.index, copy)
                )
            }
        }
        let isBaselineWanted = chance(mayStop ? 2 : 4, &random) || isRedelivered
        history.hasBaseline = !means.showsState || !history.placedFaults.isEmpty && isBaselineWanted
    }

    /// Returns the index of an earlier event whose users have no other event up to and including
    /// `index`.
    ///
    /// An event that reports a payment is preferred.
    ///
    /// If the backend processes the found event twice, the result is visible, because no newer
    /// event hides it. Without such an event, the result is the index of the previous event; nil
    /// when there is none.
    private static func latestEventIndex(before index: Int, _ events: [HistoryModel.StepEvent])
        -> Int?
    {
        var since = Set(events[index].message.users)
        var last: [Int] = []
        for position in (0..<index).reversed() {
            let users = events[position].message.users
            if since.isDisjoint(with: users) { last.append(position) }
            since.formUnion(users)
        }
        return last.first { events[$0].usuallyCausesPush } ?? last.first
            ?? (index > 0 ? index - 1 : nil)
    }

    private func isWanted(_ fault: HistoryFault) -> Bool {
        options.faults.isEmpty || options.faults.contains(fault.kind)
    }

    /// The maximum number of random faults to draw until one of them is of a requested kind.
    private static let drawsMax = 24

    /// Returns a random fault of a kind that the user requested; nil when no draw produced such a
    /// fault.
    private func fault(
        mayStop: Bool,
        mayFail: Bool,
        _ random: inout SeededGenerator
    ) -> HistoryFault? {
        for _ in 0..<Self.drawsMax {
            let fault = randomFault(mayStop: mayStop, mayFail: mayFail, &random)
            if isWanted(fault) { return fault }
        }
        return nil
    }

    private func randomFault(
        mayStop: Bool,
        mayFail: Bool,
        _ random: inout SeededGenerator
    ) -> HistoryFault {
        let few = Int.random(in: 1...2, using: &random)
        let some = Int.random(in: 1...3, using: &random)
        if mayStop, chance(2, &random) {
            let moment = Crash.Phase.allCases.randomElement(using: &random) ?? .sent
            // A backend that stops gracefully waits for the missing half of the request until it is
            // killed.
            let mayEnd = moment != .halfSent && chance(2, &random)
            let signal: Restart.Signal = mayEnd ? .terminate : .kill
            return chance(2, &random)
                ? .restart(signal) : .crash(Crash(signal: signal, moment: moment))
        }
        if mayFail, chance(2, &random) {
            let answers: [ProviderPlan.Answer] = [.status(500), .status(503), .reset, .loseAnswer]
            let answer = answers.randomElement(using: &random) ?? .reset
            return chance(2, &random) ? .oneSignalError(answer) : .revenueCatError(answer)
        }
        return switch Int.random(in: 0..<18, using: &random) {
        case 0: .duplicate(few)
        case 1: .concurrentDuplicate(some)
        case 2...3: .redelivery(after: some)
        case 4...7: .delayed(by: some)
        case 8: .answersLost(few)
        case 9: .requestsCut(1)
        case 10: .hangUps(1)
        case 11: .unknownType
        case 12: chance(2, &random) ? .unknownFields : .reorderedKeys
        case 13...15: .overlap
        case 16: .registrationOverlap
        default: .register
        }
    }
}

extension HistoryModel.StepEvent {
    /// Whether a backend that sends push notifications usually sends one for this event.
    fileprivate var usuallyCausesPush: Bool {
        ["INITIAL_PURCHASE", "RENEWAL"].contains(message.type) && !message.isSandbox
    }
}
