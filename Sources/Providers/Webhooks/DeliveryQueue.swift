package import Conformance
internal import DequeModule

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
package struct DeliveryQueue: Hashable, Sendable {
    /// How many finished deliveries are kept to look at.
    package static let finishedMax = 10_000
    /// How many bytes the bodies of the finished deliveries have that are kept; the oldest go, but
    /// never the last one.
    package static let finishedBytesMax = 32 << 20

    private var deliveries: SharedTable<Int, WebhookDelivery> = [:]
    /// How many attempts have ended, ever.
    package private(set) var attemptCount = 0
    /// The number that the next delivery gets.
    package private(set) var nextNumber = 1
    /// How many bytes the bodies of finished deliveries have.
    private var finishedBytes = 0
    /// How many finished deliveries were dropped to keep within the bounds.
    package private(set) var droppedCount = 0
    /// Numbers of finished deliveries, oldest first.
    private var finished: Deque<Int> = []
    private var numbers = SharedOrder<Int>()
    /// What waits for nothing but its moment.
    private var ready = SharedIndex<Instant, Int>()
    /// Who is not over, by order key: each waits for those before it.
    private var lines = SharedIndex<String, Int>()
    /// By the event's id.
    private var events = SharedIndex<String, Int>()

    package init() {}

    /// In the order in which they were added.
    package var all: [WebhookDelivery] { numbers.all.compactMap { deliveries[$0] } }

    /// Those that were added from that number on, in order; the cost grows with their count alone.
    package func added(from number: Int) -> [WebhookDelivery] {
        guard number < nextNumber else { return [] }
        return (max(1, number)..<nextNumber).compactMap { deliveries[$0] }
    }

    package var isSettled: Bool { deliveries.count == finished.count }

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
        let delivery = WebhookDelivery(
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
        deliveries[nextNumber] = delivery
        nextNumber += 1
        enlist(delivery)
        wait(delivery)
    }

    /// Sends an event again, at once, by its id; nil for the configuration means all that had it.
    ///
    /// - Parameters:
    ///   - eventID: The event's id.
    ///   - configuration: The only webhook that gets it; nil: all that had it.
    ///   - number: The only delivery of it that is sent again; nil: the first to each webhook.
    ///   - change: What is said this time instead, by whose event it is; nil leaves it as it was.
    ///   - now: The moment.
    /// - Returns: How many deliveries that makes; none when nobody knows the event.
    package mutating func resend(
        _ eventID: String,
        to configuration: String?,
        as number: Int? = nil,
        changed change: (Exchange.Party) -> ShownEvent? = { _ in nil },
        at now: Instant
    ) -> Int {
        let found = events.ids(under: eventID).compactMap { deliveries[$0] }
            .filter { configuration == nil || $0.configuration == configuration }
            .filter { number == nil || $0.number == number }
        var seen: Set<String> = []
        var count = 0
        for old in found where seen.insert(old.configuration).inserted {
            let new = change(old.provider)
            add(
                old.provider,
                to: old.configuration,
                event: new?.body ?? (try? JSONValue(parsing: old.body)) ?? .null,
                id: new?.id ?? old.eventID,
                type: new?.type ?? old.type,
                group: old.group,
                due: now
            )
            count += 1
        }
        return count
    }

    /// The moment of the next attempt that nothing holds back.
    package var nextDue: Instant? { ready.first?.key }

    /// Hands out what is due, marked as underway; of those that share an order key only the oldest.
    package mutating func take(by now: Instant) -> [WebhookDelivery] {
        ready.entries(through: now).compactMap { entry in
            ready.remove(entry.id, under: entry.key)
            let delivery = deliveries[entry.id]
            deliveries[entry.id]?.state = .underway
            return delivery
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
        if delivery.state == .waiting { wait(delivery) } else { retire(delivery) }
    }

    /// Gives back what was underway when the sender was stopped.
    package mutating func recoverUnderway() {
        for delivery in all where delivery.state == .underway {
            deliveries[delivery.number]?.state = .waiting
            if let waiting = deliveries[delivery.number] { wait(waiting) }
        }
    }

    private mutating func retire(_ delivery: WebhookDelivery) {
        for key in delivery.orderKeys { lines.remove(delivery.number, under: key) }
        // Whoever is first in a line now may go.
        for key in delivery.orderKeys {
            if let next = lines.firstID(under: key).flatMap({ deliveries[$0] }) { wait(next) }
        }
        finished.append(delivery.number)
        finishedBytes += delivery.body.utf8.count
        while finished.count > Self.finishedMax
            || (finishedBytes > Self.finishedBytesMax && finished.count > 1)
        {
            let gone = finished.removeFirst()
            droppedCount += 1
            if let old = deliveries.removeValue(forKey: gone) {
                finishedBytes -= old.body.utf8.count
                events.remove(gone, under: old.eventID)
            }
            numbers.remove(gone)
        }
    }

    // MARK: Who waits for whom

    private mutating func enlist(_ delivery: WebhookDelivery) {
        numbers.insert(delivery.number)
        events.insert(delivery.number, under: delivery.eventID)
        guard !delivery.isOver else { return }
        for key in delivery.orderKeys { lines.insert(delivery.number, under: key) }
    }

    /// Lets it wait for its moment, when nobody is before it.
    private mutating func wait(_ delivery: WebhookDelivery) {
        guard delivery.state == .waiting,
            delivery.orderKeys.allSatisfy({ lines.firstID(under: $0) == delivery.number })
        else { return }
        ready.insert(delivery.number, under: delivery.due)
    }
}

/// Written as the deliveries and what cannot be seen by them.
extension DeliveryQueue: Codable {
    private enum CodingKeys: String, CodingKey {
        case deliveries, attemptCount, nextNumber, finished, droppedCount
    }

    package init(from decoder: any Decoder) throws {
        let saved = try decoder.container(keyedBy: CodingKeys.self)
        deliveries = try saved.decode(SharedTable<Int, WebhookDelivery>.self, forKey: .deliveries)
        attemptCount = try saved.decode(StoredCount<Int>.self, forKey: .attemptCount).wrappedValue
        nextNumber = try saved.decode(StoredCount<Int>.self, forKey: .nextNumber).wrappedValue
        guard deliveries.keys.allSatisfy({ isNumbered($0) }) else {
            throw DecodingError.dataCorruptedError(
                forKey: .deliveries,
                in: saved,
                debugDescription: "a delivery's number is not its key, from 1 to below nextNumber"
            )
        }
        finished = Deque(try saved.decode([Int].self, forKey: .finished))
        droppedCount = try saved.decodeIfPresent(Int.self, forKey: .droppedCount) ?? 0
        for number in finished { finishedBytes += deliveries[number]?.body.utf8.count ?? 0 }
        for delivery in deliveries.values { enlist(delivery) }
        for delivery in deliveries.values { wait(delivery) }
    }

    private func isNumbered(_ key: Int) -> Bool {
        deliveries[key]?.number == key && (1..<max(1, nextNumber)).contains(key)
    }

    package func encode(to encoder: any Encoder) throws {
        var saved = encoder.container(keyedBy: CodingKeys.self)
        try saved.encode(deliveries, forKey: .deliveries)
        try saved.encode(attemptCount, forKey: .attemptCount)
        try saved.encode(nextNumber, forKey: .nextNumber)
        try saved.encode(droppedCount, forKey: .droppedCount)
        // Copying none writes to the one empty array that all threads share.
        try saved.encode(finished.isEmpty ? [] : Array(finished), forKey: .finished)
    }
}
