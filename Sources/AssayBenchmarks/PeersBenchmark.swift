internal import Foundation
internal import Programs

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Compares the speed of Assay with that of other tools.
///
/// Each tool runs five times, in turn with the others. The output contains the median, minimum and
/// maximum time of each tool. The script `setup.sh` in `scriptsFolder` installs the other tools. A
/// missing tool is reported.
struct PeersBenchmark {
    private static let runCount = 5

    let assayPath: String
    let benchmarkExecutable: String
    /// The folder with `gen_cases.py`, `run_pact.py`, `run_floor.py`, `sut.sh` and other scripts.
    let scriptsFolder: String
    private let pythonPath: String
    private let mitmdumpPath: String
    private let folder = NSTemporaryDirectory() + "assay-peers-\(UInt32.random(in: 0 ..< .max))"
    private let backendPort = Int(LoopbackPort.findFree())

    init(assayPath: String, benchmarkExecutable: String, scriptsFolder: String) {
        self.assayPath = assayPath
        self.benchmarkExecutable = benchmarkExecutable
        self.scriptsFolder = scriptsFolder
        let environment = ProcessInfo.processInfo.environment
        let venv = environment["PEERS_VENV"] ?? "/tmp/peers-venv"
        pythonPath = venv + "/bin/python"
        mitmdumpPath = venv + "/bin/mitmdump"
        setenv("PACT_DO_NOT_TRACK", "true", 1)
        setenv("PACT_LOG_LEVEL", "ERROR", 1)
    }

    private var backendURL: String { "http://127.0.0.1:\(backendPort)" }

