import FakeServers
import NIOCore
import Providers
import TestBackend
import Testing
import TestSupport
import Values

/// The options of connections: a refused one is a fault of Assay with the option's name.
@Suite("Options of connections")
struct ConnectionOptionTests {
    private struct RefusedOption: Error, CustomStringConvertible {
        let description = "not permitted (errno: 1)"
    }

    private static let refused = ConnectionOption("SO_MADE_UP") {
        $0.eventLoop.makeFailedFuture(RefusedOption())
    }

    private func fakes() -> FakeRegistry {
        FakeRegistry(
            journalBytesMax: 1 << 20,
            wallClock: { Instant(milliseconds: 1_790_000_000_000) }
        )
    }

    private static let get = "GET /apps HTTP/1.1\r\nhost: x\r\n\r\n"
    private static let fault = "cannot set SO_MADE_UP on a connection: not permitted (errno: 1)"

    @Test func `a fake whose option is refused names it, and does not drop the connection`()
        async throws
    {
        let fakes = fakes()
        let server = try await FakeServer(.oneSignal, fakes: fakes, options: [Self.refused])
        let connection = try RawConnection(port: server.port)
        await connection.send(Self.get)
        let reading = await connection.read()
        #expect(reading.text.hasPrefix("HTTP/1.1 500 "))
        #expect(reading.text.contains(Self.fault))
        #expect(reading.isOver)
        #expect(fakes.journal.notes == [Self.fault])
        #expect(fakes.requests.isEmpty)
        await server.stop()
    }

    @Test func `the intercepting proxy whose option is refused names it`() async throws {
        let fakes = fakes()
        let proxy = try await InterceptingProxy(
            before: [],
            fakes: fakes,
            authority: try CertificateAuthority(at: Instant(milliseconds: 1_790_000_000_000)),
            refusals: InterceptionRefusalCounts(),
            options: [Self.refused]
        )
        let connection = try RawConnection(port: proxy.port)
        await connection.send(Self.get)
        let reading = await connection.read()
        #expect(reading.text.contains(Self.fault))
        #expect(fakes.journal.notes == [Self.fault])
        await proxy.stop()
    }

    @Test func `notes are kept once each, and not without end`() {
        let journal = LiveJournal(bytesMax: 1 << 20)
        for number in 0..<150 { for _ in 0..<2 { journal.note("fault \(number)") } }
        #expect(journal.notes.count == 101)
        #expect(journal.notes.first == "fault 0")
        #expect(journal.notes.last == "100 more notes were dropped")
    }
}
