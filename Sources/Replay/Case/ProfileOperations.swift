internal import Contracts
internal import FakeServers
internal import Grammar
internal import Values

/// Carries out operations on the backend that the profile defines, each with a request or a
/// command.
///
/// Examples are setting its clock and breaking its database.
extension CaseRequests {
    private static let responseTimeLimit: Duration = .seconds(30)

    /// Carries out an operation.
    ///
    /// Returns the reason for the failure if the operation failed; nil on success.
    ///
    /// An operation that has begun is completed even if the run is interrupted. Otherwise, a
    /// backend that keeps running could keep a broken database or a clock that is ahead.
    func problem(
        of operation: Profile.SetupAction,
        _ values: NamedValues,
        _ name: String
    ) async -> String? {
        await run.clock.task { await executeOperation(operation, values, name) }.value
    }

    private func executeOperation(
        _ operation: Profile.SetupAction,
        _ values: NamedValues,
        _ name: String
    ) async -> String? {
        switch operation {
        case .register: return "the profile does not define it"
        case .command(let commandWords, _):
            do {
                _ = try await run.output(of: run.filledCommand(commandWords, values))
                return nil
            } catch {
                return "\(error)"
            }
        case .request(let endpoint):
            var request = endpoint.request(from: values)
            do {
                request.fields += try await credentials(endpoint.credentials, values)
            } catch {
                return "\(error)"
            }
            let sequence = run.fakes.journal.begin(exchange(.assay, .appCall(name), request))
            let outcome = await run.backend.client.send(request, within: Self.responseTimeLimit)
            run.fakes.journal.complete(sequence, outcome)
            guard case .answered(let response) = outcome else {
                return "the request got no response"
            }
            return (200..<300).contains(response.status)
                ? nil : "the request returned \(response.status)"
        }
    }
}
