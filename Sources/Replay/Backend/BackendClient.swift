internal import AsyncHTTPClient
internal import FakeServers
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
package import Values

/// Sends HTTP requests to the backend under test or to another server.
package final class BackendClient: Transport {
    package typealias AttemptFault = Replay.AttemptFault

    /// The largest body of a response, in bytes.
    ///
    /// A response with a larger body counts as incomplete.
    private static let bodyBytesMax = 16 << 20
    /// The number of bytes of a response body that are kept.
    ///
    /// The responses of probes are never longer. A backend that sends megabytes must not fill
    /// Assay's memory.
    private static let storedBodyBytesMax = 256 << 10

    /// The longest time to establish a connection, in seconds.
    ///
    /// A busy machine drops the first connection attempts, and the system tries again after 1, 3, 7
    /// and 15 s. A closed port refuses a connection at once.
    private static let connectSecondsMax: Int64 = 30

    private static let deadlines = Deadlines(RealClock())

    /// The address of an HTTP proxy on this machine.
    struct Proxy: Hashable, Sendable {
        let host: String
        let port: Int
    }

    private let address: Locked<String>
    private let lanes: [HTTPClient]
    private let isClosed = Locked(false)

    /// Creates a client that connects without a proxy.
    ///
    /// - Parameters:
    ///   - base: The address `scheme://host:port`, optionally followed by a path that all request
    ///     paths begin with.
    ///   - laneCount: The number of separate HTTP clients (lanes). Requests on different lanes
    ///     share no connection.
    ///   - authority: A PEM file with additional CA certificates to trust.
    package convenience init(base: String, laneCount: Int = 32, authority: String? = nil) {
        self.init(base: base, laneCount: laneCount, authority: authority, proxy: nil)
    }

    /// Creates a client that connects through an HTTP proxy, or directly if `proxy` is nil.
    init(base: String, laneCount: Int, authority: String?, proxy: Proxy?) {
        address = Locked(base.hasSuffix("/") ? String(base.dropLast()) : base)
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(Self.connectSecondsMax)),
            decompression: .disabled
        )
        configuration.httpVersion = .http1Only
        configuration.proxy = proxy.map { .server(host: $0.host, port: $0.port) }
        configuration.tlsConfiguration = CertificateTrust.configuration(authority)
        configuration.connectionPool.retryConnectionEstablishment = false
        // The client closes an idle connection earlier than any server does, so that no request
        // uses a connection that is closing.
        configuration.connectionPool.idleTimeout = .seconds(1)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        lanes = (0..<laneCount).map { _ in
            HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        }
    }

    package var base: String { address.withLock { $0 } }

    package func useOtherLoopback() -> Bool {
        address.withLock { address in
            guard let otherAddress = Self.urlWithOtherLoopback(of: address) else { return false }
            address = otherAddress
            return true
        }
    }

    /// Returns a URL with the other loopback address: `[::1]` for `127.0.0.1`, and the reverse.
    ///
    /// Returns nil for any other host. This includes `localhost`, because a connection to it tries
    /// both addresses.
    static func urlWithOtherLoopback(of url: String) -> String? {
        for (host, otherAddress) in [("127.0.0.1", "[::1]"), ("[::1]", "127.0.0.1")] {
            guard let schemeSeparator = url.firstRange(of: "://"),
                url[schemeSeparator.upperBound...].hasPrefix(host)
            else { continue }
            let urlAfterHost = url[schemeSeparator.upperBound...].dropFirst(host.count)
            guard urlAfterHost.isEmpty || urlAfterHost.hasPrefix(":") || urlAfterHost.hasPrefix("/")
            else { continue }
            return url[..<schemeSeparator.upperBound] + otherAddress + urlAfterHost
        }
        return nil
    }

    package func close() async {
        isClosed.withLock { $0 = true }
        // No request uses the connections any more, so an error of closing them changes nothing.
        for lane in lanes { try? await lane.shutdown() }
    }

    deinit {
        // The HTTP library traps when a client is released without a shutdown.
        guard !isClosed.withLock({ $0 }) else { return }
        for lane in lanes { lane.shutdown { _ in } }
    }

    /// Opens a connection on each of the first lanes by sending a harmless GET request.
    ///
    /// Concurrent requests then need no handshake. Requests on different lanes share no connection.
    package func openConnections(lanes count: Int, path: String) async {
        await withTaskGroup(of: Void.self) { group in
            for lane in 0..<min(count, lanes.count) {
                group.addTask {
                    _ = await self.send(
                        HTTPMessage.Request("GET", path),
                        lane: lane,
                        within: .seconds(5)
                    )
                }
            }
        }
    }

    package func send(
        _ request: HTTPMessage.Request,
        lane: Int,
        within: Duration,
        fault: AttemptFault
    ) async -> Exchange.Outcome {
        let clientRequest = clientRequest(request, lane, fault)
        do {
            let deadline = RealClock().now + within
            let client = lanes[lane % lanes.count]
            let response = try await client.execute(
                clientRequest,
                deadline: .now() + .milliseconds(within.milliseconds)
            )
            let body = try await Self.collectBody(response.body, until: deadline)
            if fault == .truncatedRequest { return .requestCut }
            return .answered(
                HTTPMessage.Response(
                    Int(response.status.code),
                    fields: response.headers.map { HTTPMessage.Field($0.name, $0.value) },
                    body: Array(body.readableBytesView)
                )
            )
        } catch {
            switch fault {
            case .truncatedRequest: return .requestCut
            case .disconnect: return .answerLost(nil)
            case .none, .held: return Self.failure(error, within)
            }
        }
    }

    private func clientRequest(
        _ request: HTTPMessage.Request,
        _ lane: Int,
        _ fault: AttemptFault
    ) -> HTTPClientRequest {
        var clientRequest = HTTPClientRequest(url: base + request.target)
        clientRequest.method = HTTPMethod(rawValue: request.method)
        for field in request.fields {
            clientRequest.headers.add(name: field.name, value: field.value)
        }
        switch fault {
        case .none:
            if !request.body.isEmpty || request.method != "GET" {
                clientRequest.body = .bytes(ByteBuffer(bytes: request.body))
            }
        case .truncatedRequest:
            clientRequest.body = .stream(
                TruncatedBody(
                    bytes: Array(request.body.prefix(request.body.count * 9 / 10)),
                    pauseBeforeClose: TruncatedBody.pauseBeforeClose
                ),
                length: .known(Int64(request.body.count))
            )
        case .disconnect:
            clientRequest.body = .stream(
                TruncatedBody(bytes: request.body),
                length: .known(Int64(request.body.count))
            )
        case .held(let gate, let percent):
            // At least one byte of the body is held back until the gate opens. Before that, the
            // backend has only an incomplete request and cannot begin to process it.
            let count = min(request.body.count * percent / 100, request.body.count - 1)
            clientRequest.body = .stream(
                GatedBody(
                    gate: gate,
                    lane: lane,
                    bodyParts: [
                        Array(request.body.prefix(max(0, count))),
                        Array(request.body.dropFirst(max(0, count))),
                    ]
                ),
                length: .known(Int64(request.body.count))
            )
        }
        return clientRequest
    }

    /// Returns the whole body of a response, or throws when it is incomplete at the deadline.
    ///
    /// The HTTP client applies its own deadline only to the status and the headers.
    private static func collectBody(
        _ body: HTTPClientResponse.Body,
        until deadline: Duration
    ) async throws -> ByteBuffer {
        let hasDeadlinePassed = Locked(false)
        let readingTask = RealClock().task { () -> Result<ByteBuffer, any Error> in
            do { return .success(try await collectBody(body)) } catch { return .failure(error) }
        }
        let id = deadlines.add(deadline) {
            hasDeadlinePassed.withLock { $0 = true }
            readingTask.cancel()
        }
        defer { deadlines.remove(id) }
        do {
            return try await readingTask.joined().get()
        } catch  where hasDeadlinePassed.withLock({ $0 }) {
            throw HTTPClientError.deadlineExceeded
        }
    }

    private static func collectBody(_ body: HTTPClientResponse.Body) async throws -> ByteBuffer {
        var storedBody = ByteBuffer()
        var count = 0
        for try await bodyPart in body {
            count += bodyPart.readableBytes
            guard count <= bodyBytesMax else { throw BodyTooLongError() }
            var bodyPart = bodyPart
            let remainingBytes = storedBodyBytesMax - storedBody.readableBytes
            if var slice = bodyPart.readSlice(length: min(remainingBytes, bodyPart.readableBytes)) {
                storedBody.writeBuffer(&slice)
            }
        }
        return storedBody
    }

    /// The error of a response whose body is longer than `bodyBytesMax`.
    private struct BodyTooLongError: Error {}

    private static func failure(_ error: any Error, _ within: Duration) -> Exchange.Outcome {
        if let reason = ResourceShortage.reason(of: error) { return .failed(.shortage, reason) }
        if let text = CertificateTrust.text(error) { return .failed(.refused, text) }
        switch error {
        case is BodyTooLongError:
            return .failed(.closed, "the response has more than \(bodyBytesMax >> 20) MB")
        case let error as HTTPClientError
        where error == .deadlineExceeded || error == .readTimeout:
            return .failed(.timedOut, "no complete response within \(within.milliseconds) ms")
        case let error as HTTPClientError where error == .connectTimeout:
            return .failed(.refused, "no connection within \(connectSecondsMax) s")
        case let error as HTTPClientError
        where error == .remoteConnectionClosed:
            return .failed(.closed, "the connection was closed without a complete response")
        case is NIOConnectionError:
            return .failed(.refused, "the connection was refused")
        case let error as IOError where error.errnoCode == 111 || error.errnoCode == 61:
            return .failed(.refused, "the connection was refused")
        case is IOError, is ChannelError:
            return .failed(.closed, "the connection was reset")
        case is HTTPParserError:
            return .failed(.malformed, "the response is not HTTP/1.1")
        case is CancellationError:
            return .failed(.closed, "the sender stopped before a response arrived")
        default:
            return .failed(.closed, "no response: \(error)")
        }
    }
}

