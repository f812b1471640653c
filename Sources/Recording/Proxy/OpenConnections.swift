internal import FakeServers
internal import NIOCore
internal import Values

/// The open connections of the proxy.
final class OpenConnections: Sendable {
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
            // An error means that the connection is closed already.
            try? await channel.close().get()
        }
    }
}
