package import FakeServers
internal import Grammar
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
package import Values

/// A reverse proxy in front of a backend that forwards all traffic and writes it to a journal.
///
/// Each connection of a caller has its own connection to the backend, on the same event loop.
/// Bodies stream in both directions with back pressure, and only a bounded copy is kept. A request
/// is in the journal before its first byte reaches the backend.
package final class CapturingProxy: Sendable {
    package struct StartError: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// The address of the backend to which the proxy forwards all requests.
    package struct Target: Hashable, Sendable {
        package let host: String
        package let port: Int
        package let isSecure: Bool
        /// The value that replaces the `Host` header of requests.
        ///
        /// Nil keeps the header of the caller, as for a backend on this machine.
        package let hostField: String?
        /// The path prefix of the backend, such as `/v2`.
        ///
        /// The proxy adds the prefix to each path that it forwards; the recording does not contain
        /// it.
        package let basePath: String
        /// The path of a PEM file with additional CA certificates to trust for an https backend.
        package var authority: String?

        package init(
            host: String,
            port: Int,
            isSecure: Bool,
            hostField: String?,
            basePath: String = ""
        ) {
            self.host = host
            self.port = port
            self.isSecure = isSecure
            self.hostField = hostField
            self.basePath = basePath.hasSuffix("/") ? String(basePath.dropLast()) : basePath
        }
    }

    /// The configuration of a capturing proxy: its backend, journal, clock and limits.
    package struct Context: Sendable {
        package var target: Target
        package var journal: LiveJournal
        package var now: @Sendable () -> Instant
        /// Returns the sender of a request, such as the app or RevenueCat, according to the content
        /// of the request.
        package var party: @Sendable (HTTPMessage.Request) -> Exchange.Party
        /// The maximum length in bytes of a body that is copied to the journal.
        package var bodyMax: Int

        package init(
            target: Target,
            journal: LiveJournal,
            bodyMax: Int,
            now: @escaping @Sendable () -> Instant,
            party: @escaping @Sendable (HTTPMessage.Request) -> Exchange.Party
        ) {
            self.target = target
            self.journal = journal
            self.bodyMax = bodyMax
            self.now = now
            self.party = party
        }
    }

    private let channel: any Channel
    private let connections: OpenConnections
    package let host: String
    package let port: Int

    /// Opens the port of the proxy.
    ///
    /// - Parameters:
    ///   - host: The local address to listen on.
    ///   - port: The port; 0 picks a free one.
    ///   - context: The backend, the journal, the clock and the limits of the proxy.
    ///   - options: The TCP options of each accepted connection.
    /// - Throws: `StartError` when the port cannot be opened.
    package init(
        host: String,
        port: Int,
        context: Context,
        options: [ConnectionOption] = [.noDelay]
    ) async throws(StartError) {
        let journal = context.journal
        let report: @Sendable (ConnectionFault) -> Void = { journal.note($0.description) }
        let connections = OpenConnections()
        self.connections = connections
        do {
            var tlsConfiguration = TLSConfiguration.makeClientConfiguration()
            tlsConfiguration.additionalTrustRoots =
                context.target.authority.map { [.file($0)] } ?? []
            let tlsContext =
                context.target.isSecure ? try NIOSSLContext(configuration: tlsConfiguration) : nil
            channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: 256)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelInitializer { channel in
                    ConnectionOptions.configureAcceptedConnection(channel, options, report: report)
                    { channel in
                        let pipeline = channel.pipeline.syncOperations
                        let codec = HTTPHandlers.serverCodec()
                        try pipeline.addHandler(HTTP2Refusal())
                        try pipeline.addHandlers(codec)
                        try pipeline.addHandler(CallerHandler(context, tlsContext, codec))
                        connections.add(channel)
                    }
                }
                .bind(host: host, port: port).get()
        } catch {
            let text =
                (error as? IOError).map { $0.errnoCode == 98 || $0.errnoCode == 48 } == true
                ? "the port is in use" : "\(error)"
            throw StartError(description: "cannot open \(host):\(port) for the recorder: \(text)")
        }
        self.host = host
        self.port = channel.localAddress?.port ?? port
    }

    package var baseURL: String { AdvertisedAddress.url(host: host, port: port) }

    /// Closes the port of the proxy and all open connections.
    package func stop() async {
        try? await channel.close().get()
        await connections.close()
    }
}

/// The handlers that read and write HTTP on a connection, in pipeline order.
private enum HTTPHandlers {
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

/// The open connections of the proxy.
private final class OpenConnections: Sendable {
    private let channels = Locked<[ObjectIdentifier: any Channel]>([:])

    func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        channels.withLock { $0[id] = channel }
        channel.closeFuture.whenComplete { _ in
            self.channels.withLock { $0[id] = nil }
        }
    }

