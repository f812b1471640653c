internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import FakeServers
internal import Foundation
internal import Programs
internal import Recording
internal import Replay
internal import Reports

/// What becomes of the report of a run that is over: shown, written, accepted as known.
struct Conclusion: Sendable {
    let profile: Profile
    /// Where it was read.
    let profilePath: String?
    /// What plays a contract's file before the same backend, or the same app, again.
    let playWords: [String]
    let files: ReportFiles
    let replay: ReplayCommand
    let isVerbose: Bool
    /// Whether a golden contract that is too old is an error.
    let isStrict: Bool
    let saveFile: String?
    let baselineFile: String?
    /// What the baseline's file said before.
    let earlier: KnownFailures
    /// Whether golden contracts that differ are written as pending ones.
    let updates: Bool
    /// The folder for what variations found.
    let found: String
    /// Where what failed is remembered; nil: nowhere.
    let memory: String?
    /// What of it was to be played again.
    let last: LastRun?

    /// - Returns: The report as it counts now.
    /// - Throws: A failure when something cannot be written, or nothing was there to run.
    func conclude(_ report: RunReport) throws -> RunReport {
        var outcome = report
        guard !outcome.cases.isEmpty || outcome.isInterrupted else {
            throw Failure(
                .nothingSelected,
                "the golden run has no such case; run the contract without what follows its name"
            )
        }
        outcome.expire(at: SuiteRun.now(), isError: isStrict)
        // A report that cannot be written loses nothing that was found.
        let foundLines = writeFound(outcome)
        defer { if !foundLines.isEmpty { Terminal.error(foundLines) } }
        files.show(outcome, replay: replay, profile: profilePath, isVerbose: isVerbose)
        if let saveFile { try Self.save(outcome, profile, to: saveFile) }
        if let baselineFile { outcome = writeBaseline(outcome, to: baselineFile) }
        if updates { writeUpdates(outcome) }
        if let memory, let problem = LastRun.remember(outcome, after: last, in: memory) {
            Terminal.error("assay: \(problem)\n")
        }
        return outcome
    }

    /// Writes what failed as known; from now on it is, where it could be written.
    private func writeBaseline(_ report: RunReport, to path: String) -> RunReport {
        let entries = KnownFailures.baseline(report, keeping: earlier)
        let text = KnownFailures.text(entries, of: report)
        let isWritten = LostFiles.unless { () throws(OutputFile.WriteError) in
            try OutputFile(path).write(text)
        }
        guard isWritten else { return report }
        if !files.usesStandardOutput {
            Terminal.error(
                "baseline \(path): \(entries.count) known failures; write 'known-failing: \(path)' "
                    + "in the profile\n"
            )
        }
        var known = report
        for index in known.cases.indices where known.cases[index].verdict == .failed {
            known.cases[index].verdict = .knownFailure
        }
        return known
    }

    /// Writes the complete run for its owner alone.
    ///
    /// - Throws: When a value cannot be encoded, which no run brings about.
    static func save(_ report: RunReport, _ profile: Profile, to path: String) throws {
        let text = try SavedRun.lines(report, profile: profile).joined(separator: "\n") + "\n"
        LostFiles.unless { () throws(OutputFile.WriteError) in
            try OutputFile(path, .ownerOnly).write(text)
        }
    }

    /// Writes the golden contracts that differ as pending ones, beside the accepted.
    private func writeUpdates(_ report: RunReport) {
        var generator = SystemRandomNumberGenerator()
        let redactor = Redactor(
            key: (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) },
            secrets: Array(SecretDeclaration(profile).values.values),
            names: profile.allSecretNames
        )
        let goldenCodes: Set<FindingCode> = [
            .answerDiffers, .answerStatus, .effectContent, .effectCount,
        ]
        for result in report.cases where result.verdict == .failed {
            guard result.contract.provenance != nil, let record = result.evidence?.subject,
                result.findings.contains(where: { goldenCodes.contains($0.code) })
            else { continue }
            let updated = Distiller.updated(
                result.contract,
                seen: record,
                codes: Set(result.findings.map(\.code)),
                redactor: redactor
            )
            let path = result.contract.location.path + ".new"
            let text = ContractWriter.text(updated, id: updated.id)
            let isWritten = LostFiles.unless { () throws(OutputFile.WriteError) in
                try OutputFile(path).write(text)
            }
            if isWritten { Terminal.error("pending  \(path)\n") }
        }
    }

    /// The id of what was found, in its file; the case's, not the contract's: two variants that found
    /// something are two files.
    static func id(of contract: Contract) -> String {
        let name = contract.caseID.map { $0.isLetter || $0.isNumber ? $0 : "-" }
        return contract.id.hasPrefix("found/") ? contract.id : "found/" + String(name)
    }

    /// Where it is written.
    static func path(of contract: Contract, in folder: String) -> String {
        "\(folder)/\(id(of: contract)).yaml"
    }

    /// Writes what variations found as contracts that can be kept; a run is not lost over it.
    ///
    /// - Returns: What people read of it.
    private func writeFound(_ report: RunReport) -> String {
        var lines = ""
        for result in report.cases {
            guard let contract = result.found else { continue }
            let id = Self.id(of: contract)
            let path = Self.path(of: contract, in: found)
            let isWritten = LostFiles.unless { () throws(OutputFile.WriteError) in
                try OutputFile(path).write(ContractWriter.text(contract, id: id))
            }
            if isWritten, !files.usesStandardOutput {
                let words = [Terminal.program] + playWords + [path]
                lines += "found    \(path)\n         \(ShellCommand(words))\n"
            }
        }
        return lines
    }
}
