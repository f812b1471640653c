internal import NIOPosix
internal import Values

/// Serves the control API on its own port.
package final class ControlServer: Sendable {
    /// The thread of all control APIs of the process.
    ///
    /// It is a separate thread, because the threads of the fakes may wait for the lock of their
    /// state.
    private static let eventLoopGroup = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    private let listener: HTTPHost
    private let api: Locked<ControlAPI?>

    package var host: String { listener.host }
    package var port: Int { listener.port }
    /// The host in the URL that callers get; nil means the host that the server listens on.
    private let advertisedHost: String?
    package var baseURL: String { AdvertisedAddress.url(host: advertisedHost ?? host, port: port) }

    /// Opens the port of the control API.
    ///
    /// Until `open` is called, all calls get status 503.
    package init(
        host: String = "127.0.0.1",
        port: Int = 0,
        advertisedHost: String? = nil
    ) async throws(StartError) {
        self.advertisedHost = advertisedHost
        let api = Locked<ControlAPI?>(nil)
        self.api = api
        listener = try await HTTPHost(
            name: "the control API",
            host: host,
            port: port,
            threads: Self.eventLoopGroup,
            report: { fault in api.withLock { $0 }?.fakes.journal.note(fault.description) }
        ) { request in
            guard let control = api.withLock({ $0 }) else {
                return .completeResponse(
                    HTTPMessage.Response(503, json: ["error": "assay is still starting"])
                )
            }
            // The health check needs no lock and no thread that other calls use.
            if let health = control.health(request) { return .completeResponse(health) }
            return .deferred {
                switch await control.respond(to: request) {
                case .completeResponse(let response): .completeResponse(response)
                case .lines(let lines): .lines(lines)
                }
            }
        }
    }

    package func open(_ control: ControlAPI) {
        api.withLock { $0 = control }
    }

    package func stop() async {
        await listener.stop()
    }
}
