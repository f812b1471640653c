import Foundation
import Values

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Bytes over loopback, without a library that would mend what is odd about them.
enum RawSocket {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static let stream: Int32 = {
        #if canImport(Glibc)
        Int32(SOCK_STREAM.rawValue)
        #else
        SOCK_STREAM
        #endif
    }()

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = in_addr_t(UInt32(0x7f00_0001).bigEndian)
        return address
    }

    /// A socket that listens on a port of the system's choice.
    static func listen() throws -> (descriptor: Int32, port: Int) {
        let descriptor = socket(AF_INET, stream, 0)
        var address = address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && Self.system(listen: descriptor)
                    && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard isOpen else { throw Failure(description: "nothing listens") }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    private static func system(listen descriptor: Int32) -> Bool {
        #if canImport(Glibc)
        Glibc.listen(descriptor, 64) == 0
        #else
        Darwin.listen(descriptor, 64) == 0
        #endif
    }

    static func connect(_ port: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, stream, 0)
        var address = address(port)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                #if canImport(Glibc)
                Glibc.connect(descriptor, generic, socklen_t(MemoryLayout<sockaddr_in>.size))
                #else
                Darwin.connect(descriptor, generic, socklen_t(MemoryLayout<sockaddr_in>.size))
                #endif
            }
        }
        guard result == 0 else { throw Failure(description: "nobody answers on \(port)") }
        return descriptor
    }

    static func send(_ bytes: [UInt8], _ descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            #if canImport(Glibc)
            let flags = Int32(MSG_NOSIGNAL)
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, flags)
            }
            #else
            let count = rest.withUnsafeBytes {
                Darwin.send(descriptor, $0.baseAddress, $0.count, 0)
            }
            #endif
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// What comes until `isEnough`, or until the other side closes.
    static func receive(
        _ descriptor: Int32,
        until isEnough: ([UInt8]) -> Bool = { _ in false }
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while !isEnough(bytes) {
            let count = buffer.withUnsafeMutableBytes {
                recv(descriptor, $0.baseAddress, $0.count, 0)
            }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return bytes
    }

    static func end(_ descriptor: Int32) { close(descriptor) }

    /// Runs what blocks on a thread of its own.
    static func blocking<Result: Sendable>(
        _ work: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Swift.Result { try work() })
            }
        }
    }
}

/// A backend that answers with the very bytes that it is told to.
final class RawBackend: Sendable {
    /// What it says to one request, and whether it closes then.
    struct Answer: Sendable {
        var bytes: [UInt8]
        var closes = false

        init(_ text: String, closes: Bool = false) {
            bytes = Array(text.utf8)
            self.closes = closes
        }
    }

    let port: Int
    private let descriptor: Int32

    init(_ answer: @escaping @Sendable (_ request: [UInt8]) -> Answer) throws {
        let (descriptor, port) = try RawSocket.listen()
        self.port = port
        self.descriptor = descriptor
        Thread.detachNewThread {
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { return }
                Thread.detachNewThread { Self.serve(connection, answer) }
            }
        }
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    private static func serve(
        _ connection: Int32,
        _ answer: @Sendable ([UInt8]) -> Answer
    ) {
        var rest: [UInt8] = []
        while true {
            var request = rest
            while length(of: request) == nil {
                let more = RawSocket.receive(connection) { !$0.isEmpty }
                if more.isEmpty { return RawSocket.end(connection) }
                request += more
            }
            let count = length(of: request) ?? request.count
            rest = Array(request[count...])
            let said = answer(Array(request[..<count]))
            RawSocket.send(said.bytes, connection)
            if said.closes { return RawSocket.end(connection) }
        }
    }

    /// How long the first request is; nil when it is not complete.
    static func length(of bytes: [UInt8]) -> Int? {
        guard let head = bytes.position(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<head], as: UTF8.self).lowercased()
            .replacing("\r\n", with: "\n").split(separator: "\n")
        if lines.contains("transfer-encoding: chunked") {
            return bytes.position(of: Array("\r\n0\r\n\r\n".utf8), from: head).map { $0 + 7 }
        }
        let field = lines.first { $0.hasPrefix("content-length:") }
        let count = field.flatMap { Int($0.dropFirst(15).filter(\.isNumber)) } ?? 0
        let end = head + 4 + count
        return bytes.count >= end ? end : nil
    }
}
