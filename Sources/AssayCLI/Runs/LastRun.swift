internal import Contracts
internal import Foundation
internal import Judging
internal import Programs
internal import Values

/// The failed cases of the last run, for `--rerun-failed`.
///
/// The list is kept in a file next to the profile, in a folder that version control ignores.
struct LastRun {
    let seed: String
    /// The IDs of the failed cases.
    let failed: [String]

    /// Returns the folder `.assay` next to the profile, or in the current folder if there is no
    /// profile.
    static func folder(_ profilePath: String?) -> String {
        let profileFolder = PathName(profilePath ?? "").folder
        return (profileFolder.isEmpty ? "" : profileFolder + "/") + ".assay"
    }

    private static func path(_ folder: String) -> String { folder + "/last-run.json" }

    /// Reads the list of failed cases of the last run from a folder.
    ///
    /// - Throws: A failure when no run has written the list, or when it cannot be parsed.
    static func read(_ folder: String) throws -> LastRun {
        let path = path(folder)
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(
                .usage,
                "no earlier run has written '\(path)'; run 'assay verify' first"
            )
        }
        let value = JSONValue(ifValid: Array(data))
        guard let value, value["assay"] == 1, let seed = value["seed"]?.string,
            let failed = value["failed"]?.array
        else {
            throw CommandFailure(
                .unparsable,
                "'\(path)' was not written by this version; remove it and run again"
            )
        }
        return LastRun(seed: seed, failed: failed.compactMap(\.string))
    }

    /// Writes the list of failed cases after a run.
    ///
    /// A listed case that did not run again stays in the list. An empty list is written only to
    /// replace an existing file.
    ///
    /// - Parameters:
    ///   - report: The report of the run.
    ///   - earlier: The list that the run repeated; nil without `--rerun-failed`.
    ///   - folder: The folder of the file.
    /// - Returns: The reason why the file could not be written; nil on success.
    static func saveResult(
        _ report: RunReport,
        after earlier: LastRun?,
        in folder: String
    ) -> String? {
        let path = path(folder)
        var knownFailedCases = earlier?.failed
        // A case that did not run has not passed, so it may stay in the list. Without
        // `--rerun-failed`, all cases of the old list stay after a run that was cut off. After a
        // complete run, a case of the old list stays if the run selected it but could not run it.
        let isIncomplete = report.isInterrupted || report.hasTimedOut || !report.skipReasons.isEmpty
        // A list that is missing or was written by another version is replaced.
        if knownFailedCases == nil, let before = try? read(folder).failed {
            let reportedCaseIDs = Set(report.cases.map(\.contract.caseID))
            knownFailedCases = isIncomplete ? before : before.filter(reportedCaseIDs.contains)
        }
        let judgedCaseIDs = report.cases.filter { $0.verdict != .notRun }.map(\.contract.caseID)
        let failed =
            report.cases.filter { [.failed, .unexpectedPass].contains($0.verdict) }
            .map(\.contract.caseID)
            + (knownFailedCases ?? []).filter { !judgedCaseIDs.contains($0) }
        guard !failed.isEmpty || FileManager.default.fileExists(atPath: path) else { return nil }
        let value: JSONValue = [
            "assay": 1, "seed": .string(report.seed),
            "failed": .strings(failed),
        ]
        do throws(OutputFile.WriteError) {
            let gitignorePath = folder + "/.gitignore"
            if !FileManager.default.fileExists(atPath: gitignorePath) {
                try OutputFile(gitignorePath, .ownerOnly).write("*\n")
            }
            try OutputFile(path, .ownerOnly).write(value.prettyText + "\n")
            return nil
        } catch {
            return "cannot write the list of failed cases: \(error)"
        }
    }
}
