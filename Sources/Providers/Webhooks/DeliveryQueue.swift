internal import DequeModule
package import Values

/// The delivery of one event to one webhook, with all attempts made so far.
package struct WebhookDelivery: Hashable, Codable, Sendable {
    package enum State: String, Hashable, Codable, Sendable {
        /// The delivery waits for the due time of its next attempt.
        case waiting
        /// An attempt at the delivery is in progress.
        case underway
        case delivered
        /// The last attempt failed, and the delivery has stopped permanently.
        case failed
    }

    package struct Attempt: Hashable, Codable, Sendable {
        package let at: Instant
        /// The HTTP status of the response.
        ///
        /// Nil when no response arrived; `failure` then contains the reason.
        package let status: Int?
        package let failure: String?
    }

    package let number: Int
    package let provider: Exchange.Party
    /// The ID of the webhook configuration to which the event is delivered.
    package let configuration: String
    package let eventID: String
    package let type: String
    /// The group of the event.
    ///
    /// Deliveries of one group that are due at the same time are sent in order.
    package let group: String
    /// Keys that order deliveries: a delivery waits until the earlier ones with the same key have
    /// succeeded or failed.
    ///
    /// If the list is empty, it does not wait for other deliveries.
    package let orderKeys: [String]
    /// The request body, which is the same in every attempt.
    package let body: String
    package var attempts: [Attempt] = []
    package var state = State.waiting
    /// The time of the next attempt at this delivery.
    package var due: Instant

    package var isFinished: Bool { state == .delivered || state == .failed }
}

/// The webhook deliveries of all fakes, pending and finished.
///
/// Their times are those of the virtual clock.
package struct DeliveryQueue: Hashable, Sendable {
    /// The largest number of finished deliveries that the queue keeps for display.
    package static let finishedDeliveriesMax = 10_000
    /// The largest total size of the request bodies of finished deliveries, in bytes.
    ///
    /// The oldest finished deliveries are removed first, but never the latest one.
    package static let finishedDeliveryBytesMax = 32 << 20

    private var deliveries: SharedTable<Int, WebhookDelivery> = [:]
    /// The total number of finished attempts at all deliveries.
    package private(set) var attemptCount = 0
    /// The number that the next delivery in the queue will get.
    package private(set) var nextNumber = 1
    /// The total size of the request bodies of finished deliveries, in bytes.
    private var finishedByteCount = 0
    /// The number of finished deliveries that were removed because the queue's limits were
    /// exceeded.
    package private(set) var droppedCount = 0
    /// The numbers of the finished deliveries, oldest first.
    private var finished: Deque<Int> = []
    private var deliveryNumbers = SharedSortedSet<Int>()
    /// The numbers of the deliveries that wait for no other delivery, by their due time.
    private var numbersByDueTime = SharedIndex<Instant, Int>()
    /// The numbers of the unfinished deliveries, by order key.
    ///
    /// Each delivery waits for the earlier ones with the same key.
    private var unfinishedNumbersByOrderKey = SharedIndex<String, Int>()
    /// The numbers of the deliveries, by the ID of their event.
    private var numbersByEventID = SharedIndex<String, Int>()

    package init() {}

    /// All deliveries in the order in which they were added to the queue.
    package var all: [WebhookDelivery] { deliveryNumbers.all.compactMap { deliveries[$0] } }

    /// Returns the deliveries with this number or a higher one, in order.
    ///
    /// The cost of the call depends only on how many deliveries it returns.
    package func addedDeliveries(from number: Int) -> [WebhookDelivery] {
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
        indexDelivery(delivery)
        scheduleIfFirst(delivery)
    }

    /// Sends an event again immediately by adding new deliveries.
    ///
    /// - Parameters:
    ///   - eventID: The ID of the event.
    ///   - configuration: The only webhook that receives the event; nil: all webhooks that received
    ///     it before.
    ///   - number: The only earlier delivery that is sent again; nil: the first delivery to each
    ///     webhook.
    ///   - makeReplacementEvent: Returns a replacement for the event of a provider; nil leaves the event
    ///     unchanged.
    ///   - now: The current time.
    /// - Returns: The number of deliveries that this call creates; 0 when the event is unknown.
    package mutating func resend(
        _ eventID: String,
        to configuration: String?,
        as number: Int? = nil,
        changed makeReplacementEvent: (Exchange.Party) -> EventSummary? = { _ in nil },
        at now: Instant
    ) -> Int {
        let deliveriesOfEvent = numbersByEventID.ids(under: eventID).compactMap { deliveries[$0] }
            .filter { configuration == nil || $0.configuration == configuration }
            .filter { number == nil || $0.number == number }
        var seenConfigurations: Set<String> = []
        var count = 0
        for oldDelivery in deliveriesOfEvent
        where seenConfigurations.insert(oldDelivery.configuration).inserted {
            let replacementEvent = makeReplacementEvent(oldDelivery.provider)
            add(
                oldDelivery.provider,
                to: oldDelivery.configuration,
                event: replacementEvent?.body ?? JSONValue(ifValid: oldDelivery.body)
                    ?? .null,
                id: replacementEvent?.id ?? oldDelivery.eventID,
                type: replacementEvent?.type ?? oldDelivery.type,
                group: oldDelivery.group,
                due: now
            )
            count += 1
        }
        return count
    }

    /// The earliest due time of a delivery that waits for no other delivery; nil when there is
    /// none.
    package var nextDueTime: Instant? { numbersByDueTime.first?.key }

    /// Returns the deliveries that are due and marks them as underway.
    ///
    /// Of several deliveries with the same order key, it returns only the oldest.
    package mutating func take(by now: Instant) -> [WebhookDelivery] {
        numbersByDueTime.entries(through: now).compactMap { entry in
            numbersByDueTime.remove(entry.id, under: entry.key)
            let delivery = deliveries[entry.id]
            deliveries[entry.id]?.state = .underway
            return delivery
        }
    }

    /// Records the result of an attempt at a delivery, and schedules the next attempt if the
    /// delivery failed.
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
        if delivery.state == .waiting { scheduleIfFirst(delivery) } else { markFinished(delivery) }
    }

    /// Makes deliveries wait for a new attempt if their attempt was in progress when the sender was
    /// stopped.
    package mutating func recoverUnderwayDeliveries() {
        for delivery in all where delivery.state == .underway {
            deliveries[delivery.number]?.state = .waiting
            if let waiting = deliveries[delivery.number] { scheduleIfFirst(waiting) }
        }
    }

    private mutating func markFinished(_ delivery: WebhookDelivery) {
        for key in delivery.orderKeys {
            unfinishedNumbersByOrderKey.remove(delivery.number, under: key)
        }
        // The next delivery with each of these keys no longer waits for this one.
        for key in delivery.orderKeys {
            if let nextDelivery = unfinishedNumbersByOrderKey.firstID(under: key).flatMap({
                deliveries[$0]
            }) {
                scheduleIfFirst(nextDelivery)
            }
        }
        finished.append(delivery.number)
        finishedByteCount += delivery.body.utf8.count
        while finished.count > Self.finishedDeliveriesMax
            || (finishedByteCount > Self.finishedDeliveryBytesMax && finished.count > 1)
        {
            let droppedNumber = finished.removeFirst()
            droppedCount += 1
            if let oldDelivery = deliveries.removeValue(forKey: droppedNumber) {
                finishedByteCount -= oldDelivery.body.utf8.count
                numbersByEventID.remove(droppedNumber, under: oldDelivery.eventID)
            }
            deliveryNumbers.remove(droppedNumber)
        }
    }

    // MARK: Order

    private mutating func indexDelivery(_ delivery: WebhookDelivery) {
        deliveryNumbers.insert(delivery.number)
        numbersByEventID.insert(delivery.number, under: delivery.eventID)
        guard !delivery.isFinished else { return }
        for key in delivery.orderKeys {
            unfinishedNumbersByOrderKey.insert(delivery.number, under: key)
        }
    }

    /// Schedules a delivery for its due time, unless it must wait for an earlier delivery with the
    /// same order key.
    private mutating func scheduleIfFirst(_ delivery: WebhookDelivery) {
        guard delivery.state == .waiting,
            delivery.orderKeys.allSatisfy({
                unfinishedNumbersByOrderKey.firstID(under: $0) == delivery.number
            })
        else { return }
        numbersByDueTime.insert(delivery.number, under: delivery.due)
    }
}

