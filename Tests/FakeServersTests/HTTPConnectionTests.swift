import FakeServers
import Providers
import TestBackend
import Testing
import TestSupport
import Values

/// What a caller may do with a connection beyond one request after the other (RFC 9110, RFC 9112).
@Suite("Connections of a fake")
struct HTTPConnectionTests {
    private func with(_ body: (FakeServer, FakeRegistry) async throws -> Void) async throws {
        let fakes = FakeRegistry(
            journalBytesMax: 64 << 20,
            wallClock: { Instant(milliseconds: 784_111_777_000) }
        )
        let server = try await FakeServer(.oneSignal, fakes: fakes, idleTimeout: SettleTimeout.hang)
        try await body(server, fakes)
        await server.stop()
    }

    private static func get(_ target: String, _ more: String = "") -> String {
        "GET \(target) HTTP/1.1\r\nhost: x\r\n\(more)\r\n"
    }

    @Test func `requests sent at once are answered in their order`() async throws {
        try await with { server, fakes in
            let connection = try RawConnection(port: server.port)
            await connection.send((0..<40).map { Self.get("/apps/\($0)") }.joined())
            connection.finish()
            let reading = await connection.read()
            #expect(reading.isOver)
            #expect(reading.text.ranges(of: "HTTP/1.1 ").count == 40)
            let targets = fakes.requests.map(\.target)
            #expect(targets == (0..<40).map { "/apps/\($0)" })
        }
    }

    @Test func `a half-closed connection still receives its response`() async throws {
        try await with { server, _ in
            let connection = try RawConnection(port: server.port)
            await connection.send(Self.get("/apps/1"))
            connection.finish()
            let reading = await connection.read()
            #expect(reading.text.hasPrefix("HTTP/1.1 "))
            #expect(reading.isOver)
        }
    }

    @Test(
        "a connection that the caller does not keep is closed",
        arguments: [
            "GET /apps/1 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
            "GET /apps/1 HTTP/1.0\r\n\r\n",
        ]
    )
    func closes(request: String) async throws {
        try await with { server, _ in
            let connection = try RawConnection(port: server.port)
            await connection.send(request)
            let reading = await connection.read()
            #expect(reading.isOver)
            #expect(reading.text.contains("connection: close\r\n"))
        }
    }

    @Test func `bytes after the last request are ignored`() async throws {
        try await with { server, fakes in
            let connection = try RawConnection(port: server.port)
            await connection.send(
                Self.get("/apps/1") + Self.get("/apps/2", "connection: close\r\n")
                    + Self.get("/apps/3")
            )
            let reading = await connection.read()
            #expect(reading.isOver)
            #expect(reading.text.ranges(of: "HTTP/1.1 ").count == 2)
            try await RawConnection.settle(port: server.port)
            #expect(fakes.requests.map(\.target).filter { $0 != "/" } == ["/apps/1", "/apps/2"])
        }
    }

    @Test func `data sent after a refused body is ignored`() async throws {
        try await with { server, fakes in
            let connection = try RawConnection(port: server.port)
            let size = 11 << 20
            await connection.send(
                "POST /apps/1 HTTP/1.1\r\nhost: x\r\ncontent-length: \(size)\r\n\r\n"
            )
            let body = [UInt8](repeating: 0x20, count: size)
            await connection.send(body + Array(Self.get("/apps/2").utf8))
            let reading = await connection.read()
            #expect(reading.isOver)
            #expect(reading.text.ranges(of: "HTTP/1.1 413").count == 1)
            // The answer leaves before the connection's thread comes to what stands behind it.
            try await RawConnection.settle(port: server.port)
            #expect(!fakes.requests.map(\.target).contains("/apps/2"))
        }
    }

    @Test func `HEAD has the length of the body and not the body`() async throws {
        try await with { server, _ in
            let connection = try RawConnection(port: server.port)
            await connection.send("HEAD /apps/1 HTTP/1.1\r\nhost: x\r\n\r\n")
            connection.finish()
            let text = await connection.read().text
            #expect(text.contains("content-length: "))
            #expect(text.hasSuffix("\r\n\r\n"))
        }
    }

    @Test func `100 Continue is sent`() async throws {
        try await with { server, fakes in
            let connection = try RawConnection(port: server.port)
            await connection.send(
                "POST /notifications HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\n"
                    + "content-length: 2\r\n\r\n"
            )
            let leave = await connection.read(until: "\r\n\r\n").text
            #expect(leave == "HTTP/1.1 100 Continue\r\n\r\n")
            #expect(fakes.requests.isEmpty)
            await connection.send("{}")
            connection.finish()
            #expect(await connection.read().text.hasPrefix("HTTP/1.1 4"))
        }
    }

    @Test func `a body in chunks is one body`() async throws {
        try await with { server, fakes in
            let connection = try RawConnection(port: server.port)
            await connection.send(
                "POST /notifications HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
                    + "3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n"
            )
            connection.finish()
            _ = await connection.read()
            let request = fakes.requests.first
            #expect(request?.body == Array("{\"a\":1}".utf8))
        }
    }

    @Test func `an absolute request target is accepted, and responses have a date`() async throws {
        try await with { server, fakes in
            let connection = try RawConnection(port: server.port)
            await connection.send(Self.get("http://api.onesignal.com/apps/1?x=1"))
            connection.finish()
            let text = await connection.read().text
            #expect(text.contains("date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"))
            let request = fakes.requests.first
            #expect(request?.target == "/apps/1?x=1")
        }
    }

    @Test func `a port that is closed lets the idle go`() async throws {
        try await with { server, _ in
            let idle = try RawConnection(port: server.port)
            await idle.send(Self.get("/apps/1"))
            _ = await idle.read(until: "}")
            await server.stop()
            #expect(await idle.read().isOver)
        }
    }
}

extension FakeRegistry {
    /// What callers without a namespace have asked.
    var requests: [HTTPMessage.Request] {
        journal.read { $0.exchanges(in: "") }.map(\.request)
    }
}
