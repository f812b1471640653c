internal import Contracts
internal import Providers

/// The deliveries of a run: those already sent, those held back, and the events still to come.
struct DeliveryState: Sendable {
    /// The bodies of the deliveries so far, by name, for later repetitions.
    var bodies: [String: [UInt8]] = [:]
    /// The numbers of attempts so far, by delivery.
    var attemptCounts: [String: Int] = [:]
    /// The number of separate connections that deliveries have used.
    var laneCount = 0
    /// Deliveries that are held back until a later step releases them.
    var held: [HeldDelivery] = []
    /// Future events of the contract that the fake has not applied to its subscribers yet, oldest
    /// first.
    ///
    /// The fake's REST API returns the state that an event causes once the event has happened. Each
    /// body is created only at that time, because a backend may choose the IDs of the users in it.
    var futureEvents: [Delivery] = []
    /// The number of deliveries to which the backend has not responded at all.
    var unansweredRequestCount = 0

    /// Collects the plan's events in order of time, for the fake that stores subscribers.
    mutating func collectFutureEvents(of plan: RunPlan) {
        for delivery in plan.deliveries {
            guard case .event = delivery.subject else { continue }
            futureEvents.append(delivery)
        }
        futureEvents.sort { $0.time < $1.time }
    }

    /// Returns the longest wait for the response to a delivery.
    ///
    /// The wait is shorter after two deliveries without a response.
    func responseTimeout(_ within: Duration) -> Duration {
        unansweredRequestCount < 2 ? within : min(within, max(.seconds(1), within / 10))
    }
}
