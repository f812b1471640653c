internal import Conformance
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// The port could not be opened.
package struct StartError: Error, Sendable, CustomStringConvertible {
    package let description: String
    /// Whether somebody else has it.
    package var isTaken = false
}

/// A server on one port that answers whole requests and hides the library behind it.
final class HTTPHost: Sendable {
    /// How an answer leaves.
    enum Answer: Sendable {
        case whole(HTTPMessage.Response)
        /// The connection is cut in the middle of the body.
        case half(HTTPMessage.Response)
        /// The connection is reset; the caller sees no byte.
        case reset
        /// The connection is held until the caller gives up or the wait ends; then it is reset.
        case held(until: @Sendable () async -> Void)
        /// Lines as they come.
        case lines(AsyncStream<String>)
        /// What takes its time, and leaves the connection's thread to others meanwhile.
        case later(@Sendable () async throws -> Answer)
    }

    /// Called on the connection's thread: what blocks holds up other callers.
    typealias Handler = @Sendable (HTTPMessage.Request) -> Answer

    /// The largest body that is read; no real call comes near it.
    static let bodyMax = 10 << 20
    /// A connection on which nothing happens for this long is closed: slow senders, readers that
    /// never read, and those that only hold a place.
    static let idleMax: Duration = .seconds(60)

    let host: String
    let port: Int
    /// Takes connections on the port.
    private let listener: any Channel
    private let connections = Connections()

    /// Opens the port; port 0 picks a free one.
    ///
    /// - Parameters:
    ///   - name: Who is to be reached there, for the error.
    ///   - host: An address of this machine.
    ///   - port: The port.
    ///   - idleMax: How long a connection may do nothing.
    ///   - now: What answers are dated with; nil leaves them without a date.
    ///   - options: The options of each accepted connection.
    ///   - threads: The threads that read requests and call the handler.
    ///   - report: Receives the fault of a connection that could not be prepared.
    ///   - shortages: Notes connections that could not be accepted.
    ///   - handler: Answers a request.
    /// - Throws: `StartError` when the port cannot be had.
    init(
        name: String,
        host: String,
        port: Int,
        idleMax: Duration = HTTPHost.idleMax,
        now: (@Sendable () -> Instant)? = nil,
        options: [ConnectionOption] = [.noDelay, .halfClosure],
        threads: MultiThreadedEventLoopGroup = .singleton,
        report: @escaping @Sendable (ConnectionFault) -> Void,
        shortages: Shortages = Shortages(),
        handler: @escaping Handler
    ) async throws(StartError) {
        self.host = host
        let connections = connections
        do {
            listener = try await ServerBootstrap(group: threads)
                .serverChannelOption(.backlog, value: 1024)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelInitializer { $0.pipeline.addHandler(AcceptErrors(shortages)) }
                .childChannelInitializer { channel in
                    ConnectionOptions.accept(channel, options, report: report) { channel in
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHandler(Self.idleGuard(idleMax))
                        let connection = Connection(handler, now)
                        try Self.add(connection, to: pipeline)
                        connections.add(
                            channel,
                            NIOLoopBound(connection, eventLoop: channel.eventLoop)
                        )
                    }
                }
                .bind(host: host, port: port).get()
        } catch {
            let isTaken = (error as? IOError)?.isAddressTaken == true
            throw StartError(
                description: "cannot open \(host):\(port) for \(name): "
                    + (isTaken ? "the port is in use" : "\(error)"),
                isTaken: isTaken
            )
        }
        self.port = listener.localAddress?.port ?? port
    }

    // MARK: Connections

    /// Says when nothing was heard for so long; it stands before everything else.
    static func idleGuard(_ idleMax: Duration) -> IdleStateHandler {
        IdleStateHandler(readTimeout: .milliseconds(Int64(idleMax.milliseconds)))
    }

    /// Lets a connection that is open, and guarded, speak HTTP with the handler.
    static func addConnection(
        to pipeline: ChannelPipeline.SynchronousOperations,
        now: @escaping @Sendable () -> Instant,
        handler: @escaping Handler
    ) throws {
        try add(Connection(handler, now), to: pipeline)
    }

    private static func add(
        _ connection: Connection,
        to pipeline: ChannelPipeline.SynchronousOperations
    ) throws {
        try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
        try pipeline.addHandler(connection)
    }

    /// Closes the port; calls that are going on are still answered.
    func stop() async {
        // Whoever opens the port again must not find it taken, however busy the machine is.
        try? await listener.close().get()
        connections.finish()
    }

    /// Closes the port, and waits for its callers, but not for those that are held for ever.
    func close() async {
        await stop()
        let connections = connections
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await connections.wait() }
            group.addTask { try? await Task.sleep(for: .seconds(2)) }
            await group.next()
            group.cancelAll()
        }
    }
}

