internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Values

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// The reason why a port could not be opened.
package struct StartError: Error, Sendable, CustomStringConvertible {
    package let description: String
    /// Whether another program uses the port.
    package var isAddressInUse = false
}

/// An HTTP server on one port, which calls a handler for each complete request.
///
/// It hides the HTTP library from the other code of this module.
final class HTTPHost: Sendable {
    /// The response of a handler, and the way in which the response is sent.
    enum HostResponse: Sendable {
        case completeResponse(HTTPMessage.Response)
        /// The head and half of the body are sent, then the connection is reset.
        case truncatedResponse(HTTPMessage.Response)
        /// The connection is reset without any response.
        case reset
        /// The connection stays open without a response until the caller closes it, or until the
        /// wait ends and the connection is reset.
        case held(until: @Sendable () async -> Void)
        /// The response is a stream of lines; each line is sent when it is available.
        case lines(AsyncStream<String>)
        /// The closure determines the response without blocking the thread of the connection.
        case deferred(@Sendable () async throws -> HostResponse)
    }

    /// A function that returns the response to a request.
    ///
    /// It is called on the thread of the connection, so a function that blocks delays other
    /// callers.
    typealias Handler = @Sendable (HTTPMessage.Request) -> HostResponse

    /// The maximum size in bytes of a request body.
    ///
    /// No real call to a service has a larger body.
    static let requestBodyBytesMax = 10 << 20
    /// The time after which an idle connection is closed.
    ///
    /// Idle connections are those of slow senders and of clients that never read the response, and
    /// unused connections.
    static let idleTimeout: Duration = .seconds(60)

    let host: String
    let port: Int
    /// The channel that accepts connections.
    private let listener: any Channel
    private let connections = HostConnections()

    /// Opens the port of the server; port 0 picks a free one.
    ///
    /// - Parameters:
    ///   - name: The name of the service on the port, for error messages.
    ///   - host: The local address to listen on.
    ///   - port: The port.
    ///   - idleTimeout: The time after which an idle connection is closed.
    ///   - now: Returns the time for the `Date` header; nil omits the header.
    ///   - options: The TCP options of each accepted connection.
    ///   - threads: The threads that read requests and call the handler.
    ///   - report: Receives the error of a connection that could not be prepared.
    ///   - shortages: Records the reasons why connections could not be accepted.
    ///   - handler: Returns the response to a request.
    /// - Throws: `StartError` when the port cannot be opened.
    init(
        name: String,
        host: String,
        port: Int,
        idleTimeout: Duration = HTTPHost.idleTimeout,
        now: (@Sendable () -> Instant)? = nil,
        options: [ConnectionOption] = [.noDelay, .halfClosure],
        threads: MultiThreadedEventLoopGroup = .singleton,
        report: @escaping @Sendable (ConnectionFault) -> Void,
        shortages: ResourceShortages = ResourceShortages(),
        handler: @escaping Handler
    ) async throws(StartError) {
        self.host = host
        let connections = connections
        do {
            listener = try await ServerBootstrap(group: threads)
                .serverChannelOption(.backlog, value: 1024)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelInitializer { $0.pipeline.addHandler(AcceptErrorHandler(shortages)) }
                .childChannelInitializer { channel in
                    ConnectionOptions.configureAcceptedConnection(channel, options, report: report)
                    { channel in
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHandler(Self.makeIdleHandler(idleTimeout))
                        let connection = HTTPConnection(handler, now)
                        try Self.add(connection, to: pipeline)
                        connections.add(
                            channel,
                            NIOLoopBound(connection, eventLoop: channel.eventLoop)
                        )
                    }
                }
                .bind(host: host, port: port).get()
        } catch {
            let isAddressInUse = (error as? IOError)?.isAddressInUseError == true
            throw StartError(
                description: "cannot open \(host):\(port) for \(name): "
                    + (isAddressInUse ? "the port is in use" : "\(error)"),
                isAddressInUse: isAddressInUse
            )
        }
        self.port = listener.localAddress?.port ?? port
    }

    // MARK: Connections

    /// Returns a channel handler that fires an event when a connection has received nothing for the
    /// given time.
    ///
    /// It must be the first handler of the pipeline.
    static func makeIdleHandler(_ idleTimeout: Duration) -> IdleStateHandler {
        IdleStateHandler(readTimeout: .milliseconds(Int64(idleTimeout.milliseconds)))
    }

    /// Adds the HTTP handlers to the pipeline of a connection that already has the handler from
    /// `makeIdleHandler`.
    static func addConnection(
        to pipeline: ChannelPipeline.SynchronousOperations,
        now: @escaping @Sendable () -> Instant,
        handler: @escaping Handler
    ) throws {
        try add(HTTPConnection(handler, now), to: pipeline)
    }

    private static func add(
        _ connection: HTTPConnection,
        to pipeline: ChannelPipeline.SynchronousOperations
    ) throws {
        try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
        try pipeline.addHandler(connection)
    }

    /// Closes the port.
    ///
    /// Calls in progress still get their responses.
    func stop() async {
        // Waits for the close, so that the port can be opened again at once even on a busy machine.
        // An error means that the port is closed already.
        try? await listener.close().get()
        connections.finish()
    }

    /// Closes the port and waits up to two seconds for its connections to end.
    func close() async {
        await stop()
        let connections = connections
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await connections.wait() }
            // Cancellation ends the wait early.
            group.addTask { try? await Task.sleep(for: .seconds(2)) }
            await group.next()
            group.cancelAll()
        }
    }
}

extension IOError {
    /// Whether the error means that another program uses the port.
    var isAddressInUseError: Bool { errnoCode == EADDRINUSE }
}
