internal import Conformance
internal import Foundation
internal import Programs

/// What failed in the last run, for `--rerun-failed`: a file beside the profile, of no use to anybody
/// else.
struct LastRun {
    let seed: String
    /// The cases that failed, by id.
    let failed: [String]

    /// `.assay` beside the profile, or here.
    static func folder(_ profilePath: String?) -> String {
        let place = PathName(profilePath ?? "").folder
        return (place.isEmpty ? "" : place + "/") + ".assay"
    }

    private static func path(_ folder: String) -> String { folder + "/last-run.json" }

    /// - Throws: A failure where no run left anything, or what it left cannot be read.
    static func read(_ folder: String) throws -> LastRun {
        let path = path(folder)
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Failure(
                .usage,
                "no run here has left what failed ('\(path)'); run 'assay verify' first"
            )
        }
        let value = try? JSONValue(parsing: Array(data))
        guard let value, value["assay"] == 1, let seed = value["seed"]?.string,
            let failed = value["failed"]?.array
        else {
            throw Failure(
                .unparsable,
                "'\(path)' is not what a run of this version writes; remove it and run again"
            )
        }
        return LastRun(seed: seed, failed: failed.compactMap(\.string))
    }

    /// Remembers what failed; where that is nothing and nothing is remembered, nothing is written.
    ///
    /// What failed before and was to be played again, and was not, has not passed.
    ///
    /// - Parameters:
    ///   - report: The run.
    ///   - earlier: What was to be played again; nil where the run chose otherwise.
    ///   - folder: Where it is kept.
    /// - Returns: Why it could not be; nil when it was.
    static func remember(
        _ report: RunReport,
        after earlier: LastRun?,
        in folder: String
    ) -> String? {
        let path = path(folder)
        var known = earlier?.failed
        // A run says nothing of what it did not come to: one that was cut off of all that failed
        // before, any other of what it listed and could not play.
        let isCutOff = report.isInterrupted || report.isOutOfTime || !report.obstacles.isEmpty
        if known == nil, let before = try? read(folder).failed {
            let listed = Set(report.cases.map(\.contract.caseID))
            known = isCutOff ? before : before.filter(listed.contains)
        }
        let judged = report.cases.filter { $0.verdict != .notRun }.map(\.contract.caseID)
        let failed =
            report.cases.filter { [.failed, .unexpectedPass].contains($0.verdict) }
            .map(\.contract.caseID)
            + (known ?? []).filter { !judged.contains($0) }
        guard !failed.isEmpty || FileManager.default.fileExists(atPath: path) else { return nil }
        let value: JSONValue = [
            "assay": 1, "seed": .string(report.seed),
            "failed": .strings(failed),
        ]
        do throws(OutputFile.WriteError) {
            let ignored = folder + "/.gitignore"
            if !FileManager.default.fileExists(atPath: ignored) {
                try OutputFile(ignored, .ownerOnly).write("*\n")
            }
            try OutputFile(path, .ownerOnly).write(value.prettyText + "\n")
            return nil
        } catch {
            return "cannot remember what failed: \(error)"
        }
    }
}
