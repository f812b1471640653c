internal import AsyncHTTPClient
package import Conformance
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import FakeServers

/// Sends requests to the backend over lanes: each lane has connections of its own, so that a
/// repeated delivery comes over another connection and copies can be released together.
package final class BackendClient: Sendable {
    /// How the request is disturbed on its way.
    package enum Disturbance: Hashable, Sendable {
        case none
        /// The body breaks off before its last tenth and the connection is closed.
        case cutRequest
        /// The whole request is sent, then the connection is closed before the answer.
        case hangUp
        /// The body stops after this share of it, in percent, until the gate opens.
        case held(Gate, percent: Int)
    }

    /// Holds bodies back until it is opened, and tells when they have come that far.
    package final class Gate: Hashable, Sendable {
        private struct State {
            var isOpen = false
            /// The held bodies break off instead of going on.
            var isBroken = false
            /// The lanes whose bodies are held, or whose requests ended before that.
            var arrived: Set<Int> = []
            var waiting: [CheckedContinuation<Bool, Never>] = []
            var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

            /// Whoever waited for no more than have arrived now.
            mutating func takeReached(
                arriving lane: Int
            ) -> [CheckedContinuation<Void, Never>] {
                arrived.insert(lane)
                let reached = watchers.filter { $0.count <= arrived.count }
                watchers.removeAll { $0.count <= arrived.count }
                return reached.map(\.continuation)
            }
        }

        private let state = Locked(State())

        package init() {}

        /// Lets every body go on, or breaks them off.
        package func open(breaking: Bool = false) {
            let (waiting, watchers) = state.withLock { state in
                state.isOpen = true
                state.isBroken = breaking
                defer {
                    state.waiting = []
                    state.watchers = []
                }
                return (state.waiting, state.watchers)
            }
            for continuation in waiting { continuation.resume(returning: !breaking) }
            for watcher in watchers { watcher.continuation.resume() }
        }

        /// Waits until so many bodies are held, or the gate is opened.
        package func reached(_ count: Int) async {
            await withCheckedContinuation { continuation in
                let isReached = state.withLock { state in
                    if state.isOpen || state.arrived.count >= count { return true }
                    state.watchers.append((count, continuation))
                    return false
                }
                if isReached { continuation.resume() }
            }
        }

        /// Waits until the gate is open.
        package func opened() async { await reached(.max) }

        /// A request that is over before it was held, because the backend answered early or closed
        /// the connection, must not be waited for.
        package func arrive(lane: Int) {
            let reached = state.withLock { $0.takeReached(arriving: lane) }
            for continuation in reached { continuation.resume() }
        }

        /// Whether the body may go on, once the gate is open.
        func pass(lane: Int) async -> Bool {
            await withCheckedContinuation { continuation in
                let (answer, reached) = state.withLock {
                    state -> (Bool?, [CheckedContinuation<Void, Never>]) in
                    let reached = state.takeReached(arriving: lane)
                    if state.isOpen { return (!state.isBroken, reached) }
                    state.waiting.append(continuation)
                    return (nil, reached)
                }
                for watcher in reached { watcher.resume() }
                if let answer { continuation.resume(returning: answer) }
            }
        }

        package static func == (left: Gate, right: Gate) -> Bool { left === right }
        package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }

    /// The largest answer that is read; a larger one counts as no complete answer.
    private static let bodyMax = 16 << 20
    /// What is kept of an answer; no probe's answer is longer, and a backend that sends megabytes
    /// must not fill our memory.
    private static let keptMax = 256 << 10

    package let base: String
    private let lanes: [HTTPClient]
    private let isClosed = Locked(false)

    package init(base: String, laneCount: Int = 32) {
        self.base = base.hasSuffix("/") ? String(base.dropLast()) : base
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(5)),
            decompression: .disabled
        )
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
        // Shorter than any server's keep-alive, so that no request meets a closing connection.
        configuration.connectionPool.idleTimeout = .seconds(1)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        lanes = (0..<laneCount).map { _ in
            HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        }
    }

    package func close() async {
        isClosed.withLock { $0 = true }
        for lane in lanes { try? await lane.shutdown() }
    }

    deinit {
        // The library traps on a client that goes without a farewell.
        guard !isClosed.withLock({ $0 }) else { return }
        for lane in lanes { lane.shutdown { _ in } }
    }

    /// Opens a connection on each of the first lanes by a harmless read, so that a barrier
    /// releases requests and not handshakes.
    package func warm(lanes count: Int, path: String) async {
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
        lane: Int = 0,
        within: Duration,
        disturbance: Disturbance = .none
    ) async -> Exchange.Outcome {
        var message = HTTPClientRequest(url: base + request.target)
        message.method = HTTPMethod(rawValue: request.method)
        for field in request.fields { message.headers.add(name: field.name, value: field.value) }
        switch disturbance {
        case .none:
            if !request.body.isEmpty || request.method != "GET" {
                message.body = .bytes(ByteBuffer(bytes: request.body))
            }
        case .cutRequest:
            message.body = .stream(
                BrokenBody(bytes: Array(request.body.prefix(request.body.count * 9 / 10))),
                length: .known(Int64(request.body.count))
            )
        case .hangUp:
            message.body = .stream(
                BrokenBody(bytes: request.body),
                length: .known(Int64(request.body.count))
            )
        case .held(let gate, let percent):
            // At least one byte stays back, so that nobody can begin before the gate opens.
            let count = min(request.body.count * percent / 100, request.body.count - 1)
            message.body = .stream(
                HeldBody(
                    gate: gate,
                    lane: lane,
                    parts: [
                        Array(request.body.prefix(max(0, count))),
                        Array(request.body.dropFirst(max(0, count))),
                    ]
                ),
                length: .known(Int64(request.body.count))
            )
        }
        do {
            let deadline = ContinuousClock.now + within
            let client = lanes[lane % lanes.count]
            let response = try await client.execute(
                message,
                deadline: .now() + .milliseconds(within.milliseconds)
            )
            let body = try await Self.collect(response.body, until: deadline)
            if disturbance == .cutRequest { return .requestCut }
            return .answered(
                HTTPMessage.Response(
                    Int(response.status.code),
                    fields: response.headers.map { HTTPMessage.Field($0.name, $0.value) },
                    body: Array(body.readableBytesView)
                )
            )
        } catch {
            switch disturbance {
            case .cutRequest: return .requestCut
            case .hangUp: return .answerLost(nil)
            case .none, .held: return Self.failure(error, within)
            }
        }
    }

    /// The whole body, or an error when it is not there in time; the deadline of the client ends
    /// with the head of the answer.
    private static func collect(
        _ body: HTTPClientResponse.Body,
        until deadline: ContinuousClock.Instant
    ) async throws -> ByteBuffer {
        try await withThrowingTaskGroup(of: ByteBuffer.self) { group in
            group.addTask {
                var kept = ByteBuffer()
                var count = 0
                for try await part in body {
                    count += part.readableBytes
                    guard count <= bodyMax else { throw TooLong() }
                    var part = part
                    let room = keptMax - kept.readableBytes
                    if var slice = part.readSlice(length: min(room, part.readableBytes)) {
                        kept.writeBuffer(&slice)
                    }
                }
                return kept
            }
            group.addTask {
                try await ContinuousClock().sleep(until: deadline)
                throw HTTPClientError.deadlineExceeded
            }
            defer { group.cancelAll() }
            return try await group.next() ?? ByteBuffer()
        }
    }

    /// The answer goes on and on.
    private struct TooLong: Error {}

    private static func failure(_ error: any Error, _ within: Duration) -> Exchange.Outcome {
        switch error {
        case is TooLong:
            return .failed(.closed, "the answer has more than \(bodyMax >> 20) MB")
        case let error as HTTPClientError
        where error == .deadlineExceeded || error == .readTimeout:
            return .failed(.timedOut, "no complete answer within \(within.milliseconds) ms")
        case let error as HTTPClientError where error == .connectTimeout:
            return .failed(.refused, "no connection within 5 s")
        case let error as HTTPClientError
        where error == .remoteConnectionClosed:
            return .failed(.closed, "the connection was closed without a complete answer")
        case is NIOConnectionError:
            return .failed(.refused, "the connection was refused")
        case let error as IOError where error.errnoCode == 111 || error.errnoCode == 61:
            return .failed(.refused, "the connection was refused")
        case is IOError, is ChannelError:
            return .failed(.closed, "the connection was reset")
        case is HTTPParserError:
            return .failed(.malformed, "the answer is not HTTP/1.1")
        default:
            return .failed(.closed, "no answer: \(error)")
        }
    }
}

/// A body in two parts with a gate between them.
private struct HeldBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let gate: BackendClient.Gate
    let lane: Int
    let parts: [[UInt8]]

    struct AsyncIterator: AsyncIteratorProtocol {
        let gate: BackendClient.Gate
        let lane: Int
        var parts: [[UInt8]]
        var isFirst = true

        mutating func next() async throws -> ByteBuffer? {
            guard let part = parts.first else { return nil }
            parts.removeFirst()
            if isFirst {
                isFirst = false
            } else if !(await gate.pass(lane: lane)) {
                throw BrokenBody.Break()
            }
            return ByteBuffer(bytes: part)
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(gate: gate, lane: lane, parts: parts)
    }
}

/// A body that is sent as far as it goes and then fails, which closes the connection.
private struct BrokenBody: AsyncSequence, Sendable {
    struct Break: Error {}

    typealias Element = ByteBuffer

    let bytes: [UInt8]

    struct AsyncIterator: AsyncIteratorProtocol {
        var bytes: [UInt8]?

        mutating func next() async throws -> ByteBuffer? {
            guard let part = bytes else { throw Break() }
            bytes = nil
            return ByteBuffer(bytes: part)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: bytes) }
}
