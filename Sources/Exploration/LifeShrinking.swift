internal import Conformance

extension Life {
    /// Smaller variants of a failed history, the smallest first: without the end, without one user
    /// or product, or without single faults and operations.
    ///
    /// A variant may be impossible in real stores; the caller must check this.
    package var shorter: [Life] {
        var found: [Life] = []
        // The beginnings of the history find the shortest part that still fails, first by halves,
        // then one step at a time.
        var ends = Set<Int>()
        for share in [0.25, 0.5, 0.75] { ends.insert(Int(Double(steps.count) * share)) }
        ends.insert(steps.count - 2)
        for end in ends.sorted() where end >= 0 && end < steps.count - 1 {
            var life = prefix(through: steps[end].id)
            life.hasTwin = hasTwin
            found.append(life)
        }
        if mishaps.count > 1 {
            var life = self
            life.mishaps = []
            found.append(life)
        }
        for person in people where people.count > 1 {
            let theirs = steps.filter { $0.act.people.contains(person.name) }
            for var life in without(Set(theirs.map(\.id))) {
                life.people.removeAll { $0.name == person.name }
                found.append(life)
            }
        }
        // The operations on one product are removed together, because a refund makes no sense
        // without its purchase.
        let products = Set(steps.compactMap(\.act.product)).sorted()
        for product in products where products.count > 1 {
            let acts = steps.filter { $0.act.product == product }
            if acts.count > 1 { found += without(Set(acts.map(\.id))).map(\.withoutIdlePeople) }
        }
        for index in mishaps.indices {
            var life = self
            life.mishaps.remove(at: index)
            found.append(life)
        }
        for index in steps.indices where steps.count > 1 {
            found += without([steps[index].id]).map(\.withoutIdlePeople)
        }
        return found + withoutPairs
    }

    /// The maximum number of operations for which pairs are also removed together.
    ///
    /// A grant and its end, for example, cannot be removed one by one.
    private static let pairActsMax = 8

    private var withoutPairs: [Life] {
        guard (3...Self.pairActsMax).contains(steps.count) else { return [] }
        return steps.indices.flatMap { first in
            steps.indices.dropFirst(first + 1).flatMap { second in
                without([steps[first].id, steps[second].id]).map(\.withoutIdlePeople)
            }
        }
    }

    /// Variants of the history with the same size that are easier to read, such as with the default
    /// store and product and with round times.
    package var plainer: [Life] {
        var found: [Life] = []
        func add(_ change: (inout Life) -> Void) {
            var life = self
            change(&life)
            if life != self { found.append(life) }
        }
        if withoutQuietPoints != self { found.append(withoutQuietPoints) }
        add { $0.hasTwin = false }
        for index in people.indices { add { $0.people[index].arrival = .registered } }
        for index in mishaps.indices {
            for plainer in mishaps[index].disturbance.plainer {
                add { $0.mishaps[index].disturbance = plainer }
            }
        }
        for index in steps.indices {
            add { $0.steps[index].act.knownBy = nil }
            add { $0.steps[index].act.also = nil }
            add { $0.steps[index].act.period = nil }
            add { $0.steps[index].act.environment = nil }
            add { $0.steps[index].act.isDeferred = false }
            add { life in
                let act = life.steps[index].act
                if act.store != nil, !act.isOfPlans {
                    life.steps[index].act.store = "APP_STORE"
                }
            }
            add { life in
                if life.steps[index].act.kind != .grant { life.steps[index].act.reason = nil }
            }
        }
        let products = Set(steps.filter { !$0.act.isOfPlans }.compactMap(\.act.product))
        if !products.contains(LifeModel.monthly) {
            for product in products.sorted() { add { $0.rename(product, LifeModel.monthly) } }
        }
        for index in steps.indices { add { $0.round(index) } }
        for index in steps.indices.dropLast() {
            for days in Self.periods {
                let periods = (steps[index + 1].act.time - steps[index].act.time) / days
                // Two operations cannot happen at the same time, so some time must remain between
                // them.
                for count in Set([Int(periods.rounded(.up)) - 1, 1]).sorted(by: >)
                where count > 0 && Double(count) < periods {
                    add { $0.bring(index, closer: days * count) }
                }
            }
        }
        return found
    }

