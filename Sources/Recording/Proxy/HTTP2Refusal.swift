internal import NIOCore

/// Refuses HTTP/2 connections with the HTTP/2 error that asks the client to use HTTP/1.1.
///
/// The client then retries with HTTP/1.1 or reports the error (RFC 9113, sections 3.4 and 7).
final class HTTP2Refusal: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The HTTP/2 error code HTTP_1_1_REQUIRED.
    private static let http11RequiredErrorCode: UInt32 = 0xd
    private static let reason = "the recorder supports only HTTP/1.1"
    /// The time that a refused client has to close the connection itself.
    private static let closeDelay: TimeAmount = .seconds(2)

    private var isConnectionRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Everything that the client sends after the refusal is ignored.
        if isConnectionRefused { return }
        guard unwrapInboundIn(data).readableBytesView.starts(with: "PRI ".utf8) else {
            context.fireChannelRead(data)
            context.pipeline.syncOperations.removeHandler(self).whenComplete { _ in }
            return
        }
        isConnectionRefused = true
        var buffer = context.channel.allocator.buffer(capacity: 64)
        Self.writeFrame(type: 4, payloadLength: 0, &buffer)
        Self.writeFrame(type: 7, payloadLength: 8 + Self.reason.utf8.count, &buffer)
        buffer.writeInteger(UInt32(0))
        buffer.writeInteger(Self.http11RequiredErrorCode)
        buffer.writeString(Self.reason)
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        // Closing the connection at once would lose the refusal if the client is still sending.
        context.close(mode: .output, promise: nil)
        let channel = context.channel
        context.eventLoop.scheduleTask(in: Self.closeDelay) { channel.close(promise: nil) }
    }

    /// Writes the header of an HTTP/2 frame for the whole connection, such as SETTINGS or GOAWAY.
    private static func writeFrame(type: UInt8, payloadLength: Int, _ buffer: inout ByteBuffer) {
        buffer.writeInteger(UInt8(0))
        buffer.writeInteger(UInt16(clamping: payloadLength))
        buffer.writeInteger(type)
        buffer.writeInteger(UInt8(0))
        buffer.writeInteger(UInt32(0))
    }
}