/// Saves the deliveries and the counters that cannot be derived from the deliveries.
extension DeliveryQueue: Codable {
    private enum CodingKeys: String, CodingKey {
        case deliveries, attemptCount, nextNumber, finished, droppedCount
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        deliveries = try container.decode(
            SharedTable<Int, WebhookDelivery>.self,
            forKey: .deliveries
        )
        attemptCount = try container.decode(JSONSafeInteger<Int>.self, forKey: .attemptCount)
            .wrappedValue
        nextNumber = try container.decode(JSONSafeInteger<Int>.self, forKey: .nextNumber)
            .wrappedValue
        guard deliveries.keys.allSatisfy({ hasValidNumber($0) }) else {
            throw DecodingError.dataCorruptedError(
                forKey: .deliveries,
                in: container,
                debugDescription: "a delivery's number must be its key, from 1 to nextNumber - 1"
            )
        }
        finished = Deque(try container.decode([Int].self, forKey: .finished))
        droppedCount = try container.decodeIfPresent(Int.self, forKey: .droppedCount) ?? 0
        for number in finished { finishedByteCount += deliveries[number]?.body.utf8.count ?? 0 }
        for delivery in deliveries.values { indexDelivery(delivery) }
        for delivery in deliveries.values { scheduleIfFirst(delivery) }
    }

    private func hasValidNumber(_ key: Int) -> Bool {
        deliveries[key]?.number == key && (1..<max(1, nextNumber)).contains(key)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(deliveries, forKey: .deliveries)
        try container.encode(attemptCount, forKey: .attemptCount)
        try container.encode(nextNumber, forKey: .nextNumber)
        try container.encode(droppedCount, forKey: .droppedCount)
        // An empty array literal is encoded in place of a copy of the empty collection. The copy
        // would write to the storage that all empty arrays in all threads share.
        try container.encode(finished.isEmpty ? [] : Array(finished), forKey: .finished)
    }
}
