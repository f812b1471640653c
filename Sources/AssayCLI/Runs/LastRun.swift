internal import Contracts
internal import Foundation
internal import Judging
internal import Programs
internal import Values

/// The cases of the last run that failed or were inconclusive, for `--rerun-failed`.
///
/// The list is kept in a file next to the profile, in a folder that version control ignores.
struct LastRun {
    let seed: String
    /// The IDs of the cases that failed or were inconclusive.
    let failed: [String]

    /// Returns the folder `.assay` next to the profile, or in the current folder without a profile.
    static func folder(_ profilePath: String?) -> String {
        GeneratedFolder.path(nextTo: profilePath)
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
    /// A listed case that did not run again, or is inconclusive, stays in the list. Only a complete
    /// run of the whole suite removes the cases that it does not contain. If no case of the run
    /// failed, the list keeps its seed.
    ///
    /// - Parameters:
    ///   - report: The report of the run.
    ///   - earlier: The list that the run repeated; nil without `--rerun-failed`.
    ///   - folder: The folder of the file.
    /// - Returns: The reason why the file could not be written; nil on success, or for an empty list
    ///   that replaces no file.
    static func saveResult(
        _ report: RunReport,
        after earlier: LastRun?,
        in folder: String
    ) -> String? {
        let path = path(folder)
        // A list that is missing or was written by another version is replaced.
        let before = earlier ?? (try? read(folder))
        var knownFailedCases = before?.failed ?? []
        let isIncomplete = report.isInterrupted || report.hasTimedOut || !report.skipReasons.isEmpty
        if earlier == nil, report.coversWholeSuite, report.shard == nil, !isIncomplete {
            let reportedCaseIDs = Set(report.cases.map(\.contract.caseID))
            knownFailedCases.removeAll { !reportedCaseIDs.contains($0) }
        }
        // A case that did not run, or that is inconclusive, has not passed, so it stays in the list.
        let judgedCaseIDs = Set(
            report.cases.filter { ![.notRun, .inconclusive].contains($0.verdict) }
                .map(\.contract.caseID)
        )
        let newCases = report.cases.filter {
            [.failed, .unexpectedPass, .inconclusive].contains($0.verdict)
        }
        let newCaseIDs = newCases.map(\.contract.caseID)
        knownFailedCases.removeAll { judgedCaseIDs.contains($0) || newCaseIDs.contains($0) }
        let failed = newCaseIDs + knownFailedCases
        let hasNewFailure = newCases.contains { $0.verdict != .inconclusive }
        let seed = hasNewFailure ? report.seed : before?.seed ?? report.seed
        let isListNeeded = !failed.isEmpty || FileManager.default.fileExists(atPath: path)
        // A green run leaves no files in a folder without a profile that `init` has written.
        guard isListNeeded || FileManager.default.fileExists(atPath: folder) else { return nil }
        let value: JSONValue = [
            "assay": 1, "seed": .string(seed),
            "failed": .strings(failed),
        ]
        do throws(OutputFile.WriteError) {
            try GeneratedFolder.make(folder)
            try OutputFile(path, .ownerOnly).write(value.prettyText + "\n")
            return nil
        } catch {
            return isListNeeded ? "cannot write the list of failed cases: \(error)" : nil
        }
    }
}
