internal import Conformance
internal import NIOSSL
internal import Providers

/// Routes an intercepted call to the fake of its service, or refuses it.
final class Switchboard: Sendable {
    /// The host that a client calls, as far as it is known before a request is read.
    enum Entrance: Hashable, Sendable {
        /// The host is unknown: the client uses Assay as an HTTP proxy, or calls Assay as if it
        /// were the host.
        case street
        /// The client requested a tunnel to this host, or named the host in TLS.
        case host(String, port: Int)
    }

    /// The result of a client's `CONNECT` request, which asks the proxy for a tunnel to a host.
    enum Tunnel {
        case open
        /// The connection is closed, as if the service did not listen.
        case dead
        case refused(Refusal)
    }

    /// The destination of an intercepted call: the fake of a service, or a refusal.
    private enum Way {
        case fake(FakeServer, target: String)
        case refused(Refusal.Reason)
    }

    private let servers: [FakeServer]
    private let world: FakeWorld
    private let authority: Authority
    private let contexts = Locked<[String: NIOSSLContext]>([:])
    let refusals: Refusals

    /// The maximum number of hosts whose TLS certificates are cached.
    private static let contextMax = 500

    init(
        _ servers: [FakeServer],
        _ world: FakeWorld,
        _ authority: Authority,
        _ refusals: Refusals
    ) {
        self.servers = servers
        self.world = world
        self.authority = authority
        self.refusals = refusals
    }

    func tunnel(to host: String, port: Int) -> Tunnel {
        if server(at: host, port) != nil { return .open }
        guard let (party, _) = ProviderTable.all.host(host),
            let server = servers.first(where: { $0.party == party })
        else {
            let refusal = Refusal(place: "\(host):\(port)", reason: .unknownHost)
            refusals.note(refusal)
            return .refused(refusal)
        }
        return server.isRefusing ? .dead : .open
    }

    func answer(_ request: HTTPMessage.Request, at entrance: Entrance) -> HTTPHost.Answer {
        if let response = SelfCheck.response(to: request) { return .whole(response) }
        let (host, port) = place(of: request, entrance)
        switch way(host, port, request) {
        case .fake(let server, let target):
            guard !server.isRefusing else { return .reset }
            var request = request
            request.target = target
            return FakeServer.answer(request, server.party, world)
        case .refused(let reason):
            let refusal = Refusal(place: "\(host):\(port)", reason: reason)
            refusals.note(refusal)
            return .whole(Self.response(refusal))
        }
    }

    static func response(_ refusal: Refusal) -> HTTPMessage.Response {
        HTTPMessage.Response(
            403,
            fields: [HTTPMessage.Field("content-type", "text/plain; charset=utf-8")],
            body: Array("Assay: \(refusal.text)\n".utf8)
        )
    }

    private func way(_ host: String, _ port: Int, _ request: HTTPMessage.Request) -> Way {
        if let server = server(at: host, port) { return .fake(server, target: request.target) }
        guard let (party, service) = ProviderTable.all.host(host),
            let server = servers.first(where: { $0.party == party })
        else { return .refused(.unknownHost) }
        guard let target = service.target(for: request.target) else {
            return .refused(.unknownPath(request.path))
        }
        return .fake(server, target: target)
    }

    /// Returns the fake at an address of this machine, for a client that uses the proxy even for
    /// local calls.
    private func server(at host: String, _ port: Int) -> FakeServer? {
        servers.first { $0.port == port && ($0.host == host || host == "localhost") }
    }

    private func place(of request: HTTPMessage.Request, _ entrance: Entrance) -> (String, Int) {
        switch entrance {
        case .host(let host, let port): (host, port)
        case .street: Authorities.split(request[field: "host"] ?? "", port: 80)
        }
    }

    /// Returns the TLS context with which the proxy acts as a host, with a certificate for its
    /// name.
    func context(for host: String) throws -> NIOSSLContext {
        if let context = contexts.withLock({ $0[host] }) { return context }
        let leaf = try NIOSSLCertificate(
            bytes: Array(authority.certificate(of: host).utf8),
            format: .pem
        )
        let key = try NIOSSLPrivateKey(bytes: Array(authority.hostKey.exposed.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(leaf)],
            privateKey: .privateKey(key)
        )
        configuration.applicationProtocols = ["http/1.1"]
        let context = try NIOSSLContext(configuration: configuration)
        contexts.withLock { contexts in
            if contexts.count >= Self.contextMax { contexts.removeAll() }
            contexts[host] = context
        }
        return context
    }

    /// A function that returns the time for the `Date` header of responses.
    var now: @Sendable () -> Instant {
        let world = world
        return { world.now }
    }
}

/// Parses the host and port of a request.
enum Authorities {
    /// Splits `host`, `host:port` or `[address]:port` into host and port; `port` is the default
    /// port.
    static func split(_ text: String, port: Int) -> (host: String, port: Int) {
        let end = text.lastIndex(of: ":")
        guard let end, text.last != "]", let given = Int(text[text.index(after: end)...]) else {
            return (text.lowercased(), port)
        }
        return (text[..<end].lowercased(), given)
    }
}
