import Foundation
import TestSupport

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A bare socket to a port of this machine, which sends exact bytes like a broken or hostile client.
///
/// Each call blocks a thread of its own. The fakes respond on few threads, and a test that blocked
/// one of them would wait for itself.
package final class RawConnection: Sendable {
    private let descriptor: Int32

    /// - Throws: When the port does not answer.
    package init(port: Int) throws {
        #if canImport(Glibc)
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw POSIXError(.ECONNREFUSED) }
        // A test that waits for ever is no test.
        var limit = timeval(tv_sec: Int(SettleTimeout.hang.components.seconds), tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
    }

    deinit { close(descriptor) }

    private func onThread<Result: Sendable>(
        _ body: @escaping @Sendable () -> Result
    ) async -> Result {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }

    /// Sends what the other side takes; how many bytes that was.
    @discardableResult
    package func send(_ bytes: [UInt8]) async -> Int { await onThread { self.write(bytes) } }

    @discardableResult
    package func send(_ text: String) async -> Int { await send(Array(text.utf8)) }

    private func write(_ bytes: [UInt8]) -> Int { Self.write(bytes, to: descriptor) }

    /// Sends what the other side takes, and returns the number of these bytes.
    @discardableResult
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                #if canImport(Glibc)
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                #else
                Darwin.send(descriptor, $0.baseAddress, $0.count, 0)
                #endif
            }
            guard count > 0 else { break }
            sent += count
        }
        return sent
    }

    /// No more will be sent.
    package func finish() {
        #if canImport(Glibc)
        shutdown(descriptor, Int32(SHUT_WR))
        #else
        shutdown(descriptor, SHUT_WR)
        #endif
    }

    /// What came, and whether the other side has closed.
    package struct Reading: Sendable {
        package var text = ""
        package var isOver = false
    }

    /// Everything until the other side closes, or until the text ends like that.
    package func read(until ending: String? = nil) async -> Reading {
        await onThread { self.receive(until: ending) }
    }

    /// What is there, as soon as anything is.
    package func readSome() async -> Reading {
        await onThread {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = self.receive(into: &buffer)
            return Reading(
                text: String(decoding: buffer[..<max(count, 0)], as: UTF8.self),
                isOver: count == 0
            )
        }
    }

    private func receive(into buffer: inout [UInt8]) -> Int {
        recv(descriptor, &buffer, buffer.count, 0)
    }

    private func receive(until ending: String?) -> Reading {
        var bytes: [UInt8] = []
        var reading = Reading()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = receive(into: &buffer)
            guard count > 0 else {
                // Only our own limit leaves the connection open.
                reading.isOver = count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)
                break
            }
            bytes += buffer[..<count]
            if let ending, String(decoding: bytes, as: UTF8.self).hasSuffix(ending) { break }
        }
        reading.text = String(decoding: bytes, as: UTF8.self)
        return reading
    }
}

extension RawConnection {
    /// Waits until every thread that answers on the port is past what it was doing: callers are
    /// given to the threads in turn, and each of these has been answered.
    ///
    /// - Throws: When the port does not answer.
    package static func settle(port: Int) async throws {
        let callers = try (0..<4 * ProcessInfo.processInfo.activeProcessorCount)
            .map { _ in try RawConnection(port: port) }
        for caller in callers { await caller.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n") }
        for caller in callers {
            guard await caller.readSome().text.hasPrefix("HTTP/1.1 ") else {
                throw POSIXError(.ECONNABORTED)
            }
        }
    }
}