/// A request body in two parts, of which the second is sent when the gate opens.
private struct GatedBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let gate: Gate
    let lane: Int
    let bodyParts: [[UInt8]]

    struct AsyncIterator: AsyncIteratorProtocol {
        let gate: Gate
        let lane: Int
        var bodyParts: [[UInt8]]
        var isFirstPart = true

        mutating func next() async throws -> ByteBuffer? {
            guard let bodyPart = bodyParts.first else { return nil }
            bodyParts.removeFirst()
            if isFirstPart {
                isFirstPart = false
            } else if !(await gate.pass(lane: lane)) {
                throw TruncatedBody.BodyCutOffError()
            }
            return ByteBuffer(bytes: bodyPart)
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(gate: gate, lane: lane, bodyParts: bodyParts)
    }
}

/// A request body without an end: it throws an error after its last byte, so that the connection is
/// closed.
private struct TruncatedBody: AsyncSequence, Sendable {
    struct BodyCutOffError: Error {}

    /// The pause before the connection of a truncated request is closed.
    ///
    /// A backend that receives the truncated body and the end of the connection at the same time
    /// may never begin to process the request.
    static let pauseBeforeClose: Duration = .milliseconds(50)

    typealias Element = ByteBuffer

    let bytes: [UInt8]
    var pauseBeforeClose: Duration = .zero

    struct AsyncIterator: AsyncIteratorProtocol {
        var bytes: [UInt8]?
        let pauseBeforeClose: Duration

        mutating func next() async throws -> ByteBuffer? {
            guard let bodyPart = bytes else {
                if pauseBeforeClose > .zero { try await RealClock().sleep(for: pauseBeforeClose) }
                throw BodyCutOffError()
            }
            bytes = nil
            return ByteBuffer(bytes: bodyPart)
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(bytes: bytes, pauseBeforeClose: pauseBeforeClose)
    }
}
