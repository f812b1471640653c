internal import NIOCore
internal import Values

/// The open connections of a port.
final class HostConnections: Sendable {
    private struct State {
        var openConnections: [ObjectIdentifier: NIOLoopBound<HTTPConnection>] = [:]
        /// Whether the port is being closed.
        ///
        /// If so, idle connections are closed at once, and other connections after their current
        /// response.
        var isFinishing = false
        var waiting: [AsyncStream<Never>.Continuation] = []
    }

    private let state = Locked(State())

    func add(_ channel: any Channel, _ connection: NIOLoopBound<HTTPConnection>) {
        let id = ObjectIdentifier(channel)
        let isAlreadyFinishing = state.withLock { state in
            state.openConnections[id] = connection
            return state.isFinishing
        }
        channel.closeFuture.whenComplete { _ in self.remove(id) }
        if isAlreadyFinishing { channel.eventLoop.execute { connection.value.finish() } }
    }

    private func remove(_ id: ObjectIdentifier) {
        let waiting = state.withLock { state in
            state.openConnections[id] = nil
            guard state.openConnections.isEmpty else { return [AsyncStream<Never>.Continuation]() }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.finish() }
    }

    func finish() {
        let openConnections = state.withLock { state in
            state.isFinishing = true
            return Array(state.openConnections.values)
        }
        for connection in openConnections {
            connection.eventLoop.execute { connection.value.finish() }
        }
    }

    /// Waits until the last connection of the port is closed.
    func wait() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        let isEmpty = state.withLock { state in
            if !state.openConnections.isEmpty { state.waiting.append(continuation) }
            return state.openConnections.isEmpty
        }
        if !isEmpty { for await _ in stream {} }
    }
}