    func close() async {
        for channel in channels.withLock({ Array($0.values) }) {
            try? await channel.close().get()
        }
    }
}

/// The handler of a connection from one caller to the proxy.
///
/// All of its code runs on the connection's event loop.
private final class CallerHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// A request that is in progress, and its response so far.
    private struct ExchangeInProgress {
        let head: HTTPRequestHead
        var request: CapturedBody
        var response: CapturedBody
        var responseHead: HTTPResponseHead?
        /// The number of the exchange in the journal; nil before the request is written to the
        /// journal.
        var sequence: Int?
        /// Whether the request was written to the journal before its body was complete.
        var isBodyRecordedLater = false
        /// Parts of the request that have not been forwarded yet.
        ///
        /// A request with a short body is held until it is complete, then written to the journal
        /// and forwarded.
        var heldParts: [HTTPClientRequestPart] = []
        var isRequestComplete = false
    }

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
            var forwardedHead = head
            if let host = context.target.hostField {
                forwardedHead.headers.replaceOrAdd(name: "Host", value: host)
            }
            if let acceptedEncodings = Self.readableEncodings(head.headers) {
                forwardedHead.headers.replaceOrAdd(
                    name: "Accept-Encoding",
                    value: acceptedEncodings
                )
            }
            if head.uri.hasPrefix("/") { forwardedHead.uri = context.target.basePath + head.uri }
            if head.headers.contains(name: "upgrade") {
                Self.removeUnreadableProtocols(&forwardedHead.headers)
            }
            exchangeInProgress = ExchangeInProgress(
                head: head,
                request: CapturedBody(max: context.bodyMax),
                response: CapturedBody(max: context.bodyMax),
                heldParts: [.head(forwardedHead)]
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

    /// Removes the headers that request a protocol which the proxy cannot record.
    ///
    /// A WebSocket is requested without compression, so that its messages can be read. An upgrade
    /// to another protocol is not requested, because the proxy cannot read that protocol (RFC 9110,
    /// section 7.8).
    private static func removeUnreadableProtocols(_ headers: inout HTTPHeaders) {
        if headers[canonicalForm: "upgrade"].contains(where: { $0.lowercased() == "websocket" }) {
            headers.remove(name: "Sec-WebSocket-Extensions")
        } else {
            for name in ["Upgrade", "HTTP2-Settings", "Connection"] { headers.remove(name: name) }
        }
    }

    /// Returns the value of `Accept-Encoding` without the encodings that the proxy cannot decode
    /// (RFC 9110, section 12.5.3); nil when the proxy can decode all encodings.
    private static func readableEncodings(_ headers: HTTPHeaders) -> String? {
        let acceptedEncodings = headers[canonicalForm: "accept-encoding"]
        let isReadableEncoding = { (item: Substring) in
            let name = item.prefix { $0 != ";" && $0 != " " }.lowercased()
            return ["gzip", "x-gzip", "deflate", "identity", ""].contains(name)
        }
        guard acceptedEncodings.contains(where: { !isReadableEncoding($0) }) else { return nil }
        let keptEncodings = acceptedEncodings.filter(isReadableEncoding)
        return keptEncodings.isEmpty ? "identity" : keptEncodings.joined(separator: ", ")
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
        let (fields, body) = exchangeInProgress.request.result(
            Self.fields(exchangeInProgress.head.headers)
        )
        context.journal.sent(sequence, fields, body)
    }

    private static func fields(_ headers: HTTPHeaders) -> [HTTPMessage.Field] {
        headers.map { HTTPMessage.Field($0.name, $0.value) }
    }

    /// Writes the request to the journal, then forwards the parts of the request that were held
    /// back.
    private func begin() {
        guard var startedExchange = exchangeInProgress, startedExchange.sequence == nil else {
            return
        }
        var (fields, body) = startedExchange.request.result(
            Self.fields(startedExchange.head.headers)
        )
        if !startedExchange.isRequestComplete {
            // An incomplete body is not written to the journal, because it could not be parsed.
            startedExchange.isBodyRecordedLater = true
            (fields, body) = (
                Self.fields(startedExchange.head.headers) + [CapturedBody.deferredBodyField], []
            )
        }
        let request = HTTPMessage.Request(
            startedExchange.head.method.rawValue,
            startedExchange.head.uri,
            fields: fields,
            body: body
        )
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
        let (fields, body) = completedExchange.response.result(Self.fields(head.headers))
        context.journal.complete(
            sequence,
            .answered(
                HTTPMessage.Response(Int(head.status.code), fields: fields, body: body)
            )
        )
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

/// The handler of a connection to the backend, which belongs to the connection of one caller.
private final class BackendHandler: ChannelInboundHandler, RemovableChannelHandler {
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
