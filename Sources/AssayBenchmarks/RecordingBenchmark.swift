internal import Foundation
internal import Programs
internal import Providers
internal import Recording
internal import Values

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Measures `assay record` in front of a server that does nothing: the added time, the throughput
/// and the memory.
///
/// The benchmark also measures the time to distill a recording of 100,000 exchanges into contracts.
enum RecordingBenchmark {
    static func run(assayPath: String, benchmarkExecutable: String) throws {
        let folder = NSTemporaryDirectory() + "assay-bench-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (bareServerPort, proxyPort) = (
            Int(LoopbackPort.findFree()), Int(LoopbackPort.findFree())
        )
        let server = try ServingBenchmark.spawn(
            benchmarkExecutable,
            ["bare-server"],
            environment: ["BARE_PORT=\(bareServerPort)"]
        )
        _ = ServingBenchmark.firstResponse(port: bareServerPort, path: "/")
        defer {
            kill(server, SIGKILL)
            ServingBenchmark.wait(server)
        }
        let fakes = ["control", "revenuecat", "onesignal", "firebase", "purchasely", "despia"]
        let recorderProcess = try ServingBenchmark.spawn(
            assayPath,
            [
                "record", "--target", "http://127.0.0.1:\(bareServerPort)", "--listen",
                "127.0.0.1:\(proxyPort)", folder + "/session",
            ] + fakes.flatMap { ["--listen", "\($0)=127.0.0.1:0"] }
        )
        _ = ServingBenchmark.firstResponse(port: proxyPort, path: "/")
        measureAddedTime(bareServerPort: bareServerPort, proxyPort: proxyPort)
        measureMemory(recorderProcess, port: proxyPort)
        kill(recorderProcess, SIGINT)
        ServingBenchmark.wait(recorderProcess)
        measureDistillation(isShared: false)
        measureDistillation(isShared: true)
    }

    /// Measures the time that the recording proxy adds to a request, and its throughput.
    private static func measureAddedTime(bareServerPort: Int, proxyPort: Int) {
        // The measurements alternate, so that both have the same conditions.
        let request = postRequestBytes(String(repeating: "x", count: 496), port: proxyPort)
        var directSeconds: [Double] = []
        var proxiedSeconds: [Double] = []
        var proxiedToDirectRateRatios: [Double] = []
        for _ in 0..<5 {
            directSeconds += ServingBenchmark.measureResponseTimes(
                port: bareServerPort,
                request: request
            )
            proxiedSeconds += ServingBenchmark.measureResponseTimes(
                port: proxyPort,
                request: request
            )
            let directRate = ServingBenchmark.load(port: bareServerPort).requestsPerSecond
            proxiedToDirectRateRatios.append(
                ServingBenchmark.load(port: proxyPort).requestsPerSecond / directRate
            )
        }
        let addedMilliseconds = (median(proxiedSeconds) - median(directSeconds)) * 1000
        Benchmarks.print(
            String(
                format: "record: added at the median        %8.3f ms (direct %.3f ms)",
                addedMilliseconds,
                median(directSeconds) * 1000
            )
        )
        Benchmarks.print(
            String(
                format: "record: rate, direct is 100 %%      %8.0f %%",
                median(proxiedToDirectRateRatios) * 100
            )
        )
    }

    private static func median(_ values: [Double]) -> Double {
        values.isEmpty ? .nan : values.sorted()[values.count / 2]
    }

    private static func postRequestBytes(_ text: String, port: Int) -> [UInt8] {
        let body = "{\"text\":\"\(text)\"}"
        let head =
            "POST /notifications HTTP/1.1\r\nhost: 127.0.0.1:\(port)\r\ncontent-type: "
            + "application/json\r\ncontent-length: \(body.utf8.count)\r\n\r\n"
        return Array((head + body).utf8)
    }

    /// Sends requests with bodies of 128 KiB, one gibibyte in total, to `assay record`, and prints
    /// the memory of the recorder.
    private static func measureMemory(_ recorderProcess: pid_t, port: Int) {
        let request = postRequestBytes(String(repeating: "y", count: 128 << 10), port: port)
        let count = (1 << 30) / request.count + 1
        var residentMiBSamples: [Int] = []
        var sentRequestCount = 0
        for quarter in 1...4 {
            let descriptor = ServingBenchmark.connection(to: port)
            defer { close(descriptor) }
            while sentRequestCount < count * quarter / 4 {
                guard sendAll(descriptor, request) else { return }
                var buffer = [UInt8](repeating: 0, count: 4096)
                guard recv(descriptor, &buffer, buffer.count, 0) > 0 else { return }
                sentRequestCount += 1
            }
            residentMiBSamples.append(residentMiB(recorderProcess))
        }
        let text = residentMiBSamples.map(String.init).joined(separator: ", ")
        Benchmarks.print("record: 1 GiB of bodies, resident  \(text) MiB at each quarter")
    }

    private static func sendAll(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
        var remainingBytes = bytes[...]
        while !remainingBytes.isEmpty {
            let count = remainingBytes.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, 0)
            }
            guard count > 0 else { return false }
            remainingBytes = remainingBytes.dropFirst(count)
        }
        return true
    }

    private static func residentMiB(_ processID: pid_t) -> Int {
        // Files below /proc report no size, so they are read with `read`.
        let descriptor = open("/proc/\(processID)/statm", O_RDONLY)
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = read(descriptor, &buffer, buffer.count)
        let text = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return (pages * Int(sysconf(Int32(_SC_PAGESIZE)))) >> 20
    }

    /// Measures the time to distill a recording of 10,000 users, on separate devices or on one
    /// shared device.
    private static func measureDistillation(isShared: Bool) {
        let recording = makeRecording(isShared: isShared)
        let clock = ContinuousClock()
        let samples = (0..<3).map { _ in
            Benchmarks.seconds(
                clock.measure {
                    _ = Distiller.contracts(
                        recording,
                        Distiller.Options(id: "x/golden", source: "x")
                    )
                }
            )
        }
        let deviceSharingText = isShared ? "shared" : "apart"
        Benchmarks.printSamples("distill: 100,000 exchanges, \(deviceSharingText)", samples)
    }

    /// The time of the first exchange, in milliseconds since 1970.
    private static let baseMilliseconds: Int64 = 1_790_000_000_000

    private static func exchange(
        _ from: Exchange.Party,
        _ to: Exchange.Party,
        _ method: String,
        _ target: String,
        _ body: JSONValue?,
        _ responseBody: JSONValue,
        number: Int
    ) -> Exchange {
        Exchange(
            from: from,
            to: to,
            namespace: "",
            purpose: .call,
            at: Instant(milliseconds: baseMilliseconds + Int64(number)),
            request: HTTPMessage.Request(method, target, body: body?.bytes ?? []),
            sequence: number,
            completed: 1,
            outcome: .answered(HTTPMessage.Response(200, json: responseBody))
        )
    }

    /// Returns a recording of 10,000 users.
    ///
    /// They register, buy, receive a push and read their subscription, on separate devices or on
    /// one shared device.
    private static func makeRecording(isShared: Bool) -> Recording {
        var exchanges: [Exchange] = []
        func addExchange(
            _ from: Exchange.Party,
            _ to: Exchange.Party,
            _ method: String,
            _ target: String,
            _ body: JSONValue?,
            _ responseBody: JSONValue
        ) {
            exchanges.append(
                exchange(from, to, method, target, body, responseBody, number: exchanges.count)
            )
        }
        for number in 0..<10_000 {
            let id = "person-\(number)"
            let expiryInMilliseconds: JSONValue = .integer(baseMilliseconds + 2_592_000_000)
            let deviceID: JSONValue = .string("‹device:\(isShared ? 0 : number)›")
            let registrationBody: JSONValue = ["appUserId": .string(id), "deviceId": deviceID]
            addExchange(.app, .backend, "POST", "/register", registrationBody, ["ok": true])
            for event in 0..<4 {
                let body: JSONValue = [
                    "event": [
                        "type": "RENEWAL", "id": .string("E-\(number)-\(event)"),
                        "app_user_id": .string(id),
                        "event_timestamp_ms": .integer(baseMilliseconds),
                        "expiration_at_ms": expiryInMilliseconds,
                        "transaction_id": .string("20000\(number)"),
                    ]
                ]
                addExchange(.revenueCat, .backend, "POST", "/hooks/rc", body, ["received": true])
            }
            addExchange(.backend, .oneSignal, "POST", "/notifications", ["x": 1], ["id": "n"])
            exchanges[exchanges.count - 1].effects = [
                Effect(
                    kind: "onesignal.notification",
                    recipients: [id],
                    content: ["contents": ["en": "Welcome"]]
                )
            ]
            for _ in 0..<4 {
                addExchange(
                    .app,
                    .backend,
                    "GET",
                    "/status/\(id)",
                    nil,
                    ["active": true, "until": expiryInMilliseconds]
                )
            }
        }
        let header = RecordingHeader(
            version: "bench",
            began: Instant(milliseconds: baseMilliseconds),
            target: "http://127.0.0.1"
        )
        return Recording(header: header, exchanges: exchanges)
    }
}
