/// Something that a backend under test tried and was not let do, or that its clients made impossible.
package struct Refusal: Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// No service that a fake stands in for.
        case unknownHost
        /// A host of a service's, and a path there that is none of the service's.
        case unknownPath(String)
        /// The client does not trust the authority of the run.
        case distrust
        /// The client speaks HTTP/2 and nothing else.
        case http2
        /// TLS to a host that it does not name.
        case nameless
        /// What it sent is neither TLS nor HTTP.
        case malformed
    }

    /// Host and port, as the client named them.
    package let place: String
    package let reason: Reason

    package init(place: String, reason: Reason) {
        self.place = place
        self.reason = reason
    }

    /// What to do next, for people who do not know how this works.
    package var text: String {
        switch reason {
        case .unknownHost where Self.isMetadata(place):
            "\(place) was refused: it is the metadata address of a cloud, which hands out "
                + "credentials; give the backend under test credentials of its own"
        case .unknownHost:
            "\(place) was refused: it is none of the services that have a fake; --allow-host "
                + "\(host) lets it be called"
        case .unknownPath(let path):
            "\(place)\(path) was refused: the fakes answer other paths of that host"
        case .distrust:
            "the client of \(place) does not trust the authority of this run: it reads none of the "
                + "variables that name it (SSL_CERT_FILE, NODE_EXTRA_CA_CERTS, …); load "
                + "ASSAY_AUTHORITY, a PEM file, where it makes its client"
        case .http2:
            "the client of \(place) speaks HTTP/2 and nothing else; the fakes speak HTTP/1.1"
        case .nameless:
            "\(place) was called over TLS without a name (SNI), so nobody can tell whom it means"
        case .malformed: "\(place) was sent what is neither TLS nor HTTP"
        }
    }

    private var host: String {
        place.lastIndex(of: ":").map { String(place[..<$0]) } ?? place
    }

    /// Link-local addresses, at which clouds answer, and their name (RFC 3927, RFC 4291).
    private static func isMetadata(_ place: String) -> Bool {
        ["169.254.", "[fe80:", "[fd00:ec2:", "metadata."].contains {
            place.lowercased().hasPrefix($0)
        }
    }
}

/// All that was refused, each with how often; the first of each is told at once.
package final class Refusals: Sendable {
    private struct State {
        var counts: [Refusal: Int] = [:]
        var order: [Refusal] = []
        /// What came beyond the bound.
        var restCount = 0
    }

    /// A backend that calls a new host each time must not fill the memory.
    private static let kindMax = 200

    private let state = Locked(State())
    private let onFirst: @Sendable (Refusal) -> Void

    /// - Parameter onFirst: Told of each that was not there before.
    package init(onFirst: @escaping @Sendable (Refusal) -> Void = { _ in }) {
        self.onFirst = onFirst
    }

    package func note(_ refusal: Refusal) {
        let isFirst = state.withLock { state in
            if let count = state.counts[refusal] {
                state.counts[refusal] = count + 1
                return false
            }
            guard state.order.count < Self.kindMax else {
                state.restCount += 1
                return false
            }
            state.counts[refusal] = 1
            state.order.append(refusal)
            return true
        }
        if isFirst { onFirst(refusal) }
    }

    /// In the order in which they came about.
    package var all: [(refusal: Refusal, count: Int)] {
        state.withLock { state in state.order.map { ($0, state.counts[$0] ?? 0) } }
    }

    package var lines: [String] { Self.lines([self]) }

    /// A line for each kind that was refused by any of them, for a report.
    package static func lines(_ all: [Refusals]) -> [String] {
        var counts: [(refusal: Refusal, count: Int)] = []
        for (refusal, count) in all.flatMap(\.all) {
            if let index = counts.firstIndex(where: { $0.refusal == refusal }) {
                counts[index].count += count
            } else {
                counts.append((refusal, count))
            }
        }
        let lines = counts.map { refusal, count in
            refusal.text + (count > 1 ? " (\(count) times)" : "")
        }
        let restCount = all.map { $0.state.withLock { $0.restCount } }.reduce(0, +)
        return restCount == 0 ? lines : lines + ["\(restCount) more calls were refused"]
    }
}
