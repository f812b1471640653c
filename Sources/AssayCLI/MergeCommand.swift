internal import ArgumentParser
internal import Conformance
internal import Exploration
internal import Foundation
internal import Replay
internal import Reports

struct MergeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Joins the saved runs of all shards into the report of one run.",
        discussion: """
            Each shard is a run of 'verify' or 'explore' with --shard I/N and --save. All parts must \
            be there, once, and of one suite; the joined report of a suite equals that of the run \
            that was not cut, but for times.

            Example:  assay verify --shard 1/2 --save out/1.ndjson --target http://127.0.0.1:8080
                      assay verify --shard 2/2 --save out/2.ndjson --target http://127.0.0.1:8080
                      assay merge out/1.ndjson out/2.ndjson --report json=out/report.json
                      assay merge out    (every *.ndjson of a folder)
                      assay merge --corpus lives out/1 out/2    (what 'assay explore' has left)
            """
    )

    @Argument(help: "The saved runs of all shards, or folders of them; with --corpus, corpora.")
    var paths: [String]

    @Option(
        name: .long,
        help:
            "Join corpora of 'assay explore' into this folder: lives, coverage and what was found.",
        completion: .directory
    )
    var corpus: String?

    @OptionGroup var reports: ReportOptions

    mutating func run() throws {
        if let corpus { return try join(into: LifeCorpus(folder: corpus)) }
        let written = try reports.files()
        let files = try paths.flatMap(Self.files)
        let runs = try files.map { try SavedRun.read($0) }
        try check(runs, files)
        let known = try reports.knownFailures(or: runs.first?.head.profile.knownFailingPath)
        let parts = runs.map { $0.judged(knownFailures: known) }
        guard var joined = RunReport.joined(parts) else {
            throw Failure(.usage, "there is nothing to join")
        }
        if joined.suite == Campaign.suite { joined.cases = Campaign.joined(parts.map(\.cases)) }
        written.show(
            joined,
            replay: ReplayCommand([Terminal.program, "merge"] + paths, selects: false)
        )
        throw ExitCode(joined.exitCode)
    }

    /// Joins corpora; the folder itself may be one of them.
    private func join(into target: LifeCorpus) throws {
        let sources = paths.map(LifeCorpus.init)
        if let missing = sources.first(where: { !$0.exists }) {
            throw Failure(
                .usage,
                "'\(missing.folder)' is no corpus: it has no folder 'lives'; 'assay explore --corpus' "
                    + "makes one"
            )
        }
        let contents = try sources.map { try $0.contents() }
        let isThere = sources.contains { $0.folder == target.folder }
        let before = isThere || !target.exists ? LifeCorpus.Contents() : try target.contents()
        try target.prepare()
        var coverage = before.coverage
        for source in contents { coverage.merge(source.coverage) }
        let stories =
            contents.flatMap(\.lives).map(Story.people)
            + contents.flatMap(\.phones).map(Story.phone)
        let foundCount: Int
        do {
            for story in stories { try target.add(story) }
            try target.write(coverage)
            foundCount = try target.takeFound(from: sources)
        } catch {
            throw Failure(
                .outputFailed,
                "cannot write the corpus '\(target.folder)': \(error.plainReason)"
            )
        }
        let strange = contents.flatMap(\.strange)
        if let first = strange.first {
            Terminal.error(
                "assay: \(strange.count) lives of another version were left where they are, such as "
                    + "'\(first)'\n"
            )
        }
        let joined = try target.contents()
        let count = joined.lives.count + joined.phones.count
        Terminal.output(
            "\(target.folder): \(count) lives, \(coverage.counts.count) different things played, "
                + "\(foundCount) contracts of what was found\n"
        )
    }

    /// The file, or the saved runs of a folder in the order of their names.
    private static func files(at path: String) throws -> [String] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder),
            isFolder.boolValue
        else { return [path] }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        let found = names.filter { $0.hasSuffix(".ndjson") }.sorted().map { "\(path)/\($0)" }
        guard found.isEmpty else { return found }
        throw Failure(.usage, "'\(path)' holds no saved run, no *.ndjson")
    }

    /// A part that is missing must not look like a part that passed.
    private func check(_ runs: [SavedRun], _ files: [String]) throws {
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
