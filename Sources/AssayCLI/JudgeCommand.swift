internal import ArgumentParser
internal import Conformance
internal import Foundation
internal import Reports

struct JudgeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "judge",
        abstract: "Judges a saved run again, without the backend.",
        discussion: """
            The file comes from 'assay verify --save'. Judging is a pure function of what was \
            seen, so the verdicts are those of the run, unless the rules have changed since.

            Example:  assay verify --start 'node server.js' --save out/run.ndjson
                      assay judge out/run.ndjson --report html=out/report.html
            """
    )

    @Argument(help: "The saved run.")
    var file: String

    @Option(
        name: .long,
        help:
            "FORMAT=PATH, repeatable: json, junit, html, github, badge; PATH - is standard output."
    )
    var report: [String] = []

    @Option(name: .long, help: "List of accepted failures: case, code, reason.")
    var knownFailing: String?

    mutating func run() throws {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw Failure(.usage, "there is no saved run '\(file)'")
        }
        let files = try ReportFiles(report)
        let saved: SavedRun
        do throws(SavedRun.ReadError) {
            saved = try SavedRun(parsing: String(decoding: data, as: UTF8.self))
        } catch {
            throw Failure(.unparsable, "\(file): \(error)")
        }
        let outcome = saved.judged(
            knownFailures: try KnownFailures.read(
                knownFailing ?? saved.head.profile.knownFailingPath
            )
        )
        try files.write(outcome)
        if !files.usesStandardOutput {
            let terminal = TerminalReport(
                style: Terminal.style(),
                replay: "assay verify --seed \(outcome.seed)"
            )
            for block in terminal.blocks(outcome) { Terminal.output(block) }
            Terminal.output(terminal.summary(outcome))
        }
        throw ExitCode(outcome.exitCode)
    }
}

extension KnownFailures {
    /// The list at a path; the empty one without a path.
    static func read(_ path: String?) throws -> KnownFailures {
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
