package import Replay
import TestSupport
package import Values

/// The outcome of a request that should have a response.
struct MissingResponse: Error {
    let outcome: Exchange.Outcome
}

extension Transport {
    /// Sends a request, and returns its response.
    ///
    /// - Throws: The outcome, if there is no response.
    package func response(
        to request: HTTPMessage.Request
    ) async throws -> HTTPMessage.Response {
        let outcome = await send(request, within: SettleTimeout.hang)
        guard case .answered(let response) = outcome else {
            throw MissingResponse(outcome: outcome)
        }
        return response
    }
}
