internal import NIOCore
internal import NIOHTTP1

/// The handlers that read and write HTTP on a connection, in pipeline order.
enum HTTPHandlers {
    typealias Handler = any ChannelHandler & RemovableChannelHandler

    /// Returns the handlers of a connection from a caller to the proxy.
    ///
    /// The caller may send a request before the previous request has its response.
    static func serverCodec() -> [Handler] {
        [
            HTTPResponseEncoder(configuration: .verbatimConfiguration),
            ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes)),
            HTTPServerPipelineHandler(), HTTPServerProtocolErrorHandler(),
        ]
    }

    /// Returns the handlers of a connection from the proxy to the backend.
    ///
    /// They also pass on interim responses, such as status 100.
    static func clientCodec() -> [Handler] {
        [
            HTTPRequestEncoder(configuration: .verbatimConfiguration),
            ByteToMessageHandler(
                HTTPResponseDecoder(
                    leftOverBytesStrategy: .forwardBytes,
                    informationalResponseStrategy: .forward
                )
            ),
        ]
    }

    /// Removes handlers from a connection.
    ///
    /// The decoder is removed last, so that its unread bytes go to the next handler.
    static func remove(_ handlers: [Handler], from channel: any Channel) {
        let pipeline = channel.pipeline.syncOperations
        for handler in handlers where !(handler is any HTTPDecoding) {
            pipeline.removeHandler(handler).whenComplete { _ in }
        }
        for handler in handlers where handler is any HTTPDecoding {
            pipeline.removeHandler(handler).whenComplete { _ in }
        }
    }
}

/// A channel handler that decodes bytes to HTTP messages.
private protocol HTTPDecoding {}
extension ByteToMessageHandler: HTTPDecoding {}

extension HTTPResponseEncoder.Configuration {
    /// A configuration that forwards the headers of the backend unchanged.
    fileprivate static var verbatimConfiguration: Self {
        var configuration = Self()
        configuration.automaticallySetFramingHeaders = false
        return configuration
    }
}

extension HTTPRequestEncoder.Configuration {
    /// A configuration that forwards the headers of the caller unchanged.
    fileprivate static var verbatimConfiguration: Self {
        var configuration = Self()
        configuration.automaticallySetFramingHeaders = false
        return configuration
    }
}
