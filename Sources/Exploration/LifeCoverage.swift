internal import Conformance

/// The situations that generated histories have covered, with the number of histories for each
/// situation.
package struct LifeCoverage: Hashable, Sendable {
    /// A situation that a generated history can cover.
    package enum Feature: Hashable, Sendable {
        /// An event from a store, and the state of the event's purchase before the event.
        case transition(store: String, LineState, String)
        /// An event, the state of its purchase before the event, and another purchase of the same
        /// user.
        case beside(Neighbour, LineState, String)
        /// Two consecutive events of one user, by their types.
        case pair(String, String)
        /// An event, and the kind of ID by which the backend knew the user of the event.
        case known(String, String)
        /// A fault, and the type of the event whose delivery had the fault.
        case disturbed(Disturbance.Kind, String)
        /// An operation of the app that no store event reports, such as a login, and the state of
        /// one of the user's purchases.
        case did(Act.Kind, LineState)
        /// A step on a phone, after either the state of the phone or the name of the previous step.
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

    /// The state of another purchase of the same user.
    ///
    /// Sandbox purchases count separately.
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

    /// Adds the covered situations of one history to the counts.
    ///
    /// - Returns: The number of situations that no earlier history had covered.
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

    /// The number of distinct pairs of consecutive events that histories have covered.
    package var pairCount: Int { counts.keys.count { $0.hasPrefix("pair ") } }

    /// The number of distinct combinations of a fault kind and an event type that histories have
    /// covered.
    package var disturbedCount: Int { counts.keys.count { $0.hasPrefix("disturbed ") } }

    /// Returns the event types that were delivered with this kind of fault, with the number of
    /// histories for each type.
    package func disturbances(_ kind: Disturbance.Kind) -> [(type: String, count: Int)] {
        let start = "disturbed \(kind.rawValue) "
        return counts.filter { $0.key.hasPrefix(start) }
            .map { (String($0.key.dropFirst(start.count)), $0.value) }
            .sorted { $0.type < $1.type }
    }

    /// Returns the events that a store sent for purchases in this state, in all recorded histories.
    package func told(at store: String, _ state: LineState) -> [String] {
        let start = "\(store) \(state.rawValue) "
        return counts.keys.filter { $0.hasPrefix(start) }.map { String($0.dropFirst(start.count)) }
    }

    private static let phone = "phone "

    /// The states of phones that histories have covered.
    ///
    /// The list also contains the steps that preceded another step.
    package var phoneStates: [String] {
        Set(phoneCounts.map(\.state)).sorted()
    }

    package var phoneCount: Int { phoneCounts.count }

    /// Returns the steps that histories took on a phone in this state, with the number of histories
    /// for each step.
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

    /// Collects the covered situations of one history, step by step.
    struct Tracker {
        /// The name under which the events that change no subscription are counted together.
        static let idle = "idle"
        private var people: [String: Life.Arrival] = [:]
        private var last: [String: String] = [:]

        init(_ people: [Life.Person]) {
            for person in people { self.people[person.name] = person.arrival }
        }

        /// Returns the situations that one step of a history covers.
        ///
        /// - Parameters:
        ///   - step: The step of the history.
        ///   - told: The events that the step caused.
        ///   - model: The model after the step.
        /// - Returns: The covered situations.
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
