internal import ArgumentParser
internal import Conformance
internal import Foundation
internal import Reports

struct MergeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Joins the saved runs of all shards into the report of one run.",
        discussion: """
            Each shard is a run with --shard I/N and --save. All parts must be there, once, and of \
            one suite; the joined report equals that of the run that was not cut, but for times.

            Example:  assay verify --shard 1/2 --save out/1.ndjson --target http://127.0.0.1:8080
                      assay verify --shard 2/2 --save out/2.ndjson --target http://127.0.0.1:8080
                      assay merge out/1.ndjson out/2.ndjson --report json=out/report.json
            """
    )

    @Argument(help: "The saved runs of all shards.")
    var files: [String]

    @OptionGroup var reports: ReportOptions

    mutating func run() throws {
        let written = try reports.files()
        let runs = try files.map { try SavedRun.read($0) }
        try check(runs)
        let known = try reports.knownFailures(or: runs.first?.head.profile.knownFailingPath)
        guard let joined = RunReport.joined(runs.map { $0.judged(knownFailures: known) }) else {
            throw Failure(.usage, "there is nothing to join")
        }
        try written.show(
            joined,
            replay: ReplayCommand([Terminal.program, "merge"] + files, selects: false)
        )
        throw ExitCode(joined.exitCode)
    }

    /// A part that is missing must not look like a part that passed.
    private func check(_ runs: [SavedRun]) throws {
        guard let first = runs.first else { throw Failure(.usage, "name the saved runs") }
        if let other = runs.firstIndex(where: { $0.head.suite != first.head.suite }) {
            throw Failure(.usage, "'\(files[other])' is of another suite than '\(files[0])'")
        }
        var seen: Set<Int> = []
        var count: Int?
        for (path, run) in zip(files, runs) {
            guard let shard = run.head.shard.flatMap(Shard.init) else {
                throw Failure(.usage, "'\(path)' is no part of a run; it was not made with --shard")
            }
            guard count == nil || count == shard.count else {
                throw Failure(.usage, "'\(path)' is part \(shard), the others are of \(count ?? 0)")
            }
            count = shard.count
            guard seen.insert(shard.index).inserted else {
                throw Failure(.usage, "part \(shard) is there twice, again in '\(path)'")
            }
        }
        let missing = (1...(count ?? 1)).filter { !seen.contains($0) }
        guard missing.isEmpty else {
            let list = missing.map { "\($0)/\(count ?? 1)" }.joined(separator: ", ")
            throw Failure(.usage, "shard \(list) is missing")
        }
    }
}
