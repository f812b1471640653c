internal import Conformance
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import ServiceLifecycle

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
        /// The connection is held until the caller gives up.
        case never
        /// Lines as they come.
        case lines(AsyncStream<String>)
    }

    typealias Handler = @Sendable (HTTPMessage.Request) async throws -> Answer

    /// The largest body that is read; no real call comes near it.
    static let bodyMax = 10 << 20
    /// A connection on which nothing happens for this long is closed: slow senders, readers that
    /// never read, and those that only hold a place.
    static let idleMax: Duration = .seconds(60)

    let host: String
    let port: Int
    private let group: ServiceGroup
    /// Takes connections on the port.
    private let listener: any Channel
    /// Ends when the port is closed and every caller has gone.
    private let ended: AsyncStream<Never>

    init(
        name: String,
        host: String,
        port: Int,
        idleMax: Duration = HTTPHost.idleMax,
        handler: @escaping Handler
    ) async throws(StartError) {
        self.host = host
        let (listeners, continuation) = AsyncStream.makeStream(of: (any Channel).self)
        var logger = Logger(label: "assay.fake")
        logger.logLevel = .critical
        let application = Application(
            responder: Responder(handler: handler),
            server: .http1(
                configuration: .init(idleTimeout: .milliseconds(Int64(idleMax.milliseconds)))
            ),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                reuseAddress: true
            ),
            onServerRunning: { continuation.yield($0) },
            logger: logger
        )
        // No signals: they belong to the program, not to a fake.
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: application)],
                logger: logger
            )
        )
        self.group = group
        let failure = Locked<String>("")
        let (ended, end) = AsyncStream.makeStream(of: Never.self)
        self.ended = ended
        Task {
            defer {
                continuation.finish()
                end.finish()
            }
            do {
                try await group.run()
            } catch {
                failure.withLock { $0 = "\(error)" }
            }
        }
        var iterator = listeners.makeAsyncIterator()
        guard let listener = await iterator.next(), let opened = listener.localAddress?.port else {
            let reason = failure.withLock { $0 }
            let isTaken = reason.contains("EADDRINUSE") || reason.contains("in use")
            throw StartError(
                description: "cannot open \(host):\(port) for \(name): "
                    + (isTaken ? "the port is in use" : reason),
                isTaken: isTaken
            )
        }
        self.port = opened
        self.listener = listener
    }

    /// Closes the port; calls that are going on are still answered.
    func stop() async {
        await group.triggerGracefulShutdown()
    }

    /// Closes the port and waits until it is closed; then for its callers, but not for those that
    /// are held for ever.
    func close() async {
        await group.triggerGracefulShutdown()
        // Whoever opens the port again must not find it taken, however busy the machine is.
        try? await listener.closeFuture.get()
        let ended = ended
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in ended {} }
            group.addTask { try? await Task.sleep(for: .seconds(2)) }
            await group.next()
            group.cancelAll()
        }
    }
}

/// Reads each request whole, asks the handler, and carries out the manner of its answer.
private struct Responder: HTTPResponder {
    typealias Context = ChannelContext

    let handler: HTTPHost.Handler

    func respond(to request: Request, context: ChannelContext) async throws -> Response {
        let body: [UInt8]
        do {
            let buffer = try await request.body.collect(upTo: HTTPHost.bodyMax)
            body = Array(buffer.readableBytesView)
        } catch {
            return Response(status: .contentTooLarge)
        }
        let message = HTTPMessage.Request(
            request.method.rawValue,
            request.head.path ?? "/",
            fields: request.headers.map { HTTPMessage.Field($0.name.rawName, $0.value) }
                + (request.head.authority.map { [HTTPMessage.Field("host", $0)] } ?? []),
            body: body
        )
        switch try await handler(message) {
        case .whole(let response): return Self.response(response)
        case .half(let response):
            var headers = Self.headers(response)
            headers[.contentLength] = String(response.body.count)
            let part = Array(response.body.prefix(response.body.count / 2))
            let channel = context.channel
            return Response(
                status: HTTPResponse.Status(code: response.status),
                headers: headers,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(bytes: part))
                    await Self.reset(channel)
                    throw CancellationError()
                }
            )
        case .reset:
            await Self.reset(context.channel)
            throw CancellationError()
        case .never:
            try await context.channel.closeFuture.get()
            throw CancellationError()
        case .lines(let lines):
            return Response(
                status: .ok,
                headers: [.contentType: "application/x-ndjson"],
                body: ResponseBody { writer in
                    for await line in lines {
                        try await writer.write(ByteBuffer(string: line + "\n"))
                    }
                    try await writer.finish(nil)
                }
            )
        }
    }

    /// Linger 0 turns the close into a reset, which no client takes for an empty answer.
    private static func reset(_ channel: any Channel) async {
        let socket = channel as? any SocketOptionProvider
        try? await socket?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        try? await channel.close().get()
    }

    private static func headers(_ message: HTTPMessage.Response) -> HTTPFields {
        var headers = HTTPFields()
        for field in message.fields {
            if let name = HTTPField.Name(field.name) { headers[name] = field.value }
        }
        return headers
    }

    private static func response(_ message: HTTPMessage.Response) -> Response {
        let hasNoBody = message.body.isEmpty && message.status == 204
        return Response(
            status: HTTPResponse.Status(code: message.status),
            headers: headers(message),
            body: hasNoBody ? .init() : ResponseBody(byteBuffer: ByteBuffer(bytes: message.body))
        )
    }
}

private struct ChannelContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}
