import Contracts
import Providers
import Testing
import Values

/// The queue of webhooks on a clock that stands still until the test moves it (RevenueCat fact
/// sheet, sections 1.3 and 1.4; Purchasely fact sheet, section 3).
@Suite("Delivery queue")
struct DeliveryQueueTests {
    private static let start = Instant(milliseconds: 1_790_000_000_000)

    private func queue(_ count: Int = 1, orderKeys: [String] = []) -> DeliveryQueue {
        var queue = DeliveryQueue()
        for number in 0..<count { add(to: &queue, "E\(number)", orderKeys: orderKeys) }
        return queue
    }

    private func add(
        to queue: inout DeliveryQueue,
        _ id: String,
        configuration: String = "main",
        orderKeys: [String] = [],
        due: Instant = start
    ) {
        queue.add(
            .revenueCat,
            to: configuration,
            event: ["event": ["id": .string(id)]],
            id: id,
            type: "RENEWAL",
            orderKeys: orderKeys,
            due: due
        )
    }

    // MARK: Schedules

    private static let schedules: [(name: String, RetrySchedule, minutes: [Double])] = [
        ("revenuecat", .revenueCat, [0, 5, 15, 35, 75, 155]), ("test", .revenueCatTestEvent, [0]),
    ]

    @Test("attempts come at the documented times", arguments: schedules)
    func retrySchedule(name: String, schedule: RetrySchedule, minutes: [Double]) {
        var queue = queue()
        var moments: [Double] = []
        while let due = queue.nextDueTime {
            moments.append(Double((due - Self.start).milliseconds) / 60_000)
            let taken = queue.take(by: due)
            #expect(taken.count == 1)
            queue.finish(taken[0].number, status: 500, failure: nil, by: schedule, at: due)
        }
        #expect(moments == minutes)
        #expect(queue.all.map(\.state) == [.failed])
        #expect(queue.isSettled)
        #expect(queue.attemptCount == schedule.attemptCountMax)
    }

    @Test("Purchasely tries 26 times over about 20 days")
    func purchasely() {
        let schedule = RetrySchedule.purchasely(takes404: false)
        #expect(schedule.attemptCountMax == 26)
        #expect(schedule.responseTimeout == .seconds(10))
        let total = schedule.delays.reduce(Duration.zero, +)
        #expect((19...22).contains(total.milliseconds / 86_400_000))
        #expect(zip(schedule.delays, schedule.delays.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test(
        "only these statuses are success",
        arguments: [
            (RetrySchedule.revenueCat, [200]), (.revenueCatTestEvent, [200]),
            (.purchasely(takes404: false), [200]), (.purchasely(takes404: true), [200, 404]),
        ]
    )
    func successes(schedule: RetrySchedule, statuses: [Int]) {
        #expect((100..<600).filter(schedule.isSuccess) == statuses)
    }

    @Test("a wait counts from the end of the attempt before")
    func waits() {
        var queue = queue()
        let taken = queue.take(by: Self.start)
        let end = Self.start + .seconds(50)
        queue.finish(taken[0].number, status: nil, failure: "late", by: .revenueCat, at: end)
        #expect(queue.nextDueTime == end + .seconds(300))
        #expect(queue.take(by: end + .seconds(299)).isEmpty)
        #expect(queue.take(by: end + .seconds(300)).count == 1)
    }

    @Test("a delivery without a response is a failed attempt with a reason")
    func silence() {
        var queue = queue()
        let number = queue.take(by: Self.start)[0].number
        queue.finish(
            number,
            status: nil,
            failure: "closed",
            by: .revenueCatTestEvent,
            at: Self.start
        )
        #expect(queue.all[0].attempts.map(\.failure) == ["closed"])
        #expect(queue.all[0].attempts.map(\.status) == [nil])
        #expect(queue.all[0].state == .failed)
    }

