import Providers
import Testing
import Values

/// The memory that the fakes' state takes is bounded by bytes, however large what was sent is.
@Suite("Bounds of the fakes' state")
struct StateBoundTests {
    private static let start = Instant(milliseconds: 1_790_000_000_000)

    private func notification(_ number: Int, bytes: Int) -> NotificationLog.Notification {
        let text = String(repeating: "x", count: bytes)
        return NotificationLog.Notification(
            id: "n\(number)",
            body: ["contents": ["en": .string(text)]],
            queued: Self.start + .milliseconds(Int64(number)),
            sendAfter: nil,
            successful: 1,
            failed: 0,
            platforms: [:]
        )
    }

    @Test("bodies of notifications stay within their bound", arguments: [100, 60_000, 1_000_000])
    func notifications(bytes: Int) throws {
        var log = NotificationLog()
        let count = bytes == 100 ? 1000 : 100_000_000 / bytes
        for number in 0..<count {
            log.add(notification(number, bytes: bytes))
            #expect(log.byteCount <= NotificationLog.bytesMax)
        }
        // The entries stay, and the newest have their bodies.
        #expect(log.newestNotifications(count, from: 0).count == count)
        let newestNotifications = log.newestNotifications(8, from: 0)
        #expect(newestNotifications.allSatisfy { $0.body["contents"] != nil })
        let oldest = try #require(log.notifications["n0"])
        #expect((oldest.body[NotificationLog.droppedMember] != nil) == (bytes > 100))
        let copy: NotificationLog = try JSONValue(encoding: log).decoded()
        #expect(copy == log)
    }

    @Test func `one body above the bound is kept until the next`() {
        var log = NotificationLog()
        log.add(notification(0, bytes: NotificationLog.bytesMax + 1))
        #expect(log.notifications["n0"]?.body["contents"] != nil)
        log.add(notification(1, bytes: 1))
        #expect(log.notifications["n0"]?.body["contents"] == nil)
        #expect(log.byteCount < 1000)
    }

    @Test func `results of keyed requests stay within their bound`() {
        var log = NotificationLog()
        let body = JSONValue.string(String(repeating: "x", count: 1_000_000))
        for number in 0..<100 {
            log.saveResult(body, of: "key\(number)", at: Self.start)
            log.saveResult(body, of: "key\(number)", at: Self.start)
        }
        #expect(log.byteCount <= NotificationLog.bytesMax)
        let lifetime = Duration.seconds(9)
        #expect(log.result(of: "key99", at: Self.start, within: lifetime) == body)
        #expect(log.result(of: "key0", at: Self.start, within: lifetime) == nil)
    }

    @Test func `bodies of finished deliveries stay within their bound, and none that waits goes`() {
        var queue = DeliveryQueue()
        let body = JSONValue.string(String(repeating: "x", count: 1_000_000))
        func add(_ number: Int) {
            queue.add(
                .revenueCat,
                to: "main",
                event: body,
                id: "e\(number)",
                type: "RENEWAL",
                due: Self.start
            )
        }
        for number in 0..<100 { add(number) }
        #expect(queue.all.count == 100)
        for delivery in queue.take(by: Self.start) {
            queue.finish(
                delivery.number,
                status: 200,
                failure: nil,
                by: RetrySchedule.never,
                at: Self.start
            )
        }
        add(100)
        #expect(queue.droppedCount > 60)
        #expect(queue.all.count + queue.droppedCount == 101)
        #expect(queue.all.reduce(0) { $0 + $1.body.utf8.count } < 35_000_000)
        #expect(queue.addedDeliveries(from: 100).map(\.eventID) == ["e99", "e100"])
        #expect(queue.addedDeliveries(from: queue.nextNumber).isEmpty)
    }

    @Test func `the record of the bridge stays within its bound`() {
        var despia = DespiaState()
        let text = String(repeating: "x", count: 500_000)
        for _ in 0..<100 {
            let request = HTTPMessage.Request(
                "POST",
                "/http",
                body: JSONValue.object(["device": "a", "text": .string(text)]).bytes
            )
            _ = despia.respond(to: request, at: Self.start)
        }
        let bytes = despia.log.entries.reduce(0) { $0 + $1.text.utf8.count }
        #expect(bytes <= DespiaLog.byteCountMax)
        #expect(bytes > DespiaLog.byteCountMax / 2)
        #expect(despia.log.entries.last?.sequence == 100)
    }
}