/// The connections of a port that are open.
private final class Connections: Sendable {
    private struct State {
        var open: [ObjectIdentifier: NIOLoopBound<Connection>] = [:]
        /// Nobody new is taken, and who is not being answered is let go.
        var isFinishing = false
        var waiting: [AsyncStream<Never>.Continuation] = []
    }

    private let state = Locked(State())

    func add(_ channel: any Channel, _ connection: NIOLoopBound<Connection>) {
        let id = ObjectIdentifier(channel)
        let isLate = state.withLock { state in
            state.open[id] = connection
            return state.isFinishing
        }
        channel.closeFuture.whenComplete { _ in self.remove(id) }
        if isLate { channel.eventLoop.execute { connection.value.finish() } }
    }

    private func remove(_ id: ObjectIdentifier) {
        let waiting = state.withLock { state in
            state.open[id] = nil
            guard state.open.isEmpty else { return [AsyncStream<Never>.Continuation]() }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.finish() }
    }

    func finish() {
        let open = state.withLock { state in
            state.isFinishing = true
            return Array(state.open.values)
        }
        for connection in open {
            connection.eventLoop.execute { connection.value.finish() }
        }
    }

    /// Until the last is closed.
    func wait() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        let isEmpty = state.withLock { state in
            if !state.open.isEmpty { state.waiting.append(continuation) }
            return state.open.isEmpty
        }
        if !isEmpty { for await _ in stream {} }
    }
}

