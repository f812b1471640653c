internal import ArgumentParser
internal import ContractFiles
internal import Contracts
internal import Foundation
internal import Judging
internal import Programs
internal import Recording
internal import Redaction
internal import Reports
internal import Values

/// The last stage of a run: prints the report, writes the files, and updates the known failures.
struct RunConclusion: Sendable {
    let profile: Profile
    /// The path of the profile; nil without a profile.
    let profilePath: String?
    /// The arguments of the command that runs one contract again against the same backend or app.
    ///
    /// The path of the contract is appended to them.
    let contractRerunArguments: [String]
    let files: ReportFiles
    let replay: ReplayCommand
    let isVerbose: Bool
    /// Whether a passed golden contract that is older than its `max-age` becomes inconclusive; if
    /// false, a note lists the contract.
    let isStrict: Bool
    let saveFile: String?
    let baselineFile: String?
    /// The known failures that the file of `--baseline` contained before this run.
    let earlierKnownFailures: KnownFailures
    /// Whether a new version of each failed golden contract is written as `NAME.yaml.new`, for a
    /// review.
    let writesGoldenUpdates: Bool
    /// The folder for contracts that reproduce the failures found by searches and by `assay
    /// explore`.
    let found: String
    /// The folder that keeps the list of failed cases for `--rerun-failed`; nil to keep no list.
    let lastRunFolder: String?
    /// The list of failed cases that this run repeats; nil without `--rerun-failed`.
    let lastRun: LastRun?

    /// Prints the report and writes all files of a finished run.
    ///
    /// - Returns: The report, in which expired contracts are marked, and failures that `--baseline`
    ///   has listed count as known.
    /// - Throws: A failure when no case was selected, or when the saved run cannot be encoded.
    func finishRun(_ report: RunReport) throws -> RunReport {
        var outcome = report
        guard !outcome.cases.isEmpty || outcome.isInterrupted else {
            throw CommandFailure(
                .nothingSelected,
                "no such case: in a run without faults, the backend makes no call at this crash "
                    + "point; to run all crash points, select the contract by its ID alone"
            )
        }
        outcome.reportExpiredContracts(at: SuiteRun.now(), isError: isStrict)
        // The contracts of found failures are written first, so that they exist even if the report
        // cannot be written.
        let failingContractLines = writeFailingContracts(outcome)
        defer { if !failingContractLines.isEmpty { Terminal.error(failingContractLines) } }
        files.show(outcome, replay: replay, profile: profilePath, isVerbose: isVerbose)
        if let saveFile { try Self.save(outcome, profile, to: saveFile) }
        if let baselineFile { outcome = writeBaseline(outcome, to: baselineFile) }
        if writesGoldenUpdates { writeGoldenUpdates(outcome) }
        if let lastRunFolder,
            let saveProblem = LastRun.saveResult(outcome, after: lastRun, in: lastRunFolder)
        {
            Terminal.error("assay: \(saveProblem)\n")
        }
        return outcome
    }

    /// Writes the failures of a run to the file of `--baseline`, which lists known failures.
    ///
    /// - Returns: The report, in which these failures count as known. It is unchanged when the file
    ///   cannot be written.
    private func writeBaseline(_ report: RunReport, to path: String) -> RunReport {
        let knownFailureLines = KnownFailures.linesAcceptingFailures(
            report,
            keeping: earlierKnownFailures
        )
        let text = KnownFailures.text(knownFailureLines, of: report)
        let isFileWritten = FileWriteFailures.catching { () throws(OutputFile.WriteError) in
            try OutputFile(path).write(text)
        }
        guard isFileWritten else { return report }
        if !files.usesStandardOutput {
            Terminal.error(
                "baseline \(path): \(knownFailureLines.count) known "
                    + "failure\(knownFailureLines.count == 1 ? "" : "s"); "
                    + "to use it, add 'known-failing: \(path)' to the profile\n"
            )
        }
        var reportWithBaseline = report
        for index in reportWithBaseline.cases.indices
        where reportWithBaseline.cases[index].verdict == .failed {
            reportWithBaseline.cases[index].verdict = .knownFailure
        }
        return reportWithBaseline
    }

    /// Writes the complete run to a file that only its owner can read.
    ///
    /// - Throws: An error when a value cannot be encoded, which does not happen in practice.
    static func save(_ report: RunReport, _ profile: Profile, to path: String) throws {
        let text = try SavedRun.lines(report, profile: profile).joined(separator: "\n") + "\n"
        FileWriteFailures.catching { () throws(OutputFile.WriteError) in
            try OutputFile(path, .ownerOnly).write(text)
        }
    }

    /// Writes a new version of each failed golden contract next to the accepted file, as
    /// `NAME.yaml.new`.
    private func writeGoldenUpdates(_ report: RunReport) {
        var generator = SystemRandomNumberGenerator()
        let redactor = Redactor(
            key: (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) },
            secrets: Array(SecretDeclaration(profile).values.values),
            names: profile.allSecretNames
        )
        let goldenCodes: Set<FindingCode> = [
            .responseDiffers, .responseStatus, .effectContentDiffers, .wrongEffectCount,
        ]
        for result in report.cases where result.verdict == .failed {
            guard result.contract.provenance != nil, let record = result.evidence?.subject,
                result.findings.contains(where: { goldenCodes.contains($0.code) })
            else { continue }
            let updatedContract = Distiller.updatedContract(
                result.contract,
                matching: record,
                codes: Set(result.findings.map(\.code)),
                redactor: redactor
            )
            let path = result.contract.location.path + ".new"
            let text = ContractWriter.text(updatedContract, id: updatedContract.id)
            let isFileWritten = FileWriteFailures.catching { () throws(OutputFile.WriteError) in
                try OutputFile(path).write(text)
            }
            if isFileWritten { Terminal.error("pending  \(path)\n") }
        }
    }

    /// Returns the ID of a contract that reproduces a found failure.
    ///
    /// The ID is made from the case ID and not from the contract ID, so that the failures of two
    /// variants get two files.
    static func id(of contract: Contract) -> String {
        let name = contract.caseID.map { $0.isLetter || $0.isNumber ? $0 : "-" }
        return contract.id.hasPrefix("found/") ? contract.id : "found/" + String(name)
    }

    /// Returns the path of the file for a contract that reproduces a found failure.
    static func path(of contract: Contract, in folder: String) -> String {
        "\(folder)/\(id(of: contract)).yaml"
    }

    /// Writes a contract for each failure that a search or `assay explore` found.
    ///
    /// A file that cannot be written does not end the run.
    ///
    /// - Returns: The lines to print: the path of each contract, and the command that runs it.
    private func writeFailingContracts(_ report: RunReport) -> String {
        var lines = ""
        for result in report.cases {
            guard let contract = result.found else { continue }
            let id = Self.id(of: contract)
            let path = Self.path(of: contract, in: found)
            let isFileWritten = FileWriteFailures.catching { () throws(OutputFile.WriteError) in
                try GeneratedFolder.make(containing: path)
                try OutputFile(path).write(ContractWriter.text(contract, id: id))
            }
            if isFileWritten, !files.usesStandardOutput {
                let commandWords = [Terminal.program] + contractRerunArguments + [path]
                lines += "found    \(path)\n         \(ShellCommand(commandWords))\n"
            }
        }
        return lines
    }
}
