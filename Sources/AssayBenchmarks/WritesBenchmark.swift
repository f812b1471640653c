internal import Foundation
internal import Programs

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Measures the cost of a write to a fake over HTTP, and the memory of the server, as the number of
/// writes grows.
///
/// The cost is the processor time of the server for each call, so that other work on the machine
/// does not count. The system reports processor times in hundredths of a second.
enum WritesBenchmark {
    /// A kind of request that changes the state of a fake.
    ///
    /// The function `body` makes the request body from the number of the request.
    private struct MeasuredWrite: Sendable {
        let party: String
        let method: String
        let path: String
        let body: @Sendable (Int) -> String
    }

    private struct FailedCallError: Error, CustomStringConvertible {
        let write: String
        let callNumber: Int
        let response: String

        var description: String { "\(write), call \(callNumber): \(response.prefix(300))" }
    }

    private static let appID = "a55a4000-0000-4000-8000-000000000000"
    /// The number of writes of each kind.
    private static let count = 100_000
    /// The number of writes that are measured at the start and again at the end.
    private static let sampleSize = 10_000

    private static let writes = [
        MeasuredWrite(
            party: "revenuecat",
            method: "POST",
            path: "/v1/subscribers/ada/attributes",
            body: { #"{"attributes": {"a": {"value": "\#($0)"}}}"# }
        ),
        MeasuredWrite(
            party: "onesignal",
            method: "POST",
            path: "/notifications",
            body: { _ in
                #"{"app_id": "\#(appID)", "contents": {"en": "x"}, "included_segments": ["All"]}"#
            }
        ),
        MeasuredWrite(
            party: "onesignal",
            method: "POST",
            path: "/apps/\(appID)/users",
            body: { #"{"identity": {"external_id": "u\#($0)"}}"# }
        ),
        MeasuredWrite(
            party: "firebase",
            method: "POST",
            path: "/v1/accounts:signUp?key=k",
            body: { #"{"email": "u\#($0)@example.com", "password": "secret-1"}"# }
        ),
        MeasuredWrite(
            party: "despia",
            method: "POST",
            path: "/bridge",
            body: { #"{"device": "d\#($0 % 10)", "command": "get-uuid://"}"# }
        ),
        MeasuredWrite(
            party: "control",
            method: "POST",
            path: "/assay/v1/store/purchase",
            body: { #"{"user": "u\#($0)"}"# }
        ),
        MeasuredWrite(
            party: "control",
            method: "PUT",
            path: "/assay/v1/clock",
            body: { _ in #"{"frozen": true}"# }
        ),
        MeasuredWrite(
            party: "control",
            method: "PATCH",
            path: "/assay/v1/settings",
            body: { #"{"onesignal": {"tagsMax": \#($0 % 90 + 1)}}"# }
        ),
    ]

    static func run(assayPath: String) throws {
        for write in writes { try measureGrowth(of: write, assayPath: assayPath) }
        try measureMemory(assayPath: assayPath, bodySize: 60_000, count: 16_000)
        try measureMemory(assayPath: assayPath, bodySize: 600, count: 1_000_000)
    }

    private static func measureGrowth(of write: MeasuredWrite, assayPath: String) throws {
        let server = try Server(assayPath, write.party)
        defer { server.stop() }
        let connection = try server.connect()
        defer { close(connection) }
        func send(_ callNumbers: Range<Int>) throws -> Double {
            let processorSecondsBefore = server.processorSeconds
            for callNumber in callNumbers {
                let response = try sendCall(connection, server.port, write, callNumber)
                guard response.hasPrefix("HTTP/1.1 20") else {
                    throw FailedCallError(
                        write: write.path,
                        callNumber: callNumber,
                        response: response
                    )
                }
            }
            return (server.processorSeconds - processorSecondsBefore) / Double(callNumbers.count)
                * 1e6
        }
        let first = try send(0..<sampleSize)
        _ = try send(sampleSize..<count - sampleSize)
        let last = try send(count - sampleSize..<count)
        let name = "\(write.method) \(write.path)".prefix(34)
        Benchmarks.print(
            String(name).padding(toLength: 35, withPad: " ", startingAt: 0)
                + String(format: "%6.1f µs first, %6.1f µs last: × %.2f", first, last, last / first)
                + ", \(server.residentBytes >> 20) MiB"
        )
    }

    /// Sends pushes to the OneSignal fake, and prints the memory of the server.
    ///
    /// The journal has its default limit of 256 MiB.
    private static func measureMemory(assayPath: String, bodySize: Int, count: Int) throws {
        let server = try Server(assayPath, "onesignal")
        defer { server.stop() }
        let connection = try server.connect()
        defer { close(connection) }
        let text = String(repeating: "x", count: bodySize)
        let write = MeasuredWrite(
            party: "onesignal",
            method: "POST",
            path: "/notifications",
            body: { callNumber in
                let key = String(format: "a55a4000-0000-4000-8000-%012d", callNumber)
                return #"{"app_id": "\#(appID)", "include_aliases": {"external_id": ["ada"]}, "#
                    + #""target_channel": "push", "contents": {"en": "\#(text)"}, "#
                    + #""idempotency_key": "\#(key)"}"#
            }
        )
        var residentMiBSamples: [Int] = []
        for tenth in 0..<10 {
            for callNumber in count / 10 * tenth..<count / 10 * (tenth + 1) {
                let response = try sendCall(connection, server.port, write, callNumber)
                guard response.hasPrefix("HTTP/1.1 20") else {
                    throw FailedCallError(
                        write: write.path,
                        callNumber: callNumber,
                        response: response
                    )
                }
            }
            residentMiBSamples.append(server.residentBytes >> 20)
        }
        Benchmarks.print(
            "\(count) pushes of \(bodySize) bytes, resident at each tenth, MiB: "
                + residentMiBSamples.map(String.init).joined(separator: " ")
        )
    }

    /// Sends a request over an open connection and returns the response, which is small.
    private static func sendCall(
        _ connection: Int32,
        _ port: Int,
        _ write: MeasuredWrite,
        _ callNumber: Int
    ) throws -> String {
        let body = write.body(callNumber)
        let request = Array(
            ("\(write.method) \(write.path) HTTP/1.1\r\nhost: 127.0.0.1:\(port)\r\n"
                + "content-type: application/json\r\ncontent-length: \(body.utf8.count)\r\n\r\n"
                + body).utf8
        )
        guard send(connection, request, request.count, 0) == request.count else {
            throw FailedCallError(
                write: write.path,
                callNumber: callNumber,
                response: "truncated request"
            )
        }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var response: [UInt8] = []
        while !isCompleteResponse(response) {
            let receivedByteCount = recv(connection, &buffer, buffer.count, 0)
            guard receivedByteCount > 0 else { break }
            response += buffer[..<receivedByteCount]
        }
        return String(decoding: response, as: UTF8.self)
    }

    /// Returns whether a response is complete: its head, and a body with the length that the head
    /// announces.
    private static func isCompleteResponse(_ response: [UInt8]) -> Bool {
        let text = String(decoding: response, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { return false }
        let contentLength = text[..<end.lowerBound].lowercased()
            .split(separator: "\r\n")
            .first { $0.hasPrefix("content-length:") }?
            .split(separator: ":").last
            .flatMap { Int($0.trimmingCharacters(in: .whitespaces)) }
        return text[end.upperBound...].utf8.count >= contentLength ?? 0
    }

    /// A process of `assay serve`.
    private struct Server {
        let processID: pid_t
        let port: Int

        init(_ assayPath: String, _ party: String) throws {
            let port = Int(LoopbackPort.findFree())
            processID = try ServingBenchmark.spawn(
                assayPath,
                ServingBenchmark.serveArguments([party: port])
            )
            self.port = port
        }

        func connect() throws -> Int32 {
            _ = ServingBenchmark.firstResponse(port: port, path: "/")
            let connection = ServingBenchmark.connection(to: port)
            guard connection >= 0 else {
                throw FailedCallError(write: "connect", callNumber: 0, response: "no response")
            }
            return connection
        }

        func stop() {
            kill(processID, SIGTERM)
            ServingBenchmark.wait(processID)
        }

        var processorSeconds: Double {
            let text =
                (try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)) ?? ""
            // In `/proc/PID/stat`, the name of the program is in parentheses and may contain
            // spaces. The fields after it contain none.
            let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
            guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12])
            else { return 0 }
            return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
        }

        var residentBytes: Int {
            let text =
                (try? String(contentsOfFile: "/proc/\(processID)/statm", encoding: .utf8)) ?? ""
            return text.split(separator: " ").dropFirst().first
                .flatMap { Int($0) }.map { $0 * 4096 } ?? 0
        }
    }
}
