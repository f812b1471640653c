internal import ArgumentParser
internal import Contracts
internal import Foundation
internal import Judging
internal import Providers
internal import Reports

struct JudgeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "judge",
        abstract: "Judges a saved run again, without the backend.",
        discussion: """
            'assay verify', 'app' and 'explore' write the file with --save. Verdicts depend only \
            on the recorded exchanges, so they equal those of the run unless the rules have \
            changed since.

            Example:  assay verify --start 'node server.js' --save out/run.ndjson
                      assay judge out/run.ndjson --report html=out/report.html
            """
    )

    @Argument(help: "The file of the saved run.")
    var file: String

    @OptionGroup var reports: ReportOptions

    mutating func run() throws {
        let files = try reports.files()
        let savedRun = try SavedRun.read(file)
        let judgedReport = savedRun.judged(
            knownFailures: try reports.knownFailures(or: savedRun.head.profile.knownFailuresPath)
        )
        files.show(
            judgedReport,
            replay: ReplayCommand([Terminal.program, "judge", file], acceptsCaseIDs: false)
        )
        throw ExitCode(judgedReport.exitCode)
    }
}

extension SavedRun {
    /// Reads a saved run from a file that `--save` has written.
    static func read(_ path: String) throws -> SavedRun {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(.usage, "the saved run '\(path)' does not exist")
        }
        do throws(SavedRun.ReadError) {
            return try SavedRun(
                parsing: String(decoding: data, as: UTF8.self),
                recognizingCall: Services.recognizingCall
            )
        } catch {
            throw CommandFailure(.unparsable, "\(path): \(error)")
        }
    }
}
