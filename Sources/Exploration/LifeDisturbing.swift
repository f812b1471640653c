internal import Conformance

/// Adds faults to the deliveries of a generated history.
extension LifeGenerator {
    func disturb(
        _ life: inout Life,
        _ events: [LifeModel.Told],
        _ random: inout SeededGenerator
    ) {
        let means = options.means
        for index in life.steps.indices where means.showsState && chance(6, &random) {
            life.steps[index].isQuietPoint = true
        }
        guard !chance(3, &random) else {
            life.hasTwin = !means.showsState
            return
        }
        let isStopWanted = options.disturbances.contains { $0 == .restart || $0 == .crash }
        let isFailureWanted = options.disturbances.contains { $0 == .pushFails || $0 == .readFails }
        let mayStop = means.has(.restart) && chance(isStopWanted ? 2 : 24, &random)
        let mayFail = isFailureWanted || chance(8, &random)
        var isTwice = false
        for (index, told) in events.enumerated() where chance(5, &random) {
            let mayFail = mayFail && told.isPaid
            guard let disturbance = disturbance(mayStop: mayStop, mayFail: mayFail, &random),
                means.allows(disturbance),
                // If the backend shows no stored state, its effects alone do not show the result of
                // a delayed event.
                means.showsState || !disturbance.changesOrder
            else { continue }
            life.mishaps.append(Life.Mishap(act: told.step, event: told.index, disturbance))
            // A second fault delivers the same event again, so that the two deliveries have
            // different bytes.
            if disturbance == .shuffled, isWanted(.again(after: 1)) {
                isTwice = true
                let copy = Disturbance.again(after: 1)
                life.mishaps.append(Life.Mishap(act: told.step, event: told.index, copy))
            }
            // If the backend lost state in a restart, that becomes visible when an earlier event is
            // delivered again.
            if case .restart = disturbance, isWanted(.again(after: 1)),
                let place = Self.lastWord(before: index, events)
            {
                isTwice = true
                let copy = Disturbance.again(after: index - place)
                let before = events[place]
                life.mishaps.append(Life.Mishap(act: before.step, event: before.index, copy))
            }
        }
        let isTold = chance(mayStop ? 2 : 4, &random) || isTwice
        life.hasTwin = !means.showsState || !life.mishaps.isEmpty && isTold
    }

    /// Returns the index of an earlier event whose users have no other event up to and including
    /// `index`.
    ///
    /// An event that reports a payment is preferred.
    ///
    /// If the backend processes the found event twice, the result is visible, because no newer
    /// event hides it. Without such an event, the result is the index of the previous event; nil
    /// when there is none.
    private static func lastWord(before index: Int, _ events: [LifeModel.Told]) -> Int? {
        var since = Set(events[index].message.users)
        var last: [Int] = []
        for place in (0..<index).reversed() {
            let users = events[place].message.users
            if since.isDisjoint(with: users) { last.append(place) }
            since.formUnion(users)
        }
        return last.first { events[$0].isPaid } ?? last.first ?? (index > 0 ? index - 1 : nil)
    }

    private func isWanted(_ disturbance: Disturbance) -> Bool {
        options.disturbances.isEmpty || options.disturbances.contains(disturbance.kind)
    }

    /// The maximum number of random faults to draw until one of them is of a requested kind.
    private static let wishCount = 24

    /// Returns a random fault of a kind that the user requested; nil when no draw produced such a
    /// fault.
    private func disturbance(
        mayStop: Bool,
        mayFail: Bool,
        _ random: inout SeededGenerator
    ) -> Disturbance? {
        for _ in 0..<Self.wishCount {
            let disturbance = any(mayStop: mayStop, mayFail: mayFail, &random)
            if isWanted(disturbance) { return disturbance }
        }
        return nil
    }

    private func any(
        mayStop: Bool,
        mayFail: Bool,
        _ random: inout SeededGenerator
    ) -> Disturbance {
        let few = Int.random(in: 1...2, using: &random)
        let some = Int.random(in: 1...3, using: &random)
        if mayStop, chance(2, &random) {
            let moment = Crash.Moment.allCases.randomElement(using: &random) ?? .sent
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
            return chance(2, &random) ? .pushFails(answer) : .readFails(answer)
        }
        return switch Int.random(in: 0..<18, using: &random) {
        case 0: .copies(few)
        case 1: .together(some)
        case 2...3: .again(after: some)
        case 4...7: .late(by: some)
        case 8: .answersLost(few)
        case 9: .requestsCut(1)
        case 10: .hangUps(1)
        case 11: .unknownType
        case 12: chance(2, &random) ? .unknownFields : .shuffled
        case 13...15: .overlap
        case 16: .meanwhile
        default: .register
        }
    }
}

extension LifeModel.Told {
    /// Whether a backend that sends push notifications usually sends one for this event.
    fileprivate var isPaid: Bool {
        ["INITIAL_PURCHASE", "RENEWAL"].contains(message.type) && !message.isSandbox
    }
}
