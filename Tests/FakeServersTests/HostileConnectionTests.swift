import FakeServers
import Providers
import Replay
import TestBackend
import Testing
import TestSupport
import Values

/// What reaches the port is not what a client library would send; the others go on all the same.
@Suite("Hostile connections", .serialized)
struct HostileConnectionTests {
    private static let parties: [Exchange.Party] = [
        .revenueCat, .oneSignal, .firebase, .purchasely, .despia,
    ]

    private func with(
        _ party: Exchange.Party,
        idleTimeout: Duration = SettleTimeout.hang,
        _ body: (Int) async throws -> Void
    ) async throws {
        try await with(party, idleTimeout: idleTimeout) { port, _ in try await body(port) }
    }

    private func with(
        _ party: Exchange.Party,
        idleTimeout: Duration = SettleTimeout.hang,
        _ body: (Int, FakeRegistry) async throws -> Void
    ) async throws {
        let fakes = FakeRegistry(
            // Nothing that was answered is forgotten.
            journalBytesMax: 1 << 30,
            wallClock: { Instant(milliseconds: 1_790_000_000_000) }
        )
        let server = try await FakeServer(party, fakes: fakes, idleTimeout: idleTimeout)
        try await body(server.port, fakes)
        // Whatever happened before: a decent client is answered.
        let client = BackendClient(base: server.baseURL, laneCount: 1)
        let outcome = await client.send(HTTPMessage.Request("GET", "/"), within: SettleTimeout.hang)
        guard case .answered = outcome else {
            Issue.record("the fake \(party) is gone: \(outcome)")
            return
        }
        await client.close()
        await server.stop()
    }

    private static let broken: [(name: String, bytes: [UInt8])] = [
        ("no HTTP", Array("\u{16}\u{3}\u{1}\u{2}nonsense\r\n\r\n".utf8)),
        ("empty", []),
        ("half a head", Array("POST /notifications HTTP/1.1\r\nhost: x\r\ncontent-le".utf8)),
        (
            "truncated body",
            Array("POST /notifications HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\n{".utf8)
        ),
        (
            "broken chunks",
            Array(
                ("POST /x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
                    + "zz\r\nhello\r\n0\r\n\r\n").utf8
            )
        ),
        (
            "a chunk that never comes",
            Array(
                ("POST /x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
                    + "ffffff\r\nhello").utf8
            )
        ),
        (
            "two lengths",
            Array(
                ("POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n"
                    + "hello").utf8
            )
        ),
        (
            "no UTF-8 in the path",
            Array("GET /".utf8) + [0xff, 0xfe] + Array(" HTTP/1.1\r\n\r\n".utf8)
        ),
        (
            "a head without end",
            Array("GET / HTTP/1.1\r\n".utf8)
                + Array(repeatElement(Array("x-filler: aaaaaaaaaaaaaaaa\r\n".utf8), count: 8000))
                .flatMap { $0 }
        ),
        (
            "no UTF-8 in the body",
            Array("POST /notifications HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\n".utf8)
                + [0xff, 0xfe, 0xfd, 0xfc]
        ),
    ]

    @Test("a broken request is answered or closed", arguments: parties)
    func closesBroken(party: Exchange.Party) async throws {
        try await with(party) { port in
            for (name, bytes) in Self.broken {
                let connection = try RawConnection(port: port)
                await connection.send(bytes)
                connection.finish()
                let answer = await connection.read().text
                #expect(
                    answer.isEmpty || answer.hasPrefix("HTTP/1.1 "),
                    "\(name): \(answer.prefix(60))"
                )
                #expect(!answer.hasPrefix("HTTP/1.1 5"), "\(name): \(answer.prefix(60))")
            }
        }
    }

    @Test("a body beyond the bound is refused", arguments: parties)
    func refusesOversized(party: Exchange.Party) async throws {
        try await with(party) { port in
            let connection = try RawConnection(port: port)
            let size = 16 << 20
            await connection.send("POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: \(size)\r\n\r\n")
            let chunk = [UInt8](repeating: 0x20, count: 1 << 20)
            for _ in 0..<16 where await connection.send(chunk) < chunk.count { break }
            connection.finish()
            let answer = await connection.read().text
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 413"), "\(answer.prefix(60))")
        }
    }

    @Test func `slow and silent clients are disconnected`() async throws {
        try await with(.oneSignal, idleTimeout: .milliseconds(300)) { port in
            let silent = try RawConnection(port: port)
            let slow = try RawConnection(port: port)
            await slow.send("POST /notifications HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{")
            // Both reads end because the fake closes, and not because nobody waits any longer.
            #expect(await silent.read().isOver)
            #expect(await slow.read().isOver)
        }
    }

    @Test func `a thousand idle connections do not block other clients`() async throws {
        try await with(.oneSignal) { port in
            var held: [RawConnection] = []
            for _ in 0..<1000 { held.append(try RawConnection(port: port)) }
            let client = BackendClient(base: "http://127.0.0.1:\(port)", laneCount: 1)
            let outcome = await client.send(
                HTTPMessage.Request("GET", "/"),
                within: SettleTimeout.hang
            )
            await client.close()
            guard case .answered = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(held.count == 1000)
        }
    }

    @Test func `a client that never reads does not block other clients`() async throws {
        try await with(.despia) { port, fakes in
            // Fill the record, so that an answer is larger than any socket's buffer.
            let filler = try RawConnection(port: port)
            let command = JSONValue.object([
                "command": .string("x://" + String(repeating: "y", count: 20_000))
            ]).text
            for _ in 0..<300 {
                await filler.send(
                    "POST /bridge HTTP/1.1\r\nhost: x\r\ncontent-length: \(command.utf8.count)\r\n\r\n"
                        + command
                )
                _ = await filler.read(until: "}")
            }
            let deaf = try RawConnection(port: port)
            let question = "GET /log?limit=1000 HTTP/1.1\r\nhost: x\r\n\r\n"
            await deaf.send(String(repeating: question, count: 50))
            // The first is being answered; whoever answers it has read the others too.
            #expect(await deaf.readSome().text.hasPrefix("HTTP/1.1 200"))
            try await RawConnection.settle(port: port)
            let client = BackendClient(base: "http://127.0.0.1:\(port)", laneCount: 1)
            for _ in 0..<20 {
                let outcome = await client.send(
                    HTTPMessage.Request("GET", "/device"),
                    within: SettleTimeout.hang
                )
                guard case .answered = outcome else {
                    Issue.record("\(outcome)")
                    break
                }
            }
            await client.close()
            // Of fifty the first is answered, and no other before somebody reads.
            let asked = fakes.journal.read { $0.exchanges(in: "") }.map(\.request.target)
            let count = asked.count { $0.hasPrefix("/log") }
            #expect((1...10).contains(count), "\(count) answers are kept")
        }
    }
}
