internal import Contracts

/// The choice of the contracts that `assay demo` runs.
///
/// The choice depends only on the contracts, never on their results.
enum DemoSelection {
    /// The number of contracts in the demo.
    static let contractCount = 40

    /// Returns the contracts of the demo: the quick ones, in turn from every clause.
    ///
    /// The first contract of each clause comes first, then the second contract of each clause. Each
    /// contract has one case, even if its file has variants.
    ///
    /// - Parameter contracts: The contracts that the backend can run, in the order of the suite.
    /// - Returns: At most `contractCount` contracts.
    static func contracts(among contracts: [Contract]) -> [Contract] {
        var seenIDs: Set<String> = []
        var ranksByClause: [String: Int] = [:]
        let ranked = contracts.filter { isQuick($0) && seenIDs.insert($0.id).inserted }
            .map { contract -> (rank: Int, contract: Contract) in
                defer { ranksByClause[contract.clause, default: 0] += 1 }
                return (ranksByClause[contract.clause, default: 0], contract)
            }
        let ordered = ranked.enumerated().sorted {
            ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset)
        }
        return ordered.prefix(contractCount).map(\.element.contract)
    }

    /// Whether a contract runs in one run that neither waits nor needs a backend for itself.
    private static func isQuick(_ contract: Contract) -> Bool {
        let plan = CasePlan(contract)
        return !contract.isDeviceScenario && contract.level <= .should && !plan.isLongRunning
            && !plan.subject.needsBackendForItself && !plan.subject.hasPlannedDelays
            && !plan.subject.leavesCallsWithoutResponse && !plan.subject.hasPlannedResponses
            && plan.subject.phoneSteps.isEmpty && plan.subject.extraObservationTime == nil
    }
}
