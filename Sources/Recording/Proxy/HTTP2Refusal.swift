internal import NIOCore

/// Tells a caller that begins with HTTP/2 to come again with HTTP/1.1, in the words of HTTP/2, so
/// that its client does so or says so (RFC 9113, sections 3.4 and 7).
final class HTTP2Refusal: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// HTTP_1_1_REQUIRED.
    private static let errorCode: UInt32 = 0xd
    private static let reason = "the recorder speaks HTTP/1.1"
    /// How long a caller that was told so may take to go.
    private static let patience: TimeAmount = .seconds(2)

    private var isRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Whatever else it goes on to say is of no matter.
        if isRefused { return }
        guard unwrapInboundIn(data).readableBytesView.starts(with: "PRI ".utf8) else {
            context.fireChannelRead(data)
            context.pipeline.syncOperations.removeHandler(self).whenComplete { _ in }
            return
        }
        isRefused = true
        var buffer = context.channel.allocator.buffer(capacity: 64)
        Self.frame(type: 4, payload: 0, &buffer)
        Self.frame(type: 7, payload: 8 + Self.reason.utf8.count, &buffer)
        buffer.writeInteger(UInt32(0))
        buffer.writeInteger(Self.errorCode)
        buffer.writeString(Self.reason)
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        // Closed at once, what was said would be lost with what the caller still sends.
        context.close(mode: .output, promise: nil)
        let channel = context.channel
        context.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
    }

    /// The head of a frame of the whole connection: SETTINGS, GOAWAY.
    private static func frame(type: UInt8, payload: Int, _ buffer: inout ByteBuffer) {
        buffer.writeInteger(UInt8(0))
        buffer.writeInteger(UInt16(clamping: payload))
        buffer.writeInteger(type)
        buffer.writeInteger(UInt8(0))
        buffer.writeInteger(UInt32(0))
    }
}
