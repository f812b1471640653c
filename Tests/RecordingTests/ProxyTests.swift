import FakeServers
import Foundation
import Providers
import Recording
import Testing
import TestSupport
import Values

/// What passes through the recorder arrives as it was sent, and stands in the journal.
@Suite("Capturing proxy")
struct ProxyTests {
    /// A proxy in front of a port, and what it wrote down.
    private struct ProxyFixture {
        let journal = LiveJournal(bytesMax: 1 << 24)
        let proxy: CapturingProxy
        private let backend: RawBackend?

        init(
            _ backend: RawBackend,
            bodyMax: Int = 1 << 20,
            hostField: String? = nil
        ) async throws {
            try await self.init(backend.port, backend, bodyMax: bodyMax, hostField: hostField)
        }

        init(
            _ port: Int,
            _ backend: RawBackend? = nil,
            bodyMax: Int = 1 << 20,
            hostField: String? = nil
        ) async throws {
            self.backend = backend
            proxy = try await CapturingProxy(
                host: "127.0.0.1",
                port: 0,
                context: CapturingProxy.Context(
                    target: .init(
                        host: "127.0.0.1",
                        port: port,
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
            withExtendedLifetime(backend) {}
        }

        /// Sends bytes and takes what comes until the connection closes.
        func send(_ text: String) async throws -> String {
            let port = proxy.port
            return try await RawSocket.blocking {
                let connection = try RawSocket.connect(port)
                RawSocket.send(Array(text.utf8), connection)
                let answer = RawSocket.receive(connection)
                RawSocket.end(connection)
                return String(decoding: answer, as: UTF8.self)
            }
        }

        /// What was written down, when all of it has ended.
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
        let seen = Locked<[String]>([])
        let backend = try RawBackend { request in
            seen.withLock { $0.append(String(decoding: request, as: UTF8.self)) }
            return .init(
                "HTTP/1.1 201 Created\r\nX-Odd-CASE: a\r\nx-odd-case: b\r\nContent-Length: 5\r\n\r\nhello"
            )
        }
        let stand = try await ProxyFixture(backend)
        let request =
            "POST /hook?x=%20y HTTP/1.1\r\nHOST: shop.example\r\nX-A: 1\r\nx-a: 2\r\n"
            + "Content-Length: 7\r\nConnection: close\r\n\r\n{\"a\":1}"
        let answer = try await stand.send(request)
        #expect(answer.hasPrefix("HTTP/1.1 201 Created\r\nX-Odd-CASE: a\r\nx-odd-case: b\r\n"))
        #expect(answer.hasSuffix("\r\n\r\nhello"))
        #expect(seen.withLock { $0 } == [request], "not a byte was changed on the way")
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
        let seen = Locked("")
        let backend = try RawBackend { request in
            seen.withLock { $0 = String(decoding: request, as: UTF8.self) }
            return .init(Self.ok)
        }
        let stand = try await ProxyFixture(backend, hostField: "api.example:8443")
        _ = try await stand.send("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        let lines = seen.withLock { $0 }.lowercased()
        #expect(lines.contains("host: api.example:8443") && !lines.contains("host: 127.0.0.1"))
        let exchange = try #require(try await stand.exchanges(1).first)
        #expect(exchange.request[field: "host"] == "127.0.0.1", "what the caller said is told")
        await stand.end()
    }

    @Test func `many requests of one connection are many exchanges in their order`() async throws {
        let backend = try RawBackend { request in
            let path = String(decoding: request, as: UTF8.self).split(separator: " ")[1]
            return .init("HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n\(path)")
        }
        let stand = try await ProxyFixture(backend)
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
        let backend = try RawBackend { _ in .init("HTTP/1.1 200 OK\r\n" + chunks) }
        let stand = try await ProxyFixture(backend)
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
        let backend = try RawBackend { _ in
            .init("HTTP/1.1 200 OK\r\nContent-Length: \(long.utf8.count)\r\n\r\n\(long)")
        }
        let stand = try await ProxyFixture(backend, bodyMax: 1000)
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
        let backend = try RawBackend { _ in
            .init("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n\(body)")
        }
        let stand = try await ProxyFixture(backend, bodyMax: 1000)
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
        let backend = try RawBackend { _ in .init(Self.ok) }
        let stand = try await ProxyFixture(backend)
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
        let backend = try RawBackend { _ in .init(Self.ok) }
        let stand = try await ProxyFixture(backend, bodyMax: 100_000)
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
        let backend = try RawBackend { _ in .init("", closes: true) }
        let stand = try await ProxyFixture(backend)
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
        let backend = try RawBackend { _ in
            .init("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this", closes: true)
        }
        let stand = try await ProxyFixture(backend)
        let answer = try await stand.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 200 OK"), "what came is passed on")
        let exchange = try #require(try await stand.exchanges(1).first)
        guard case .failed(.closed, _) = exchange.outcome else {
            return #expect(Bool(false), "\(exchange.outcome)")
        }
        await stand.end()
    }

    @Test func `a backend that is not there is a 502 that says so`() async throws {
        // A port of which we know that nobody listens there: it was ours a moment ago.
        let (descriptor, port) = try RawSocket.listen()
        RawSocket.end(descriptor)
        let stand = try await ProxyFixture(port)
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
        let isAsked = Locked(false)
        let isOver = DispatchSemaphore(value: 0)
        let backend = try RawBackend { _ in
            isAsked.withLock { $0 = true }
            // It answers when nobody listens any more.
            isOver.wait()
            return .init(Self.ok)
        }
        let stand = try await ProxyFixture(backend)
        let port = stand.proxy.port
        let connection = try RawSocket.connect(port)
        RawSocket.send(Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8), connection)
        #expect(try await SettleTimeout.until { isAsked.withLock { $0 } })
        RawSocket.end(connection)
        let exchange = try #require(try await stand.exchanges(1).first)
        isOver.signal()
        #expect(exchange.outcome == .failed(.closed, "the caller disconnected"))
        await stand.end()
    }

    @Test func `a port in use is reported as in use`() async throws {
        let (descriptor, port) = try RawSocket.listen()
        defer { RawSocket.end(descriptor) }
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
    }
}
