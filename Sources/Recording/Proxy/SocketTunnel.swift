internal import Conformance
internal import NIOCore
internal import NIOEmbedded
internal import NIOWebSocket

/// One direction of a connection that both sides made a WebSocket: bytes go on as they are, and the
/// messages in them are told (RFC 6455).
final class SocketTunnel: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private var messages: SocketMessages?
    private let tell: (SocketMessages.Message) -> Void

    /// - Parameters:
    ///   - other: Where the bytes go.
    ///   - bodyMax: The longest message that is told, in bytes.
    ///   - tell: Is given each message once all of it has passed.
    init(
        to other: any Channel,
        bodyMax: Int,
        tell: @escaping (SocketMessages.Message) -> Void
    ) {
        self.other = other
        self.tell = tell
        messages = SocketMessages(bodyMax: bodyMax)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        do {
            try messages?.read(buffer, tell)
        } catch {
            // Both sides may have agreed on something else; they go on, and nothing more is told.
            messages = nil
        }
        other.writeAndFlush(buffer, promise: nil)
    }

    /// Whoever reads slowly slows the other one down.
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        other.setOption(.autoRead, value: context.channel.isWritable).whenComplete { _ in }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        other.close(promise: nil)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

/// The messages in the bytes of one direction.
final class SocketMessages {
    struct Message {
        let isText: Bool
        var body: CapturedBody
    }

    /// A frame that is longer is no message that anybody could read, in bytes.
    private static let frameMax = 16 << 20

    private let bodyMax: Int
    private let frames = EmbeddedChannel(
        handler: ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: frameMax))
    )
    /// What has come of a message that goes on in further frames.
    private var begun: Message?

    init(bodyMax: Int) { self.bodyMax = bodyMax }

    deinit { _ = try? frames.finish(acceptAlreadyClosed: true) }

    /// - Throws: When the bytes are no frames.
    func read(_ buffer: ByteBuffer, _ tell: (Message) -> Void) throws {
        try frames.writeInbound(buffer)
        while let frame = try frames.readInbound(as: WebSocketFrame.self) {
            switch frame.opcode {
            case .text, .binary:
                begun = Message(isText: frame.opcode == .text, body: CapturedBody(max: bodyMax))
            case .continuation: break
            // Pings, pongs and closing are between the two machines.
            default: continue
            }
            begun?.body.append(frame.unmaskedData)
            if frame.fin, let whole = begun {
                tell(whole)
                begun = nil
            }
        }
    }
}
