internal import FakeServers
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import Values

/// The handler of a connection from one caller to the proxy.
///
/// All of its code runs on the connection's event loop.
final class CallerHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// The maximum size in bytes of a body that is written to the journal together with its
    /// request.
    ///
    /// A longer body is written to the journal later.
    private static let heldByteCountMax = 64 << 10

    private let context: CapturingProxy.Context
    private let tlsContext: NIOSSLContext?
    private var exchangeInProgress: ExchangeInProgress?
    private var backend: (any Channel)?
    private var isConnecting = false
    private var caller: (any Channel)?
    private let codec: [HTTPHandlers.Handler]
    private var backendCodec: [HTTPHandlers.Handler] = []
    /// Whether the connection has become a tunnel, so that its traffic is no longer requests and
    /// responses.
    private var isTunnelOpen = false

    init(
        _ context: CapturingProxy.Context,
        _ tlsContext: NIOSSLContext?,
        _ codec: [HTTPHandlers.Handler]
    ) {
        self.context = context
        self.tlsContext = tlsContext
        self.codec = codec
    }

    // MARK: From the caller

    func channelActive(context: ChannelHandlerContext) {
        caller = context.channel
        context.fireChannelActive()
    }

    func channelRead(context channelContext: ChannelHandlerContext, data: NIOAny) {
        caller = channelContext.channel
        switch unwrapInboundIn(data) {
        case .head(let head):
            exchangeInProgress = ExchangeInProgress(
                head: head,
                request: CapturedBody(max: context.bodyMax),
                response: CapturedBody(max: context.bodyMax),
                heldParts: [.head(ForwardedRequestHead.head(head, to: context.target))]
            )
            // A caller that waits for status 100 before it sends the body needs the backend's
            // response to the request head.
            if head.headers.contains(name: "expect") { begin() }
        case .body(let buffer):
            exchangeInProgress?.request.append(buffer)
            forwardRequestPart(.body(.byteBuffer(buffer)))
            if let exchangeInProgress, exchangeInProgress.sequence == nil,
                exchangeInProgress.request.count > Self.heldByteCountMax
            {
                begin()
            }
        case .end(let trailers):
            exchangeInProgress?.isRequestComplete = true
            forwardRequestPart(.end(trailers))
            recordDeferredBody()
            begin()
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        failExchange(.closed, "the caller disconnected", respondsToCaller: false)
        if !isTunnelOpen { backend?.close(promise: nil) }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// Slows the backend down when the caller reads slowly.
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        backend?.setOption(.autoRead, value: context.channel.isWritable).whenComplete { _ in }
        context.fireChannelWritabilityChanged()
    }

    // MARK: To the backend

    private func forwardRequestPart(_ part: HTTPClientRequestPart) {
        guard exchangeInProgress?.sequence != nil, let backend, !isConnecting else {
            exchangeInProgress?.heldParts.append(part)
            return
        }
        backend.write(part, promise: nil)
    }

    /// Flushes to the backend after each read, so that data received together is sent together.
    func channelReadComplete(context: ChannelHandlerContext) {
        if exchangeInProgress?.sequence != nil, !isConnecting { backend?.flush() }
        context.fireChannelReadComplete()
    }

    /// Writes the complete body of a request to the journal, if the request was written there
    /// before its body was complete.
    private func recordDeferredBody() {
        guard let exchangeInProgress, exchangeInProgress.isBodyRecordedLater,
            let sequence = exchangeInProgress.sequence
        else { return }
        let (fields, body) = exchangeInProgress.recordedRequestBody
        context.journal.sent(sequence, fields, body)
    }

    /// Writes the request to the journal, then forwards the parts of the request that were held
    /// back.
    private func begin() {
        guard var startedExchange = exchangeInProgress, startedExchange.sequence == nil else {
            return
        }
        let request = startedExchange.takeRequest()
        startedExchange.sequence = context.journal.begin(
            Exchange(
                from: context.party(request),
                to: .backend,
                namespace: "",
                purpose: .call,
                at: context.now(),
                request: request
            )
        )
        exchangeInProgress = startedExchange
        connect()
    }

    private func connect() {
        if let backend, backend.isActive { return sendHeldParts() }
        guard !isConnecting, let caller else { return }
        isConnecting = true
        let eventLoop = caller.eventLoop
        let boundSelf = NIOLoopBound(self, eventLoop: eventLoop)
        let target = context.target
        let tlsContext = tlsContext
        ClientBootstrap(group: eventLoop)
            .connectTimeout(.seconds(5))
            .channelInitializer { channel in
                ConnectionOptions.configureConnection(channel, [.noDelay]) { channel in
                    let pipeline = channel.pipeline.syncOperations
                    if let tlsContext {
                        try pipeline.addHandler(
                            try NIOSSLClientHandler(
                                context: tlsContext,
                                serverHostname: target.host
                            )
                        )
                    }
                    let codec = HTTPHandlers.clientCodec()
                    try pipeline.addHandlers(codec)
                    let handler = BackendHandler(boundSelf.value)
                    boundSelf.value.backendCodec = codec + [handler]
                    try pipeline.addHandler(handler)
                }
            }
            .connect(host: target.host, port: target.port)
            .assumeIsolated()
            .whenComplete { [self] result in
                isConnecting = false
                switch result {
                case .success(let channel):
                    guard caller.isActive else {
                        channel.close(promise: nil)
                        return
                    }
                    backend = channel
                    sendHeldParts()
                case .failure(let error):
                    // The text of a `NIOConnectionError` lists every connection attempt and is
                    // written for programmers. All attempts fail for the same reason, so a short
                    // text replaces the list.
                    let reason =
                        error is NIOConnectionError ? "nothing is listening there" : "\(error)"
                    failExchange(
                        .refused,
                        "cannot connect to the backend at \(target.host):\(target.port): \(reason)"
                    )
                }
            }
    }

    private func sendHeldParts() {
        guard let backend, let heldParts = exchangeInProgress?.heldParts else { return }
        exchangeInProgress?.heldParts = []
        for part in heldParts { backend.write(part, promise: nil) }
        backend.flush()
    }

    // MARK: From the backend

    func handleResponsePart(_ part: HTTPClientResponsePart, from channel: any Channel) {
        guard let caller, exchangeInProgress != nil, channel === backend || backend == nil else {
            return
        }
        switch part {
        case .head(let head):
            if !(100..<200).contains(head.status.code) || head.status == .switchingProtocols {
                exchangeInProgress?.responseHead = head
            }
            caller.write(HTTPServerResponsePart.head(head), promise: nil)
        case .body(let buffer):
            exchangeInProgress?.response.append(buffer)
            caller.write(HTTPServerResponsePart.body(.byteBuffer(buffer)), promise: nil)
        case .end(let trailers):
            guard let completedExchange = exchangeInProgress,
                let head = completedExchange.responseHead
            else { return }
            complete(completedExchange, head)
            exchangeInProgress = nil
            if head.status == .switchingProtocols, let sequence = completedExchange.sequence {
                caller.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
                return tunnel(sequence)
            }
            // A server may stop reading requests after an upgrade request, so the connection is not
            // used again.
            let keepsConnectionOpen =
                head.isKeepAlive && completedExchange.head.isKeepAlive
                && completedExchange.isRequestComplete
                && !completedExchange.head.headers.contains(name: "upgrade")
            if !keepsConnectionOpen {
                backend?.close(promise: nil)
                backend = nil
            }
            let callerToClose = caller
            caller.writeAndFlush(HTTPServerResponsePart.end(trailers)).whenComplete { _ in
                if !keepsConnectionOpen { callerToClose.close(promise: nil) }
            }
        }
    }

    /// Turns the connection into a WebSocket tunnel, which forwards the bytes of both sides
    /// unchanged.
    private func tunnel(_ sequence: Int) {
        guard let caller, let backend else { return }
        isTunnelOpen = true
        let context = context
        func recordMessage(_ party: Exchange.Party) -> (WebSocketMessageParser.Message) -> Void {
            { message in
                let (fields, body) = message.body.result([])
                context.journal.recordWebSocketMessage(
                    WebSocketMessage(
                        sequence: sequence,
                        from: party,
                        fields: fields,
                        body: body,
                        isText: message.isText
                    )
                )
            }
        }
        do {
            let tunnels = [
                (
                    backend,
                    WebSocketTunnel(
                        to: caller,
                        bodyMax: context.bodyMax,
                        recordMessage: recordMessage(.backend)
                    )
                ),
                (
                    caller,
                    WebSocketTunnel(
                        to: backend,
                        bodyMax: context.bodyMax,
                        recordMessage: recordMessage(.app)
                    )
                ),
            ]
            for (channel, tunnel) in tunnels {
                try channel.pipeline.syncOperations.addHandler(tunnel)
            }
        } catch {
            caller.close(promise: nil)
            return
        }
        HTTPHandlers.remove(backendCodec, from: backend)
        HTTPHandlers.remove(codec + [self], from: caller)
    }

    private func complete(_ completedExchange: ExchangeInProgress, _ head: HTTPResponseHead) {
        guard let sequence = completedExchange.sequence else { return }
        context.journal.complete(sequence, .answered(completedExchange.recordedResponse(head)))
    }

    func backendReadComplete() { caller?.flush() }

    func backendClosed(_ channel: any Channel) {
        guard channel === backend else { return }
        backend = nil
        failExchange(.closed, "the backend closed the connection without a complete response")
    }

    /// Slows the caller down when the backend reads slowly.
    func backendWritabilityChanged(_ isWritable: Bool) {
        caller?.setOption(.autoRead, value: isWritable).whenComplete { _ in }
    }

    /// Ends the exchange in progress after a failure, without a response of the backend.
    ///
    /// The proxy closes the connection of the caller, which is what the caller would see without
    /// the proxy. If the backend cannot be reached at all, the caller gets a response with status
    /// 502 and the reason.
    private func failExchange(
        _ failure: Exchange.Failure,
        _ text: String,
        respondsToCaller: Bool = true
    ) {
        guard let failedExchange = exchangeInProgress else { return }
        exchangeInProgress = nil
        if let sequence = failedExchange.sequence {
            context.journal.complete(sequence, .failed(failure, text))
        }
        guard respondsToCaller, let caller else { return }
        guard failure == .refused, failedExchange.responseHead == nil else {
            caller.close(promise: nil)
            return
        }
        Self.respondBadGateway(text, to: caller)
    }

    /// Sends a response with status 502 and closes the connection of the caller.
    private static func respondBadGateway(_ text: String, to caller: any Channel) {
        var buffer = caller.allocator.buffer(capacity: text.utf8.count + 1)
        buffer.writeString(text + "\n")
        var head = HTTPResponseHead(version: .http1_1, status: .badGateway)
        head.headers.add(name: "content-length", value: String(buffer.readableBytes))
        head.headers.add(name: "content-type", value: "text/plain; charset=utf-8")
        head.headers.add(name: "connection", value: "close")
        caller.write(HTTPServerResponsePart.head(head), promise: nil)
        caller.write(HTTPServerResponsePart.body(.byteBuffer(buffer)), promise: nil)
        caller.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { _ in
            caller.close(promise: nil)
        }
    }
}
