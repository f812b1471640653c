package import FakeServers
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
package import Values

/// A reverse proxy in front of a backend that forwards all traffic and writes it to a journal.
///
/// Each connection of a caller has its own connection to the backend, on the same event loop.
/// Bodies stream in both directions with back pressure, and only a bounded copy is kept. A request
/// is in the journal before its first byte reaches the backend.
package final class CapturingProxy: Sendable {
    package struct StartError: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// The address of the backend to which the proxy forwards all requests.
    package struct Target: Hashable, Sendable {
        package let host: String
        package let port: Int
        package let isSecure: Bool
        /// The value that replaces the `Host` header of requests.
        ///
        /// Nil keeps the header of the caller, as for a backend on this machine.
        package let hostField: String?
        /// The path prefix of the backend, such as `/v2`.
        ///
        /// The proxy adds the prefix to each path that it forwards; the recording does not contain
        /// it.
        package let basePath: String
        /// The path of a PEM file with additional CA certificates to trust for an https backend.
        package var authority: String?

        package init(
            host: String,
            port: Int,
            isSecure: Bool,
            hostField: String?,
            basePath: String = ""
        ) {
            self.host = host
            self.port = port
            self.isSecure = isSecure
            self.hostField = hostField
            self.basePath = basePath.hasSuffix("/") ? String(basePath.dropLast()) : basePath
        }
    }

    /// The configuration of a capturing proxy: its backend, journal, clock and limits.
    package struct Context: Sendable {
        package var target: Target
        package var journal: LiveJournal
        package var now: @Sendable () -> Instant
        /// Returns the sender of a request, such as the app or RevenueCat, according to the content
        /// of the request.
        package var party: @Sendable (HTTPMessage.Request) -> Exchange.Party
        /// The maximum length in bytes of a body that is copied to the journal.
        package var bodyMax: Int

        package init(
            target: Target,
            journal: LiveJournal,
            bodyMax: Int,
            now: @escaping @Sendable () -> Instant,
            party: @escaping @Sendable (HTTPMessage.Request) -> Exchange.Party
        ) {
            self.target = target
            self.journal = journal
            self.bodyMax = bodyMax
            self.now = now
            self.party = party
        }
    }

    private let channel: any Channel
    private let connections: OpenConnections
    package let host: String
    package let port: Int

    /// Opens the port of the proxy.
    ///
    /// - Parameters:
    ///   - host: The local address to listen on.
    ///   - port: The port; 0 picks a free one.
    ///   - context: The backend, the journal, the clock and the limits of the proxy.
    ///   - options: The TCP options of each accepted connection.
    /// - Throws: `StartError` when the port cannot be opened.
    package init(
        host: String,
        port: Int,
        context: Context,
        options: [ConnectionOption] = [.noDelay]
    ) async throws(StartError) {
        let journal = context.journal
        let report: @Sendable (ConnectionFault) -> Void = { journal.note($0.description) }
        let connections = OpenConnections()
        self.connections = connections
        do {
            var tlsConfiguration = TLSConfiguration.makeClientConfiguration()
            tlsConfiguration.additionalTrustRoots =
                context.target.authority.map { [.file($0)] } ?? []
            let tlsContext =
                context.target.isSecure ? try NIOSSLContext(configuration: tlsConfiguration) : nil
            channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: 256)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelInitializer { channel in
                    ConnectionOptions.configureAcceptedConnection(channel, options, report: report)
                    { channel in
                        let pipeline = channel.pipeline.syncOperations
                        let codec = HTTPHandlers.serverCodec()
                        try pipeline.addHandler(HTTP2Refusal())
                        try pipeline.addHandlers(codec)
                        try pipeline.addHandler(CallerHandler(context, tlsContext, codec))
                        connections.add(channel)
                    }
                }
                .bind(host: host, port: port).get()
        } catch {
            let text =
                (error as? IOError).map { $0.errnoCode == 98 || $0.errnoCode == 48 } == true
                ? "the port is in use" : "\(error)"
            throw StartError(description: "cannot open \(host):\(port) for the recorder: \(text)")
        }
        self.host = host
        self.port = channel.localAddress?.port ?? port
    }

    package var baseURL: String { AdvertisedAddress.url(host: host, port: port) }

    /// Closes the port of the proxy and all open connections.
    package func stop() async {
        // An error means that the port is closed already.
        try? await channel.close().get()
        await connections.close()
    }
}
