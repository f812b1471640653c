internal import ArgumentParser
internal import Contracts
internal import Exploration
internal import Foundation
internal import Judging
internal import Replay
internal import Reports

struct MergeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Merges the saved runs of all shards into one report.",
        discussion: """
            Each shard is a run of 'verify' or 'explore' with --shard I/N and --save. Give all \
            shards of one suite exactly once. Except for times, the merged report of a suite \
            equals the report of a run without shards.

            Example:  assay verify --shard 1/2 --save out/1.ndjson --target http://127.0.0.1:8080
                      assay verify --shard 2/2 --save out/2.ndjson --target http://127.0.0.1:8080
                      assay merge out/1.ndjson out/2.ndjson --report json=out/report.json
                      assay merge out    (every *.ndjson file in the folder)
                      assay merge --corpus corpus out/1 out/2    (corpora of 'explore')
            """
    )

    @Argument(
        help: "The saved runs of all shards, or their folders; with --corpus, the corpora to merge."
    )
    var paths: [String]

    @Option(
        name: .long,
        help:
            "Merge corpora of 'assay explore' into this folder: histories, coverage and failures.",
        completion: .directory
    )
    var corpus: String?

    @OptionGroup var reports: ReportOptions

    mutating func run() throws {
        if let corpus { return try mergeCorpora(into: HistoryCorpus(folder: corpus)) }
        let reportFiles = try reports.files()
        let files = try paths.flatMap(Self.files)
        let savedRuns = try files.map { try SavedRun.read($0) }
        try checkShards(savedRuns, files)
        let known = try reports.knownFailures(or: savedRuns.first?.head.profile.knownFailuresPath)
        let shardReports = savedRuns.map { $0.judged(knownFailures: known) }
        guard var joined = RunReport.joined(shardReports) else {
            throw CommandFailure(.usage, "there is no run to merge")
        }
        if joined.suite == Campaign.suite {
            joined.cases = Campaign.joined(shardReports.map(\.cases))
        }
        reportFiles.show(
            joined,
            replay: ReplayCommand([Terminal.program, "merge"] + paths, acceptsCaseIDs: false)
        )
        throw ExitCode(joined.exitCode)
    }

    /// Merges corpora (folders of generated histories) into one folder, which may be one of the
    /// corpora.
    private func mergeCorpora(into target: HistoryCorpus) throws {
        let sourceCorpora = paths.map(HistoryCorpus.init)
        if let missing = sourceCorpora.first(where: { !$0.exists }) {
            throw CommandFailure(
                .usage,
                "'\(missing.folder)' is not a corpus: it has no folder 'histories'; "
                    + "'assay explore --corpus' creates one"
            )
        }
        let contents = try sourceCorpora.map { try $0.contents() }
        let isTargetAmongSources = sourceCorpora.contains { $0.folder == target.folder }
        let earlierContents =
            isTargetAmongSources || !target.exists
            ? HistoryCorpus.Contents() : try target.contents()
        try target.createFolders()
        var coverage = earlierContents.coverage
        for source in contents { coverage.merge(source.coverage) }
        let mergedInputs =
            contents.flatMap(\.histories).map(CampaignInput.users)
            + contents.flatMap(\.phoneHistories).map(CampaignInput.phone)
        let copiedFailureCount: Int
        do {
            for input in mergedInputs { try target.add(input) }
            try target.write(coverage)
            copiedFailureCount = try target.copyFailures(from: sourceCorpora)
        } catch {
            throw CommandFailure(
                .outputFailed,
                "cannot write the corpus '\(target.folder)': \(error.plainReason)"
            )
        }
        let otherVersionPaths = contents.flatMap(\.otherVersionPaths)
        if let first = otherVersionPaths.first {
            Terminal.error(
                "assay: skipped \(otherVersionPaths.count) corpus file\(otherVersionPaths.count == 1 ? "" : "s") of "
                    + "another version, such as '\(first)'\n"
            )
        }
        let joined = try target.contents()
        let count = joined.histories.count + joined.phoneHistories.count
        Terminal.output(
            "\(target.folder): \(count) histories, \(coverage.countByFeature.count) features covered, "
                + "contracts of failures: \(copiedFailureCount)\n"
        )
    }

    /// Returns the path itself if it is a file, or the saved runs of a folder, sorted by name.
    private static func files(at path: String) throws -> [String] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder),
            isFolder.boolValue
        else { return [path] }
        let names = try FileManager.default.sortedNames(inFolder: path)
        let runFiles = names.filter { $0.hasSuffix(".ndjson") }.map { "\(path)/\($0)" }
        guard runFiles.isEmpty else { return runFiles }
        throw CommandFailure(.usage, "'\(path)' contains no saved run (*.ndjson)")
    }

    /// Checks that every shard of one suite is given exactly once.
    ///
    /// A missing shard must not count as passed.
    private func checkShards(_ savedRuns: [SavedRun], _ files: [String]) throws {
        guard let first = savedRuns.first else {
            throw CommandFailure(.usage, "give the saved runs to merge")
        }
        if let mismatchedRunIndex = savedRuns.firstIndex(where: {
            $0.head.suite != first.head.suite
        }) {
            throw CommandFailure(
                .usage,
                "'\(files[mismatchedRunIndex])' and '\(files[0])' are runs of different suites"
            )
        }
        var seenShardIndices: Set<Int> = []
        var count: Int?
        for (path, run) in zip(files, savedRuns) {
            guard let shard = run.head.shard.flatMap(Shard.init) else {
                throw CommandFailure(.usage, "'\(path)' is not a shard: its run had no --shard")
            }
            guard count == nil || count == shard.count else {
                throw CommandFailure(
                    .usage,
                    "'\(path)' is shard \(shard); others are of \(count ?? 0)"
                )
            }
            count = shard.count
            guard seenShardIndices.insert(shard.index).inserted else {
                throw CommandFailure(
                    .usage,
                    "shard \(shard) is given twice; the second file is '\(path)'"
                )
            }
        }
        let missing = (1...(count ?? 1)).filter { !seenShardIndices.contains($0) }
        guard missing.isEmpty else {
            let missingShardList = missing.map { "\($0)/\(count ?? 1)" }.joined(separator: ", ")
            throw CommandFailure(.usage, "missing shards: \(missingShardList)")
        }
    }
}
