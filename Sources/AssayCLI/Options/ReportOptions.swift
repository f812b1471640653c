internal import ArgumentParser
internal import ContractFiles
internal import Contracts
internal import Foundation
internal import Judging
internal import Programs
internal import Redaction
internal import Replay
internal import Reports

/// The report files of `--report FORMAT=PATH`, which are checked before a run and written after it,
/// even when the run was interrupted.
struct ReportFiles {
    private enum Format: String, CaseIterable {
        case json, junit, html, github, markdown, badge, agent
    }

    /// The largest number of failed cases that are printed in full without `--verbose`.
    private static let fullCaseMax = 5

    private let files: [(format: Format, path: String)]

    /// Parses the values of `--report`, and checks every path before a long run, so that a typo
    /// does not cost the report.
    init(_ options: [String]) throws {
        files = try options.map { option in
            let formatAndPath = option.split(separator: "=", maxSplits: 1).map(String.init)
            guard formatAndPath.count == 2, let format = Format(rawValue: formatAndPath[0]) else {
                let formatNames = Format.allCases.map(\.rawValue).joined(separator: ", ")
                throw CommandFailure(
                    .usage,
                    "--report '\(option)' is not FORMAT=PATH; the formats are \(formatNames)"
                )
            }
            return (format, formatAndPath[1])
        }
        for (_, path) in files where path != "-" { _ = try Self.writablePath(path) }
    }

    /// Returns the paths of the report files in the values of `--report`, without standard output.
    static func paths(_ options: [String]) -> [String] {
        options.compactMap { option in
            option.split(separator: "=", maxSplits: 1).dropFirst().first.map(String.init)
        }.filter { $0 != "-" }
    }

    /// Returns a path after checking that a file can be written there.
    ///
    /// - Throws: A usage failure with the reason.
    static func writablePath(_ path: String) throws -> String {
        do throws(OutputFile.WriteError) {
            try OutputFile(path).check()
        } catch {
            throw CommandFailure(.usage, error.description)
        }
        return path
    }

    /// Removes the report files of an earlier run.
    ///
    /// If this run is killed, a file of an earlier run could be mistaken for its report. The
    /// summary file of a CI step stays, because other commands write to it too.
    func removeExisting() {
        for (_, path) in files where path != "-" && !Self.isStepSummary(path) {
            OutputFile(path).removeExisting()
        }
    }

    private static func isStepSummary(_ path: String) -> Bool {
        path == ProcessInfo.processInfo.environment["GITHUB_STEP_SUMMARY"]
    }

    /// Whether a report on standard output replaces the text for readers.
    ///
    /// GitHub annotations do not replace the text, because they are printed in addition to it.
    var usesStandardOutput: Bool { files.contains { $0.path == "-" && $0.format != .github } }

    /// Writes the report files, and prints the failures and the summary.
    ///
    /// - Parameters:
    ///   - report: The results of the run.
    ///   - replay: The command that repeats the run.
    ///   - profile: The path of the profile, if there is one; by default the profile of the current
    ///     folder.
    ///   - isVerbose: Whether every case that did not pass is printed in full.
    func show(
        _ report: RunReport,
        replay: ReplayCommand,
        profile: String? = TargetOptions.path(nil),
        isVerbose: Bool = false
    ) {
        let replay = replay.redacted(report.declared)
        let report = report.redacted()
        defer { Terminal.printWorkflowCommands(annotations(report, profile)) }
        write(report, replay, profile)
        guard !usesStandardOutput else { return }
        let terminal = TerminalReport(
            style: Terminal.style(),
            replay: replay,
            stop: Terminal.stopCommandsPair,
            isVerbose: isVerbose
        )
        for block in terminal.blocks(report, fullCaseMax: isVerbose ? .max : Self.fullCaseMax) {
            Terminal.output(block)
        }
        Terminal.output(terminal.summary(report))
    }

    /// Returns the GitHub annotations for the log of a CI job; empty without `--report github=-`.
    private func annotations(_ report: Redacted<RunReport>, _ profile: String?) -> String {
        guard files.contains(where: { $0.path == "-" && $0.format == .github }) else { return "" }
        return GitHubReport.render(report, repositoryFiles: Self.repositoryFiles(profile))
    }

