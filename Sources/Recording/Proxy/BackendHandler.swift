internal import NIOCore
internal import NIOHTTP1

/// The handler of a connection to the backend, which belongs to the connection of one caller.
final class BackendHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let caller: CallerHandler

    init(_ caller: CallerHandler) {
        self.caller = caller
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        caller.handleResponsePart(unwrapInboundIn(data), from: context.channel)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        caller.backendReadComplete()
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        caller.backendWritabilityChanged(context.channel.isWritable)
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        caller.backendClosed(context.channel)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
