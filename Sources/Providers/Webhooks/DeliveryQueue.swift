package import Conformance

/// One event on its way to one webhook, with every attempt that was made.
package struct WebhookDelivery: Hashable, Codable, Sendable {
    package enum State: String, Hashable, Codable, Sendable {
        /// Waits for its moment.
        case waiting
        /// Is with the receiver now.
        case underway
        case delivered
        /// The last attempt failed; delivery stopped for good.
        case failed
    }

    package struct Attempt: Hashable, Codable, Sendable {
        package let at: Instant
        /// The status of the answer; none: there was no answer, `failure` says why.
        package let status: Int?
        package let failure: String?
    }

    package let number: Int
    package let provider: Exchange.Party
    /// The webhook configuration it is for.
    package let configuration: String
    package let eventID: String
    package let type: String
    /// Whose event it is: those of one group that are due together leave in their order.
    package let group: String
    /// Deliveries that share a key wait for each other's success; none: nobody waits.
    package let orderKeys: [String]
    /// The bytes of every attempt.
    package let body: String
    package var attempts: [Attempt] = []
    package var state = State.waiting
    /// When the next attempt is made.
    package var due: Instant

    package var isOver: Bool { state == .delivered || state == .failed }
}

/// Every delivery, waiting or done, on the virtual clock.
package struct DeliveryQueue: Hashable, Codable, Sendable {
    /// How many finished deliveries are kept to look at.
    package static let finishedMax = 10_000

    package private(set) var deliveries: [Int: WebhookDelivery] = [:]
    /// How many attempts have ended, ever.
    package private(set) var attemptCount = 0
    private var nextNumber = 1
    /// Numbers of finished deliveries, oldest first.
    private var finished: [Int] = []

    package init() {}

    package var all: [WebhookDelivery] { deliveries.values.sorted { $0.number < $1.number } }

    package var isSettled: Bool {
        deliveries.values.allSatisfy(\.isOver)
    }

    package mutating func add(
        _ provider: Exchange.Party,
        to configuration: String,
        event body: JSONValue,
        id: String,
        type: String,
        group: String = "",
        orderKeys: [String] = [],
        due: Instant
    ) {
        deliveries[nextNumber] = WebhookDelivery(
            number: nextNumber,
            provider: provider,
            configuration: configuration,
            eventID: id,
            type: type,
            group: group,
            orderKeys: orderKeys,
            body: body.text,
            due: due
        )
        nextNumber += 1
    }

    /// Sends an event again, at once, by its id; nil for the configuration means all that had it.
    ///
    /// - Returns: How many deliveries that makes; none when nobody knows the event.
    package mutating func resend(_ eventID: String, to configuration: String?, at now: Instant)
        -> Int
    {
        let found = all.filter {
            $0.eventID == eventID && (configuration == nil || $0.configuration == configuration)
        }
        var seen: Set<String> = []
        var count = 0
        for old in found where seen.insert(old.configuration).inserted {
            add(
                old.provider,
                to: old.configuration,
                event: (try? JSONValue(parsing: old.body)) ?? .null,
                id: old.eventID,
                type: old.type,
                group: old.group,
                due: now
            )
            count += 1
        }
        return count
    }

    /// The moment of the next attempt that nothing holds back.
    package var nextDue: Instant? {
        ready(by: Instant(milliseconds: .max)).map(\.due).min()
    }

    /// Hands out what is due, marked as underway; of those that share an order key only the oldest.
    package mutating func take(by now: Instant) -> [WebhookDelivery] {
        let ready = ready(by: now).sorted { ($0.due, $0.number) < ($1.due, $1.number) }
        for delivery in ready { deliveries[delivery.number]?.state = .underway }
        return ready
    }

    private func ready(by now: Instant) -> [WebhookDelivery] {
        var heads: [String: Int] = [:]
        for delivery in deliveries.values where !delivery.isOver {
            for key in delivery.orderKeys {
                heads[key] = min(heads[key] ?? .max, delivery.number)
            }
        }
        return deliveries.values.filter { delivery in
            delivery.state == .waiting && delivery.due <= now
                && delivery.orderKeys.allSatisfy { heads[$0] == delivery.number }
        }
    }

    /// Notes how an attempt ended and plans the next one.
    package mutating func finish(
        _ number: Int,
        status: Int?,
        failure: String?,
        by schedule: RetrySchedule,
        at now: Instant
    ) {
        guard var delivery = deliveries[number], delivery.state == .underway else { return }
        attemptCount += 1
        delivery.attempts.append(.init(at: now, status: status, failure: failure))
        if let status, schedule.isSuccess(status) {
            delivery.state = .delivered
        } else if let delay = schedule.delay(beforeAttempt: delivery.attempts.count + 1) {
            delivery.state = .waiting
            delivery.due = now + delay
        } else {
            delivery.state = .failed
        }
        deliveries[number] = delivery
        if delivery.state != .waiting { retire(number) }
    }

    /// Gives back what was underway when the sender was stopped.
    package mutating func recoverUnderway() {
        for number in deliveries.keys where deliveries[number]?.state == .underway {
            deliveries[number]?.state = .waiting
        }
    }

    private mutating func retire(_ number: Int) {
        finished.append(number)
        while finished.count > Self.finishedMax { deliveries[finished.removeFirst()] = nil }
    }
}
