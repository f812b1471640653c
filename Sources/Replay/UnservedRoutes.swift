internal import Conformance
internal import FakeServers

/// Routes that the profile leaves to the identity guide and that this backend does not have.
///
/// What a case says about such a route is nothing: it is not configured, which is told as such and
/// not as a finding of every case that calls it.
struct UnservedRoutes {
    let executor: RunExecutor

    private static let features: [Feature] = [.register, .login]

    /// Takes back the results of all cases that call such a route, passed ones included: a route that
    /// nobody serves refuses intruders too.
    func revise(_ results: inout [CaseResult?]) {
        for feature in Self.features {
            guard let note = note(about: feature) else { continue }
            for (index, result) in results.enumerated() {
                guard let result, result.verdict != .notRun,
                    result.contract.allNeeds.contains(feature)
                else { continue }
                results[index] = CaseResult(
                    contract: result.contract,
                    verdict: .notRun,
                    note: note
                )
            }
        }
    }

    /// Why the feature is not configured; nil when its route was named, or once answered as a route
    /// does that exists.
    private func note(about feature: Feature) -> String? {
        let profile = executor.profile
        guard profile.guessed.contains(feature.rawValue),
            let endpoint = profile.endpoints[feature.rawValue]
        else { return nil }
        let statuses = executor.world.journal.read { journal -> [Int?] in
            guard journal.isComplete(since: 0) else { return [] }
            return journal.exchanges.filter {
                $0.to == .backend && $0.request.method == endpoint.method
                    && $0.request.target == endpoint.path
            }.map { $0.response?.status }
        }
        guard let status = statuses.first ?? nil,
            statuses.allSatisfy({ RouteAnswer.unserved.contains($0 ?? 0) })
        else { return nil }
        return
            "\(endpoint.method) \(endpoint.path) answers \(status), and the profile names no other "
            + "route; name it under 'endpoints: \(feature.rawValue)', or declare 'features: "
            + "{except: "
            + "[\(feature.rawValue)]}'"
    }
}
