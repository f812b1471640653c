internal import FakeServers
internal import Foundation
internal import Providers
internal import Values

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Checks that each of Assay's own fakes responds at the address that the backend is given.
///
/// A fake that does not respond is a fault of Assay or of this machine, or it has the wrong
/// advertised host. Without this check, the findings that follow from it would accuse the backend.
enum FakeServerCheck {
    /// The longest time for the response of a fake.
    ///
    /// A busy machine may need that long.
    static let responseTimeMax: Duration = .seconds(30)

    /// Sends one request to each fake, directly and through the intercepting proxy.
    ///
    /// - Parameters:
    ///   - servers: The fakes.
    ///   - interception: The proxy through which the backend reaches the fakes; nil without a
    ///     proxy.
    /// - Returns: The error for a fake that cannot be called; nil when every fake responds.
    static func failure(
        of servers: [FakeServer],
        through interception: Interception?
    ) async -> ReplaySession.OpenError? {
        for server in servers {
            let fakeDescription = "the fake \(server.party)"
            if let text = await failure(at: address(of: server), fakeDescription) {
                return await error(text, of: server)
            }
            guard let interception,
                let provider = Services.providers.first(where: { $0.party == server.party }),
                let host = provider.hosts.first?.name
            else { continue }
            let text = await failure(
                at: "https://" + host,
                fakeDescription + " behind the intercepting proxy \(interception.proxy.baseURL)",
                through: interception
            )
            if let text { return machineError(text) }
        }
        return nil
    }

    /// Returns the error for a fake that does not respond at the backend's address for it.
    ///
    /// If the fake responds at the address on which it listens, the advertised host leads elsewhere.
    private static func error(
        _ text: String,
        of server: FakeServer
    ) async -> ReplaySession.OpenError {
        let listenAddress = AdvertisedAddress.url(host: server.host, port: server.port)
        guard listenAddress != server.baseURL,
            await failure(at: listenAddress, "the fake \(server.party)") == nil
        else { return machineError(text) }
        return .init(
            kind: .configuration,
            description: text + "; it responds at \(listenAddress), so the host that --advertise "
                + "names does not lead to this machine"
        )
    }

    private static func machineError(_ text: String) -> ReplaySession.OpenError {
        .init(
            kind: .internalError,
            description: text + "; this is a fault of Assay or of this machine, not of the backend"
        )
    }

    /// Returns the address at which the backend is to call a fake, if this machine can resolve its
    /// host.
    ///
    /// Otherwise, returns the address on which the fake listens. For example, the host
    /// `host.docker.internal` exists only inside containers.
    private static func address(of server: FakeServer) -> String {
        guard let host = URLComponents(string: server.baseURL)?.host, isResolvable(host) else {
            return AdvertisedAddress.url(host: server.host, port: server.port)
        }
        return server.baseURL
    }

    private static func isResolvable(_ host: String) -> Bool {
        var addressList: UnsafeMutablePointer<addrinfo>?
        defer { if let addressList { freeaddrinfo(addressList) } }
        let bareHost = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        return getaddrinfo(bareHost, nil, nil, &addressList) == 0
    }

    private static func failure(
        at address: String,
        _ fakeDescription: String,
        through interception: Interception? = nil
    ) async -> String? {
        let client = BackendClient(
            base: address,
            laneCount: 1,
            authority: interception.map { $0.folder + "/authority.pem" },
            proxy: interception.map { .init(host: $0.proxy.host, port: $0.proxy.port) }
        )
        let outcome = await client.send(
            HTTPMessage.Request("GET", SelfCheck.path),
            within: responseTimeMax
        )
        await client.close()
        let reason: String
        switch outcome {
        case .answered(let response) where response.body == Array(SelfCheck.token.utf8):
            return nil
        case .answered(let response):
            reason = "another program responds there, with status \(response.status)"
        case .failed(_, let text): reason = text
        case .pending, .answerLost, .requestCut: reason = "no response"
        }
        return "\(fakeDescription) does not respond at \(address): \(reason)"
    }
}
