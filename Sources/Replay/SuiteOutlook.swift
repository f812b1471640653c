package import Conformance

/// What a run would be, before anything is started.
package struct SuiteOutlook: Sendable {
    /// Cases that would be played.
    package let played: [Contract]
    /// Cases that this profile cannot play, with the reason.
    package let left: [(contract: Contract, reason: String)]

    /// - Parameters:
    ///   - contracts: What was selected.
    ///   - profile: The backend, as it is described.
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
