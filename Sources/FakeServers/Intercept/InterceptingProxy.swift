internal import NIOCore
internal import NIOPosix
package import Providers
internal import Values

/// A proxy between a backend and the network.
///
/// Calls to the real host names of the services, such as RevenueCat, go to the fakes. All other
/// calls are refused and reported.
///
/// One port accepts every kind of client: proxy requests with `CONNECT` or absolute URLs (RFC 9110,
/// section 9.3.6), and TLS or HTTP as if the proxy were the host itself. It never forwards a call
/// to another machine.
package final class InterceptingProxy: Sendable {
    package let host: String
    package let port: Int
    package let refusals: InterceptionRefusalCounts
    package var baseURL: String { AdvertisedAddress.url(host: host, port: port) }
    private let listener: any Channel
    private let openChannels: Locked<[ObjectIdentifier: any Channel]>

    /// Opens the port of the proxy.
    ///
    /// - Parameters:
    ///   - servers: The fakes that replace the services.
    ///   - fakes: The state of the fakes.
    ///   - authority: The certificate authority that signs certificates for the host names of the
    ///     services.
    ///   - refusals: Records the refused calls.
    ///   - host: The local address to listen on.
    ///   - port: The port; 0 picks a free one.
    ///   - idleTimeout: The time after which an idle connection is closed.
    ///   - options: The TCP options of each accepted connection.
    /// - Throws: `StartError` when the port cannot be opened.
    package init(
        before servers: [FakeServer],
        fakes: FakeRegistry,
        authority: CertificateAuthority,
        refusals: InterceptionRefusalCounts,
        host: String = "127.0.0.1",
        port: Int = 0,
        idleTimeout: Duration = .seconds(60),
        options: [ConnectionOption] = [.noDelay]
    ) async throws(StartError) {
        self.host = host
        self.refusals = refusals
        let openChannels = Locked<[ObjectIdentifier: any Channel]>([:])
        self.openChannels = openChannels
        let report: @Sendable (ConnectionFault) -> Void = { fakes.journal.note($0.description) }
        let router = InterceptionRouter(servers, fakes, authority, refusals)
        do {
            listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: 1024)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelInitializer {
                    $0.pipeline.addHandler(AcceptErrorHandler(fakes.shortages))
                }
                .childChannelInitializer { channel in
                    let id = ObjectIdentifier(channel)
                    openChannels.withLock { $0[id] = channel }
                    channel.closeFuture.whenComplete { _ in openChannels.withLock { $0[id] = nil } }
                    return ConnectionOptions.configureAcceptedConnection(
                        channel,
                        options,
                        report: report
                    ) { channel in
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHandler(HTTPHost.makeIdleHandler(idleTimeout))
                        try pipeline.addHandler(ProtocolDetector(router, .direct))
                    }
                }
                .bind(host: host, port: port).get()
        } catch {
            let isAddressInUse = (error as? IOError)?.isAddressInUseError == true
            throw StartError(
                description: "cannot open \(host):\(port) for the intercepting proxy: "
                    + (isAddressInUse ? "the port is in use" : "\(error)"),
                isAddressInUse: isAddressInUse
            )
        }
        self.port = listener.localAddress?.port ?? port
    }

    /// Closes the port of the proxy and every connection.
    package func stop() async {
        // An error means that the port is closed already.
        try? await listener.close().get()
        for channel in openChannels.withLock({ Array($0.values) }) { channel.close(promise: nil) }
    }
}
