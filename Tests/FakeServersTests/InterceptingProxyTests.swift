import Contracts
import FakeServers
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Providers
import TestBackend
import Testing
import TestSupport
import Values

/// What clients do before a proxy that stands in for the services, and what hostile ones try.
@Suite("Intercepting proxy")
struct InterceptingProxyTests {
    private struct ProxyFixture {
        let fakes: FakeRegistry
        let server: FakeServer
        let proxy: InterceptingProxy
        let authority: CertificateAuthority

        /// But for callers of other tests that look for a port which was closed and is the proxy's now.
        var refused: [InterceptionRefusal] {
            let strays = ["127.0.0.1:\(proxy.port)", "localhost:\(proxy.port)"]
            return proxy.refusals.all.map(\.refusal).filter { !strays.contains($0.destination) }
        }
    }

    private func with(_ body: (ProxyFixture) async throws -> Void) async throws {
        let now = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        let fakes = FakeRegistry(
            journalBytesMax: 64 << 20,
            wallClock: { now }
        )
        let server = try await FakeServer(.revenueCat, fakes: fakes)
        let authority = try CertificateAuthority(at: now)
        let proxy = try await InterceptingProxy(
            before: [server],
            fakes: fakes,
            authority: authority,
            refusals: InterceptionRefusalCounts(),
            // Between two steps of a test another thousand may have their turn.
            idleTimeout: SettleTimeout.hang
        )
        try await body(
            ProxyFixture(fakes: fakes, server: server, proxy: proxy, authority: authority)
        )
        await proxy.stop()
        await server.stop()
    }

    private static func get(_ target: String, host: String) -> String {
        "GET \(target) HTTP/1.1\r\nhost: \(host)\r\nconnection: close\r\n\r\n"
    }

    // MARK: Plain

    @Test(
        "a call to a service in the clear reaches its fake",
        arguments: [
            "http://api.revenuecat.com/v1/subscribers/ada", "/v1/subscribers/ada",
            "https://API.RevenueCat.com/v1/subscribers/ada",
        ]
    )
    func takesPlainCalls(target: String) async throws {
        try await with { fixture in
            let connection = try RawConnection(port: fixture.proxy.port)
            await connection.send(Self.get(target, host: "api.RevenueCat.com"))
            let reading = await connection.read()
            #expect(reading.text.contains("\"original_app_user_id\":\"ada\""))
            #expect(fixture.fakes.requests.map(\.target) == ["/v1/subscribers/ada"])
            #expect(fixture.refused.isEmpty)
        }
    }

