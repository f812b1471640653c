internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Values

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// The connection of one caller: reads complete requests, calls the handler, and sends the
/// responses.
///
/// All of its code runs on the connection's event loop.
final class HTTPConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// The maximum number of bytes of an oversized body that are read and discarded before the
    /// connection is closed.
    private static let discardedByteCountMax = 64 << 20
    /// The maximum length in bytes of a body that is flushed together with the end of its response.
    private static let flushedBodyBytesMax = 16 << 10

    private let handler: HTTPHost.Handler
    private let now: (@Sendable () -> Instant)?
    private var context: ChannelHandlerContext?
    /// The head of the request that is being read or answered.
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()
    private var discardedByteCount = 0
    /// Whether a request is complete but its response has not been sent.
    private var isResponding = false
    /// Whether the response is written but the caller has not read it.
    private var isResponseUnread = false
    /// Whether the request gets no response, because of a planned fault.
    private var isResponseWithheld = false
    /// Whether the connection accepts no request after the current one.
    private var isLastRequest = false
    /// Whether the last response of the connection has been written.
    private var hasSentLastResponse = false
    private var lines: Task<Void, Never>?
    /// The number of the line of a streamed response that waits to be sent; nil when none is
    /// waiting.
    private var unsentLineNumber: Int?
    /// The number of the line that was waiting to be sent when the connection was last idle.
    private var unsentLineNumberAtLastCheck: Int?
    private var cachedDate: (seconds: Int64, text: String)?

    init(_ handler: @escaping HTTPHost.Handler, _ now: (@Sendable () -> Instant)?) {
        self.handler = handler
        self.now = now
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Data that arrives after the last response of the connection is ignored.
        if hasSentLastResponse { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body.clear()
            discardedByteCount = 0
            if head.headers[canonicalForm: "expect"].contains("100-continue"), !isBodyTooLong(head)
            {
                write(.head(HTTPResponseHead(version: head.version, status: .continue)))
                context.flush()
            }
        case .body(var part):
            if discardedByteCount == 0,
                body.readableBytes + part.readableBytes <= HTTPHost.requestBodyBytesMax
            {
                if body.readableBytes == 0 { body = part } else { body.writeBuffer(&part) }
            } else {
                discardedByteCount += part.readableBytes
                if discardedByteCount > Self.discardedByteCountMax { context.close(promise: nil) }
            }
        case .end:
            guard let head else { return }
            isResponding = true
            guard discardedByteCount == 0 else {
                isLastRequest = true
                return sendResponse(.completeResponse(HTTPMessage.Response(413)))
            }
            let message = HTTPMessage.Request(
                head.method.rawValue,
                // A caller may use the fake as a proxy and send an absolute URL.
                HTTPMessage.Request.target(of: head.uri),
                fields: head.headers.map { HTTPMessage.Field($0.name, $0.value) },
                body: Array(body.readableBytesView)
            )
            body = ByteBuffer()
            sendResponse(handler(message))
        }
    }

    private func isBodyTooLong(_ head: HTTPRequestHead) -> Bool {
        let contentLength = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
        return contentLength > HTTPHost.requestBodyBytesMax
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        // A reader that received no line since the last idle event is disconnected.
        case is IdleStateHandler.IdleStateEvent where lines != nil:
            if let waiting = unsentLineNumber, waiting == unsentLineNumberAtLastCheck {
                context.close(promise: nil)
            }
            unsentLineNumberAtLastCheck = unsentLineNumber
        // A connection that waits for its response, or is held by a planned fault, is not idle.
        case is IdleStateHandler.IdleStateEvent where !isResponding || isResponseUnread:
            context.close(promise: nil)
        case ChannelEvent.inputClosed:
            isLastRequest = true
            if !isResponding || isResponseWithheld { context.close(promise: nil) }
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        lines?.cancel()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// Closes the connection after the response to the current request, or at once when there is
    /// none.
    func finish() {
        isLastRequest = true
        if !isResponding { context?.close(promise: nil) }
    }

    // MARK: Responses

    private func sendResponse(_ responseToSend: HTTPHost.HostResponse) {
        guard let context else { return }
        switch responseToSend {
        case .completeResponse(let response): write(response)
        case .truncatedResponse(let response):
            var head = self.head(of: response)
            head.headers.replaceOrAdd(name: "content-length", value: "\(response.body.count)")
            write(.head(head))
            let part = response.body.prefix(response.body.count / 2)
            let loopBound = NIOLoopBound(self, eventLoop: context.eventLoop)
            let sentFuture = context.writeAndFlush(
                wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: part))))
            )
            sentFuture.whenComplete { _ in loopBound.value.reset() }
        case .reset: reset()
        case .held(let wait):
            isResponseWithheld = true
            let loopBound = NIOLoopBound(self, eventLoop: context.eventLoop)
            lines = Task {
                await wait()
                loopBound.eventLoop.execute { loopBound.value.reset() }
            }
        case .lines(let lines): sendLines(lines, context)
        case .deferred(let body):
            let loopBound = NIOLoopBound(self, eventLoop: context.eventLoop)
            Task {
                // The only error is a cancellation. The connection is then reset.
                let responseToSend = (try? await body()) ?? .reset
                loopBound.eventLoop.execute { loopBound.value.sendResponse(responseToSend) }
            }
        }
    }

    private func write(_ part: HTTPServerResponsePart) {
        context?.write(wrapOutboundOut(part), promise: nil)
    }

    private func write(_ response: HTTPMessage.Response) {
        var head = self.head(of: response)
        let hasNoBody = response.status == 204 || response.status == 304 || response.status < 200
        if !hasNoBody {
            head.headers.replaceOrAdd(name: "content-length", value: "\(response.body.count)")
        }
        write(.head(head))
        if !hasNoBody, !response.body.isEmpty, self.head?.method != .HEAD {
            write(.body(.byteBuffer(ByteBuffer(bytes: response.body))))
            if response.body.count > Self.flushedBodyBytesMax { context?.flush() }
        }
        // The next request waits until this response is sent. Otherwise a caller that never reads
        // would fill the memory with responses.
        isResponseUnread = context?.channel.isWritable == false
        if isResponseUnread { context?.flush() } else { end() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if isResponseUnread, context.channel.isWritable {
            isResponseUnread = false
            end()
        }
        context.fireChannelWritabilityChanged()
    }

    /// Ends the response and waits for the next request, or closes the connection.
    private func end() {
        guard let context else { return }
        let isLastRequest = isLastRequest || self.head?.isKeepAlive == false
        isResponding = false
        hasSentLastResponse = isLastRequest
        self.head = nil
        let sentFuture = context.writeAndFlush(wrapOutboundOut(.end(nil)))
        if isLastRequest {
            let channel = context.channel
            sentFuture.whenComplete { _ in channel.close(promise: nil) }
        }
    }

    private func head(of response: HTTPMessage.Response) -> HTTPResponseHead {
        var headers = HTTPHeaders()
        headers.reserveCapacity(response.fields.count + 3)
        // An invalid header could end this response and start another one.
        for field in response.fields where field.isWellFormed {
            headers.add(name: field.name, value: field.value)
        }
        if let dateHeaderValue = dateHeaderValue() {
            headers.add(name: "date", value: dateHeaderValue)
        }
        if isLastRequest || self.head?.isKeepAlive == false {
            headers.replaceOrAdd(name: "connection", value: "close")
        } else if self.head?.version == .http1_0 {
            headers.replaceOrAdd(name: "connection", value: "keep-alive")
        }
        return HTTPResponseHead(
            version: .http1_1,
            status: HTTPResponseStatus(statusCode: response.status),
            headers: headers
        )
    }

    /// Returns the value of the `Date` header, which is formatted only once per second.
    private func dateHeaderValue() -> String? {
        guard let now else { return nil }
        let seconds = now().seconds
        if cachedDate?.seconds != seconds {
            cachedDate = (seconds, Instant(milliseconds: seconds * 1000).httpText)
        }
        return cachedDate?.text
    }

    /// Sends a stream of lines, each when it is available and the previous line has been sent.
    private func sendLines(_ lines: AsyncStream<String>, _ context: ChannelHandlerContext) {
        let contentTypeField = HTTPMessage.Field("content-type", "application/x-ndjson")
        write(.head(head(of: HTTPMessage.Response(200, fields: [contentTypeField]))))
        context.flush()
        let loopBound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let channel = context.channel
        self.lines = Task {
            var lineNumber = 0
            for await line in lines {
                lineNumber += 1
                let part = HTTPServerResponsePart.body(
                    .byteBuffer(ByteBuffer(string: line + "\n"))
                )
                loopBound.eventLoop.execute { [lineNumber] in
                    loopBound.value.unsentLineNumber = lineNumber
                }
                // The write fails when the caller has disconnected.
                guard (try? await channel.writeAndFlush(part)) != nil else { return }
                loopBound.eventLoop.execute { loopBound.value.unsentLineNumber = nil }
            }
            loopBound.eventLoop.execute { loopBound.value.end() }
        }
    }

    /// Resets the connection.
    ///
    /// With a linger time of 0, closing the socket sends a reset, which no client takes for an
    /// empty response.
    private func reset() {
        guard let context else { return }
        // The connection is closed below all other handlers. TLS would otherwise send a close
        // alert, which a client takes for a regular end.
        // That handler is missing only in a connection that is closing already.
        let outermostContext = try? context.pipeline.syncOperations.context(
            handlerType: IdleStateHandler.self
        )
        let loopBound = NIOLoopBound(outermostContext ?? context, eventLoop: context.eventLoop)
        let socket = context.channel as? any SocketOptionProvider
        let lingerSetting = socket?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        guard let lingerSetting else { return loopBound.value.close(promise: nil) }
        lingerSetting.whenComplete { _ in loopBound.value.close(promise: nil) }
    }
}

extension HTTPMessage.Field {
    /// Whether the field can be sent as one header line (RFC 9110, section 5).
    fileprivate var isWellFormed: Bool {
        !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: ":") }
            && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }
    }
}
