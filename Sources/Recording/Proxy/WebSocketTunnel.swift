internal import NIOCore
internal import NIOEmbedded
internal import NIOWebSocket

/// Forwards one direction of a WebSocket connection unchanged, and reports the messages in its
/// bytes (RFC 6455).
final class WebSocketTunnel: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let otherChannel: any Channel
    private var messageParser: WebSocketMessageParser?
    private let recordMessage: (WebSocketMessageParser.Message) -> Void

    /// Creates the forwarding of one direction of a WebSocket connection.
    ///
    /// - Parameters:
    ///   - otherChannel: The connection to which the bytes are forwarded.
    ///   - bodyMax: The maximum length in bytes of a message whose content is kept.
    ///   - recordMessage: Receives each message when it is complete.
    init(
        to otherChannel: any Channel,
        bodyMax: Int,
        recordMessage: @escaping (WebSocketMessageParser.Message) -> Void
    ) {
        self.otherChannel = otherChannel
        self.recordMessage = recordMessage
        messageParser = WebSocketMessageParser(bodyMax: bodyMax)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        do {
            try messageParser?.read(buffer, recordMessage)
        } catch {
            // The bytes are not WebSocket frames, so the two sides may use another protocol. The
            // bytes are still forwarded, but no more messages are reported.
            messageParser = nil
        }
        otherChannel.writeAndFlush(buffer, promise: nil)
    }

    /// Slows the sender down when the receiver reads slowly.
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        otherChannel.setOption(.autoRead, value: context.channel.isWritable).whenComplete { _ in }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        otherChannel.close(promise: nil)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

/// Decodes the messages in the bytes of one direction of a WebSocket connection.
final class WebSocketMessageParser {
    struct Message {
        let isText: Bool
        var body: CapturedBody
    }

    /// The maximum size in bytes of a WebSocket frame.
    private static let frameBytesMax = 16 << 20

    private let bodyMax: Int
    private let frameDecoderChannel = EmbeddedChannel(
        handler: ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: frameBytesMax))
    )
    /// The received part of a message that continues in further WebSocket frames.
    private var incompleteMessage: Message?

    init(bodyMax: Int) { self.bodyMax = bodyMax }

    // The decoder is discarded, so a frame that is incomplete does not matter.
    deinit { _ = try? frameDecoderChannel.finish(acceptAlreadyClosed: true) }

    /// Decodes the next bytes, and reports each message that is complete.
    ///
    /// - Throws: An error when the bytes are not WebSocket frames.
    func read(_ buffer: ByteBuffer, _ recordMessage: (Message) -> Void) throws {
        try frameDecoderChannel.writeInbound(buffer)
        while let frame = try frameDecoderChannel.readInbound(as: WebSocketFrame.self) {
            switch frame.opcode {
            case .text, .binary:
                incompleteMessage = Message(
                    isText: frame.opcode == .text,
                    body: CapturedBody(max: bodyMax)
                )
            case .continuation: break
            // Pings, pongs and close frames contain no message.
            default: continue
            }
            incompleteMessage?.body.append(frame.unmaskedData)
            if frame.fin, let completeMessage = incompleteMessage {
                recordMessage(completeMessage)
                incompleteMessage = nil
            }
        }
    }
}
