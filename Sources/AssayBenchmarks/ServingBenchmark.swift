internal import Foundation
internal import Hummingbird
internal import Logging
internal import Programs

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Measures `assay serve` as its client: the time to the first response, and the responses per
/// second compared with a server that does nothing.
enum ServingBenchmark {
    private static let connectionCount = 8
    private static let requestCount = 4000

    /// The path of the OneSignal fake to which a push request is sent.
    static let path = "/notifications"
    /// The path of webhook requests, which the servers of other tools also accept.
    static let webhookPath = "/webhooks/revenuecat"
    /// The JSON body of a push request, which has about 650 bytes.
    static let body =
        "{\"app_id\":\"a55a4000-0000-4000-8000-000000000000\",\"include_aliases\":"
        + "{\"external_id\":[\"ada\"]},\"target_channel\":\"push\",\"contents\":{\"en\":\""
        + String(repeating: "x", count: 496) + "\"}}"

    /// Returns the arguments of `assay serve`, with the OneSignal fake and the control API on these
    /// ports.
    static func serveArguments(_ port: Int, controlPort: Int) -> [String] {
        serveArguments(["onesignal": port, "control": controlPort])
    }

    /// Returns the arguments of `assay serve`, with the named servers on these ports and the others
    /// on free ports.
    static func serveArguments(_ ports: [String: Int]) -> [String] {
        ["serve", "--quiet"]
            + ["control", "revenuecat", "onesignal", "firebase", "purchasely", "despia"].flatMap {
                ["--listen", "\($0)=127.0.0.1:\(ports[$0] ?? 0)"]
            }
    }

    static func run(assayPath: String, benchmarkExecutable: String) throws {
        let (port, controlPort) = (Int(LoopbackPort.findFree()), Int(LoopbackPort.findFree()))
        let arguments = serveArguments(port, controlPort: controlPort)
        var startupSeconds: [Double] = []
        for _ in 0..<10 {
            let clock = ContinuousClock()
            let startInstant = clock.now
            let processID = try spawn(assayPath, arguments)
            let healthResponse = firstResponse(port: controlPort, path: "/assay/v1/health")
            startupSeconds.append(Benchmarks.seconds(clock.now - startInstant))
            kill(processID, SIGTERM)
            wait(processID)
            guard healthResponse.contains("{\"ok\":true}") else {
                Benchmarks.print("unexpected response: \(healthResponse.prefix(200))")
                return
            }
        }
        Benchmarks.printSamples("serve: exec to first response", startupSeconds)
        // The measurements alternate, so that both have the same conditions.
        var assaySamples: [LoadResult] = []
        var bareSamples: [LoadResult] = []
        for _ in 0..<5 {
            let bareServer = try spawn(
                benchmarkExecutable,
                ["bare-server"],
                environment: ["BARE_PORT=\(port)"]
            )
            _ = firstResponse(port: port, path: "/")
            bareSamples.append(load(port: port))
            kill(bareServer, SIGKILL)
            wait(bareServer)
            let processID = try spawn(assayPath, arguments)
            _ = firstResponse(port: controlPort, path: "/assay/v1/health")
            assaySamples.append(load(port: port))
            kill(processID, SIGTERM)
            wait(processID)
        }
        let (assayLoad, bareLoad) = (medianLoad(assaySamples), medianLoad(bareSamples))
        Benchmarks.print("650-byte POST, bare server         \(bareLoad.text)")
        Benchmarks.print("650-byte POST, OneSignal fake      \(assayLoad.text)")
        let percentOfBareRate = String(
            format: "%.0f",
            100 * assayLoad.requestsPerSecond / bareLoad.requestsPerSecond
        )
        Benchmarks.print("rate of the fake, relative to the bare server    \(percentOfBareRate) %")
        try measureRateStability(assayPath: assayPath, port: port, controlPort: controlPort)
    }

    /// Sends a million pushes to the OneSignal fake, and prints the rate of each tenth.
    ///
    /// Calls must not become slower while the journal and the list of notifications grow.
    private static func measureRateStability(assayPath: String, port: Int, controlPort: Int) throws
    {
        let processID = try spawn(assayPath, serveArguments(port, controlPort: controlPort))
        _ = firstResponse(port: controlPort, path: "/assay/v1/health")
        let loadsByTenth = (0..<10).map { _ in
            load(port: port, requestCount: 100_000 / connectionCount)
        }
        kill(processID, SIGTERM)
        wait(processID)
        Benchmarks.print(
            "a million pushes, by tenths, 1/s   " + valueList(loadsByTenth) { $0.requestsPerSecond }
        )
        Benchmarks.print(
            "  p99, µs                          " + valueList(loadsByTenth) { $0.p99Seconds * 1e6 }
        )
    }

    private static func valueList(_ loads: [LoadResult], _ value: (LoadResult) -> Double) -> String
    {
        loads.map { String(format: "%.0f", value($0)) }.joined(separator: " ")
    }

    // MARK: Load

    struct LoadResult: Sendable {
        let requestsPerSecond: Double
        let p99Seconds: Double

        var text: String {
            String(format: "%8.0f /s, p99 %.2f ms", requestsPerSecond, p99Seconds * 1000)
        }
    }

