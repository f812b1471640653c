internal import Conformance

/// What lives have played, and how often.
package struct LifeCoverage: Hashable, Sendable {
    /// One thing that may be played.
    package enum Feature: Hashable, Sendable {
        /// At a store, how a purchase stood, and what was told of it.
        case transition(store: String, LineState, String)
        /// How something else of the same person stood meanwhile.
        case beside(Neighbour, LineState, String)
        /// Two events of one person, one behind the other.
        case pair(String, String)
        /// How the backend knew the person of it.
        case known(String, String)
        /// How it was disturbed, and what was told.
        case disturbed(Disturbance.Kind, String)
        /// What the app did that no store tells of, and how something of the person's stood.
        case did(Act.Kind, LineState)
        /// How a phone stood or what happened on it before, and what happened then.
        case phone(String, String)

        package var text: String {
            switch self {
            case .transition(let store, let state, let type): "\(store) \(state.rawValue) \(type)"
            case .beside(let other, let state, let type):
                "beside \(other.text) \(state.rawValue) \(type)"
            case .pair(let first, let second): "pair \(first) \(second)"
            case .known(let arrival, let type): "known \(arrival) \(type)"
            case .disturbed(let kind, let type): "disturbed \(kind.rawValue) \(type)"
            case .did(let kind, let state): "did \(kind.rawValue) \(state.rawValue)"
            case .phone(let state, let what): "phone \(state)|\(what)"
            }
        }
    }

    /// Something else that the same person has: what spends no money is another neighbour.
    package struct Neighbour: Hashable, Comparable, Sendable {
        let state: LineState
        let isSandbox: Bool

        var text: String { state.rawValue + (isSandbox ? "/sandbox" : "") }

        package static func < (a: Self, b: Self) -> Bool { a.text < b.text }
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
    package func disturbances(_ kind: Disturbance.Kind) -> [(type: String, count: Int)] {
        let start = "disturbed \(kind.rawValue) "
        return counts.filter { $0.key.hasPrefix(start) }
            .map { (String($0.key.dropFirst(start.count)), $0.value) }
            .sorted { $0.type < $1.type }
    }

    /// What was told at a store of what stood so.
    package func told(at store: String, _ state: LineState) -> [String] {
        let start = "\(store) \(state.rawValue) "
        return counts.keys.filter { $0.hasPrefix(start) }.map { String($0.dropFirst(start.count)) }
    }

    private static let phone = "phone "

    /// How phones stood, or what happened on them before.
    package var phoneStates: [String] {
        Set(phoneCounts.map(\.state)).sorted()
    }

    package var phoneCount: Int { phoneCounts.count }

    /// What happened on a phone that stood so, and how often.
    package func phone(in state: String) -> [(what: String, count: Int)] {
        phoneCounts.filter { $0.state == state }.map { ($0.what, $0.count) }
            .sorted { $0.0 < $1.0 }
    }

    private var phoneCounts: [(state: String, what: String, count: Int)] {
        counts.compactMap { text, count in
            guard text.hasPrefix(Self.phone) else { return nil }
            let parts = text.dropFirst(Self.phone.count).split(separator: "|").map(String.init)
            guard parts.count == 2 else { return nil }
            return (parts[0], parts[1], count)
        }
    }

    package func count(_ feature: Feature) -> Int { counts[feature.text] ?? 0 }

    /// Follows one life.
    struct Tracker {
        /// What changes nothing is one thing, whatever it is called.
        static let idle = "idle"
        private var people: [String: Life.Arrival] = [:]
        private var last: [String: String] = [:]

        init(_ people: [Life.Person]) {
            for person in people { self.people[person.name] = person.arrival }
        }

        /// - Parameters:
        ///   - step: What happens.
        ///   - told: What that tells.
        ///   - model: How everything stands then.
        /// - Returns: What is played in it.
        mutating func features(
            of step: Life.Step,
            _ told: [LifeModel.Told],
            _ model: LifeModel
        ) -> [Feature] {
            told.flatMap { features(of: $0, model) } + ofTheApp(step.act, model)
        }

        private func ofTheApp(_ act: Act, _ model: LifeModel) -> [Feature] {
            guard [.register, .signUp, .logIn].contains(act.kind) else { return [] }
            let states = Set(model.lines(of: act.user, at: act.time).map(\.state))
            return (states.isEmpty ? [.none] : states.sorted { $0.rawValue < $1.rawValue })
                .map { .did(act.kind, $0) }
        }

        private mutating func features(
            of told: LifeModel.Told,
            _ model: LifeModel
        ) -> [Feature] {
            let message = told.message
            let what = message.what
            var features: [Feature] = [
                .transition(store: message.store, told.before, what)
            ]
            if what != Self.idle {
                features += model.neighbours(of: message).sorted()
                    .map { .beside($0, told.before, what) }
            }
            for user in message.users where what != Self.idle {
                if let before = last[user] { features.append(.pair(before, what)) }
                last[user] = what
                let arrival = people[user]?.rawValue ?? ""
                let knownBy = message.event?.knownBy ?? .appUserID
                features.append(.known(knownBy == .appUserID ? arrival : knownBy.rawValue, what))
            }
            if what == Self.idle { features.append(.known("", message.type)) }
            return features
        }
    }
}
