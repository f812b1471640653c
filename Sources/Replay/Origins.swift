internal import Conformance
internal import FakeServers

/// Other servers than the backend that show its state: a side-car, a database's REST.
final class Origins: Sendable {
    private let clients = Locked<[String: BackendClient]>([:])
    private let authority: String?

    /// - Parameter authority: Whose certificates are believed beside the system's: a file in PEM.
    init(authority: String? = nil) { self.authority = authority }

    /// The client of an origin such as `http://127.0.0.1:5433`; one for each.
    func client(_ origin: String) -> any Transport {
        clients.withLock { clients in
            if let client = clients[origin] { return client }
            let client = BackendClient(base: origin, laneCount: 1, authority: authority)
            clients[origin] = client
            return client
        }
    }

    func close() async {
        let open = clients.withLock { clients in
            defer { clients = [:] }
            return Array(clients.values)
        }
        for client in open { await client.close() }
    }

    /// What stands before the path of an address.
    static func origin(of address: String) -> String {
        guard let scheme = address.firstRange(of: "://") else { return "" }
        let end = address[scheme.upperBound...].firstIndex { $0 == "/" || $0 == "?" }
        return String(address[..<(end ?? address.endIndex)])
    }
}