    static func medianLoad(_ loads: [LoadResult]) -> LoadResult {
        loads.sorted { $0.requestsPerSecond < $1.requestsPerSecond }[loads.count / 2]
    }

    /// Measures the responses per second over several keep-alive connections, each of which sends
    /// one request after the other.
    static func load(port: Int, requestCount: Int = requestCount) -> LoadResult {
        let request =
            "POST \(path) HTTP/1.1\r\nhost: 127.0.0.1:\(port)\r\ncontent-type: "
            + "application/json\r\ncontent-length: \(body.utf8.count)\r\n\r\n" + body
        let clock = ContinuousClock()
        let startInstant = clock.now
        let group = DispatchGroup()
        let results = ResponseTimes()
        for _ in 0..<connectionCount {
            group.enter()
            Thread.detachNewThread {
                results.add(
                    measureResponseTimes(
                        port: port,
                        request: Array(request.utf8),
                        requestCount: requestCount
                    )
                )
                group.leave()
            }
        }
        group.wait()
        let elapsedSeconds = Benchmarks.seconds(clock.now - startInstant)
        let sorted = results.all.sorted()
        return LoadResult(
            requestsPerSecond: Double(sorted.count) / elapsedSeconds,
            p99Seconds: sorted.isEmpty ? .infinity : sorted[sorted.count * 99 / 100]
        )
    }

    private final class ResponseTimes: @unchecked Sendable {
        private let lock = NSLock()
        private var responseTimes: [Double] = []

        func add(_ newTimes: [Double]) {
            lock.lock()
            responseTimes += newTimes
            lock.unlock()
        }

        var all: [Double] { responseTimes }
    }

    static func measureResponseTimes(
        port: Int,
        request: [UInt8],
        requestCount: Int = requestCount
    ) -> [Double] {
        let descriptor = connection(to: port)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        let clock = ContinuousClock()
        var responseTimes: [Double] = []
        responseTimes.reserveCapacity(requestCount)
        for _ in 0..<requestCount {
            let startInstant = clock.now
            guard send(descriptor, request, request.count, 0) == request.count else { break }
            // All responses here are small and arrive in one piece.
            var buffer = [UInt8](repeating: 0, count: 4096)
            guard recv(descriptor, &buffer, buffer.count, 0) > 0 else { break }
            responseTimes.append(Benchmarks.seconds(clock.now - startInstant))
        }
        return responseTimes
    }

    // MARK: Processes and sockets

    static func spawn(
        _ program: String,
        _ arguments: [String],
        environment additionalEnvironment: [String] = []
    ) throws -> pid_t {
        var fileActions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&fileActions)
        defer { posix_spawn_file_actions_destroy(&fileActions) }
        for descriptor in [Int32(1), 2] {
            posix_spawn_file_actions_addopen(&fileActions, descriptor, "/dev/null", O_WRONLY, 0)
        }
        func cStrings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
            texts.map { strdup($0) } + [nil]
        }
        var command = cStrings([program] + arguments)
        var variables = cStrings(
            ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
                + additionalEnvironment
        )
        defer { for word in command + variables { free(word) } }
        var processID: pid_t = 0
        guard posix_spawn(&processID, program, &fileActions, nil, &command, &variables) == 0 else {
            throw CocoaError(.executableNotLoadable)
        }
        return processID
    }

    static func wait(_ processID: pid_t) {
        var status: Int32 = 0
        waitpid(processID, &status, 0)
    }

    static func connection(to port: Int) -> Int32 {
        #if canImport(Glibc)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
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
        guard status == 0 else {
            close(descriptor)
            return -1
        }
        return descriptor
    }

    /// Repeats a request until a server responds, for at most ten seconds, and returns the
    /// response.
    static func firstResponse(port: Int, path: String) -> String {
        let request = Array("GET \(path) HTTP/1.1\r\nhost: 127.0.0.1:\(port)\r\n\r\n".utf8)
        let clock = ContinuousClock()
        let deadline = clock.now + .seconds(10)
        while clock.now < deadline {
            let descriptor = connection(to: port)
            guard descriptor >= 0 else {
                sched_yield()
                continue
            }
            defer { close(descriptor) }
            guard send(descriptor, request, request.count, 0) == request.count else { continue }
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0 { return String(decoding: buffer[..<count], as: UTF8.self) }
        }
        return ""
    }

    // MARK: The server that does nothing

    /// Runs a server with the HTTP library of the fakes.
    ///
    /// It only reads the request body and sends a small response.
    static func runBareServer() async throws {
        let port = ProcessInfo.processInfo.environment["BARE_PORT"].flatMap { Int($0) } ?? 0
        var logger = Logger(label: "bare")
        logger.logLevel = .critical
        let router = Router()
        router.get("/") { _, _ in Response(status: .ok) }
        router.post("notifications") { request, _ in
            _ = try await request.body.collect(upTo: 1 << 20)
            return Response(
                status: .ok,
                headers: [.contentType: "application/json"],
                body: .init(byteBuffer: .init(string: "{\"id\":\"x\",\"external_id\":null}"))
            )
        }
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            logger: logger
        )
        try await application.run()
    }
}
