import FakeServers
import Providers
import Recording
import TestBackend
import Testing
import TestSupport
import Values

/// The recorder passes messages on unchanged, and keeps them in the journal.
@Suite("Capturing proxy")
struct ProxyTests {
    /// A proxy in front of a backend, and its journal.
    private struct ProxyFixture {
        let journal = LiveJournal(bytesMax: 1 << 24)
        let proxy: CapturingProxy
        let backend: BackendDouble

        init(
            bodyMax: Int = 1 << 20,
            hostField: String? = nil,
            _ respond: @escaping BackendDouble.Handler = { _, _ in .text(ProxyTests.ok) }
        ) async throws {
            backend = try BackendDouble.listening(respond)
            proxy = try await CapturingProxy(
                host: "127.0.0.1",
                port: 0,
                context: CapturingProxy.Context(
                    target: .init(
                        host: "127.0.0.1",
                        port: backend.port,
                        isSecure: false,
                        hostField: hostField
                    ),
                    journal: journal,
                    bodyMax: bodyMax,
                    now: { Instant(milliseconds: 1000) },
                    party: { $0.path == "/hook" ? .revenueCat : .app }
                )
            )
        }

        func end() async {
            await proxy.stop()
            await backend.close()
        }

        /// Sends bytes, and returns everything that comes until the connection closes.
        func send(_ text: String) async throws -> String {
            let connection = try RawConnection(port: proxy.port)
            await connection.send(text)
            return await connection.read().text
        }

        /// The requests as the backend received them.
        var received: [String] {
            backend.arrivals.map { String(decoding: $0.bytes, as: UTF8.self) }
        }

        /// The exchanges in the journal, once this number of them is complete.
        func exchanges(_ count: Int) async throws -> [Exchange] {
            let isDone = try await SettleTimeout.until {
                let found = journal.read { $0.exchanges }
                return found.count == count && found.allSatisfy { $0.completed != nil }
            }
            #expect(isDone)
            return journal.read { $0.exchanges }
        }
    }

    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test func `a request and its response pass through unchanged and are recorded`() async throws {
        let stand = try await ProxyFixture { _, _ in
            .text(
                "HTTP/1.1 201 Created\r\nX-Odd-CASE: a\r\nx-odd-case: b\r\nContent-Length: 5\r\n\r\nhello"
            )
        }
        let request =
            "POST /hook?x=%20y HTTP/1.1\r\nHOST: shop.example\r\nX-A: 1\r\nx-a: 2\r\n"
            + "Content-Length: 7\r\nConnection: close\r\n\r\n{\"a\":1}"
        let answer = try await stand.send(request)
        #expect(answer.hasPrefix("HTTP/1.1 201 Created\r\nX-Odd-CASE: a\r\nx-odd-case: b\r\n"))
        #expect(answer.hasSuffix("\r\n\r\nhello"))
        #expect(stand.received == [request], "not a byte was changed on the way")
        let exchange = try #require(try await stand.exchanges(1).first)
        #expect(exchange.from == .revenueCat && exchange.to == .backend)
        #expect(exchange.request.method == "POST" && exchange.request.target == "/hook?x=%20y")
        #expect(exchange.request.fields.prefix(3).map(\.name) == ["HOST", "X-A", "x-a"])
        #expect(exchange.request.body == Array("{\"a\":1}".utf8))
        #expect(exchange.response?.status == 201)
        #expect(exchange.response?.body == Array("hello".utf8))
        #expect(exchange.at == Instant(milliseconds: 1000))
        await stand.end()
    }

