internal import Foundation
internal import Values

/// Measures how the time of a run grows with the number of contracts, cases, journal entries and
/// shards.
///
/// The program prints an exponent: the time grows with this power of the number. An exponent of 1
/// means that the time is proportional to the number.
enum GrowthBenchmark {
    static func run(assayPath: String) async throws {
        let folder = NSTemporaryDirectory() + "assay-growth-\(UInt32.random(in: 0 ..< .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try measureContractGrowth(assayPath, folder)
        let target = try await Benchmarks.startBareBackend()
        try measureCaseGrowth(assayPath, folder, target)
        journal()
        try measureShardGrowth(assayPath, folder, target)
    }

    private static func printGrowthTable(_ rowLabel: String, _ rows: [(size: Int, seconds: Double)])
    {
        var previousRow: (size: Int, seconds: Double)?
        for row in rows {
            let exponent = previousRow.map {
                log(row.seconds / $0.seconds) / log(Double(row.size) / Double($0.size))
            }
            let text = exponent.map { String(format: "exponent %.2f", $0) } ?? ""
            Benchmarks.print(
                "\(row.size) \(rowLabel)".padding(toLength: 35, withPad: " ", startingAt: 0)
                    + String(format: "%9.3f s   ", row.seconds) + text
            )
            previousRow = row
        }
    }

    private static func seconds(_ body: () throws -> Void) rethrows -> Double {
        Benchmarks.seconds(try ContinuousClock().measure(body))
    }

    /// Writes a contract with one delivery.
    ///
    /// `axes` contains the keys under `variants`, each with its number of values. The contract has
    /// one variant for each combination of these values.
    static func write(_ id: String, axes: [String: Int], in folder: String) throws {
        let variants =
            axes.isEmpty
            ? ""
            : "variants:\n"
                + axes.sorted { $0.key < $1.key }.map { name, count in
                    "  \(name): [\((0..<count).map(String.init).joined(separator: ", "))]\n"
                }.joined()
        let axisPlaceholders = axes.keys.sorted().map { "{{\($0)}}" }.joined(separator: "-")
        let text = """
            contract: \(id)
            title: A delivery is answered \(axisPlaceholders)
            clause: S-07
            source: the benchmark
            \(variants)steps:
              - deliver: event\(axisPlaceholders)
                event: {type: RENEWAL, user: ada}
            expect: {status: 200}
            """
        let path = "\(folder)/\(id).yaml"
        try FileManager.default.createDirectory(
            at: URL(fileURLWithPath: path).deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: path))
    }

    // MARK: Contracts, cases, entries, shards

    private static func measureContractGrowth(_ assayPath: String, _ folder: String) throws {
        let rows = try [100, 1000, 10_000].map { size in
            let contractsFolder = "\(folder)/contracts-\(size)"
            for number in 0..<size {
                try write("many/case-\(number)", axes: [:], in: contractsFolder)
            }
            return (
                size,
                try seconds {
                    try Benchmarks.run(assayPath, ["lint", contractsFolder], succeeds: true)
                }
            )
        }
        printGrowthTable("contracts parsed and checked", rows)
    }

    private static func measureCaseGrowth(_ assayPath: String, _ folder: String, _ target: String)
        throws
    {
        let rows = try [1000, 10_000, 100_000].map { size in
            let contractsFolder = "\(folder)/cases-\(size)"
            try write("many/cases", axes: ["a": 100, "b": size / 100], in: contractsFolder)
            return (
                size,
                try seconds {
                    try Benchmarks.run(
                        assayPath,
                        commandArguments(contractsFolder, target),
                        succeeds: true
                    )
                }
            )
        }
        printGrowthTable("cases verified", rows)
    }

    /// Returns the text of a backend profile whose RevenueCat webhook has this path.
    static func profile(_ path: String) -> String {
        "assay: 1\nendpoints: {revenuecat-webhook: POST \(path)}\n"
    }

    /// Returns the arguments of `assayPath` that run the contracts of a folder against a backend.
    static func commandArguments(_ contractsFolder: String, _ target: String) -> [String] {
        [
            "verify", contractsFolder, "--target", target, "--listen", "revenuecat=127.0.0.1:0",
            "--listen", "onesignal=127.0.0.1:0", "--journal", "2048",
        ]
    }

    private static func journal() {
        let body = [UInt8](repeating: 0x20, count: 650)
        let rows = [10_000, 100_000, 1_000_000, 10_000_000].map { size in
            var journal = Journal(bytesMax: 64 << 20)
            return (
                size,
                seconds {
                    for _ in 0..<size { _ = journal.append(Benchmarks.exchangeWithResponse(body)) }
                }
            )
        }
        printGrowthTable("entries of the journal, 64 MiB", rows)
    }

    private static func measureShardGrowth(_ assayPath: String, _ folder: String, _ target: String)
        throws
    {
        let contractsFolder = "\(folder)/contracts-1000"
        let rows = try [1, 4, 16, 64].map { size in
            let shardRunPaths = (1...size).map { "\(folder)/part-\(size)-\($0).run" }
            let time = try seconds {
                for (index, part) in shardRunPaths.enumerated() {
                    try Benchmarks.run(
                        assayPath,
                        commandArguments(contractsFolder, target) + [
                            "--shard", "\(index + 1)/\(size)", "--save", part, "--seed", "growth",
                        ],
                        succeeds: true
                    )
                }
                try Benchmarks.run(assayPath, ["merge"] + shardRunPaths, succeeds: true)
            }
            return (size, time)
        }
        printGrowthTable("shards of 1000 cases, and merge", rows)
    }
}