/// One caller: reads each request whole, asks the handler, and carries out the manner of its answer.
///
/// All of it happens on the connection's event loop.
private final class Connection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// More than this of a body that nobody wants is not listened to.
    private static let unwantedMax = 64 << 20
    /// A body up to this length leaves together with the end of its answer.
    private static let pieceMax = 16 << 10

    private let handler: HTTPHost.Handler
    private let now: (@Sendable () -> Instant)?
    private var context: ChannelHandlerContext?
    /// The request that is being read or answered.
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()
    private var unwanted = 0
    /// The request is there, and its answer has not left.
    private var isAnswering = false
    /// Its answer is written and waits for a caller that does not read.
    private var isUnread = false
    /// By plan it is never answered.
    private var isHeld = false
    /// No request is taken after this one.
    private var isLast = false
    /// The last answer is written.
    private var isOver = false
    private var lines: Task<Void, Never>?
    /// The number of the line that has not left; nil: none waits.
    private var waitingLine: Int?
    /// The line that waited when the connection was last found idle.
    private var lastWaitingLine: Int?
    private var dated: (seconds: Int64, text: String)?

    init(_ handler: @escaping HTTPHost.Handler, _ now: (@Sendable () -> Instant)?) {
        self.handler = handler
        self.now = now
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // What was sent behind the last request is not heard.
        if isOver { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body.clear()
            unwanted = 0
            if head.headers[canonicalForm: "expect"].contains("100-continue"), !isTooLong(head) {
                write(.head(HTTPResponseHead(version: head.version, status: .continue)))
                context.flush()
            }
        case .body(var part):
            if unwanted == 0, body.readableBytes + part.readableBytes <= HTTPHost.bodyMax {
                if body.readableBytes == 0 { body = part } else { body.writeBuffer(&part) }
            } else {
                unwanted += part.readableBytes
                if unwanted > Self.unwantedMax { context.close(promise: nil) }
            }
        case .end:
            guard let head else { return }
            isAnswering = true
            guard unwanted == 0 else {
                isLast = true
                return carryOut(.whole(HTTPMessage.Response(413)))
            }
            let message = HTTPMessage.Request(
                head.method.rawValue,
                // A caller may take us for a proxy.
                HTTPMessage.Request.target(of: head.uri),
                fields: head.headers.map { HTTPMessage.Field($0.name, $0.value) },
                body: Array(body.readableBytesView)
            )
            body = ByteBuffer()
            carryOut(handler(message))
        }
    }

    private func isTooLong(_ head: HTTPRequestHead) -> Bool {
        let length = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
        return length > HTTPHost.bodyMax
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        // A reader that took no line since the last look is cut off.
        case is IdleStateHandler.IdleStateEvent where lines != nil:
            if let waiting = waitingLine, waiting == lastWaitingLine {
                context.close(promise: nil)
            }
            lastWaitingLine = waitingLine
        // Who is being answered, or held by plan, is not idle.
        case is IdleStateHandler.IdleStateEvent where !isAnswering || isUnread:
            context.close(promise: nil)
        case ChannelEvent.inputClosed:
            isLast = true
            if !isAnswering || isHeld { context.close(promise: nil) }
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

    /// Takes no request after the one that is being answered.
    func finish() {
        isLast = true
        if !isAnswering { context?.close(promise: nil) }
    }

    // MARK: Answers

    private func carryOut(_ answer: HTTPHost.Answer) {
        guard let context else { return }
        switch answer {
        case .whole(let response): write(response)
        case .half(let response):
            var head = self.head(of: response)
            head.headers.replaceOrAdd(name: "content-length", value: "\(response.body.count)")
            write(.head(head))
            let part = response.body.prefix(response.body.count / 2)
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            let sent = context.writeAndFlush(
                wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: part))))
            )
            sent.whenComplete { _ in bound.value.reset() }
        case .reset: reset()
        case .held(let wait):
            isHeld = true
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            lines = Task {
                await wait()
                bound.eventLoop.execute { bound.value.reset() }
            }
        case .lines(let lines): pass(lines, context)
        case .later(let body):
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            Task {
                let answer = (try? await body()) ?? .reset
                bound.eventLoop.execute { bound.value.carryOut(answer) }
            }
        }
    }

    private func write(_ part: HTTPServerResponsePart) {
        context?.write(wrapOutboundOut(part), promise: nil)
    }

    private func write(_ response: HTTPMessage.Response) {
        var head = self.head(of: response)
        let isShort = response.status == 204 || response.status == 304 || response.status < 200
        if !isShort {
            head.headers.replaceOrAdd(name: "content-length", value: "\(response.body.count)")
        }
        write(.head(head))
        if !isShort, !response.body.isEmpty, self.head?.method != .HEAD {
            write(.body(.byteBuffer(ByteBuffer(bytes: response.body))))
            if response.body.count > Self.pieceMax { context?.flush() }
        }
        // The next request waits until this answer has left, or one that never reads would have us
        // keep all answers.
        isUnread = context?.channel.isWritable == false
        if isUnread { context?.flush() } else { end() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if isUnread, context.channel.isWritable {
            isUnread = false
            end()
        }
        context.fireChannelWritabilityChanged()
    }

    /// The answer is complete: the next request, or the end.
    private func end() {
        guard let context else { return }
        let isLast = isLast || self.head?.isKeepAlive == false
        isAnswering = false
        isOver = isLast
        self.head = nil
        let sent = context.writeAndFlush(wrapOutboundOut(.end(nil)))
        if isLast {
            let channel = context.channel
            sent.whenComplete { _ in channel.close(promise: nil) }
        }
    }

    private func head(of response: HTTPMessage.Response) -> HTTPResponseHead {
        var headers = HTTPHeaders()
        headers.reserveCapacity(response.fields.count + 3)
        // What is no header would end this answer and begin another.
        for field in response.fields where field.isWellFormed {
            headers.add(name: field.name, value: field.value)
        }
        if let date = date() { headers.add(name: "date", value: date) }
        if isLast || self.head?.isKeepAlive == false {
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

    /// What an answer is dated with; it is written once a second.
    private func date() -> String? {
        guard let now else { return nil }
        let seconds = now().seconds
        if dated?.seconds != seconds {
            dated = (seconds, Instant(milliseconds: seconds * 1000).httpText)
        }
        return dated?.text
    }

    /// Lines as they come, each when the one before has left.
    private func pass(_ lines: AsyncStream<String>, _ context: ChannelHandlerContext) {
        let type = HTTPMessage.Field("content-type", "application/x-ndjson")
        write(.head(head(of: HTTPMessage.Response(200, fields: [type]))))
        context.flush()
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let channel = context.channel
        self.lines = Task {
            var number = 0
            for await line in lines {
                number += 1
                let part = HTTPServerResponsePart.body(
                    .byteBuffer(ByteBuffer(string: line + "\n"))
                )
                bound.eventLoop.execute { [number] in bound.value.waitingLine = number }
                // The caller has gone when it fails.
                guard (try? await channel.writeAndFlush(part)) != nil else { return }
                bound.eventLoop.execute { bound.value.waitingLine = nil }
            }
            bound.eventLoop.execute { bound.value.end() }
        }
    }

    /// Linger 0 turns the close into a reset, which no client takes for an empty answer.
    private func reset() {
        guard let context else { return }
        // Closed from below everything else: TLS would take its leave first, and a client would
        // take that for an end as meant.
        let outermost = try? context.pipeline.syncOperations.context(
            handlerType: IdleStateHandler.self
        )
        let bound = NIOLoopBound(outermost ?? context, eventLoop: context.eventLoop)
        let socket = context.channel as? any SocketOptionProvider
        let set = socket?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        guard let set else { return bound.value.close(promise: nil) }
        set.whenComplete { _ in bound.value.close(promise: nil) }
    }
}

extension IOError {
    /// Whether somebody else has the port.
    var isAddressTaken: Bool { errnoCode == EADDRINUSE }
}

extension HTTPMessage.Field {
    /// Whether it can stand in a head as one line (RFC 9110, section 5).
    fileprivate var isWellFormed: Bool {
        !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: ":") }
            && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }
    }
}
