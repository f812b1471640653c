internal import Conformance

/// What lives have played, and how often.
package struct LifeCoverage: Hashable, Sendable {
    /// One thing that may be played.
    package enum Feature: Hashable, Sendable {
        /// At a store, how a purchase stood, and what was told of it.
        case transition(store: String, LineState, String)
        /// How something else of the same person stood meanwhile.
        case beside(LineState, LineState, String)
        /// Two events of one person, one behind the other.
        case pair(String, String)
        /// How the backend knew the person of it.
        case known(String, String)
        /// How it was disturbed, and what was told.
        case disturbed(String, String)

        package var text: String {
            switch self {
            case .transition(let store, let state, let type): "\(store) \(state.rawValue) \(type)"
            case .beside(let other, let state, let type):
                "beside \(other.rawValue) \(state.rawValue) \(type)"
            case .pair(let first, let second): "pair \(first) \(second)"
            case .known(let arrival, let type): "known \(arrival) \(type)"
            case .disturbed(let kind, let type): "disturbed \(kind) \(type)"
            }
        }
    }

    package private(set) var counts: [String: Int] = [:]

    package init(counts: [String: Int] = [:]) {
        self.counts = counts
    }

    /// Counts a life.
    ///
    /// - Returns: How much of it was never played before.
    @discardableResult
    package mutating func add(_ features: [Feature]) -> Int {
        var newCount = 0
        for text in Set(features.map(\.text)) {
            let count = counts[text, default: 0]
            if count == 0 { newCount += 1 }
            counts[text] = count + 1
        }
        return newCount
    }

    package mutating func merge(_ other: LifeCoverage) {
        counts.merge(other.counts, uniquingKeysWith: +)
    }

    /// How many different events of one person came one behind the other.
    package var pairCount: Int { counts.keys.count { $0.hasPrefix("pair ") } }

    /// How many different events were disturbed in different ways.
    package var disturbedCount: Int { counts.keys.count { $0.hasPrefix("disturbed ") } }

    /// Which events were disturbed so, and how often.
    package func disturbances(_ kind: String) -> [(type: String, count: Int)] {
        let start = "disturbed \(kind) "
        return counts.filter { $0.key.hasPrefix(start) }
            .map { (String($0.key.dropFirst(start.count)), $0.value) }
            .sorted { $0.type < $1.type }
    }

    package func count(_ feature: Feature) -> Int { counts[feature.text] ?? 0 }

    /// Follows one life.
    struct Tracker {
        /// What changes nothing is one thing, whatever it is called.
        static let idle = "idle"
        private var people: [String: Life.Arrival] = [:]
        private var last: [String: String] = [:]
        /// How everything of each person stands, as the events have told it.
        private var lines: [String: [String: LineState]] = [:]

        init(_ people: [Life.Person]) {
            for person in people { self.people[person.name] = person.arrival }
        }

        mutating func features(of step: Life.Step, _ told: [LifeModel.Told]) -> [Feature] {
            told.flatMap { features(of: $0, step) }
        }

        private mutating func features(of told: LifeModel.Told, _ step: Life.Step) -> [Feature] {
            let spec = told.spec
            let what = told.what
            var features: [Feature] = [
                .transition(store: spec.store, told.before, what)
            ]
            for user in spec.users where what != Self.idle {
                let others = (lines[user] ?? [:]).filter { $0.key != spec.product }
                for state in Set(others.values) {
                    features.append(.beside(state, told.before, what))
                }
                if let before = last[user] { features.append(.pair(before, what)) }
                last[user] = what
                let arrival = people[user]?.rawValue ?? ""
                let knownBy = spec.knownBy == .appUserID ? arrival : spec.knownBy.rawValue
                features.append(.known(knownBy, what))
            }
            if what == Self.idle { features.append(.known("", spec.type)) }
            if let user = spec.user { lines[user, default: [:]][spec.product] = told.before }
            return features
        }
    }
}

extension LifeModel.Told {
    /// The event's type, with its reason where that makes another event of it.
    var what: String {
        if LifeModel.idleTypes.contains(spec.type) { return LifeCoverage.Tracker.idle }
        guard let reason = spec.reason, reason != "UNSUBSCRIBE" else { return spec.type }
        return "\(spec.type)/\(reason)"
    }
}
