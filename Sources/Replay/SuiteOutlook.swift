package import Conformance

/// A preview of a run: the cases that would run and those that could not, before anything is
/// started.
package struct SuiteOutlook: Sendable {
    /// The cases that would run.
    package let played: [Contract]
    /// The cases that cannot run with this profile, each with its reason.
    package let left: [(contract: Contract, reason: String)]

    /// Sorts the selected contracts into cases that would run and cases that could not.
    ///
    /// - Parameters:
    ///   - contracts: The selected contracts.
    ///   - profile: The profile of the backend.
    package init(_ contracts: [Contract], _ profile: Profile) {
        let obstacle = Obstacle(profile: profile, isStarted: profile.start != nil)
        var played: [Contract] = []
        var left: [(contract: Contract, reason: String)] = []
        for contract in contracts {
            if let result = obstacle.result(CasePlan(contract)) {
                left.append((contract, result.note ?? ""))
            } else {
                played.append(contract)
            }
        }
        (self.played, self.left) = (played, left)
    }
}
