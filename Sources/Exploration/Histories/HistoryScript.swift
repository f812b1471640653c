package import Contracts
internal import Providers

/// A generated customer history as a contract, with the initial state, the webhook deliveries and
/// the expected results.
package struct HistoryScript: Sendable {
    /// A point within a history at which all earlier events have been delivered, so that the
    /// backend's state is predictable.
    package struct StateReadPoint: Sendable {
        /// The ID of the last step of the history before the point.
        package let step: Int
        /// The part of the history up to the point.
        package let prefix: CustomerHistory
        /// The name of the first delivery after the point.
        package let next: String
    }

    package let history: CustomerHistory
    package let contract: Contract
    package let stateReadPoints: [StateReadPoint]
    /// The situations that the history covers, for the coverage report.
    package let features: [Feature]

    package typealias Feature = HistoryCoverage.Feature

    /// Converts a history to a contract that a backend with these capabilities can run.
    ///
    /// - Parameters:
    ///   - history: The generated customer history.
    ///   - capabilities: The capabilities of the backend.
    ///   - id: The ID of the contract.
    /// - Throws: The reason why the history cannot happen in real stores.
    package init(
        _ history: CustomerHistory,
        _ capabilities: Capabilities,
        id: String = "life"
    ) throws(HistoryModel.ImpossibleOperation) {
        var writer = HistoryContractWriter(history, capabilities)
        try writer.writeSteps()
        let ineffectiveFaults = writer.ineffectiveFaults
        if !ineffectiveFaults.isEmpty {
            // Removes faults that have no effect, such as a delay that no later event overtakes.
            var historyWithEffectiveFaults = history
            historyWithEffectiveFaults.placedFaults.removeAll(where: ineffectiveFaults.contains)
            writer = HistoryContractWriter(historyWithEffectiveFaults, capabilities)
            try writer.writeSteps()
        }
        self.history = writer.history
        contract = writer.contract(id)
        stateReadPoints = writer.stateReadPoints
        features = writer.features
    }
}
