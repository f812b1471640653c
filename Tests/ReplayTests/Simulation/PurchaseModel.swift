import Contracts
import FakeServers
import Providers
import Replay
import TestBackend
import Values

/// A small model of a backend: it stores the product of each purchase at once and sends pushes after
/// a delay.
final class PurchaseModel: BackendModel, @unchecked Sendable {
    /// The time that the backend works on a request.
    var work: Duration = .milliseconds(2)
    /// The time between an event and its push; nil if no push follows.
    var pushDelay: Duration? = .milliseconds(1)
    /// The number of pushes for one event.
    var pushCount = 1
    /// The product of each user.
    private(set) var owned: [String: String] = [:]
    private let clock: SimulatedClock
    private let fakes: FakeRegistry

    init(clock: SimulatedClock, fakes: FakeRegistry) {
        self.clock = clock
        self.fakes = fakes
    }

    func reply(
        to arrival: BackendDouble.Arrival,
        of backend: BackendDouble
    ) async -> BackendDouble.Reply {
        await clock.pause(work)
        let request = arrival.request
        switch (request.method, request.path) {
        case ("GET", "/ready"): return .status(200)
        case ("POST", "/api/user/register"): return .json(["ok": true])
        case ("POST", "/api/webhooks/revenuecat"):
            take(arrival.event)
            return .status(200)
        case ("GET", let path) where path.hasPrefix("/test/"):
            let product = owned[String(path.dropFirst("/test/".count))]
            return .json([
                "access": .bool(product != nil), "refunded": false,
                "product": product.map(JSONValue.string) ?? .null,
            ])
        default: return .status(404)
        }
    }

    private func take(_ event: JSONValue?) {
        guard let event, let user = event["app_user_id"]?.string else { return }
        owned[user] = event["product_id"]?.string ?? "none"
        guard let pushDelay else { return }
        for _ in 0..<pushCount { push(to: user, after: pushDelay) }
    }

    /// Sends a push after a delay, independently of events.
    func push(to user: String, after delay: Duration = .zero) {
        _ = clock.task {
            await self.clock.pause(delay)
            self.call(.oneSignal, Self.notification(to: user))
        }
    }

    /// Calls a provider.
    func call(_ party: Exchange.Party, _ request: HTTPMessage.Request) {
        _ = FakeServer.reply(to: request, party, fakes)
    }

    /// The request that sends a push to a user; OneSignal accepts a key only once.
    static func notification(
        to user: String,
        text: String = "bought",
        key: String? = nil
    ) -> HTTPMessage.Request {
        var body: JSONObject = [
            "app_id": "a55a4000-0000-4000-8000-000000000000", "target_channel": "push",
            "include_aliases": ["external_id": [.string(user)]],
            "contents": ["en": .string(text)],
        ]
        if let key { body["idempotency_key"] = .string(key) }
        return HTTPMessage.Request(
            "POST",
            "/notifications",
            fields: [
                HTTPMessage.Field("authorization", "Key os_v2_app_assay"),
                HTTPMessage.Field("content-type", "application/json"),
            ],
            body: JSONValue.object(body).bytes
        )
    }

    /// Reads a customer from the REST API of RevenueCat.
    func readCustomer(_ id: String) {
        let request = HTTPMessage.Request(
            "GET",
            "/v1/subscribers/\(id)",
            fields: [HTTPMessage.Field("authorization", "Bearer sk_assay")]
        )
        call(.revenueCat, request)
    }

    /// Forgets all purchases.
    func forget() { owned = [:] }

    /// Stores the product of a user without an event; nil removes it.
    func note(_ user: String, owns product: String?) { owned[user] = product }
}
