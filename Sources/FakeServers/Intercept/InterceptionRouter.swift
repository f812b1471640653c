internal import NIOSSL
internal import Providers
internal import Redaction
internal import Values

/// Routes an intercepted call to the fake of its service, or refuses it.
final class InterceptionRouter: Sendable {
    /// The host that a client calls, as far as it is known before a request is read.
    enum EntryPoint: Hashable, Sendable {
        /// The host is unknown: the client uses Assay as an HTTP proxy, or calls Assay as if it
        /// were the host.
        case direct
        /// The client requested a tunnel to this host, or named the host in TLS.
        case host(String, port: Int)
    }

    /// The result of a client's `CONNECT` request, which asks the proxy for a tunnel to a host.
    enum TunnelDecision {
        case open
        /// The connection is closed, as if the service did not listen.
        case unreachable
        case refused(InterceptionRefusal)
    }

    /// The destination of an intercepted call: the fake of a service, or a refusal.
    private enum CallRoute {
        case fake(FakeServer, target: String)
        case refused(InterceptionRefusal.Reason)
    }

    private let servers: [FakeServer]
    private let fakes: FakeRegistry
    private let authority: CertificateAuthority
    private let tlsContexts = Locked<[String: NIOSSLContext]>([:])
    let refusals: InterceptionRefusalCounts

    /// The maximum number of hosts whose TLS certificates are cached.
    private static let tlsContextMax = 500

    init(
        _ servers: [FakeServer],
        _ fakes: FakeRegistry,
        _ authority: CertificateAuthority,
        _ refusals: InterceptionRefusalCounts
    ) {
        self.servers = servers
        self.fakes = fakes
        self.authority = authority
        self.refusals = refusals
    }

    func tunnelDecision(to host: String, port: Int) -> TunnelDecision {
        if server(at: host, port) != nil { return .open }
        guard let (party, _) = fakes.providers.host(host),
            let server = servers.first(where: { $0.party == party })
        else {
            let refusal = InterceptionRefusal(destination: "\(host):\(port)", reason: .unknownHost)
            refusals.note(refusal)
            return .refused(refusal)
        }
        return server.isRefusing ? .unreachable : .open
    }

    func answer(_ request: HTTPMessage.Request, at entryPoint: EntryPoint) -> HTTPHost.HostResponse
    {
        if let response = SelfCheck.response(to: request) { return .completeResponse(response) }
        let (host, port) = destination(of: request, entryPoint)
        switch route(host, port, request) {
        case .fake(let server, let target):
            guard !server.isRefusing else { return .reset }
            var request = request
            request.target = target
            return FakeServer.answer(request, server.party, fakes)
        case .refused(let reason):
            let refusal = InterceptionRefusal(destination: "\(host):\(port)", reason: reason)
            refusals.note(refusal)
            return .completeResponse(Self.response(refusal))
        }
    }

    static func response(_ refusal: InterceptionRefusal) -> HTTPMessage.Response {
        HTTPMessage.Response(
            403,
            fields: [HTTPMessage.Field("content-type", "text/plain; charset=utf-8")],
            body: Array("Assay: \(refusal.text)\n".utf8)
        )
    }

    private func route(_ host: String, _ port: Int, _ request: HTTPMessage.Request) -> CallRoute {
        if let server = server(at: host, port) { return .fake(server, target: request.target) }
        guard let (party, service) = fakes.providers.host(host),
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

    private func destination(of request: HTTPMessage.Request, _ entryPoint: EntryPoint) -> (
        String, Int
    ) {
        switch entryPoint {
        case .host(let host, let port): (host, port)
        case .direct: HostAndPort.split(request[field: "host"] ?? "", port: 80)
        }
    }

    /// Returns the TLS context with which the proxy acts as a host.
    ///
    /// The context has a certificate for the name of the host.
    func context(for host: String) throws -> NIOSSLContext {
        if let context = tlsContexts.withLock({ $0[host] }) { return context }
        let leafCertificate = try NIOSSLCertificate(
            bytes: Array(authority.certificate(of: host).utf8),
            format: .pem
        )
        let leafKey = try NIOSSLPrivateKey(
            bytes: Array(authority.leafPrivateKey.exposed.utf8),
            format: .pem
        )
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(leafCertificate)],
            privateKey: .privateKey(leafKey)
        )
        configuration.applicationProtocols = ["http/1.1"]
        let context = try NIOSSLContext(configuration: configuration)
        tlsContexts.withLock { tlsContexts in
            if tlsContexts.count >= Self.tlsContextMax { tlsContexts.removeAll() }
            tlsContexts[host] = context
        }
        return context
    }

    /// A function that returns the time for the `Date` header of responses.
    var now: @Sendable () -> Instant {
        let fakes = fakes
        return { fakes.now }
    }
}

/// Parses the host and port of a request.
enum HostAndPort {
    /// Splits `host`, `host:port` or `[address]:port` into host and port; `port` is the default
    /// port.
    static func split(_ text: String, port: Int) -> (host: String, port: Int) {
        let colonIndex = text.lastIndex(of: ":")
        guard let colonIndex, text.last != "]",
            let givenPort = Int(text[text.index(after: colonIndex)...])
        else {
            return (text.lowercased(), port)
        }
        return (text[..<colonIndex].lowercased(), givenPort)
    }
}
