internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import Foundation
internal import Programs
internal import Replay
internal import Reports

/// `--report FORMAT=PATH`: checked before the run, written after it, even after a part of it.
struct ReportFiles {
    private enum Format: String, CaseIterable {
        case json, junit, html, github, markdown, badge
    }

    /// More blocks than these nobody reads.
    private static let fullMax = 5

    private let files: [(format: Format, path: String)]

    /// Checks every path now, so that a long run is not lost to a typo.
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

    /// The files that reports are written to.
    static func paths(_ options: [String]) -> [String] {
        options.compactMap { option in
            option.split(separator: "=", maxSplits: 1).dropFirst().first.map(String.init)
        }.filter { $0 != "-" }
    }

    /// The path, when a file can be written there.
    ///
    /// - Throws: A failure of usage with the reason.
    static func checked(_ path: String) throws -> String {
        do throws(OutputFile.WriteError) {
            try OutputFile(path).check()
        } catch {
            throw Failure(.usage, error.description)
        }
        return path
    }

    /// Removes the files of an earlier run.
    ///
    /// A run that is killed leaves none then that looks like its own. The summary of a CI step stays,
    /// as other commands have written to it.
    func removeEarlier() {
        for (_, path) in files where path != "-" && !Self.isStepSummary(path) {
            OutputFile(path).removeEarlier()
        }
    }

    private static func isStepSummary(_ path: String) -> Bool {
        path == ProcessInfo.processInfo.environment["GITHUB_STEP_SUMMARY"]
    }

    /// Whether a report takes the place of what people read; annotations are lines among others.
    var usesStandardOutput: Bool { files.contains { $0.path == "-" && $0.format != .github } }

    /// Writes every file, and for a person the failures and the summary.
    ///
    /// - Parameters:
    ///   - report: The run.
    ///   - replay: The command that repeats it.
    ///   - profile: The profile's path, where there is one; by default the one that lies here.
    ///   - isVerbose: Whether every case is told in full.
    func show(
        _ report: RunReport,
        replay: ReplayCommand,
        profile: String? = TargetOptions.path(nil),
        isVerbose: Bool = false
    ) {
        let replay = replay.redacted(report.declared)
        let report = report.redacted()
        defer { Terminal.commands(annotations(report, profile)) }
        write(report, replay, profile)
        guard !usesStandardOutput else { return }
        let terminal = TerminalReport(
            style: Terminal.style(),
            replay: replay,
            stop: Terminal.commandStop
        )
        for block in terminal.blocks(report, fullMax: isVerbose ? .max : Self.fullMax) {
            Terminal.output(block)
        }
        Terminal.output(terminal.summary(report))
    }

    /// What a forge reads among the lines of the log.
    private func annotations(_ report: Redacted<RunReport>, _ profile: String?) -> String {
        guard files.contains(where: { $0.path == "-" && $0.format == .github }) else { return "" }
        return GitHubReport.render(report, places: Self.places(profile))
    }

    /// Files of the repository that this folder lies in, from its root.
    private static func places(_ profile: String?) -> GitHubReport.Places {
        let here = URL(fileURLWithPath: ".").standardizedFileURL
        var root = here
        while root.path != "/", !FileManager.default.fileExists(atPath: root.path + "/.git") {
            root.deleteLastPathComponent()
        }
        let base = (root.path == "/" ? here : root).path
        @Sendable func inRepository(_ path: String) -> String? {
            let whole = URL(fileURLWithPath: path).standardizedFileURL.path
            guard whole.hasPrefix(base + "/"), FileManager.default.fileExists(atPath: whole) else {
                return nil
            }
            return String(whole.dropFirst(base.count + 1))
        }
        let text = profile.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) } ?? ""
        return GitHubReport.Places(
            profile: profile.flatMap(inRepository),
            keys: GitHubReport.Places.keys(in: text),
            path: inRepository
        )
    }

    private func write(
        _ report: Redacted<RunReport>,
        _ replay: Redacted<ReplayCommand>,
        _ profile: String?
    ) {
        for (format, path) in files where path != "-" || format != .github {
            let text =
                switch format {
                case .json: JSONReport.render(report, replay: replay)
                case .junit: JUnitReport.render(report, replay: replay)
                case .html: HTMLReport.render(report, replay: replay)
                case .github: GitHubReport.render(report, places: Self.places(profile))
                case .markdown: MarkdownReport.render(report, replay: replay)
                case .badge: BadgeReport.render(report)
                }
            if path == "-" {
                Terminal.document(text)
                continue
            }
            LostFiles.unless { () throws(OutputFile.WriteError) in
                // A step's summary is what all its commands have written.
                if Self.isStepSummary(path) {
                    try OutputFile(path).append(text)
                } else {
                    try OutputFile(path).write(text)
                }
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

    /// Checks the report files, and removes those of an earlier run.
    ///
    /// - Parameter keepsEarlier: Whether nothing runs, so that the files of an earlier run stay.
    /// - Returns: The files that can be written.
    /// - Throws: A failure of usage for an option that names no format, or no file that can be written.
    func files(keepsEarlier: Bool = false) throws -> ReportFiles {
        let files = try ReportFiles(Setting.report.texts(report))
        if !keepsEarlier { files.removeEarlier() }
        return files
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
