internal import Contracts
internal import FakeServers
internal import Judging
internal import Providers
internal import Values

/// Finds routes of the identity guide (register, login) that neither the profile defines nor the
/// backend has.
///
/// Cases that call such a route prove nothing. Their result becomes "not run", with the missing
/// route as a gap in the profile instead of a finding.
struct UnservedRoutes {
    let executor: RunExecutor

    private static let features: [Feature] = [.register, .login]

    /// Sets the result of every case that calls a missing route to "not run".
    ///
    /// This includes passed cases. For example, a case that expects the rejection of an intruder
    /// passes even if the route does not exist.
    func revise(_ results: inout [CaseResult?]) {
        for feature in Self.features {
            guard let note = note(about: feature) else { continue }
            for (index, result) in results.enumerated() {
                guard let result, result.verdict != .notRun,
                    result.contract.allRequiredFeatures.contains(feature)
                else { continue }
                results[index] = CaseResult(
                    contract: result.contract,
                    verdict: .notRun,
                    note: note
                )
            }
        }
    }

    /// Returns the reason why the backend does not have the route of a feature.
    ///
    /// Returns nil when the profile defines the route, or when the route gave at least one response
    /// that a missing route would not give.
    private func note(about feature: Feature) -> String? {
        let profile = executor.profile
        guard profile.namesOfDefaultEndpoints.contains(feature.rawValue),
            let endpoint = profile.endpoints[feature.rawValue]
        else { return nil }
        let statuses = executor.fakes.journal.read { journal -> [Int?] in
            guard journal.isComplete(since: 0) else { return [] }
            return journal.exchanges.filter {
                $0.to == .backend && $0.request.method == endpoint.method
                    && $0.request.target == endpoint.path
            }.map { $0.response?.status }
        }
        guard let status = statuses.first ?? nil,
            statuses.allSatisfy({ RouteStatuses.unserved.contains($0 ?? 0) })
        else { return nil }
        return
            "\(endpoint.method) \(endpoint.path) returns \(status), so the backend has no such route; "
            + "set its real route under 'endpoints: \(feature.rawValue)' in assay.yaml, or declare "
            + "'features: {except: [\(feature.rawValue)]}'"
    }
}