    @Test("a delivered event is never sent again")
    func delivered() {
        var queue = queue()
        let number = queue.take(by: Self.start)[0].number
        queue.finish(number, status: 200, failure: nil, by: .revenueCat, at: Self.start)
        #expect(queue.nextDueTime == nil && queue.isSettled)
        #expect(queue.take(by: Instant(milliseconds: .max)).isEmpty)
        queue.finish(number, status: 500, failure: nil, by: .revenueCat, at: Self.start)
        #expect(queue.all[0].state == .delivered, "an end comes once")
        #expect(queue.attemptCount == 1)
    }

    // MARK: Order

    @Test("a delivery in progress is not returned twice")
    func underway() {
        var queue = queue(3)
        #expect(queue.take(by: Self.start).count == 3)
        #expect(queue.take(by: Self.start).isEmpty)
        #expect(!queue.isSettled)
        queue.recoverUnderwayDeliveries()
        #expect(queue.take(by: Self.start).count == 3, "the sender was stopped; nothing is lost")
    }

    @Test("due deliveries are sent in order of due time, then of number")
    func ordered() {
        var queue = DeliveryQueue()
        add(to: &queue, "late", due: Self.start + .seconds(5))
        add(to: &queue, "first")
        add(to: &queue, "second")
        #expect(queue.take(by: Self.start).map(\.eventID) == ["first", "second"])
        #expect(queue.nextDueTime == Self.start + .seconds(5))
        #expect(queue.take(by: Self.start + .seconds(5)).map(\.eventID) == ["late"])
    }

    @Test("deliveries that share a key wait for each other's end")
    func keys() {
        var queue = queue(3, orderKeys: ["sub"])
        #expect(queue.take(by: Self.start).map(\.eventID) == ["E0"])
        #expect(queue.take(by: Self.start).isEmpty, "the head is underway")
        queue.finish(1, status: 500, failure: nil, by: .revenueCat, at: Self.start)
        #expect(queue.take(by: Self.start + .seconds(1)).isEmpty, "the head waits")
        let again = queue.take(by: Self.start + .seconds(300))
        #expect(again.map(\.eventID) == ["E0"])
        queue.finish(1, status: 200, failure: nil, by: .revenueCat, at: Self.start)
        #expect(queue.take(by: Self.start).map(\.eventID) == ["E1"])
    }

    @Test("a delivery with two keys waits for both")
    func twoKeys() {
        var queue = DeliveryQueue()
        add(to: &queue, "a", orderKeys: ["x"])
        add(to: &queue, "b", orderKeys: ["y"])
        add(to: &queue, "ab", orderKeys: ["x", "y"])
        add(to: &queue, "free")
        #expect(queue.take(by: Self.start).map(\.eventID) == ["a", "b", "free"])
        queue.finish(1, status: 200, failure: nil, by: .revenueCat, at: Self.start)
        #expect(queue.take(by: Self.start).isEmpty)
        queue.finish(2, status: 200, failure: nil, by: .revenueCat, at: Self.start)
        #expect(queue.take(by: Self.start).map(\.eventID) == ["ab"])
    }

    @Test("a permanently failed delivery does not block later ones")
    func abandoned() {
        var queue = queue(2, orderKeys: ["sub"])
        _ = queue.take(by: Self.start)
        queue.finish(1, status: 500, failure: nil, by: .revenueCatTestEvent, at: Self.start)
        #expect(queue.take(by: Self.start).map(\.eventID) == ["E1"])
    }

    // MARK: Again

    @Test("an event is sent again to each configuration that had it, once")
    func resend() {
        var queue = DeliveryQueue()
        for configuration in ["main", "main", "other"] {
            add(to: &queue, "E", configuration: configuration)
        }
        for taken in queue.take(by: Self.start) {
            queue.finish(
                taken.number,
                status: 200,
                failure: nil,
                by: .revenueCatTestEvent,
                at: Self.start
            )
        }
        #expect(queue.resend("E", to: "other", at: Self.start) == 1)
        #expect(queue.resend("E", to: nil, at: Self.start) == 2)
        #expect(queue.resend("none", to: nil, at: Self.start) == 0)
        let taken = queue.take(by: Self.start)
        #expect(taken.map(\.configuration).sorted() == ["main", "other", "other"])
        #expect(Set(taken.map(\.body)).count == 1, "the same bytes")
    }

