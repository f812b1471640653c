internal import Conformance

extension Life {
    /// Lives with less in them, the smallest first: ends cut off, then people, products, disturbances
    /// and acts one by one.
    ///
    /// They need not be legal.
    package var shorter: [Life] {
        var found: [Life] = []
        // The shortest beginning that still breaks it, by halves and then one by one.
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
        // What happens to one product belongs together: a refund makes no sense without its purchase.
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

    /// Of so few acts pairs are left out as well: a grant and its end, neither of which goes alone.
    private static let pairActsMax = 8

    private var withoutPairs: [Life] {
        guard (3...Self.pairActsMax).contains(steps.count) else { return [] }
        return steps.indices.flatMap { first in
            steps.indices.dropFirst(first + 1).flatMap { second in
                without([steps[first].id, steps[second].id]).map(\.withoutIdlePeople)
            }
        }
    }

    /// Lives of as much that are easier to read: the usual store and product, round times.
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
                // What is left must hold something: two acts have no moment in common.
                for count in Set([Int(periods.rounded(.up)) - 1, 1]).sorted(by: >)
                where count > 0 && Double(count) < periods {
                    add { $0.bring(index, closer: days * count) }
                }
            }
        }
        return found
    }

    // MARK: Parts

    /// Looked at in the end alone.
    package var withoutQuietPoints: Life {
        var life = self
        for index in life.steps.indices { life.steps[index].isQuietPoint = false }
        return life
    }

    /// Without those steps, and what disturbed them.
    ///
    /// What fell due before one of them falls due before the next one then, and may be disturbed there:
    /// that comes first.
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

    /// Whoever takes no part any more has nothing to be looked at for.
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

    /// What renews so often, and tells of it each time.
    private static let periods: [Duration] = [
        .seconds(365 * 86_400), .seconds(30 * 86_400), .seconds(7 * 86_400),
    ]

    /// Lets everything up to that act happen so much later.
    private mutating func bring(_ index: Int, closer time: Duration) {
        for earlier in 0...index { steps[earlier].act.time += time }
    }

    /// So long lies between two acts where it does not matter.
    private static let gaps: [Duration] = [.seconds(60), .seconds(3600), .seconds(86_400)]

    /// Moves everything up to that act, so that a round time lies between it and the next.
    private mutating func round(_ index: Int) {
        let next = index + 1 < steps.count ? steps[index + 1].act.time : .zero
        let gap = next - steps[index].act.time
        guard !Self.gaps.contains(gap) else { return }
        let wanted = Self.gaps.last { $0 < gap } ?? Self.gaps[0]
        bring(index, closer: gap - wanted)
    }
}

extension Disturbance {
    /// Weaker ones, the weakest first.
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
