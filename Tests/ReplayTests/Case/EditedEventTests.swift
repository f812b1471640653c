import Contracts
import FakeServers
import Grammar
import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// Events in which a contract sets fields, and the REST API of the fake after them.
@Suite("Edited events")
struct EditedEventTests {
    private static let identityKeys = ["app_user_id", "original_app_user_id", "aliases"]

    /// Values of the usual kind, each with its member of the event.
    private static let values: [(member: String, value: JSONValue)] = [
        ("app_user_id", "edited-user"), ("original_app_user_id", "edited-original"),
        ("aliases", ["edited-alias", "edited-user"]), ("product_id", "edited_product"),
        ("expiration_at_ms", .integer(1_893_456_000_000)), ("transaction_id", "edited-1"),
    ]

    /// Delivers a purchase with some of the values, and returns its event and the REST responses
    /// about all users in it.
    private static func delivered(_ edits: [(member: String, value: JSONValue)]) throws
        -> (event: JSONValue, subscribers: [JSONValue])
    {
        let bench = SimulationBench()
        let spec = EventSpec(type: .documented(.initialPurchase), user: "ada")
        var delivery = Delivery(name: "a", subject: .event(spec))
        delivery.edits = edits.map {
            Delivery.Edit(
                pointer: JSONPointer(tokens: ["event", $0.member]),
                value: $0.value
            )
        }
        let edited = delivery
        let body = try bench.run { bench in
            let plan = SimulationBench.plan([.deliver(edited)])
            var execution = bench.executor.open(plan, "n-1", within: SimulationBench.within)
            await execution.deliver(edited)
            return execution.deliveries.bodies["a"] ?? []
        }
        let event = try #require(try JSONValue(parsing: body)["event"])
        let ids = identityKeys.flatMap { event[$0]?.strings ?? [] }
        let subscribers = try ids.map { id in
            let request = HTTPMessage.Request(
                "GET",
                "/v1/subscribers/\(id)",
                fields: [HTTPMessage.Field("authorization", "Bearer sk_assay")]
            )
            let reply = FakeServer.reply(to: request, .revenueCat, bench.fakes)
            return try JSONValue(parsing: reply.response.body)
        }
        return (event, subscribers)
    }

    @Test("REST agrees with the values that a contract sets", arguments: UInt64(0)..<64)
    func agrees(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let edits = Self.values.filter { _ in Bool.random(using: &random) }
        let (event, subscribers) = try Self.delivered(edits)
        for (member, value) in edits { #expect(event[member] == value) }
        let product = try #require(event["product_id"]?.string)
        let expiration = try #require(event["expiration_at_ms"]?.int64)
        let transaction = try #require(event["transaction_id"]?.string)
        for subscriber in subscribers {
            let subscription = subscriber["subscriber"]?["subscriptions"]?[product]
            #expect(subscription?["store_transaction_id"]?.string == transaction)
            let end = try #require(subscription?["expires_date"]?.string)
            #expect(Instant(iso8601: end)?.seconds == expiration / 1000)
        }
    }

    @Test(
        "a value of another kind changes nothing in REST",
        arguments: [.null, 5, ["unusual": [1]], []] as [JSONValue]
    )
    func otherKind(value: JSONValue) throws {
        let (event, subscribers) = try Self.delivered([("app_user_id", value)])
        #expect(event["app_user_id"] == value)
        let subscriptions = subscribers.map { $0["subscriber"]?["subscriptions"]?.object }
        #expect(!subscriptions.isEmpty)
        #expect(subscriptions.allSatisfy { $0?.members.isEmpty == false })
    }
}
