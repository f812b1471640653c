internal import Providers
import Testing
import Values

@testable import Recording

@Suite("Moments of a session")
struct SessionTimeTests {
    /// When the session was recorded, by a real clock.
    private static let present: Int64 = 1_790_000_000_000
    private static let day: Int64 = 86_400_000

    private static func event(_ times: [String: Int64], sequence: Int = 1) -> Exchange {
        RecordingFileTests.exchange(
            sequence,
            from: .revenueCat,
            body: [
                "event": .object(
                    JSONObject(
                        members: times.sorted { $0.key < $1.key }.map {
                            .init(key: $0.key, value: .integer($0.value))
                        }
                    )
                )
            ]
        )
    }

    private static func offset(_ moment: Int64, in exchanges: [Exchange]) -> String {
        let moments = SessionTimeline(exchanges, began: Instant(milliseconds: present))
        return moments.offset(of: Instant(milliseconds: moment), isTruncated: false).contractText
    }

    /// Where a moment of the session lies in a run that began an hour after its `{{now}}`, seen from
    /// that run's present.
    private static func ahead(_ moment: Int64, in exchanges: [Exchange]) -> Duration {
        let moments = SessionTimeline(exchanges, began: Instant(milliseconds: present))
        return moments.offset(of: Instant(milliseconds: moment), isTruncated: false)
            - .seconds(3600)
    }

    @Test func `a plain session counts from its first event`() {
        let times = [
            "event_timestamp_ms": Self.present, "expiration_at_ms": Self.present + 30 * Self.day,
        ]
        let session = [Self.event(times)]
        #expect(Self.offset(Self.present, in: session) == "0s")
        #expect(Self.offset(Self.present + 30 * Self.day, in: session) == "+30d")
    }

    @Test func `offsets are whole seconds, and order is kept`() {
        let milliseconds: [Int64] = [0, 17, 28, 999, 1_400, 60_000]
        let session = milliseconds.enumerated().map { index, offset in
            var event = Self.event(["event_timestamp_ms": Self.present + offset], sequence: index)
            event.invoked = offset * 1000
            return event
        }
        let offsets = milliseconds.map { Self.offset(Self.present + $0, in: session) }
        #expect(offsets == ["0s", "+1s", "+2s", "+3s", "+4s", "+1m"])
    }

    @Test(
        "expired periods stay expired, and open periods stay open",
        arguments: [
            // A sandbox period of five minutes, one that ended days ago, one that ends tomorrow.
            [("event_timestamp_ms", 0), ("expiration_at_ms", 300_000)],
            [
                ("purchased_at_ms", -40 * day), ("expiration_at_ms", -10 * day),
                ("event_timestamp_ms", 0),
            ],
            [
                ("purchased_at_ms", -20 * day), ("expiration_at_ms", 10 * day),
                ("event_timestamp_ms", 0),
            ],
            [("purchased_at_ms", -29 * day), ("expiration_at_ms", day), ("event_timestamp_ms", 3)],
            [
                ("event_timestamp_ms", -3 * day), ("purchased_at_ms", -3 * day),
                ("expiration_at_ms", -60_000),
            ],
            // The store's clock was moved: events of next month.
            [("event_timestamp_ms", 31 * day), ("expiration_at_ms", 61 * day)],
            [("event_timestamp_ms", 0), ("expiration_at_ms", 60_000)],
        ] as [[(String, Int64)]]
    )
    func keepsSides(times: [(String, Int64)]) {
        let said = Dictionary(uniqueKeysWithValues: times.map { ($0.0, Self.present + $0.1) })
        let session = [Self.event(said)]
        for (name, ahead) in times {
            let then = Self.ahead(Self.present + ahead, in: session)
            if ahead > 10_000 { #expect(then > .zero, "\(name) lies \(then) ahead") }
            if ahead < -10_000 { #expect(then < .zero, "\(name) lies \(then) ahead") }
            if ahead.magnitude <= 10_000 {
                #expect(then < .seconds(60), "\(name) lies \(then) ahead")
            }
        }
    }

    @Test func `a date that was cut to its second is the moment of that second`() {
        let session = [
            Self.event(["event_timestamp_ms": Self.present + 25]),
            Self.event(["event_timestamp_ms": Self.present + 42], sequence: 2),
        ]
        let moments = SessionTimeline(session, began: Instant(milliseconds: Self.present))
        let cut = Instant(milliseconds: Self.present)
        #expect(moments.offset(of: cut, isTruncated: true) == .zero)
        #expect(moments.offset(of: cut + .seconds(7), isTruncated: true) == .seconds(7))
    }
}
