package import Conformance

/// The parts of one campaign, each by another machine, as that campaign.
extension Campaign {
    /// What a campaign's report calls its suite.
    package static let suite = "lives"

    /// - Parameter parts: The cases of each part's report.
    /// - Returns: Each cause once, and for every clause that no part's lives broke what all came to; what
    ///   one part could not see stays open.
    package static func joined(_ parts: [[CaseResult]]) -> [CaseResult] {
        var byID: [String: [CaseResult]] = [:]
        var unsteady: [CaseResult] = []
        for result in parts.joined() {
            if result.contract.id.hasPrefix(Outcome.unsteadyPrefix) {
                unsteady.append(result)
            } else {
                byID[result.contract.id, default: []].append(result)
            }
        }
        let joined = byID.sorted { $0.key < $1.key }.compactMap { whole(of: $0.value) }
        let broken = Set(
            joined.filter { $0.contract.id.hasPrefix("found/") }.map(\.contract.clause)
        )
        let others = joined.filter { result in
            !(result.contract.id == Outcome.standIn(of: result.contract.clause)
                && broken.contains(result.contract.clause))
        }
        return others + renumbered(unsteady)
    }

    /// What several parts said of one thing: the worst, and of how many lives.
    private static func whole(of results: [CaseResult]) -> CaseResult? {
        guard var worst = results.min(by: { $0.verdict.rank < $1.verdict.rank }) else {
            return nil
        }
        let counts = results.compactMap(\.runCount)
        worst.runCount = counts.isEmpty ? nil : counts.reduce(0, +)
        worst.seconds = results.map(\.seconds).reduce(0, +)
        if worst.contract.id == Outcome.standIn(of: worst.contract.clause) {
            worst.contract.title = Outcome.title(worst.runCount ?? 0, worst.contract.clause)
        }
        return worst
    }

    private static func renumbered(_ results: [CaseResult]) -> [CaseResult] {
        results.enumerated().map { index, result in
            var result = result
            result.contract.id = Outcome.unsteadyPrefix + "\(index + 1)"
            return result
        }
    }
}

extension Verdict {
    /// The worst comes first.
    fileprivate var rank: Int {
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
