import Foundation
import Values

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A port of this machine, on which a closure responds to each request with exact bytes.
///
/// It uses no HTTP library, because a library would correct unusual bytes in both directions.
package final class ListeningSocket: Sendable {
    struct Failure: Error {}

    typealias Handler =
        @Sendable (HTTPMessage.Request, _ bytes: [UInt8]) async -> BackendDouble.Reply

    let port: Int
    private let descriptor: Locked<Int32?>

    init(_ handler: @escaping Handler) throws {
        let (descriptor, port) = try Self.listen()
        self.port = port
        self.descriptor = Locked(descriptor)
        Thread.detachNewThread {
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { return }
                Thread.detachNewThread { Self.serve(connection, handler) }
            }
        }
    }

    deinit { stop() }

    /// Frees the port.
    func stop() {
        descriptor.withLock { descriptor in
            guard let open = descriptor else { return }
            shutdown(open, Int32(SHUT_RDWR))
            close(open)
            descriptor = nil
        }
    }

    private static func listen() throws -> (descriptor: Int32, port: Int) {
        #if canImport(Glibc)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && system(listen: descriptor)
                    && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard isOpen else { throw Failure() }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    private static func system(listen descriptor: Int32) -> Bool {
        #if canImport(Glibc)
        Glibc.listen(descriptor, 64) == 0
        #else
        Darwin.listen(descriptor, 64) == 0
        #endif
    }

    // MARK: One connection

    private static func serve(_ connection: Int32, _ handler: @escaping Handler) {
        defer { close(connection) }
        let executor = ConnectionExecutor()
        var received: [UInt8] = []
        while true {
            var count: Int?
            while true {
                count = requestLength(in: received)
                guard count == nil else { break }
                guard receive(connection, into: &received) else { return }
            }
            let request = Array(received.prefix(count ?? 0))
            received.removeFirst(request.count)
            let reply = executor.run { await handler(parsed(request), request) }
            switch reply {
            case .bytes(let bytes, let hangsUp):
                send(bytes, connection)
                if hangsUp { return }
            case .response(let response): send(bytes(of: response), connection)
            case .failure: return
            // The client ends the connection.
            case .never: while receive(connection, into: &received) {}
            }
        }
    }

    /// Adds the next bytes; false when the client has closed the connection.
    private static func receive(_ connection: Int32, into bytes: inout [UInt8]) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(connection, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        bytes += buffer[..<count]
        return true
    }

    private static func send(_ bytes: [UInt8], _ connection: Int32) {
        RawConnection.write(bytes, to: connection)
    }

    // MARK: Messages

    /// The length of the first request; nil while it is incomplete.
    private static func requestLength(in bytes: [UInt8]) -> Int? {
        guard let head = bytes.position(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<head], as: UTF8.self).lowercased().exactLines
        if lines.contains("transfer-encoding: chunked") {
            return bytes.position(of: Array("\r\n0\r\n\r\n".utf8), from: head).map { $0 + 7 }
        }
        let field = lines.first { $0.hasPrefix("content-length:") }
        let count = field.flatMap { Int($0.dropFirst(15).filter(\.isNumber)) } ?? 0
        let end = head + 4 + count
        return bytes.count >= end ? end : nil
    }

    private static func parsed(_ bytes: [UInt8]) -> HTTPMessage.Request {
        let head = bytes.position(of: Array("\r\n\r\n".utf8)) ?? bytes.count
        let lines = String(decoding: bytes[..<head], as: UTF8.self).exactLines
        let words = (lines.first ?? "").split(separator: " ")
        return HTTPMessage.Request(
            words.first.map(String.init) ?? "",
            words.dropFirst().first.map(String.init) ?? "",
            fields: lines.dropFirst().compactMap { line in
                line.cut(at: ":").map {
                    HTTPMessage.Field(
                        String($0.before),
                        $0.after.trimmingCharacters(in: .whitespaces)
                    )
                }
            },
            body: Array(bytes.dropFirst(head + 4))
        )
    }

    private static func bytes(of response: HTTPMessage.Response) -> [UInt8] {
        let length = HTTPMessage.Field("content-length", String(response.body.count))
        let fields = (response.fields + [length]).map { "\($0.name): \($0.value)\r\n" }
        return Array("HTTP/1.1 \(response.status) -\r\n\(fields.joined())\r\n".utf8)
            + response.body
    }
}

/// Runs the handler of a connection on the thread of the connection.
///
/// The shared threads of all tasks may be busy with other tests for longer than a client waits.
private final class ConnectionExecutor: TaskExecutor {
    private let jobs = Locked<[UnownedJob]>([])
    private let jobCount = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        jobCount.signal()
    }

    /// Returns the reply of the handler.
    func run(
        _ handler: @escaping @Sendable () async -> BackendDouble.Reply
    ) -> BackendDouble.Reply {
        let result = Locked<BackendDouble.Reply?>(nil)
        Task(executorPreference: self) {
            let reply = await handler()
            result.withLock { $0 = reply }
        }
        while true {
            if let reply = result.withLock({ $0 }) { return reply }
            jobCount.wait()
            jobs.withLock { $0.removeFirst() }.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
