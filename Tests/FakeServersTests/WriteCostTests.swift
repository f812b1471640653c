import FakeServers
import Foundation
import Providers
import TestBackend
import Testing
import TestSupport
import Values

/// What a write costs does not depend on how many there were before.
@Suite("The cost of a write through HTTP")
struct WriteCostTests {
    /// A kind of write: its request, given a number.
    struct Write: CustomTestStringConvertible, Sendable {
        let party: Exchange.Party?
        let method: String
        let path: String
        let body: @Sendable (Int) -> String
        var fields = ""

        var testDescription: String { "\(party?.description ?? "control"): \(method) \(path)" }

        func text(_ number: Int, port: Int) -> String {
            let body = body(number)
            return "\(method) \(path) HTTP/1.1\r\nhost: 127.0.0.1:\(port)\r\n\(fields)"
                + "content-type: application/json\r\ncontent-length: \(body.utf8.count)\r\n\r\n"
                + body
        }
    }

    private static let app = OneSignalState.defaultAppID

    static let writes = [
        Write(
            party: .revenueCat,
            method: "POST",
            path: "/v1/subscribers/ada/attributes",
            body: { #"{"attributes": {"a": {"value": "\#($0)"}}}"# }
        ),
        Write(
            party: .oneSignal,
            method: "POST",
            path: "/notifications",
            body: { _ in
                #"{"app_id": "\#(app)", "contents": {"en": "x"}, "included_segments": ["All"]}"#
            }
        ),
        Write(
            party: .oneSignal,
            method: "POST",
            path: "/apps/\(app)/users",
            body: { #"{"identity": {"external_id": "u\#($0)"}}"# }
        ),
        Write(
            party: .firebase,
            method: "POST",
            path: "/v1/accounts:signUp?key=k",
            body: { #"{"email": "u\#($0)@example.com", "password": "secret-1"}"# }
        ),
        Write(
            party: .despia,
            method: "POST",
            path: "/bridge",
            body: { #"{"device": "d\#($0 % 10)", "command": "get-uuid://"}"# }
        ),
        Write(
            party: nil,
            method: "POST",
            path: "/assay/v1/store/purchase",
            body: { #"{"user": "u\#($0)"}"# }
        ),
        Write(
            party: nil,
            method: "PUT",
            path: "/assay/v1/clock",
            body: { _ in #"{"frozen": true}"# }
        ),
        Write(
            party: nil,
            method: "PATCH",
            path: "/assay/v1/settings",
            body: { #"{"onesignal": {"tagsMax": \#($0 % 90 + 1)}}"# }
        ),
    ]

    private static let count = 300

    /// Sends every kind of write through HTTP, one connection, one after the other.
    ///
    /// The listener for changes sees how many frames the stack has. A closure that is wrapped once more at every access
    /// adds a frame with each call.
    @Test("the stack is as deep at the last write as at the first", arguments: writes)
    func stack(write: Write) async throws {
        let fixture = ControlFixture()
        let depths = Locked<[Int]>([])
        let server = try await ControlServer()
        server.open(fixture.control)
        let fake = try await FakeServer(write.party ?? .oneSignal, fakes: fixture.fakes)
        fixture.fakes.setChangeListener {
            let depth = Thread.callStackReturnAddresses.count
            depths.withLock { $0.append(depth) }
        }
        let port = write.party == nil ? server.port : fake.port
        var connection = try RawConnection(port: port)
        for number in 0..<Self.count {
            await connection.send(write.text(number, port: port))
            var reading = await connection.readSome()
            if reading.text.isEmpty {
                // A busy machine left the test without a turn for longer than a connection may be idle.
                connection = try RawConnection(port: port)
                await connection.send(write.text(number, port: port))
                reading = await connection.readSome()
            }
            #expect(reading.text.hasPrefix("HTTP/1.1 20"), "\(reading.text)")
        }
        // The fakes that set off nothing notify nobody; a change from outside does.
        for _ in 0..<Self.count { fixture.fakes.edit("") { _, _ in } }
        let seen = depths.withLock { $0 }
        #expect(seen.count >= Self.count)
        let early = seen.prefix(20).max() ?? 0
        let late = seen.dropFirst(20).max() ?? 0
        // Each access would add a frame: there were 300 at least.
        #expect(late <= early + 10, "\(early) frames, later \(late)")
        await fake.stop()
        await server.stop()
    }
}

/// `/health` while something holds the state.
@Suite("Health", .serialized)
struct HealthTests {
    /// A gate that a thread waits at.
    private final class Gate: @unchecked Sendable {
        private let semaphore = DispatchSemaphore(value: 0)

        func wait() { semaphore.wait() }
        func open() { semaphore.signal() }
    }

    @Test func `health is answered while an operation holds the lock of all namespaces`()
        async throws
    {
        let fixture = ControlFixture()
        let server = try await ControlServer()
        server.open(fixture.control)
        let gate = Gate()
        let (began, beginning) = AsyncStream.makeStream(of: Void.self)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let fakes = fixture.fakes
        Thread.detachNewThread {
            fakes.edit("") { _, _ in
                beginning.finish()
                gate.wait()
            }
            end.finish()
        }
        for await _ in began {}
        let connection = try RawConnection(port: server.port)
        await connection.send(
            "GET /assay/v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
        )
        let reading = await connection.read()
        #expect(reading.text.hasPrefix("HTTP/1.1 200"))
        #expect(reading.text.contains(#""ok":"#))
        gate.open()
        for await _ in ended {}
        await server.stop()
    }

    @Test func `health is refused to pages of other origins as every call is`() async throws {
        let server = try await ControlServer()
        server.open(ControlFixture().control)
        let connection = try RawConnection(port: server.port)
        await connection.send(
            "GET /assay/v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\n"
                + "sec-fetch-site: same-site\r\nconnection: close\r\n\r\n"
        )
        #expect(await connection.read().text.hasPrefix("HTTP/1.1 403"))
        await server.stop()
    }
}
