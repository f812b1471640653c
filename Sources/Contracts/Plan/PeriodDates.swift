internal import Providers

/// The events of a contract, from which later events take the dates of their subscription period.
struct PeriodDates: Sendable {
    private let events: [AnyProviderEvent]

    init(of contract: Contract) { events = (contract.given + contract.steps).compactMap(\.event) }

    /// Returns the steps after filling in the dates that their events omit.
    func applied(to steps: [Step]) -> [Step] {
        steps.map { step in
            guard case .deliver(var delivery) = step, let event = step.event else { return step }
            delivery.subject = .event(event.fillingDates(from: events))
            return .deliver(delivery)
        }
    }
}

extension Step {
    /// The event that the step delivers completely; nil for other steps.
    fileprivate var event: AnyProviderEvent? {
        guard case .deliver(let delivery) = self, case .event(let event) = delivery.subject else {
            return nil
        }
        return event
    }
}
