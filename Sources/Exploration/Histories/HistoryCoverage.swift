internal import Contracts
internal import Providers

/// The situations that generated histories have covered, with the number of histories for each
/// situation.
package struct HistoryCoverage: Hashable, Sendable {
    /// A situation that a generated history can cover.
    package enum Feature: Hashable, Sendable {
        /// An event from a store, and the state of the event's purchase before the event.
        case transition(store: String, PurchaseState, String)
        /// An event, the state of its purchase before the event, and another purchase of the same
        /// user.
        case transitionWithOtherPurchase(OtherPurchase, PurchaseState, String)
        /// Two consecutive events of one user, by their types.
        case consecutiveEvents(String, String)
        /// An event, and the kind of ID by which the backend knew the user of the event.
        case userIDKind(String, String)
        /// A fault, and the type of the event whose delivery had the fault.
        case faultOnEvent(HistoryFault.Kind, String)
        /// An operation of the app that no store event reports, such as a login, and the state of
        /// one of the user's purchases.
        case appOperation(HistoryOperation.Kind, PurchaseState)
        /// A step on a phone, after either the state of the phone or the name of the previous step.
        case phone(String, String)

        package var text: String {
            switch self {
            case .transition(let store, let state, let type): "\(store) \(state.rawValue) \(type)"
            case .transitionWithOtherPurchase(let other, let state, let type):
                "beside \(other.text) \(state.rawValue) \(type)"
            case .consecutiveEvents(let first, let second): "pair \(first) \(second)"
            case .userIDKind(let arrival, let type): "known \(arrival) \(type)"
            case .faultOnEvent(let kind, let type): "disturbed \(kind.rawValue) \(type)"
            case .appOperation(let kind, let state): "did \(kind.rawValue) \(state.rawValue)"
            case .phone(let state, let coverageLabel): "phone \(state)|\(coverageLabel)"
            }
        }
    }

    /// The state of another purchase of the same user.
    ///
    /// Sandbox purchases count separately.
    package struct OtherPurchase: Hashable, Comparable, Sendable {
        let state: PurchaseState
        let isSandbox: Bool

        var text: String { state.rawValue + (isSandbox ? "/sandbox" : "") }

        package static func < (a: Self, b: Self) -> Bool { a.text < b.text }
    }

    package private(set) var countByFeature: [String: Int] = [:]

    package init(countByFeature: [String: Int] = [:]) {
        self.countByFeature = countByFeature
    }

    /// Adds the covered situations of one history to the counts.
    ///
    /// - Returns: The number of situations that no earlier history had covered.
    @discardableResult
    package mutating func add(_ features: [Feature]) -> Int {
        var newSituationCount = 0
        for text in Set(features.map(\.text)) {
            let count = countByFeature[text, default: 0]
            if count == 0 { newSituationCount += 1 }
            countByFeature[text] = count + 1
        }
        return newSituationCount
    }

    package mutating func merge(_ other: HistoryCoverage) {
        countByFeature.merge(other.countByFeature, uniquingKeysWith: +)
    }

    /// The number of distinct pairs of consecutive events that histories have covered.
    package var consecutiveEventPairCount: Int {
        countByFeature.keys.count { $0.hasPrefix("pair ") }
    }

    /// The number of distinct combinations of a fault kind and an event type that histories have
    /// covered.
    package var faultedEventCount: Int { countByFeature.keys.count { $0.hasPrefix("disturbed ") } }

    /// Returns the event types that were delivered with this kind of fault, with the number of
    /// histories for each type.
    package func faults(_ kind: HistoryFault.Kind) -> [(type: String, count: Int)] {
        let keyPrefix = "disturbed \(kind.rawValue) "
        return countByFeature.filter { $0.key.hasPrefix(keyPrefix) }
            .map { (String($0.key.dropFirst(keyPrefix.count)), $0.value) }
            .sorted { $0.type < $1.type }
    }

    /// Returns the events that a store sent for purchases in this state, in all recorded histories.
    package func events(at store: String, _ state: PurchaseState) -> [String] {
        let keyPrefix = "\(store) \(state.rawValue) "
        return countByFeature.keys.filter { $0.hasPrefix(keyPrefix) }.map {
            String($0.dropFirst(keyPrefix.count))
        }
    }

    private static let phone = "phone "

    /// The states of phones that histories have covered.
    ///
    /// The list also contains the steps that preceded another step.
    package var phoneStates: [String] {
        Set(phoneSituations.map(\.state)).sorted()
    }

    package var phoneSituationCount: Int { phoneSituations.count }

    /// Returns the steps that histories took on a phone in this state, with the number of histories
    /// for each step.
    package func phone(in state: String) -> [(coverageLabel: String, count: Int)] {
        phoneSituations.filter { $0.state == state }.map { ($0.coverageLabel, $0.count) }
            .sorted { $0.0 < $1.0 }
    }

    private var phoneSituations: [(state: String, coverageLabel: String, count: Int)] {
        countByFeature.compactMap { text, count in
            guard text.hasPrefix(Self.phone) else { return nil }
            let stateAndLabel = text.dropFirst(Self.phone.count).split(separator: "|").map(
                String.init
            )
            guard stateAndLabel.count == 2 else { return nil }
            return (stateAndLabel[0], stateAndLabel[1], count)
        }
    }

    package func count(_ feature: Feature) -> Int { countByFeature[feature.text] ?? 0 }

    /// Collects the covered situations of one history, step by step.
    struct Tracker {
        /// The name under which the events that change no subscription are counted together.
        static let irrelevant = "idle"
        private var users: [String: CustomerHistory.RegistrationStatus] = [:]
        private var lastEventLabelByUser: [String: String] = [:]

        init(_ users: [CustomerHistory.HistoryUser]) {
            for person in users { self.users[person.name] = person.arrival }
        }

        /// Returns the situations that one step of a history covers.
        ///
        /// - Parameters:
        ///   - step: The step of the history.
        ///   - events: The events that the step caused.
        ///   - model: The model after the step.
        /// - Returns: The covered situations.
        mutating func features(
            of step: CustomerHistory.Step,
            _ events: [HistoryModel.StepEvent],
            _ model: HistoryModel
        ) -> [Feature] {
            events.flatMap { features(of: $0, model) } + appOperationFeatures(step.operation, model)
        }

        private func appOperationFeatures(_ operation: HistoryOperation, _ model: HistoryModel)
            -> [Feature]
        {
            guard [.register, .signUp, .logIn].contains(operation.kind) else { return [] }
            let states = Set(
                model.heldPurchases(of: operation.user, at: operation.time).map(\.state)
            )
            return (states.isEmpty ? [.none] : states.sorted { $0.rawValue < $1.rawValue })
                .map { .appOperation(operation.kind, $0) }
        }

        private mutating func features(
            of events: HistoryModel.StepEvent,
            _ model: HistoryModel
        ) -> [Feature] {
            let message = events.message
            let coverageLabel = message.coverageLabel
            var features: [Feature] = [
                .transition(store: message.store, events.before, coverageLabel)
            ]
            if coverageLabel != Self.irrelevant {
                features += model.otherPurchases(of: message).sorted()
                    .map { .transitionWithOtherPurchase($0, events.before, coverageLabel) }
            }
            for user in message.users where coverageLabel != Self.irrelevant {
                if let before = lastEventLabelByUser[user] {
                    features.append(.consecutiveEvents(before, coverageLabel))
                }
                lastEventLabelByUser[user] = coverageLabel
                let arrival = users[user]?.rawValue ?? ""
                features.append(.userIDKind(message.userIDLocation ?? arrival, coverageLabel))
            }
            if coverageLabel == Self.irrelevant { features.append(.userIDKind("", message.type)) }
            return features
        }
    }
}
