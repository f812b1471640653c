internal import Values

/// HTTP clients for servers other than the backend that show its state.
///
/// Examples are a sidecar, and the REST API of a database.
final class OriginClients: Sendable {
    private let clientsByOrigin = Locked<[String: BackendClient]>([:])
    private let authority: String?

    /// Creates a collection without clients.
    ///
    /// - Parameter authority: A PEM file with additional CA certificates to trust.
    init(authority: String? = nil) { self.authority = authority }

    /// Returns the client for a server address such as `http://127.0.0.1:5433`.
    ///
    /// All requests to the same address share one client.
    func client(_ origin: String) -> any Transport {
        clientsByOrigin.withLock { clientsByOrigin in
            if let client = clientsByOrigin[origin] { return client }
            let client = BackendClient(base: origin, laneCount: 1, authority: authority)
            clientsByOrigin[origin] = client
            return client
        }
    }

    func close() async {
        let openClients = clientsByOrigin.withLock { clientsByOrigin in
            defer { clientsByOrigin = [:] }
            return Array(clientsByOrigin.values)
        }
        for client in openClients { await client.close() }
    }

    /// Returns the part of a URL before its path, such as `http://127.0.0.1:5433`; empty if the URL
    /// has no scheme.
    static func origin(of address: String) -> String {
        guard let schemeSeparator = address.firstRange(of: "://") else { return "" }
        let originEnd = address[schemeSeparator.upperBound...].firstIndex { $0 == "/" || $0 == "?" }
        return String(address[..<(originEnd ?? address.endIndex)])
    }
}
