import FakeServers
import Values

/// A receiver without a network: answers what it is told to, and remembers what came.
final class WebhookReceiver: WebhookTransport {
    private typealias ReceivedWebhook = (type: String, at: Instant, request: HTTPMessage.Request)

    private let state: Locked<(statuses: [Int], seen: [ReceivedWebhook])>
    private let clock: @Sendable () -> Instant
    private let standard: Int

    init(_ statuses: [Int] = [], standard: Int = 200, clock: @escaping @Sendable () -> Instant) {
        state = Locked((statuses, []))
        self.standard = standard
        self.clock = clock
    }

    func send(
        _ request: HTTPMessage.Request,
        to base: String,
        within: Duration
    ) async -> Exchange.Outcome {
        // Others run in between, as they would during a real call.
        await Task.yield()
        let body = try? JSONValue(parsing: request.body)
        let type = body?["event"]?["type"]?.string ?? body?["event_name"]?.string ?? ""
        let now = clock()
        let status = state.withLock { state in
            state.seen.append((type, now, request))
            return state.statuses.isEmpty ? standard : state.statuses.removeFirst()
        }
        return .answered(HTTPMessage.Response(status))
    }

    var types: [String] { state.withLock { $0.seen.map(\.type) } }
    var times: [Instant] { state.withLock { $0.seen.map(\.at) } }
    var requests: [HTTPMessage.Request] { state.withLock { $0.seen.map(\.request) } }
    var bodies: [[UInt8]] { requests.map(\.body) }
}