    func run() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Benchmarks.run("/bin/bash", ["\(scriptsFolder)/sut.sh", "start", "\(backendPort)"])
        defer {
            try? Benchmarks.run("/bin/bash", ["\(scriptsFolder)/sut.sh", "stop", "\(backendPort)"])
        }
        _ = ServingBenchmark.firstResponse(port: backendPort, path: "/")
        try compare("start", [("list", { try self.measureSeconds(assayPath, ["list"]) })])
        try compareCases(200)
        try compareCases(1000)
        try compareGolden()
        try compareDeliveryRates()
        try compareFakes()
    }

    // MARK: Runners

    private func measureSeconds(_ program: String, _ commandArguments: [String]) throws -> Double {
        let clock = ContinuousClock()
        return Benchmarks.seconds(
            try clock.measure { try Benchmarks.run(program, commandArguments, succeeds: true) }
        )
    }

    private func verify(_ contractsFolder: String) -> [String] {
        GrowthBenchmark.commandArguments(contractsFolder, backendURL)
    }

    private func compareCases(_ count: Int) throws {
        let contractsFolder = "\(folder)/cases-\(count)"
        for number in 0..<count {
            try GrowthBenchmark.write("many/case-\(number)", axes: [:], in: contractsFolder)
        }
        let peersFolder = "\(folder)/peers-\(count)"
        try Benchmarks.run(
            pythonPath,
            ["\(scriptsFolder)/gen_cases.py", "\(count)", peersFolder, backendURL],
            succeeds: true
        )
        var rows: [ComparisonRow] = [
            ("assay verify", { try measureSeconds(assayPath, verify(contractsFolder)) }),
            (
                "pact verifier",
                {
                    try measureSeconds(
                        pythonPath,
                        ["\(scriptsFolder)/run_pact.py", "\(peersFolder)/pacts", backendURL]
                    )
                }
            ),
            (
                "floor: Python, one connection",
                {
                    try measureSeconds(
                        pythonPath,
                        [
                            "\(scriptsFolder)/run_floor.py", "\(peersFolder)/cases.ndjson",
                            "127.0.0.1",
                            "\(backendPort)",
                        ]
                    )
                }
            ),
        ]
        if count == 200 {
            rows.append(
                (
                    "bare loop, the same client",
                    { try measureSeconds(benchmarkExecutable, ["bare", backendURL]) }
                )
            )
        }
        try compare("\(count) cases, cold", rows)
    }

    /// Measures a case that sends 200 requests one after the other, and compares it with a bare
    /// loop that sends the same requests.
    private func compareGolden() throws {
        let contractsFolder = "\(folder)/golden"
        let steps = (0..<200).map {
            "  - deliver: event\($0)\n    event: {type: RENEWAL, user: ada}\n"
        }
        let text =
            "contract: golden/row\ntitle: Two hundred deliveries in a row are answered\n"
            + "clause: S-07\nsource: the benchmark\nsteps:\n" + steps.joined()
            + "expect: {status: 200}\n"
        try FileManager.default.createDirectory(
            atPath: contractsFolder + "/golden",
            withIntermediateDirectories: true
        )
        try Data(text.utf8).write(to: URL(fileURLWithPath: contractsFolder + "/golden/row.yaml"))
        try compare(
            "200 requests in a row in one case, cold",
            [
                ("assay verify", { try measureSeconds(assayPath, verify(contractsFolder)) }),
                (
                    "bare loop, the same client",
                    { try measureSeconds(benchmarkExecutable, ["bare", backendURL]) }
                ),
            ]
        )
    }

    /// Measures the webhook deliveries per second of a run, without the time for its start.
    ///
    /// Compares them with the requests per second of a load generator with eight connections. One
    /// of the two target servers is nginx, which does no work, and the other is an ordinary server
    /// in Python.
    private func compareDeliveryRates() throws {
        let (fewDeliveriesFolder, manyDeliveriesFolder, moreDeliveriesFolder) = (
            "\(folder)/few", "\(folder)/many", "\(folder)/more"
        )
        try GrowthBenchmark.write("many/cases", axes: ["a": 1, "b": 1], in: fewDeliveriesFolder)
        try GrowthBenchmark.write(
            "many/cases",
            axes: ["a": 100, "b": 40],
            in: manyDeliveriesFolder
        )
        try GrowthBenchmark.write(
            "many/cases",
            axes: ["a": 100, "b": 200],
            in: moreDeliveriesFolder
        )
        func rate(_ contractsFolder: String, _ count: Double, _ target: String) throws -> Double {
            let commandArguments = { (contractsFolder: String) in
                GrowthBenchmark.commandArguments(contractsFolder, target) + [
                    "--profile", "\(folder)/assay.yaml",
                ]
            }
            let startupSeconds = try measureSeconds(
                assayPath,
                commandArguments(fewDeliveriesFolder)
            )
            return count
                / (try measureSeconds(assayPath, commandArguments(contractsFolder)) - startupSeconds)
        }
        try Data(GrowthBenchmark.profile(ServingBenchmark.webhookPath).utf8)
            .write(to: URL(fileURLWithPath: "\(folder)/assay.yaml"))
        try compare(
            "deliveries with judging, to nginx",
            [
                ("assay verify", { try rate(moreDeliveriesFolder, 20_000, backendURL) }),
                ("wrk, eight connections", { try load(backendPort, "/").rate }),
            ],
            unit: "/s"
        )
        let port = Int(LoopbackPort.findFree())
        let process = try startPythonServer(port)
        defer {
            kill(process, SIGKILL)
            ServingBenchmark.wait(process)
        }
        try compare(
            "deliveries with judging, to Werkzeug",
            [
                (
                    "assay verify",
                    { try rate(manyDeliveriesFolder, 4000, "http://127.0.0.1:\(port)") }
                ),
                (
                    "wrk, eight connections",
                    { try load(port, ServingBenchmark.webhookPath).rate }
                ),
            ],
            unit: "/s"
        )
    }

    private func startPythonServer(_ port: Int) throws -> pid_t {
        let process = try ServingBenchmark.spawn(
            pythonPath,
            ["\(scriptsFolder)/fakes.py", "pytest-httpserver", "\(port)"]
        )
        _ = ServingBenchmark.firstResponse(port: port, path: "/")
        return process
    }

    // MARK: Fakes

    /// The servers that are compared, each with the command that starts it on a port.
    private var fakeServers: [(name: String, path: String, command: (Int) -> [String])] {
        let controlPort = Int(LoopbackPort.findFree())
        return [
            (
                "a fake, with journal", ServingBenchmark.path,
                { port in
                    [assayPath] + ServingBenchmark.serveArguments(port, controlPort: controlPort)
                }
            ),
            (
                "bare server: Hummingbird", ServingBenchmark.path,
                { port in ["/usr/bin/env", "BARE_PORT=\(port)", benchmarkExecutable, "bare-server"]
                }
            ),
            (
                "pact mock server", ServingBenchmark.webhookPath,
                { port in [pythonPath, "\(scriptsFolder)/fakes.py", "pact", "\(port)"] }
            ),
            (
                "mitmdump", ServingBenchmark.webhookPath,
                { port in
                    [
                        mitmdumpPath, "-q", "-s", "\(scriptsFolder)/mitm_fake.py", "--listen-host",
                        "127.0.0.1", "-p", "\(port)", "--mode", "reverse:http://127.0.0.1:1",
                        "--set", "connection_strategy=lazy",
                    ]
                }
            ),
        ]
    }

    private func compareFakes() throws {
        var rateRows: [ComparisonRow] = []
        var slowResponseTimes: [String: [Double]] = [:]
        for server in fakeServers {
            rateRows.append(
                (
                    server.name,
                    {
                        let port = Int(LoopbackPort.findFree())
                        let commandArguments = server.command(port)
                        let process = try ServingBenchmark.spawn(
                            commandArguments[0],
                            Array(commandArguments.dropFirst())
                        )
                        defer {
                            kill(process, SIGKILL)
                            ServingBenchmark.wait(process)
                        }
                        _ = ServingBenchmark.firstResponse(port: port, path: "/")
                        let load = try load(port, server.path)
                        slowResponseTimes[server.name, default: []].append(load.slowResponseTime)
                        return load.rate
                    }
                )
            )
        }
        rateRows.append(
            (
                "nginx, one worker",
                {
                    let load = try load(backendPort, "/")
                    slowResponseTimes["nginx, one worker", default: []].append(
                        load.slowResponseTime
                    )
                    return load.rate
                }
            )
        )
        try compare("650-byte POST, eight connections", rateRows, unit: "/s")
        for (name, _) in rateRows {
            let sorted = (slowResponseTimes[name] ?? []).sorted()
            Benchmarks.print(
                Self.padded("  p99 by p50, \(name)", 42)
                    + String(format: "%8.1f", sorted[sorted.count / 2])
            )
        }
    }

    /// Measures a server with a load generator.
    ///
    /// Returns the responses per second, and the ratio of the 99th percentile of the response times
    /// to their median.
    private func load(_ port: Int, _ path: String) throws -> (
        rate: Double, slowResponseTime: Double
    ) {
        let scriptPath = "\(folder)/post.lua"
        let text =
            "wrk.method = 'POST'\nwrk.headers['Content-Type'] = 'application/json'\n"
            + "wrk.body = '\(ServingBenchmark.body)'\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: scriptPath))
        let outputPath = "\(folder)/load"
        let arguments = [
            "wrk", "-t1", "-c8", "-d3s", "--latency", "-s", scriptPath,
            "http://127.0.0.1:\(port)\(path)",
        ]
        try Benchmarks.run("/usr/bin/env", arguments, outputPath: outputPath)
        let output = try String(contentsOfFile: outputPath, encoding: .utf8)
        func number(_ name: String) -> Double {
            let line = output.split(separator: "\n").first { $0.contains(name) } ?? ""
            let text = line.split(separator: " ").last.map(String.init) ?? ""
            for (unit, factor) in [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)]
            where text.hasSuffix(unit) {
                return (Double(text.dropLast(unit.count)) ?? .nan) * factor
            }
            return Double(text) ?? .nan
        }
        return (number("Requests/sec"), number("99%") / number("50%"))
    }

    // MARK: The table

    private typealias ComparisonRow = (name: String, measure: () throws -> Double)

    /// Measures all rows of a table in turns, and prints the table.
    ///
    /// Each row also shows a ratio: the median of the first row divided by the median of this row.
    private func compare(_ title: String, _ rows: [ComparisonRow], unit: String = "s") throws {
        var samples = rows.map { _ in [Double]() }
        for _ in 0..<Self.runCount {
            for (index, row) in rows.enumerated() {
                do {
                    samples[index].append(try row.measure())
                } catch {
                    Benchmarks.print("  \(row.name): not available (\(error.localizedDescription))")
                }
            }
        }
        Benchmarks.print(
            Self.padded(title, 42) + "  median     min     max     ratio of Assay"
        )
        let assaySamples = samples[0].sorted()
        for (row, sample) in zip(rows, samples) where !sample.isEmpty {
            let sorted = sample.sorted()
            let medianValue = sorted[sorted.count / 2]
            let fractionDigits = unit == "s" ? 3 : 0
            func text(_ value: Double) -> String { String(format: "%8.*f", fractionDigits, value) }
            let ratio =
                row.name == rows[0].name
                ? ""
                : String(
                    format: "%8.2f",
                    assaySamples[assaySamples.count / 2] / medianValue
                )
            Benchmarks.print(
                Self.padded("  \(row.name)", 42) + text(medianValue) + text(sorted[0])
                    + text(sorted[sorted.count - 1]) + " \(unit)" + ratio
            )
        }
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text.padding(toLength: width, withPad: " ", startingAt: 0)
    }
}
