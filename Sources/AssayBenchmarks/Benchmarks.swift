internal import AsyncHTTPClient
internal import Contracts
internal import Foundation
internal import Hummingbird
internal import Judging
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import Providers
internal import Values

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Measures the performance targets in section 10 of the architecture page.
///
/// The program prints the results and does not judge them.
@main
enum Benchmarks {
    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count == 3, arguments[1] == "bare" {
            try await postEventsToBareBackend(arguments[2])
            return
        }
        if arguments.count == 2, arguments[1] == "bare-server" {
            try await ServingBenchmark.runBareServer()
            return
        }
        if arguments.count == 2, arguments[1] == "storage" {
            StorageBenchmark.run()
            return
        }
        let folder = URL(fileURLWithPath: arguments[0]).deletingLastPathComponent()
        let assayPath = folder.appendingPathComponent("assay").path
        if arguments.count == 2, arguments[1] == "serving" {
            try ServingBenchmark.run(assayPath: assayPath, benchmarkExecutable: arguments[0])
            return
        }
        if arguments.count == 2, arguments[1] == "writes" {
            try WritesBenchmark.run(assayPath: assayPath)
            return
        }
        if arguments.count == 2, arguments[1] == "growth" {
            try await GrowthBenchmark.run(assayPath: assayPath)
            return
        }
        if arguments.count == 3, arguments[1] == "peers" {
            try PeersBenchmark(
                assayPath: assayPath,
                benchmarkExecutable: arguments[0],
                scriptsFolder: arguments[2]
            ).run()
            return
        }
        print("cores                              \(ProcessInfo.processInfo.activeProcessorCount)")
        try printSamples("--version, cold", measureTimes(20) { try run(assayPath, ["--version"]) })
        printSamples("account workflow", measureTimes(20) { PhoneBenchmark.runAccountWorkflow() })
        try printSamples(
            "all scenarios, scripted app",
            measureTimes(5) { try run(assayPath, ["app", "--scripted"]) }
        )
        measureJudging()
        journal()
        measureMillionJournalEntries()
        StorageBenchmark.run()
        try ServingBenchmark.run(assayPath: assayPath, benchmarkExecutable: arguments[0])
        try await compareSimpleCases(assayPath: assayPath, benchmarkExecutable: arguments[0])
        try RecordingBenchmark.run(assayPath: assayPath, benchmarkExecutable: arguments[0])
        let startCommand = "exec '\(assayPath)' backend --port {{port}} --data '{{data}}'"
        try printSamples(
            "whole suite, no probes",
            measureTimes(3) { try run(assayPath, ["verify", "--start", startCommand]) }
        )
    }

    static func print(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    static func printSamples(_ name: String, _ samples: [Double]) {
        let sorted = samples.sorted()
        func text(_ value: Double) -> String { String(format: "%9.2f", value * 1000) }
        let label = name.padding(toLength: 34, withPad: " ", startingAt: 0)
        print(
            "\(label) min \(text(sorted[0])) ms  median \(text(sorted[sorted.count / 2])) ms  "
                + "max \(text(sorted[sorted.count - 1])) ms"
        )
    }

    private static func measureTimes(_ count: Int, _ body: () throws -> Void) rethrows -> [Double] {
        let clock = ContinuousClock()
        return try (0..<count).map { _ in seconds(try clock.measure(body)) }
    }

    static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }

    /// Runs a program and waits until it exits.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - arguments: The arguments without the program's name.
    ///   - outputPath: The new file for the program's standard output; nil to discard it.
    ///   - succeeds: Whether the program must exit with 0, so that a fast failure is not mistaken
    ///     for a fast success.
    /// - Throws: An error when the program cannot be started.
    static func run(
        _ program: String,
        _ arguments: [String],
        outputPath: String? = nil,
        succeeds: Bool = false
    ) throws {
        // `Process` of Foundation notices the exit of a program up to 50 ms late, so `posix_spawn`
        // is used directly.
        var fileActions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&fileActions)
        defer { posix_spawn_file_actions_destroy(&fileActions) }
        for (descriptor, path) in [(Int32(1), outputPath), (2, nil)] {
            posix_spawn_file_actions_addopen(
                &fileActions,
                descriptor,
                path ?? "/dev/null",
                O_WRONLY | O_CREAT | O_TRUNC,
                0o600
            )
        }
        var cArguments: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) }
        cArguments.append(nil)
        defer { for word in cArguments { free(word) } }
        var processID: pid_t = 0
        guard posix_spawn(&processID, program, &fileActions, nil, &cArguments, environ) == 0 else {
            throw CocoaError(.executableNotLoadable)
        }
        var status: Int32 = 0
        waitpid(processID, &status, 0)
        precondition(!succeeds || status == 0, "\(arguments) failed")
    }

    // MARK: Values

    /// Measures the time to judge 3,334 cases with 30 observations each.
    ///
    /// Observations are deliveries, pushes and probe responses: 10 in the judged run, and 10 in
    /// each of its two baseline runs (the same case without faults).
    private static func measureJudging() {
        let evidence = makeEvidence()
        let verdict = Judge.judge(evidence)
        guard verdict.verdict == .passed else {
            print("the case of the benchmark does not pass: \(verdict.findings)")
            return
        }
        printSamples(
            "100,000 observations judged",
            measureTimes(3) { for _ in 0..<3334 { _ = Judge.judge(evidence) } }
        )
    }

    /// Returns the evidence of a passed case.
    private static func makeEvidence() -> CaseEvidence {
        let location = SourceLocation(path: "x", line: 1, column: 1)
        var expectation = Expectation(responses: .statuses([200]))
        expectation.relation = .once
        let deliveries = (0..<4).map {
            Delivery(
                name: "d\($0)",
                subject: .event(EventSpec(type: .documented(.renewal), user: "ada"))
            )
        }
        let contract = Contract(
            id: "x",
            variant: "",
            title: "",
            clause: "S-03",
            level: .must,
            source: "",
            needs: [],
            given: [],
            steps: deliveries.map(Step.deliver),
            expectation: expectation,
            location: location
        )
        let plan = CasePlan(contract)
        var profile = Profile()
        profile.probes = [
            Profile.Probe(name: "s", source: .get("/"), readings: [:], ignoredPointers: [])
        ]
        return CaseEvidence(
            plan: plan,
            subject: makeRunRecord("benchmark-a", plan, deliveries),
            baselines: [
                makeRunRecord("benchmark-b", plan, deliveries),
                makeRunRecord("benchmark-c", plan, deliveries),
            ],
            profile: profile,
            observability: RunRecord.Observability(
                arePushesObservable: true,
                areProbeChangesObservable: true,
                latency: .zero
            )
        )
    }

    /// Returns the record of a run with deliveries, pushes and probe responses.
    private static func makeRunRecord(
        _ name: String,
        _ plan: CasePlan,
        _ deliveries: [Delivery]
    ) -> RunRecord {
        let namespace = Namespace(name: name, idForm: .uuid)
        let id = namespace.id(of: "ada")
        let base = Instant(milliseconds: 1_790_000_000_000)
        func exchange(
            _ purpose: Exchange.Purpose,
            body: JSONValue,
            effects: [Effect] = []
        ) -> Exchange {
            Exchange(
                from: .revenueCat,
                to: .backend,
                namespace: name,
                purpose: purpose,
                at: base,
                request: HTTPMessage.Request("POST", "/"),
                completed: 1,
                outcome: .answered(HTTPMessage.Response(200, json: body)),
                effects: effects
            )
        }
        let pushEffect = Effect(
            kind: "onesignal.notification",
            recipients: [id],
            content: ["contents": ["en": .string("Hello \(id)")]]
        )
        let probedState: JSONValue = [
            "user": .string(id), "access": true, "until": 1_795_000_000_000, "plan": "pro",
        ]
        return RunRecord(
            plan: plan.subject,
            namespace: namespace,
            base: base,
            began: base + .seconds(3600),
            ended: base + .seconds(3601),
            exchanges: deliveries.map {
                exchange(.delivery(name: $0.name, attempt: 1), body: [:])
            } + (0..<4).map { _ in exchange(.call, body: [:], effects: [pushEffect]) }
                + (0..<2).map { _ in exchange(.probe(name: "s", user: "ada"), body: probedState)
                },
            settleEvidence: .notNeeded
        )
    }

    private static func journal() {
        var journal = Journal(bytesMax: 1 << 30)
        let body = [UInt8](repeating: 0x20, count: 650)
        let count = 100_000
        let residentBytesBefore = residentBytes()
        for _ in 0..<count {
            let number = journal.append(
                Exchange(
                    from: .backend,
                    to: .oneSignal,
                    namespace: "20eisnuvkso-1234",
                    purpose: .call,
                    at: Instant(milliseconds: 0),
                    request: HTTPMessage.Request(
                        "POST",
                        "/notifications",
                        fields: [
                            HTTPMessage.Field("host", "127.0.0.1:40001"),
                            HTTPMessage.Field("content-type", "application/json"),
                            HTTPMessage.Field("authorization", "Key os_v2_app_assay"),
                            HTTPMessage.Field("content-length", "650"),
                        ],
                        body: body
                    )
                )
            )
            journal.complete(
                number,
                .answered(HTTPMessage.Response(200, json: ["id": "x", "external_id": .null])),
                at: 1
            )
        }
        let countedOverhead = journal.byteCount / count - body.count
        let residentMemory = (residentBytes() - residentBytesBefore) / count - body.count
        print(
            "journal beyond the body            \(countedOverhead) bytes counted, \(residentMemory) resident"
        )
    }

    /// Adds a million HTTP calls to a journal with a size limit, and prints the memory of this
    /// process.
    ///
    /// The memory must not grow once the journal is full.
    private static func measureMillionJournalEntries() {
        let journalBytesMax = 64 << 20
        var journal = Journal(bytesMax: journalBytesMax)
        let body = [UInt8](repeating: 0x20, count: 650)
        let residentBytesBefore = residentBytes()
        var residentMemory: [Int] = []
        for number in 1...1_000_000 {
            _ = journal.append(exchangeWithResponse(body))
            if number % 250_000 == 0 {
                residentMemory.append((residentBytes() - residentBytesBefore) >> 20)
            }
        }
        print(
            "a million entries, limit 64 MiB    \(journal.byteCount >> 20) MiB counted, resident at "
                + "each quarter \(residentMemory.map(String.init).joined(separator: ", ")) MiB"
        )
    }

    /// Returns an exchange in which a backend sends this request body to the OneSignal fake, which
    /// responds with 200.
    static func exchangeWithResponse(_ body: [UInt8]) -> Exchange {
        var exchange = Exchange(
            from: .backend,
            to: .oneSignal,
            namespace: "",
            purpose: .call,
            at: Instant(milliseconds: 0),
            request: HTTPMessage.Request("POST", "/notifications", body: body)
        )
        exchange.outcome = .answered(HTTPMessage.Response(200, json: ["id": "x"]))
        return exchange
    }

    /// The memory of this process, in bytes.
    static func residentBytes() -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 4096 }
            ?? 0
    }

    // MARK: Deliveries

    /// Measures a run of 200 contracts with one delivery each, in a new process.
    ///
    /// Compares it with a bare loop that sends the same requests.
    private static func compareSimpleCases(assayPath: String, benchmarkExecutable: String)
        async throws
    {
        let folder = NSTemporaryDirectory() + "assay-benchmark-\(UInt32.random(in: 0 ..< .max))"
        try FileManager.default.createDirectory(
            atPath: folder + "/simple",
            withIntermediateDirectories: true
        )
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for number in 0..<200 {
            let text = """
                contract: simple/case-\(number)
                title: A delivery is answered
                clause: S-07
                source: the benchmark
                steps:
                  - deliver: event
                    event: {type: RENEWAL, user: ada}
                expect: {status: 200}
                """
            let path = "\(folder)/simple/case-\(number).yaml"
            try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: path))
        }
        let target = try await startBareBackend()
        var assaySamples: [Double] = []
        var bareSamples: [Double] = []
        // The runs alternate, so that both measurements have the same conditions.
        for _ in 0..<7 {
            bareSamples += try measureTimes(1) { try run(benchmarkExecutable, ["bare", target]) }
            assaySamples += try measureTimes(1) {
                try run(
                    assayPath,
                    [
                        "verify", folder, "--target", target, "--listen", "revenuecat=127.0.0.1:0",
                        "--listen", "onesignal=127.0.0.1:0",
                    ]
                )
            }
        }
        printSamples("200 POSTs, bare loop, cold", bareSamples)
        printSamples("200 simple cases verified, cold", assaySamples)
        let ratio = assaySamples.sorted()[3] / bareSamples.sorted()[3]
        print("ratio of the medians               \(String(format: "%.2f", ratio))")
    }

    /// Starts a server that responds to every request with 200 until this process ends.
    ///
    /// Returns its URL.
    static func startBareBackend() async throws -> String {
        let (portStream, continuation) = AsyncStream.makeStream(of: Int.self)
        var logger = Logger(label: "benchmark")
        logger.logLevel = .critical
        let router = Router()
        router.get("/") { _, _ in Response(status: .ok) }
        router.post("**") { request, _ in
            _ = try await request.body.collect(upTo: 1 << 20)
            return Response(status: .ok)
        }
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { continuation.yield($0.localAddress?.port ?? 0) },
            logger: logger
        )
        Task { try await application.run() }
        var iterator = portStream.makeAsyncIterator()
        return "http://127.0.0.1:\(await iterator.next() ?? 0)"
    }

    private static func postEventsToBareBackend(_ target: String) async throws {
        let client = HTTPClient(eventLoopGroupProvider: .singleton)
        let context = EventContext(
            namespace: Namespace(name: "bare", idForm: .string),
            base: Instant(milliseconds: 1_790_000_000_000)
        )
        let factory = EventFactory(context)
        for number in 0..<200 {
            var request = HTTPClientRequest(url: target + "/api/webhooks/revenuecat")
            request.method = .POST
            request.headers.add(name: "content-type", value: "application/json")
            let body = factory.body(
                EventSpec(type: .documented(.renewal), user: "ada"),
                name: "n\(number)"
            )
            .bytes
            request.body = .bytes(ByteBuffer(bytes: body))
            let response = try await client.execute(request, timeout: .seconds(10))
            _ = try await response.body.collect(upTo: 1 << 20)
            precondition(response.status == .ok, "the server answers 200")
        }
        try await client.shutdown()
    }
}
