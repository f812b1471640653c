internal import FakeServers
package import Values

/// Sends webhooks over HTTP, with one HTTP client for each receiver.
package final class WebhookMessenger: WebhookTransport {
    private let clientsByBaseURL = Locked<[String: BackendClient]>([:])

    private let authority: String?

    /// Creates a messenger without connections.
    ///
    /// - Parameter authority: A PEM file with additional CA certificates to trust.
    package init(authority: String? = nil) { self.authority = authority }

    package func send(
        _ request: HTTPMessage.Request,
        to base: String,
        within: Duration
    ) async -> Exchange.Outcome {
        let client = clientsByBaseURL.withLock { clientsByBaseURL in
            if let existingClient = clientsByBaseURL[base] { return existingClient }
            let newClient = BackendClient(base: base, laneCount: 1, authority: authority)
            clientsByBaseURL[base] = newClient
            return newClient
        }
        return await client.send(request, within: within)
    }

    package func close() async {
        let allClients = clientsByBaseURL.withLock { clientsByBaseURL in
            defer { clientsByBaseURL = [:] }
            return Array(clientsByBaseURL.values)
        }
        for client in allClients { await client.close() }
    }
}
