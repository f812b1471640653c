internal import Contracts
internal import Grammar

/// Makes the backend's database fail and repairs it, with the commands or requests that the profile
/// defines.
extension CaseExecution {
    /// Makes the backend's database fail.
    ///
    /// Returns false when the command or request failed; the run is then inconclusive.
    mutating func injectDatabaseFault() async -> Bool {
        isDatabaseFailing = true
        return await runFaultOperation("break the database", \.breakAction)
    }

    /// Repairs the backend's database.
    ///
    /// Returns false when the command or request failed; the run is then inconclusive.
    mutating func removeDatabaseFault() async -> Bool {
        isDatabaseFailing = false
        return await runFaultOperation("repair the database", \.repairAction)
    }

    private mutating func runFaultOperation(
        _ name: String,
        _ commandPath: KeyPath<Profile.Fault, Profile.SetupAction>
    ) async -> Bool {
        // A case for a profile without `fault` is skipped before it begins, with that reason, so no
        // message is needed here.
        guard let faultOperation = profile.fault?[keyPath: commandPath] else { return false }
        guard let text = await requests.problem(of: faultOperation, NamedValues([:]), name) else {
            return true
        }
        // Only the first problem of a run is reported.
        runProblem =
            runProblem ?? .faultNotApplied("the profile's 'fault' could not \(name): \(text)")
        return false
    }
}
