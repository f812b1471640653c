package import Contracts
internal import Judging

/// A preview of a run: the cases that would run and those that could not, before anything is
/// started.
package struct SuitePreview: Sendable {
    /// The cases that would run.
    package let runnableContracts: [Contract]
    /// The cases that cannot run with this profile, each with its reason.
    package let skippedContracts: [(contract: Contract, reason: String)]

    /// Sorts the selected contracts into cases that would run and cases that could not.
    ///
    /// - Parameters:
    ///   - contracts: The selected contracts.
    ///   - profile: The profile of the backend.
    package init(_ contracts: [Contract], _ profile: Profile) {
        let skipReason = SkipReason(profile: profile, isStartedByAssay: profile.start != nil)
        var runnableContracts: [Contract] = []
        var skippedContracts: [(contract: Contract, reason: String)] = []
        for contract in contracts {
            if let result = skipReason.result(CasePlan(contract)) {
                skippedContracts.append((contract, result.note ?? ""))
            } else {
                runnableContracts.append(contract)
            }
        }
        (self.runnableContracts, self.skippedContracts) = (runnableContracts, skippedContracts)
    }
}