    @Test func `the backend is asked for its own name where it has one`() async throws {
        let stand = try await ProxyFixture(hostField: "api.example:8443")
        _ = try await stand.send("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        let lines = try #require(stand.received.first).lowercased()
        #expect(lines.contains("host: api.example:8443") && !lines.contains("host: 127.0.0.1"))
        let exchange = try #require(try await stand.exchanges(1).first)
        #expect(exchange.request[field: "host"] == "127.0.0.1", "what the caller said is told")
        await stand.end()
    }

    @Test func `many requests of one connection are many exchanges in their order`() async throws {
        let stand = try await ProxyFixture { _, arrival in
            .response(HTTPMessage.Response(200, body: Array(arrival.request.target.utf8)))
        }
        let requests = (0..<30).map { index in
            "GET /\(index) HTTP/1.1\r\nHost: x\r\n"
                + (index == 29 ? "Connection: close\r\n" : "") + "\r\n"
        }
        _ = try await stand.send(requests.joined())
        let exchanges = try await stand.exchanges(30)
        #expect(exchanges.map(\.request.target) == (0..<30).map { "/\($0)" })
        #expect(exchanges.map { $0.response?.body } == (0..<30).map { Array("/\($0)".utf8) })
        await stand.end()
    }

    @Test("bodies in pieces pass in both directions", arguments: [1, 2000, 70_000])
    func chunked(count: Int) async throws {
        let body = String(repeating: "x", count: count)
        let chunks =
            "Transfer-Encoding: chunked\r\n\r\n\(String(count, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
        let stand = try await ProxyFixture { _, _ in .text("HTTP/1.1 200 OK\r\n" + chunks) }
        let answer = try await stand.send(
            "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + chunks
        )
        #expect(answer.contains(body.prefix(60)))
        let exchange = try #require(try await stand.exchanges(1).first)
        #expect(exchange.response?.body.count == count)
        // A body that was longer than what is held back is read to its end all the same.
        if count < 65_536 { #expect(exchange.request.body.count == count) }
        await stand.end()
    }

    @Test func `a body beyond the bound passes whole, and is kept as its digest`() async throws {
        let long = String(repeating: "0123456789", count: 500)
        let stand = try await ProxyFixture(bodyMax: 1000) { _, _ in
            .response(HTTPMessage.Response(200, body: Array(long.utf8)))
        }
        let answer = try await stand.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(answer.hasSuffix("\r\n\r\n" + long))
        let response = try #require(try await stand.exchanges(1).first?.response)
        let omitted = response[field: ":assay-omitted"]
        #expect(omitted == "5000 " + Digest.sha256(Array(long.utf8)))
        #expect(response.body == [0])
        await stand.end()
    }

    @Test("a body of the bound's very length is kept", arguments: [999, 1000, 1001])
    func bound(count: Int) async throws {
        let body = String(repeating: "y", count: count)
        let stand = try await ProxyFixture(bodyMax: 1000) { _, _ in
            .response(HTTPMessage.Response(200, body: Array(body.utf8)))
        }
        _ = try await stand.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        let response = try #require(try await stand.exchanges(1).first?.response)
        #expect((response[field: ":assay-omitted"] == nil) == (count <= 1000))
        #expect(response.body.count == (count <= 1000 ? count : 1))
        await stand.end()
    }

    /// A caller that waits for leave, and one whose body is long, are on their way before all of it
    /// is known; a body of another kind than JSON is what most of them send.
    @Test(
        "a body is written down whole, whenever it came",
        arguments: [(10, "Expect: 100-continue\r\n"), (70_000, ""), (400_000, "")]
    )
    func whole(count: Int, field: String) async throws {
        let stand = try await ProxyFixture()
        let body = "{\"password\":\"" + String(repeating: "p", count: count) + "\"}"
        _ = try await stand.send(
            "POST /hook HTTP/1.1\r\nHost: x\r\n\(field)Content-Length: \(body.utf8.count)\r\n"
                + "Content-Type: application/json\r\nConnection: close\r\n\r\n\(body)"
        )
        let exchange = try #require(try await stand.exchanges(1).first)
        #expect(exchange.request.body == Array(body.utf8))
        #expect(exchange.request[field: ":assay-later"] == nil)
        #expect(exchange.response?.status == 200)
        await stand.end()
    }

    @Test func `a long body beyond the bound is its length and its digest`() async throws {
        let stand = try await ProxyFixture(bodyMax: 100_000)
        let body = String(repeating: "z", count: 200_000)
        _ = try await stand.send(
            "POST /hook HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n"
                + "Connection: close\r\n\r\n\(body)"
        )
        let request = try #require(try await stand.exchanges(1).first?.request)
        #expect(request[field: ":assay-omitted"] == "200000 " + Digest.sha256(Array(body.utf8)))
        #expect(request.body == [0])
        await stand.end()
    }

    // MARK: What goes wrong

    @Test func `a backend that hangs up hangs up on the caller too`() async throws {
        let stand = try await ProxyFixture { _, _ in .hangUp }
        let answer = try await stand.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(answer.isEmpty, "the recorder makes up no answer")
        let exchange = try #require(try await stand.exchanges(1).first)
        guard case .failed(.closed, let text) = exchange.outcome else {
            return #expect(Bool(false), "\(exchange.outcome)")
        }
        #expect(text.contains("without a complete response"))
        await stand.end()
    }

    @Test func `an incomplete response is recorded as a failure`() async throws {
        let stand = try await ProxyFixture { _, _ in
            .text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this", thenHangsUp: true)
        }
        let answer = try await stand.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 200 OK"), "what came is passed on")
        let exchange = try #require(try await stand.exchanges(1).first)
        guard case .failed(.closed, _) = exchange.outcome else {
            return #expect(Bool(false), "\(exchange.outcome)")
        }
        await stand.end()
    }

    @Test func `a backend that is not there is a 502 that says so`() async throws {
        let stand = try await ProxyFixture()
        let port = stand.backend.port
        await stand.backend.close()
        let answer = try await stand.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 502 "))
        #expect(answer.hasSuffix("nothing is listening there\n"))
        let exchange = try #require(try await stand.exchanges(1).first)
        guard case .failed(.refused, let text) = exchange.outcome else {
            return #expect(Bool(false), "\(exchange.outcome)")
        }
        #expect(text.contains("127.0.0.1:\(port)"))
        await stand.end()
    }

    @Test func `a caller who disconnects leaves an exchange without a response`() async throws {
        let (isOver, end) = AsyncStream.makeStream(of: Void.self)
        let stand = try await ProxyFixture { _, _ in
            // The response comes after the caller has disconnected.
            for await _ in isOver {}
            return .status(200)
        }
        var connection: RawConnection? = try RawConnection(port: stand.proxy.port)
        await connection?.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await SettleTimeout.until { !stand.backend.arrivals.isEmpty })
        // The last reference closes the connection.
        connection = nil
        let exchange = try #require(try await stand.exchanges(1).first)
        end.finish()
        #expect(exchange.outcome == .failed(.closed, "the caller disconnected"))
        await stand.end()
    }

    @Test func `a port in use is reported as in use`() async throws {
        let backend = try BackendDouble.listening()
        let port = backend.port
        let journal = LiveJournal(bytesMax: 1 << 20)
        do throws(CapturingProxy.StartError) {
            _ = try await CapturingProxy(
                host: "127.0.0.1",
                port: port,
                context: CapturingProxy.Context(
                    target: .init(host: "127.0.0.1", port: 1, isSecure: false, hostField: nil),
                    journal: journal,
                    bodyMax: 1,
                    now: { Instant(milliseconds: 0) },
                    party: { _ in .app }
                )
            )
            Issue.record("two listen on one port")
        } catch {
            #expect(
                error.description.hasSuffix(
                    "127.0.0.1:\(port) for the recorder: the port is in use"
                )
            )
        }
        await backend.close()
    }
}
