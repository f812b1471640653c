internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import Foundation
internal import Replay
internal import Reports

/// `--report FORMAT=PATH`: checked before the run, written after it, even after a part of it.
struct ReportFiles {
    private enum Format: String, CaseIterable {
        case json, junit, html, github, badge
    }

    /// More blocks than these nobody reads.
    private static let fullMax = 5

    private let files: [(format: Format, path: String)]

    /// Opens every path now, so that a long run is not lost to a typo.
    init(_ options: [String]) throws {
        files = try options.map { option in
            let parts = option.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, let format = Format(rawValue: parts[0]) else {
                let formats = Format.allCases.map(\.rawValue).joined(separator: ", ")
                throw Failure(
                    .usage,
                    "--report '\(option)' is not FORMAT=PATH with one of \(formats)"
                )
            }
            return (format, parts[1])
        }
        for (_, path) in files where path != "-" { _ = try Self.checked(path) }
    }

    /// The path, when a file can be written there.
    static func checked(_ path: String) throws -> String {
        let folder = (path as NSString).deletingLastPathComponent
        if !folder.isEmpty {
            try? FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: true
            )
        }
        guard let handle = fopen(path, "a") else {
            let code = errno
            let reason =
                code == ENOENT && !FileManager.default.fileExists(atPath: folder)
                ? "there is no folder '\(folder)', and it cannot be made"
                : String(cString: strerror(code))
            throw Failure(.usage, "cannot write the report '\(path)': \(reason)")
        }
        fclose(handle)
        return path
    }

    var usesStandardOutput: Bool { files.contains { $0.path == "-" } }

    /// Writes every file, and for a person the failures and the summary.
    func show(_ report: RunReport, replay: ReplayCommand, isVerbose: Bool = false) throws {
        try write(report, replay)
        guard !usesStandardOutput else { return }
        let terminal = TerminalReport(style: Terminal.style(), replay: replay)
        for block in terminal.blocks(report, fullMax: isVerbose ? .max : Self.fullMax) {
            Terminal.output(block)
        }
        Terminal.output(terminal.summary(report))
    }

    private func write(_ report: RunReport, _ replay: ReplayCommand) throws {
        for (format, path) in files {
            let text =
                switch format {
                case .json: JSONReport.render(report)
                case .junit: JUnitReport.render(report)
                case .html: HTMLReport.render(report, replay: replay)
                case .github: GitHubReport.render(report)
                case .badge: BadgeReport.render(report)
                }
            if path == "-" {
                Terminal.output(text)
                continue
            }
            do {
                try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            } catch {
                throw Failure(.usage, "cannot write the report '\(path)': \(error)")
            }
        }
    }
}

/// The options of every command that ends in a report.
struct ReportOptions: ParsableArguments {
    @Option(name: .long, help: Setting.report.help)
    var report: [String] = []

    @Option(name: .long, help: Setting.knownFailing.help)
    var knownFailing: String?

    @Flag(name: .long, help: "Tell every case that is not green in full, not only the worst five.")
    var verbose = false

    func files() throws -> ReportFiles {
        try ReportFiles(Setting.report.texts(report))
    }

    /// What a replay needs of these options.
    var replayWords: [String] {
        (Setting.knownFailing.text(knownFailing).map { ["--known-failing", $0] } ?? [])
            + (verbose ? ["--verbose"] : [])
    }

    /// The same, where every name must be one of a case.
    func knownFailures(
        or profilePath: String?,
        among contracts: [ContractHeading]
    ) throws -> KnownFailures {
        let known = try knownFailures(or: profilePath)
        guard !known.entries.isEmpty else { return known }
        let all = contracts + ContractLibrary.listed.headings
        do throws(KnownFailures.ParseError) {
            try known.check(against: all, and: Aside.allCases.map(\.rawValue))
        } catch {
            throw Failure(.unparsable, error.description)
        }
        return known
    }

    /// The list that the flag names, else the environment, else the profile; none is the empty one.
    func knownFailures(or profilePath: String?) throws -> KnownFailures {
        try Self.knownFailures(at: Setting.knownFailing.text(knownFailing) ?? profilePath)
    }

    /// The list of that file; no file is the empty one.
    static func knownFailures(at path: String?) throws -> KnownFailures {
        guard let path else { return KnownFailures() }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Failure(.usage, "there is no list of known failures '\(path)'")
        }
        do throws(KnownFailures.ParseError) {
            return try KnownFailures(parsing: String(decoding: data, as: UTF8.self), path: path)
        } catch {
            throw Failure(.unparsable, error.description)
        }
    }
}
