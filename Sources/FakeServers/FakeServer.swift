package import Conformance
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import Providers
internal import ServiceLifecycle

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// A provider's fake on a port of its own.
package final class FakeServer: Sendable {
    /// The port could not be opened.
    package struct StartError: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    package let party: Exchange.Party
    package let host: String
    package let port: Int
    private let group: ServiceGroup

    package var baseURL: String { "http://\(host):\(port)" }

    /// Opens the port; port 0 picks a free one.
    package init(
        _ party: Exchange.Party,
        world: FakeWorld,
        host: String = "127.0.0.1",
        port: Int = 0
    ) async throws(StartError) {
        self.party = party
        self.host = host
        let (ports, continuation) = AsyncStream.makeStream(of: Int?.self)
        var logger = Logger(label: "assay.fake")
        logger.logLevel = .critical
        let application = Application(
            responder: FakeResponder(party: party, world: world),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                reuseAddress: true
            ),
            onServerRunning: { continuation.yield($0.localAddress?.port) },
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
        Task {
            defer { continuation.finish() }
            do {
                try await group.run()
            } catch {
                failure.withLock { $0 = "\(error)" }
            }
        }
        var iterator = ports.makeAsyncIterator()
        guard case .some(.some(let opened)) = await iterator.next() else {
            let reason = failure.withLock { $0 }
            let isTaken = reason.contains("EADDRINUSE") || reason.contains("in use")
            throw StartError(
                description: "cannot open \(host):\(port) for the fake \(party): "
                    + (isTaken ? "the port is in use" : reason)
            )
        }
        self.port = opened
    }

    /// Closes the port; calls that are going on are still answered.
    package func stop() async {
        await group.triggerGracefulShutdown()
    }
}

/// Hands each request to the fake and carries out the manner of its reply.
private struct FakeResponder: HTTPResponder {
    typealias Context = ChannelContext

    /// The largest body that a fake reads; no real call comes near it.
    private static let bodyMax = 10 << 20

    let party: Exchange.Party
    let world: FakeWorld

    func respond(to request: Request, context: ChannelContext) async throws -> Response {
        let body: [UInt8]
        do {
            let buffer = try await request.body.collect(upTo: Self.bodyMax)
            body = Array(buffer.readableBytesView)
        } catch {
            return Response(status: .contentTooLarge)
        }
        let message = HTTPMessage.Request(
            request.method.rawValue,
            request.head.path ?? "/",
            fields: request.headers.map { HTTPMessage.Field($0.name.rawName, $0.value) },
            body: body
        )
        let reply = world.respond(party, to: message)
        let exchange = Exchange(
            from: .backend,
            to: party,
            namespace: reply.namespace,
            purpose: .call,
            at: world.clock(of: reply.namespace),
            request: message
        )
        let sequence = world.journal.begin(exchange)
        switch reply.manner {
        case .answer:
            world.journal.complete(sequence, .answered(reply.response), effects: reply.effects)
            return Self.response(reply.response)
        case .reset:
            world.journal.complete(
                sequence,
                reply.effects.isEmpty
                    ? .failed(.closed, "reset by plan") : .answerLost(reply.response),
                effects: reply.effects
            )
            // Linger 0 turns the close into a reset, which no client takes for an empty answer.
            let socket = context.channel as? any SocketOptionProvider
            try? await socket?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
            try? await context.channel.close().get()
            throw CancellationError()
        case .never:
            world.journal.complete(sequence, .failed(.timedOut, "never answered, by plan"))
            try await context.channel.closeFuture.get()
            throw CancellationError()
        }
    }

    private static func response(_ message: HTTPMessage.Response) -> Response {
        var headers = HTTPFields()
        for field in message.fields {
            if let name = HTTPField.Name(field.name) { headers[name] = field.value }
        }
        return Response(
            status: HTTPResponse.Status(code: message.status),
            headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: message.body))
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
