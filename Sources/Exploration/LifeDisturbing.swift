internal import Conformance

/// What befalls the deliveries of a life that was drawn.
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
                // Effects alone say nothing of what comes late.
                means.showsState || !disturbance.changesOrder
            else { continue }
            life.mishaps.append(Life.Mishap(act: told.step, event: told.index, disturbance))
            // The same event in other bytes.
            if disturbance == .shuffled, isWanted(.again(after: 1)) {
                isTwice = true
                let copy = Disturbance.again(after: 1)
                life.mishaps.append(Life.Mishap(act: told.step, event: told.index, copy))
            }
            // What was forgotten by a restart shows when what came before it comes again.
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

    /// Where the event lies after which nothing was told of its people, until this one and with it; best
    /// of all one that people hear of.
    ///
    /// Carried out twice it is seen: nothing newer hides it. Otherwise the one before; nil: there is none.
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

    /// How often one is drawn until it is one that somebody asked for.
    private static let wishCount = 24

    /// One of those that were asked for; nil: luck drew none.
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
            // Who ends in order waits for the other half, and is killed in the end.
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
    /// Whether backends that tell their people anything tell them this.
    fileprivate var isPaid: Bool {
        ["INITIAL_PURCHASE", "RENEWAL"].contains(message.type) && !message.isSandbox
    }
}
