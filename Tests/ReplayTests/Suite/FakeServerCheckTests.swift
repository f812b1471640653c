import FakeServers
internal import Providers
import Testing
import TestSupport
import Values

@testable import Replay

/// The call to each fake before a backend is judged.
@Suite("Check of our own fakes")
struct FakeCheckTests {
    private static func fakes() -> FakeRegistry {
        FakeRegistry(
            journalBytesMax: 1 << 20,
            wallClock: { Instant(milliseconds: 1_790_000_000_000) }
        )
    }

    @Test func `fakes that respond pass, and the check is not journaled`() async throws {
        let fakes = Self.fakes()
        let servers = [
            try await FakeServer(.revenueCat, fakes: fakes),
            try await FakeServer(
                .oneSignal,
                fakes: fakes,
                host: "0.0.0.0",
                advertisedHost: "127.0.0.1"
            ),
            // Known to containers alone.
            try await FakeServer(
                .firebase,
                fakes: fakes,
                host: "0.0.0.0",
                advertisedHost: "no-host.invalid"
            ),
        ]
        #expect(await FakeServerCheck.failure(of: servers, through: nil) == nil)
        #expect(fakes.journal.read { $0.exchanges.isEmpty })
        for server in servers { await server.stop() }
    }

    @Test func `a fake that is closed is named with its address`() async throws {
        // A server of another test may take the port as soon as the fake has left it.
        var texts: [String?] = []
        for _ in 0..<20 {
            let server = try await FakeServer(.oneSignal, fakes: Self.fakes())
            await server.stop()
            let text = await FakeServerCheck.failure(of: [server], through: nil)?.description
            let expected =
                "the fake onesignal does not respond at \(server.baseURL): the connection was refused"
            if text?.hasPrefix(expected) == true { return }
            texts.append(text)
        }
        Issue.record("no closed fake was reported: \(texts)")
    }

    @Test func `a host that leads elsewhere is an error of the configuration`() async throws {
        let other = try await FakeServer(.revenueCat, fakes: Self.fakes(), host: "127.0.0.2")
        // The other server responds at the advertised host and on the same port.
        let server = try await FakeServer(
            .oneSignal,
            fakes: Self.fakes(),
            port: other.port,
            advertisedHost: "127.0.0.2"
        )
        await other.stop()
        let error = try #require(await FakeServerCheck.failure(of: [server], through: nil))
        #expect(error.kind == .configuration)
        #expect(error.description.contains("it responds at http://127.0.0.1:\(server.port)"))
        #expect(error.description.contains("--advertise"))
        await server.stop()
    }

    @Test func `the proxy of an intercepted backend is called too`() async throws {
        let folder = try TemporaryFolder()
        let fakes = Self.fakes()
        let server = try await FakeServer(.oneSignal, fakes: fakes)
        let interception = try await Interception(
            before: [server],
            fakes: fakes,
            folder: folder.path,
            now: RealClock().wallTime,
            onRefusal: { _ in }
        )
        #expect(await FakeServerCheck.failure(of: [server], through: interception) == nil)
        await interception.stop()
        let error = try #require(await FakeServerCheck.failure(of: [server], through: interception))
        #expect(
            error.description.contains(
                "behind the intercepting proxy \(interception.proxy.baseURL)"
            )
        )
        await server.stop()
    }
}