    // MARK: Parts

    /// The history without quiet points, so that the backend's state is read only at the end.
    package var withoutQuietPoints: Life {
        var life = self
        for index in life.steps.indices { life.steps[index].isQuietPoint = false }
        return life
    }

    /// Returns variants of the history without the steps with these IDs and without their faults.
    ///
    /// An event that became due before a removed step now becomes due before the next step. The
    /// first variant moves the faults of the removed step to that next step.
    private func without(_ gone: Set<Int>) -> [Life] {
        var life = self
        life.steps.removeAll { gone.contains($0.id) }
        var moved = life
        life.mishaps.removeAll { gone.contains($0.act) }
        guard life.mishaps.count < mishaps.count else { return [life] }
        for index in moved.mishaps.indices where gone.contains(moved.mishaps[index].act) {
            let place = steps.firstIndex { $0.id == moved.mishaps[index].act } ?? steps.endIndex
            let next = steps[place...].first { !gone.contains($0.id) }
            moved.mishaps[index].act = next?.id ?? -1
        }
        moved.mishaps.removeAll { $0.act < 0 }
        return moved.mishaps == life.mishaps ? [life] : [moved, life]
    }

    /// The history without users who take part in no operation.
    private var withoutIdlePeople: Life {
        let busy = Set(steps.flatMap(\.act.people))
        var life = self
        life.people.removeAll { !busy.contains($0.name) }
        return life
    }

    private mutating func rename(_ product: String, _ other: String) {
        for index in steps.indices {
            if steps[index].act.product == product, !steps[index].act.isOfPlans {
                steps[index].act.product = other
            }
        }
    }

    /// Common lengths of subscription periods, each of which ends with a renewal event.
    private static let periods: [Duration] = [
        .seconds(365 * 86_400), .seconds(30 * 86_400), .seconds(7 * 86_400),
    ]

    /// Moves the operation at an index, and all operations before it, later by a duration.
    private mutating func bring(_ index: Int, closer time: Duration) {
        for earlier in 0...index { steps[earlier].act.time += time }
    }

    /// Round time gaps to use between two operations when the length of the gap does not matter.
    private static let gaps: [Duration] = [.seconds(60), .seconds(3600), .seconds(86_400)]

    /// Moves the operation at an index, and all operations before it, so that the gap to the next
    /// operation is a round time.
    private mutating func round(_ index: Int) {
        let next = index + 1 < steps.count ? steps[index + 1].act.time : .zero
        let gap = next - steps[index].act.time
        guard !Self.gaps.contains(gap) else { return }
        let wanted = Self.gaps.last { $0 < gap } ?? Self.gaps[0]
        bring(index, closer: gap - wanted)
    }
}

extension Disturbance {
    /// Weaker variants of this fault, the weakest first.
    fileprivate var plainer: [Disturbance] {
        func fewer(_ count: Int, _ make: (Int) -> Disturbance) -> [Disturbance] {
            count > 1 ? [make(1), make(count - 1)] : []
        }
        return switch self {
        case .copies(let count): fewer(count) { .copies($0) }
        case .together(let count): [.copies(1)] + fewer(count) { .together($0) }
        case .again(let after): fewer(after) { .again(after: $0) }
        case .late(let by): fewer(by) { .late(by: $0) }
        case .answersLost(let count): fewer(count) { .answersLost($0) }
        case .requestsCut(let count): fewer(count) { .requestsCut($0) }
        case .hangUps(let count): fewer(count) { .hangUps($0) }
        case .pushFails: [.pushFails(.status(500))]
        case .readFails: [.readFails(.status(500))]
        case .crash(let crash): [.crash(Crash(signal: crash.signal, moment: .sent))]
        case .overlap: [.late(by: 1)]
        case .meanwhile: [.register]
        case .unknownType, .unknownFields, .shuffled, .restart, .register: []
        }
    }
}
