internal import NIOCore
internal import NIOPosix
internal import Values

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Detects that Assay ran out of a resource of this machine, which is never the fault of the
/// backend.
package enum ResourceShortage {
    /// Returns the shortage of a resource that made an operation fail, such as "out of file
    /// descriptors".
    ///
    /// - Parameter error: An error of a socket or of a connection attempt.
    /// - Returns: Nil for an error with another cause.
    package static func reason(of error: any Error) -> String? {
        switch error {
        case let error as IOError: reason(code: error.errnoCode)
        case let error as NIOConnectionError:
            ([error.dnsAError, error.dnsAAAAError].compactMap(\.self)
                + error.connectionErrors.map(\.error)).lazy.compactMap(reason).first
        default: nil
        }
    }

    /// Returns the resource shortage that causes an error number of a system call; nil for other
    /// errors.
    package static func reason(code: Int32) -> String? {
        switch code {
        case EMFILE: "out of file descriptors"
        case ENFILE: "out of file descriptors of the system"
        case ENOMEM: "out of memory"
        case ENOBUFS: "out of network buffers"
        case EADDRNOTAVAIL: "out of local ports"
        case EAGAIN: "out of processes or threads"
        default: nil
        }
    }
}

/// The shortages of resources during a run, in order.
package final class ResourceShortages: Sendable {
    private let reasons = Locked<[String]>([])
    private static let reasonCountMax = 10_000

    package init() {}

    /// The number of shortages so far.
    package var count: Int { reasons.withLock { $0.count } }

    package func note(_ reason: String) {
        reasons.withLock { reasons in
            if reasons.count < Self.reasonCountMax { reasons.append(reason) }
        }
    }

    /// Returns the shortage that followed the first `count` shortages; nil when there is none.
    package func first(after count: Int) -> String? {
        reasons.withLock { $0.dropFirst(count).first }
    }
}

/// A channel handler that records the resource shortages that prevent a port from accepting
/// connections.
final class AcceptErrorHandler: ChannelInboundHandler, Sendable {
    typealias InboundIn = Channel

    private let shortages: ResourceShortages

    init(_ shortages: ResourceShortages) { self.shortages = shortages }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let reason = ResourceShortage.reason(of: error) { shortages.note(reason) }
        context.fireErrorCaught(error)
    }
}
