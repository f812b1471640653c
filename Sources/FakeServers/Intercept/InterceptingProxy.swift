internal import NIOCore
internal import NIOPosix
package import Providers

/// Stands between a backend and everybody whom it calls by a name of the network: calls to the
/// services reach the fakes, everything else is refused and told.
///
/// One port takes what any client does: `CONNECT` and absolute addresses, as proxies are asked (RFC
/// 9110, section 9.3.6), and TLS or HTTP as if it were the host itself. Nothing that comes in here is
/// ever passed on to another machine.
package final class InterceptingProxy: Sendable {
    package let host: String
    package let port: Int
    package let refusals: Refusals
    package var baseURL: String { ToldAddress.url(host: host, port: port) }
    private let listener: any Channel
    private let open: Locked<[ObjectIdentifier: any Channel]>

    /// - Parameters:
    ///   - servers: The fakes that stand in.
    ///   - world: What they share.
    ///   - authority: Who vouches for the names of the services.
    ///   - refusals: Where what is refused is told.
    ///   - host: An address of this machine.
    ///   - port: Port 0 picks a free one.
    ///   - idleMax: How long a connection may do nothing.
    ///   - options: The options of each accepted connection.
    /// - Throws: When the port cannot be had.
    package init(
        before servers: [FakeServer],
        world: FakeWorld,
        authority: Authority,
        refusals: Refusals,
        host: String = "127.0.0.1",
        port: Int = 0,
        idleMax: Duration = .seconds(60),
        options: [ConnectionOption] = [.noDelay]
    ) async throws(StartError) {
        self.host = host
        self.refusals = refusals
        let open = Locked<[ObjectIdentifier: any Channel]>([:])
        self.open = open
        let report: @Sendable (ConnectionFault) -> Void = { world.journal.note($0.description) }
        let switchboard = Switchboard(servers, world, authority, refusals)
        do {
            listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: 1024)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelInitializer { $0.pipeline.addHandler(AcceptErrors(world.shortages)) }
                .childChannelInitializer { channel in
                    let id = ObjectIdentifier(channel)
                    open.withLock { $0[id] = channel }
                    channel.closeFuture.whenComplete { _ in open.withLock { $0[id] = nil } }
                    return ConnectionOptions.accept(channel, options, report: report) { channel in
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHandler(HTTPHost.idleGuard(idleMax))
                        try pipeline.addHandler(InterceptingDoor(switchboard, .street))
                    }
                }
                .bind(host: host, port: port).get()
        } catch {
            let isTaken = (error as? IOError)?.isAddressTaken == true
            throw StartError(
                description: "cannot open \(host):\(port) for the intercepting proxy: "
                    + (isTaken ? "the port is in use" : "\(error)"),
                isTaken: isTaken
            )
        }
        self.port = listener.localAddress?.port ?? port
    }

    /// Closes the port and every connection.
    package func stop() async {
        try? await listener.close().get()
        for channel in open.withLock({ Array($0.values) }) { channel.close(promise: nil) }
    }
}
