internal import ArgumentParser
internal import Conformance
internal import Foundation
internal import Providers
internal import Reports

struct JudgeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "judge",
        abstract: "Judges a saved run again, without the backend.",
        discussion: """
            The file comes from --save of 'assay verify', 'app' or 'explore'. Judging is a pure function of what was \
            seen, so the verdicts are those of the run, unless the rules have changed since.

            Example:  assay verify --start 'node server.js' --save out/run.ndjson
                      assay judge out/run.ndjson --report html=out/report.html
            """
    )

    @Argument(help: "The saved run.")
    var file: String

    @OptionGroup var reports: ReportOptions

    mutating func run() throws {
        let files = try reports.files()
        let saved = try SavedRun.read(file)
        let outcome = saved.judged(
            knownFailures: try reports.knownFailures(or: saved.head.profile.knownFailingPath)
        )
        files.show(
            outcome,
            replay: ReplayCommand([Terminal.program, "judge", file], selects: false)
        )
        throw ExitCode(outcome.exitCode)
    }
}

extension SavedRun {
    /// The run that 'verify --save' wrote.
    static func read(_ path: String) throws -> SavedRun {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Failure(.usage, "there is no saved run '\(path)'")
        }
        do throws(SavedRun.ReadError) {
            return try SavedRun(
                parsing: String(decoding: data, as: UTF8.self),
                understood: Services.understood
            )
        } catch {
            throw Failure(.unparsable, "\(path): \(error)")
        }
    }
}
