internal import Contracts
package import Judging

/// Joins the parts of one campaign (`assay explore`) that ran on several machines.
extension Campaign {
    /// The name of the suite in the report of a campaign.
    package static let suite = "histories"

    /// Joins the reports of all parts of a campaign into one report.
    ///
    /// The report contains each failure once. For every clause without a failure, it contains the
    /// joined result of all parts. A clause that one part could not judge stays inconclusive.
    ///
    /// - Parameter parts: The cases in the report of each part.
    /// - Returns: The cases of the joined report.
    package static func joined(_ parts: [[CaseResult]]) -> [CaseResult] {
        var resultsByCaseID: [String: [CaseResult]] = [:]
        var flakyResults: [CaseResult] = []
        for result in parts.joined() {
            if result.contract.id.hasPrefix(Outcome.flakyCaseIDPrefix) {
                flakyResults.append(result)
            } else {
                resultsByCaseID[result.contract.id, default: []].append(result)
            }
        }
        let joined = resultsByCaseID.sorted { $0.key < $1.key }.compactMap {
            mergedResult(of: $0.value)
        }
        let failedClauses = Set(
            joined.filter { $0.contract.id.hasPrefix("found/") }.map(\.contract.clause)
        )
        let otherResults = joined.filter { result in
            !(result.contract.id == Outcome.summaryCaseID(of: result.contract.clause)
                && failedClauses.contains(result.contract.clause))
        }
        return otherResults + renumbered(flakyResults)
    }

    /// Joins several results of the same case into one, with the worst verdict and the sum of the
    /// runs.
    private static func mergedResult(of results: [CaseResult]) -> CaseResult? {
        guard var worst = results.min(by: { $0.verdict.severityRank < $1.verdict.severityRank })
        else {
            return nil
        }
        let runCounts = results.compactMap(\.runCount)
        worst.runCount = runCounts.isEmpty ? nil : runCounts.reduce(0, +)
        worst.seconds = results.map(\.seconds).reduce(0, +)
        if worst.contract.id == Outcome.summaryCaseID(of: worst.contract.clause) {
            worst.contract.title = Outcome.title(worst.runCount ?? 0, worst.contract.clause)
        }
        return worst
    }

    private static func renumbered(_ results: [CaseResult]) -> [CaseResult] {
        results.enumerated().map { index, result in
            var result = result
            result.contract.id = Outcome.flakyCaseIDPrefix + "\(index + 1)"
            return result
        }
    }
}

extension Verdict {
    /// The rank by which verdicts are compared; the worst verdict has rank 0.
    fileprivate var severityRank: Int {
        switch self {
        case .failed: 0
        case .unexpectedPass: 1
        case .inconclusive: 2
        case .notRun: 3
        case .knownFailure: 4
        case .passed: 5
        }
    }
}
