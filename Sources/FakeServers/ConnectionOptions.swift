package import NIOCore
internal import NIOPosix

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// An option of a TCP connection, with the name that an error message about the option shows.
package struct ConnectionOption: Sendable {
    package let name: String
    private let applySetting: @Sendable (any Channel) -> EventLoopFuture<Void>

    /// Creates an option.
    ///
    /// - Parameters:
    ///   - name: The name of the option as the manual of the operating system spells it, such as
    ///     `TCP_NODELAY`.
    ///   - applySetting: Sets the option on a channel.
    package init(
        _ name: String,
        _ applySetting: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) {
        self.name = name
        self.applySetting = applySetting
    }

    /// The option that sends small messages at once instead of waiting for more data
    /// (`TCP_NODELAY`, RFC 9293, 3.7.4).
    package static let noDelay = ConnectionOption("TCP_NODELAY") {
        $0.setOption(.tcpOption(.tcp_nodelay), value: 1)
    }

    /// The option that lets a caller close its sending side and still read the response.
    package static let halfClosure = ConnectionOption("half closure") {
        $0.setOption(.allowRemoteHalfClosure, value: true)
    }

    /// Sets the option on a channel.
    ///
    /// - Returns: A future that fails with `ConnectionFault` when the operating system refuses the
    ///   option.
    fileprivate func applyOption(on channel: any Channel) -> EventLoopFuture<Void> {
        applySetting(channel).flatMapErrorThrowing { error in
            // Darwin refuses every option of a connection that the other side has reset.
            if let error = error as? IOError, error.isConnectionGone { return }
            throw ConnectionFault("cannot set \(name) on a connection: \(error)")
        }
    }
}

/// The error of a connection that Assay itself could not prepare; the other side is not at fault.
package struct ConnectionFault: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// Sets the options of all TCP connections that Assay accepts or opens.
///
/// A NIO bootstrap silently drops a connection when a `childChannelOption` fails, so Assay sets the
/// options here instead.
package enum ConnectionOptions {
    /// Sets options in order, then adds the handlers of a connection that Assay opens.
    ///
    /// - Returns: A future that fails with `ConnectionFault` when the operating system refuses an
    ///   option.
    package static func configureConnection(
        _ channel: any Channel,
        _ options: [ConnectionOption],
        adding handlers: @escaping @Sendable (any Channel) throws -> Void
    ) -> EventLoopFuture<Void> {
        let settingFutures = options.map { $0.applyOption(on: channel) }
        return EventLoopFuture.andAllSucceed(settingFutures, on: channel.eventLoop)
            .flatMapThrowing { try handlers(channel) }
    }

    /// Prepares a connection that a port of Assay accepted.
    ///
    /// A failure is reported, and the caller receives a response with status 500 and the failure.
    ///
    /// - Parameters:
    ///   - channel: The connection.
    ///   - options: The options to set.
    ///   - report: Receives the failure.
    ///   - handlers: Adds the handlers of the connection.
    /// - Returns: A future that fails only when the connection ended meanwhile.
    package static func configureAcceptedConnection(
        _ channel: any Channel,
        _ options: [ConnectionOption],
        report: @escaping @Sendable (ConnectionFault) -> Void,
        adding handlers: @escaping @Sendable (any Channel) throws -> Void
    ) -> EventLoopFuture<Void> {
        configureConnection(channel, options, adding: handlers).flatMapErrorThrowing { error in
            // No handlers can be added to a connection that ended in the meantime.
            if error is ChannelError { throw error }
            let fault =
                error as? ConnectionFault
                ?? ConnectionFault("cannot prepare a connection: \(error)")
            report(fault)
            try channel.pipeline.syncOperations.addHandler(
                FaultResponder(fault),
                position: .first
            )
        }
    }
}

/// Responds to the first bytes of a caller with the error of the connection, and closes the
/// connection.
private final class FaultResponder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let fault: ConnectionFault
    private var hasResponded = false

    init(_ fault: ConnectionFault) { self.fault = fault }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasResponded else { return }
        hasResponded = true
        let body = "assay: \(fault)\n"
        let responseText =
            "HTTP/1.1 500 Internal Server Error\r\ncontent-type: text/plain\r\n"
            + "content-length: \(body.utf8.count)\r\nconnection: close\r\n\r\n" + body
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: responseText)))
            .whenComplete { _ in channel.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

extension IOError {
    /// Whether the error means that the connection ended before an option was set.
    fileprivate var isConnectionGone: Bool {
        #if canImport(Darwin)
        if errnoCode == EINVAL { return true }
        #endif
        return [ECONNRESET, ENOTCONN, EPIPE, EBADF].contains(errnoCode)
    }
}
