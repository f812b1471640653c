internal import Providers
internal import Contracts
internal import Values

/// An error of a service that the backend calls, which a history plans as a fault.
package struct ServiceError: Hashable, Sendable {
    /// The name of the fault in `.history` files and command-line options.
    package let name: String
    /// The service that responds with the error.
    let provider: Exchange.Party
    /// The phrase for the fault in the title of a history.
    let words: String
    /// The ID of the contract clause that a backend violates when the fault changes its final
    /// state.
    let clause: String
    /// Whether the error may be the response to a call that only reads.
    let includesReads: Bool
    /// The features that the profile of a backend must list for the fault.
    let needs: [Feature]

    /// Returns the plan of a response with the error, followed by a usual response.
    func plan(_ response: ProviderPlan.PlannedResponse) -> ProviderPlan {
        ProviderPlan(
            provider: provider,
            responses: [response, .asUsual],
            includesReads: includesReads
        )
    }
}