    @Test(
        "no delivery is lost or sent twice concurrently",
        arguments: 0..<UInt64(200)
    )
    func invariants(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var queue = DeliveryQueue()
        var now = Self.start
        var underway: Set<Int> = []
        var added = 0
        for _ in 0..<60 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                let keys = ["x", "y", "z"].filter { _ in Bool.random(using: &random) }
                add(to: &queue, "E\(added)", orderKeys: keys, due: now)
                added += 1
            case 1: now = now + .seconds(Int.random(in: 0...600, using: &random))
            case 2:
                for delivery in queue.take(by: now) {
                    #expect(underway.insert(delivery.number).inserted, "seed \(seed)")
                    #expect(delivery.due <= now, "seed \(seed)")
                    let others = queue.all.filter {
                        underway.contains($0.number) && $0.number != delivery.number
                    }
                    for other in others {
                        let shared = Set(other.orderKeys).intersection(delivery.orderKeys)
                        #expect(shared.isEmpty, "seed \(seed): two of one key are underway")
                    }
                }
            default:
                guard let number = underway.randomElement(using: &random) else { continue }
                underway.remove(number)
                let status = Bool.random(using: &random) ? 200 : 500
                queue.finish(number, status: status, failure: nil, by: .revenueCat, at: now)
            }
        }
        #expect(queue.all.count == added, "seed \(seed)")
        #expect(queue.isSettled == queue.all.allSatisfy(\.isFinished))
        // Whoever goes on serving empties the queue.
        for number in underway {
            queue.finish(number, status: 200, failure: nil, by: .revenueCat, at: now)
        }
        var rounds = 0
        while let due = queue.nextDueTime, rounds < 1000 {
            rounds += 1
            now = max(now, due)
            for taken in queue.take(by: now) {
                queue.finish(taken.number, status: 200, failure: nil, by: .revenueCat, at: now)
            }
        }
        #expect(queue.isSettled, "seed \(seed): something waits for ever")
    }

    // MARK: Ids

    @Test("ids are derived from their seed and have the right format", arguments: 0..<UInt64(100))
    func ids(seed: UInt64) {
        var source = IDSource(seed: seed, text: "a")
        var same = IDSource(seed: seed, text: "a")
        var other = IDSource(seed: seed, text: "b")
        let uuid = source.uuid()
        #expect(uuid == same.uuid() && uuid != other.uuid())
        let parts = uuid.split(separator: "-").map(\.count)
        #expect(parts == [8, 4, 4, 4, 12] && uuid == uuid.lowercased())
        #expect(Array(uuid)[14] == "4" && Array(uuid)[19] == "a")
        #expect(source.digits(12).allSatisfy { $0.isNumber })
        #expect(source.hex(32).allSatisfy { $0.isHexDigit && !$0.isUppercase })
        #expect(source.alphanumerics(28).count == 28)
        #expect(source.uuid() != uuid)
    }

    // MARK: Signatures

    @Test("a signature covers time and bytes, both to the last one")
    func signature() {
        let body = Array(#"{"event":{}}"#.utf8)
        let right = WebhookSignature(signing: body, key: "k", at: 1000).description
        #expect(right.hasPrefix("t=1000,v1=") && right.count == 10 + 64)
        #expect(right == WebhookSignature(signing: body, key: "k", at: 1000).description)
        let others = [
            WebhookSignature(signing: body + [0x20], key: "k", at: 1000),
            WebhookSignature(signing: Array(body.dropLast()), key: "k", at: 1000),
            WebhookSignature(signing: body, key: "K", at: 1000),
            WebhookSignature(signing: body, key: "k", at: 1001),
        ]
        let digest = right.split(separator: "v1=").last
        for other in others { #expect(other.description.split(separator: "v1=").last != digest) }
    }
}