    /// Returns the mapping of files to their paths below the root of the repository, for GitHub
    /// annotations.
    private static func repositoryFiles(_ profile: String?) -> GitHubReport.RepositoryFiles {
        let currentFolder = URL(fileURLWithPath: ".").standardizedFileURL
        var repositoryRoot = currentFolder
        while repositoryRoot.path != "/",
            !FileManager.default.fileExists(atPath: repositoryRoot.path + "/.git")
        {
            repositoryRoot.deleteLastPathComponent()
        }
        let repositoryRootPath = (repositoryRoot.path == "/" ? currentFolder : repositoryRoot).path
        @Sendable func repositoryPath(_ path: String) -> String? {
            let absolutePath = URL(fileURLWithPath: path).standardizedFileURL.path
            guard absolutePath.hasPrefix(repositoryRootPath + "/"),
                FileManager.default.fileExists(atPath: absolutePath)
            else {
                return nil
            }
            return String(absolutePath.dropFirst(repositoryRootPath.count + 1))
        }
        var text = ""
        if let profile {
            do {
                text = try String(contentsOfFile: profile, encoding: .utf8)
            } catch {
                Terminal.error(
                    "assay: cannot read the profile '\(profile)': \(error.plainReason); "
                        + "the GitHub annotations do not name its lines\n"
                )
            }
        }
        return GitHubReport.RepositoryFiles(
            profile: profile.flatMap(repositoryPath),
            keys: GitHubReport.RepositoryFiles.keys(in: text),
            path: repositoryPath
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
                case .github:
                    GitHubReport.render(report, repositoryFiles: Self.repositoryFiles(profile))
                case .markdown: MarkdownReport.render(report, replay: replay)
                case .badge: BadgeReport.render(report)
                case .agent: AgentReport.render(report, replay: replay)
                }
            if path == "-" {
                Terminal.printDocument(text)
                continue
            }
            FileWriteFailures.catching { () throws(OutputFile.WriteError) in
                // All commands of a CI step append to the same summary file.
                if Self.isStepSummary(path) {
                    try OutputFile(path).append(text)
                } else {
                    try OutputFile(path).write(text)
                }
            }
        }
    }
}

/// The options of the commands that end in a report.
struct ReportOptions: ParsableArguments {
    /// The option for report files.
    struct Files: ParsableArguments {
        @Option(name: .long, help: Setting.report.help)
        var report: [String] = []
    }

    /// The option for the amount of text.
    struct Detail: ParsableArguments {
        @Flag(
            name: .long,
            help: "Print each case that did not pass in full, not only five."
        )
        var verbose = false
    }

    /// The option for accepted failures.
    struct Accepted: ParsableArguments {
        @Option(name: .long, help: Setting.knownFailing.help)
        var knownFailing: String?
    }

    @OptionGroup(title: HelpSection.mostUsed) private var reportFiles: Files
    @OptionGroup(title: HelpSection.reports) private var detail: Detail
    @OptionGroup(title: HelpSection.ci) private var accepted: Accepted

    var report: [String] { reportFiles.report }
    var verbose: Bool { detail.verbose }
    private var knownFailing: String? { accepted.knownFailing }

    /// Checks the report files, and removes those of an earlier run.
    ///
    /// - Parameter keepsExistingFiles: Whether the files of an earlier run stay, because the command runs
    ///   no case.
    /// - Returns: The report files.
    /// - Throws: A usage failure for an unknown format, or for a file that cannot be written.
    func files(keepsExistingFiles: Bool = false) throws -> ReportFiles {
        let files = try ReportFiles(Setting.report.texts(report))
        if !keepsExistingFiles { files.removeExisting() }
        return files
    }

    /// The report flags that the command line for a repetition of the run needs.
    var replayArguments: [String] {
        (Setting.knownFailing.text(knownFailing).map { ["--known-failing", $0] } ?? [])
            + (verbose ? ["--verbose"] : [])
    }

    /// Returns the known failures after checking that each one names an existing case.
    ///
    /// The list is in the file that the flag, the environment or the profile names.
    func knownFailures(
        or profilePath: String?,
        among contracts: [ContractHeading]
    ) throws -> KnownFailures {
        let knownFailuresInFile = try knownFailures(or: profilePath)
        guard !knownFailuresInFile.entries.isEmpty else { return knownFailuresInFile }
        let allHeadings = contracts + ContractLibrary.indexed.headings
        do throws(KnownFailures.ParseError) {
            try knownFailuresInFile.check(
                against: allHeadings,
                and: RunInvariant.allCases.map(\.rawValue)
            )
        } catch {
            throw CommandFailure(.unparsable, error.description)
        }
        return knownFailuresInFile
    }

    /// Returns the known failures from the file that `--known-failing`, else the environment
    /// variable, else the profile names.
    ///
    /// The list is empty when none of them names a file.
    func knownFailures(or profilePath: String?) throws -> KnownFailures {
        try Self.knownFailures(at: Setting.knownFailing.text(knownFailing) ?? profilePath)
    }

    /// Reads a list of known failures from a file; returns an empty list when the path is nil.
    static func knownFailures(at path: String?) throws -> KnownFailures {
        guard let path else { return KnownFailures() }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(.usage, "the list of known failures '\(path)' does not exist")
        }
        do throws(KnownFailures.ParseError) {
            return try KnownFailures(parsing: String(decoding: data, as: UTF8.self), path: path)
        } catch {
            throw CommandFailure(.unparsable, error.description)
        }
    }
}
