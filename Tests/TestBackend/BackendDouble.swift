import FakeServers
internal import Providers
package import Replay
package import Values

/// The test double of a backend: a closure of the test, or else a model, decides each response, and
/// the double keeps every request.
///
/// Requests reach it in one of three ways:
/// - A runner on a simulated machine uses it as its `Transport` and as its `BackendProgram`.
/// - Clients on this machine connect to the port of `BackendDouble.listening`.
/// - A webhook dispatcher uses it as its `WebhookTransport`.
///
/// On a simulated machine one thread does everything. In the other two ways only `arrivals` changes
/// after the double is complete, and a lock protects it.
package final class BackendDouble: @unchecked Sendable {
    /// A request that reached the double.
    package struct Arrival: Sendable {
        package let request: HTTPMessage.Request
        /// The exact bytes of a request over a socket; empty for other requests.
        package var bytes: [UInt8] = []
        /// The number of the connection of a runner.
        package var lane = 0
        package var fault = AttemptFault.none
        package let time: Duration
        /// The lifetime of the process that took the request.
        package let lifetime: Int
        /// The position among all requests, from 1.
        package fileprivate(set) var number = 0

        private var body: JSONValue? {
            // A body of another format has no event.
            try? JSONValue(parsing: request.body)
        }
        /// The event of a webhook of RevenueCat.
        package var event: JSONValue? { body?["event"] }
        /// The type of the event of a webhook; empty for other requests.
        package var eventName: String {
            let types = ProviderTable.all.senders.lazy.compactMap { entry in
                body?[entry.sender.format.typePointer]?.string
            }
            return types.first ?? body?["type"]?.string ?? ""
        }
    }

    /// Decides the response to a request; nil leaves it to the model.
    package typealias Handler = @Sendable (BackendDouble, Arrival) async -> Reply?

    package var respond: Handler
    package let model: any BackendModel
    package let clock: any RunClock
    package let machine: SimulatedMachine?
    private let elapsedTime: @Sendable () -> Duration
    private let received = Locked<[Arrival]>([])
    /// The address that messages name.
    package var address = "simulated"
    package var process = ProcessState()
    package var connections = ConnectionState()
    private(set) var socket: ListeningSocket?

    private init(
        model: any BackendModel,
        clock: any RunClock,
        machine: SimulatedMachine?,
        elapsedTime: @escaping @Sendable () -> Duration,
        respond: @escaping Handler
    ) {
        self.model = model
        self.clock = clock
        self.machine = machine
        self.elapsedTime = elapsedTime
        self.respond = respond
    }

    /// Creates a backend on a simulated machine.
    package convenience init(
        on machine: SimulatedMachine,
        process: SimulatedMachine.Process = .assay,
        model: any BackendModel
    ) {
        self.init(
            model: model,
            clock: SimulatedClock(machine: machine, process: process),
            machine: machine,
            elapsedTime: { machine.now },
            respond: { _, _ in nil }
        )
    }

    /// Creates a receiver of webhooks, which responds with the statuses in turn and then with the
    /// last argument.
    package convenience init(
        statuses: [Int] = [],
        then status: Int = 200,
        elapsedTime: @escaping @Sendable () -> Duration = { .zero }
    ) {
        self.init(
            model: FixedResponse(reply: .status(status)),
            clock: RealClock(),
            machine: nil,
            elapsedTime: elapsedTime,
            respond: { _, arrival in
                arrival.number <= statuses.count ? .status(statuses[arrival.number - 1]) : nil
            }
        )
    }

    /// Starts a backend on a port that the system selects; `close` stops it.
    package static func listening(
        _ respond: @escaping Handler = { _, _ in .status(200) }
    ) throws -> BackendDouble {
        let double = BackendDouble(
            model: FixedResponse(reply: .status(404)),
            clock: RealClock(),
            machine: nil,
            elapsedTime: { .zero },
            respond: respond
        )
        double.socket = try ListeningSocket { [weak double] request, bytes in
            guard let double else { return .hangUp }
            return await double.reply(to: double.record(request, bytes: bytes))
        }
        return double
    }

    // MARK: Requests

    /// The port of a double that listens.
    package var port: Int { socket?.port ?? 0 }

    /// All requests, in order.
    package var arrivals: [Arrival] { received.withLock { $0 } }

    /// The webhooks of RevenueCat, in order.
    package var webhooks: [Arrival] {
        arrivals.filter { $0.request.path == "/api/webhooks/revenuecat" }
    }

    /// The types of the events of all requests, in order.
    package var eventNames: [String] { arrivals.map(\.eventName) }

    func record(
        _ request: HTTPMessage.Request,
        bytes: [UInt8] = [],
        lane: Int = 0,
        fault: AttemptFault = .none
    ) -> Arrival {
        var arrival = Arrival(
            request: request,
            bytes: bytes,
            lane: lane,
            fault: fault,
            time: elapsedTime(),
            lifetime: process.lifetime
        )
        return received.withLock { received in
            arrival.number = received.count + 1
            received.append(arrival)
            return arrival
        }
    }

    func reply(to arrival: Arrival) async -> Reply {
        if let reply = await respond(self, arrival) { return reply }
        return await model.reply(to: arrival, of: self)
    }

    // MARK: Short handlers

    /// Responds to each webhook of RevenueCat in the same way.
    package func respondToWebhooks(_ reply: Reply) {
        respond = { _, arrival in arrival.event == nil ? nil : reply }
    }

    /// Responds to each request to a path in the same way.
    package func respond(to path: String, _ reply: Reply) {
        respond = { _, arrival in arrival.request.path == path ? reply : nil }
    }
}

extension BackendDouble: WebhookTransport {
    package func send(
        _ request: HTTPMessage.Request,
        to base: String,
        within: Duration
    ) async -> Exchange.Outcome {
        // Other tasks run in between, as they would during a real call.
        await Task.yield()
        return await reply(to: record(request)).outcome
            ?? .failed(.timedOut, "the backend never responds")
    }
}
