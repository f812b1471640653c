internal import Values

/// A call of the backend under test that the intercepting proxy refused, or that failed because of
/// the backend's HTTP client.
package struct InterceptionRefusal: Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// The host does not belong to a service that has a fake.
        case unknownHost
        /// The host belongs to a service, but the service has no such path.
        case unknownPath(String)
        /// The client does not trust the certificate authority of the run.
        case untrustedCertificate
        /// The client supports only HTTP/2.
        case http2
        /// The client uses TLS without a server name (SNI).
        case missingServerName
        /// The client sent data that is neither TLS nor HTTP.
        case malformedData
    }

    /// The host and port that the backend called.
    package let destination: String
    package let reason: Reason

    package init(destination: String, reason: Reason) {
        self.destination = destination
        self.reason = reason
    }

    /// The message to the user about the refused call, with the reason and the next step.
    package var text: String {
        switch reason {
        case .unknownHost where Self.isMetadata(destination):
            "the call to \(destination) was refused: it is the metadata address of a cloud, which "
                + "provides credentials; configure test credentials for the backend"
        case .unknownHost:
            "the call to \(destination) was refused: no service with a fake has this host; --allow-host "
                + "\(host) allows calls to it"
        case .unknownPath(let path):
            "the call to \(destination)\(path) was refused: the fake of this host has no such path"
        case .untrustedCertificate:
            "the client that called \(destination) does not trust the certificate authority of this "
                + "run: it ignores variables such as SSL_CERT_FILE and NODE_EXTRA_CA_CERTS; let the "
                + "client trust the PEM file at the path in ASSAY_AUTHORITY"
        case .http2:
            "the client that called \(destination) supports only HTTP/2; the fakes support only HTTP/1.1"
        case .missingServerName:
            "\(destination) was called over TLS without a server name (SNI), so the host is unknown"
        case .malformedData: "\(destination) received data that is neither TLS nor HTTP"
        }
    }

    private var host: String {
        destination.lastIndex(of: ":").map { String(destination[..<$0]) } ?? destination
    }

    /// Returns whether a host is the metadata service of a cloud, by its link-local address or its
    /// name (RFC 3927, RFC 4291).
    private static func isMetadata(_ destination: String) -> Bool {
        ["169.254.", "[fe80:", "[fd00:ec2:", "metadata."].contains {
            destination.lowercased().hasPrefix($0)
        }
    }
}

/// The calls of the backend that the intercepting proxy refused, with their counts.
///
/// The first refusal of each host and reason is reported at once.
package final class InterceptionRefusalCounts: Sendable {
    private struct State {
        var countsByRefusal: [InterceptionRefusal: Int] = [:]
        var refusalsInOrder: [InterceptionRefusal] = []
        /// The number of refusals of further kinds, after the maximum number of kinds.
        var unlistedCallCount = 0
    }

    /// The maximum number of kinds of refusals, so that a backend that always calls new hosts does
    /// not fill the memory.
    ///
    /// The refusals of one kind have the same host and reason.
    private static let distinctRefusalMax = 200

    private let state = Locked(State())
    private let onFirstRefusal: @Sendable (InterceptionRefusal) -> Void

    /// Creates an empty list of refusals.
    ///
    /// - Parameter onFirstRefusal: Receives the first refusal of each host and reason.
    package init(onFirstRefusal: @escaping @Sendable (InterceptionRefusal) -> Void = { _ in }) {
        self.onFirstRefusal = onFirstRefusal
    }

    package func note(_ refusal: InterceptionRefusal) {
        let isFirstOfKind = state.withLock { state in
            if let count = state.countsByRefusal[refusal] {
                state.countsByRefusal[refusal] = count + 1
                return false
            }
            guard state.refusalsInOrder.count < Self.distinctRefusalMax else {
                state.unlistedCallCount += 1
                return false
            }
            state.countsByRefusal[refusal] = 1
            state.refusalsInOrder.append(refusal)
            return true
        }
        if isFirstOfKind { onFirstRefusal(refusal) }
    }

    /// The different refusals with their counts, in the order of their first occurrence.
    package var all: [(refusal: InterceptionRefusal, count: Int)] {
        state.withLock { state in state.refusalsInOrder.map { ($0, state.countsByRefusal[$0] ?? 0) }
        }
    }

    package var lines: [String] { Self.lines([self]) }

    /// Returns the lines of a report on several lists of refusals: one line for each host and
    /// reason.
    package static func lines(_ all: [InterceptionRefusalCounts]) -> [String] {
        var countsByRefusal: [(refusal: InterceptionRefusal, count: Int)] = []
        for (refusal, count) in all.flatMap(\.all) {
            if let index = countsByRefusal.firstIndex(where: { $0.refusal == refusal }) {
                countsByRefusal[index].count += count
            } else {
                countsByRefusal.append((refusal, count))
            }
        }
        let lines = countsByRefusal.map { refusal, count in
            refusal.text + (count > 1 ? " (\(count) times)" : "")
        }
        let unlistedCallCount = all.map { $0.state.withLock { $0.unlistedCallCount } }.reduce(0, +)
        let unlistedCallsNote =
            unlistedCallCount == 1 ? "1 more call was" : "\(unlistedCallCount) more calls were"
        return unlistedCallCount == 0 ? lines : lines + [unlistedCallsNote + " refused"]
    }
}