    @Test(
        "a host that is not a service is refused and reported",
        arguments: [
            ("http://api.stripe.com/v1/charges", "api.stripe.com", "api.stripe.com:80"),
            ("http://example.com:8443/", "example.com:8443", "example.com:8443"),
            ("/latest/meta-data", "169.254.169.254", "169.254.169.254:80"),
            ("/computeMetadata/v1", "metadata.google.internal", "metadata.google.internal:80"),
            ("/", "[fe80::1]", "[fe80::1]:80"), ("/", "", ":80"),
            // The fake sends only: whoever asks it anything asks the service.
            ("/", "api.onesignal.com", "api.onesignal.com:80"),
        ]
    )
    func refuses(target: String, host: String, destination: String) async throws {
        try await with { fixture in
            let connection = try RawConnection(port: fixture.proxy.port)
            await connection.send(Self.get(target, host: host))
            let reading = await connection.read()
            #expect(reading.text.hasPrefix("HTTP/1.1 403 "))
            #expect(reading.text.contains("Assay: the call to \(destination) was refused"))
            #expect(
                fixture.refused == [
                    InterceptionRefusal(destination: destination, reason: .unknownHost)
                ]
            )
            #expect(fixture.fakes.requests.isEmpty)
        }
    }

    @Test func `the metadata address of a cloud is called that`() {
        for destination in ["169.254.169.254:80", "metadata.google.internal:80", "[fe80::1]:80"] {
            #expect(
                InterceptionRefusal(destination: destination, reason: .unknownHost).text.contains(
                    "of a cloud"
                )
            )
        }
        let other = InterceptionRefusal(destination: "api.stripe.com:443", reason: .unknownHost)
        #expect(other.text.contains("--allow-host api.stripe.com allows"))
    }

    // MARK: Tunnels

    @Test(
        "a tunnel to another host is refused",
        arguments: [
            "api.stripe.com:443", "169.254.169.254:80", "127.0.0.1:22", "[::1]:443", "localhost",
            "api.revenuecat.com.evil.example:443", "xapi.revenuecat.com:443",
        ]
    )
    func refusesTunnel(authority: String) async throws {
        try await with { fixture in
            let connection = try RawConnection(port: fixture.proxy.port)
            await connection.send("CONNECT \(authority) HTTP/1.1\r\nhost: \(authority)\r\n\r\n")
            let reading = await connection.read()
            #expect(reading.text.hasPrefix("HTTP/1.1 403 "))
            #expect(reading.isOver)
            #expect(fixture.refused.map(\.reason) == [.unknownHost])
        }
    }

    @Test func `a tunnel may come in pieces, and its TLS with it`() async throws {
        try await with { fixture in
            let connection = try RawConnection(port: fixture.proxy.port)
            for piece in ["CON", "NECT api.revenuecat.com:443 HT", "TP/1.1\r\n", "\r\n"] {
                await connection.send(piece)
            }
            let opened = await connection.read(until: "\r\n\r\n")
            #expect(opened.text == "HTTP/1.1 200 Connection established\r\n\r\n")
            // Nothing secret needs TLS here, and some clients do without.
            await connection.send(Self.get("/v1/subscribers/ada", host: "whoever.example"))
            #expect(await connection.read().text.hasPrefix("HTTP/1.1 20"))
            #expect(fixture.fakes.requests.map(\.target) == ["/v1/subscribers/ada"])
        }
    }

    @Test func `a client that goes through the proxy on this machine means the fake`() async throws
    {
        try await with { fixture in
            let connection = try RawConnection(port: fixture.proxy.port)
            await connection.send(
                Self.get(
                    "http://127.0.0.1:\(fixture.server.port)/v1/subscribers/ada",
                    host: "127.0.0.1:\(fixture.server.port)"
                )
            )
            #expect(await connection.read().text.hasPrefix("HTTP/1.1 20"))
            #expect(fixture.refused.isEmpty)
        }
    }

    @Test(
        "bytes that are neither HTTP nor TLS are closed and reported",
        arguments: [
            ([0x16, 0x03, 0x01, 0x00, 0x05, 1, 2, 3, 4, 5], InterceptionRefusal.Reason?.none),
            (Array("\u{0}\u{1}\u{2}".utf8), .malformedData),
            (Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8), .http2),
            (Array("CONNECT  HTTP/1.1\r\n\r\n".utf8), .malformedData),
            (Array("CONNECT api.revenuecat.com:443 FTP/1.1\r\n\r\n".utf8), .malformedData),
            (Array(("CONNECT " + String(repeating: "a", count: 20_000)).utf8), .malformedData),
        ]
    )
    func closes(bytes: [UInt8], reason: InterceptionRefusal.Reason?) async throws {
        try await with { fixture in
            let connection = try RawConnection(port: fixture.proxy.port)
            await connection.send(bytes)
            connection.finish()
            #expect(await connection.read().isOver)
            if let reason { #expect(fixture.refused.map(\.reason) == [reason]) }
            #expect(fixture.fakes.requests.isEmpty)
        }
    }

    @Test func `a thousand connections at once are all answered`() async throws {
        try await with { fixture in
            let connections = try (0..<1000).map { _ in try RawConnection(port: fixture.proxy.port)
            }
            let request = "CONNECT api.stripe.com:443 HTTP/1.1\r\n\r\n"
            for connection in connections { await connection.send(request) }
            for connection in connections {
                #expect(await connection.read().text.hasPrefix("HTTP/1.1 403 "))
            }
            #expect(fixture.proxy.refusals.all.map(\.count) == [1000])
        }
    }

    @Test func `kinds of refusals are bounded, and none is lost from the count`() {
        let told = Locked(0)
        let refusals = InterceptionRefusalCounts { _ in told.withLock { $0 += 1 } }
        for number in 0..<500 {
            for _ in 0..<2 {
                refusals.note(
                    InterceptionRefusal(destination: "host-\(number):443", reason: .unknownHost)
                )
            }
        }
        #expect(told.withLock { $0 } == 200)
        #expect(refusals.lines.count == 201)
        #expect(refusals.lines.first?.hasSuffix("(2 times)") == true)
        #expect(refusals.lines.last == "600 more calls were refused")
    }

    // MARK: TLS

    /// Speaks TLS with the proxy as a client does that trusts those.
    private func secure(
        _ fixture: ProxyFixture,
        name: String?,
        trusting roots: NIOSSLTrustRoots,
        protocols: [String] = [],
        connect: Bool = false,
        request: String
    ) async throws -> String {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = roots
        configuration.applicationProtocols = protocols
        if name == nil { configuration.certificateVerification = .noHostnameVerification }
        let context = try NIOSSLContext(configuration: configuration)
        let answer = Locked<(text: String, error: String?)>(("", nil))
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(
                        NIOSSLClientHandler(context: context, serverHostname: name)
                    )
                    try pipeline.addHandler(Listener(answer))
                }
            }
            .connect(host: "127.0.0.1", port: fixture.proxy.port).get()
        channel.writeAndFlush(ByteBuffer(string: request), promise: nil)
        try? await channel.closeFuture.get()
        return try answer.withLock { answer in
            if answer.text.isEmpty, let error = answer.error { throw TLSFailure(text: error) }
            return answer.text
        }
    }

    /// Asks for a subscriber as a backend does.
    private func ask(_ fixture: ProxyFixture) async throws -> String {
        try await secure(
            fixture,
            name: "api.revenuecat.com",
            trusting: try Self.roots(fixture.authority),
            request: Self.get("/v1/subscribers/ada", host: "api.revenuecat.com")
        )
    }

    private struct TLSFailure: Error { let text: String }

    private final class Listener: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let answer: Locked<(text: String, error: String?)>

        init(_ answer: Locked<(text: String, error: String?)>) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let buffer = unwrapInboundIn(data)
            answer.withLock { $0.text += String(decoding: buffer.readableBytesView, as: UTF8.self) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            answer.withLock { $0.error = "\(error)" }
            context.close(promise: nil)
        }
    }

    private static func roots(_ authority: CertificateAuthority) throws -> NIOSSLTrustRoots {
        .certificates([
            try NIOSSLCertificate(bytes: Array(authority.certificate.utf8), format: .pem)
        ])
    }

    @Test(arguments: ["api.revenuecat.com", "API.RevenueCat.COM"])
    func `a client that trusts the authority takes the fake for the service`(
        name: String
    ) async throws {
        try await with { fixture in
            let answer = try await secure(
                fixture,
                name: name,
                trusting: try Self.roots(fixture.authority),
                protocols: ["h2", "http/1.1"],
                request: Self.get("/v1/subscribers/ada", host: name)
            )
            #expect(answer.contains("\"original_app_user_id\":\"ada\""))
            #expect(fixture.refused.isEmpty)
        }
    }

    @Test func `a call to an unknown host over TLS is refused with an explanation`() async throws {
        try await with { fixture in
            let answer = try await secure(
                fixture,
                name: "api.stripe.com",
                trusting: try Self.roots(fixture.authority),
                request: Self.get("/v1/charges", host: "api.revenuecat.com")
            )
            #expect(answer.contains("Assay: the call to api.stripe.com:443 was refused"))
            #expect(fixture.fakes.requests.isEmpty)
        }
    }

    @Test func `a client that does not trust the CA is reported`() async throws {
        try await with { fixture in
            await #expect(throws: TLSFailure.self) {
                try await secure(
                    fixture,
                    name: "api.revenuecat.com",
                    trusting: .certificates([]),
                    request: Self.get("/v1/subscribers/ada", host: "api.revenuecat.com")
                )
            }
            let isTold = try await SettleTimeout.until { !fixture.refused.isEmpty }
            #expect(isTold)
            #expect(
                fixture.refused == [
                    InterceptionRefusal(
                        destination: "api.revenuecat.com:443",
                        reason: .untrustedCertificate
                    )
                ]
            )
            #expect(fixture.fakes.requests.isEmpty)
        }
    }

    @Test func `TLS without a server name is closed and reported`() async throws {
        try await with { fixture in
            _ = try? await secure(
                fixture,
                name: nil,
                trusting: try Self.roots(fixture.authority),
                request: Self.get("/", host: "api.revenuecat.com")
            )
            #expect(fixture.refused.map(\.reason) == [.missingServerName])
        }
    }

    @Test func `a fake that refuses connections does so under its own name too`() async throws {
        try await with { fixture in
            try await fixture.server.setRefusing(true)
            await #expect(throws: TLSFailure.self) { try await ask(fixture) }
            let connection = try RawConnection(port: fixture.proxy.port)
            await connection.send("CONNECT api.revenuecat.com:443 HTTP/1.1\r\n\r\n")
            let reading = await connection.read()
            #expect(reading.isOver && reading.text.isEmpty)
            #expect(fixture.fakes.requests.isEmpty)
        }
    }

    @Test func `a planned reset ends a TLS connection without a close notification`() async throws {
        try await with { fixture in
            fixture.fakes.edit("") { services, _ in
                services.plans[.revenueCat] = ProviderPlan(
                    provider: .revenueCat,
                    responses: [.reset],
                    includesReads: true
                )
            }
            // A farewell would be an end as meant, and no failure.
            await #expect(throws: TLSFailure.self) { try await ask(fixture) }
        }
    }
}
