internal import Conformance
internal import FakeServers
internal import Providers

/// Reasons for which no case could say anything of the backend, found before the first one.
///
/// All of it is read from two users and a plain purchase of each, which calibration makes anyway.
struct Preflight {
    let executor: RunExecutor
    /// The namespaces of calibration.
    let names: [String]

    /// One line for each reason, with what to do about it; empty where nothing is in the way.
    func obstacles() async -> [String] {
        await completeCalibration()
        let exchanges = names.flatMap(exchanges)
        return [registration(exchanges), await webhook(exchanges)].compactMap { $0 }
            + keys(exchanges)
    }

    /// Where the first purchase went nowhere there was no second one; one alone is no evidence.
    private func completeCalibration() async {
        for name in names where exchanges(of: name).isEmpty {
            _ = await Sentinel(run: executor).see(name, wait: .zero, Calibration.blind)
        }
    }

    private func exchanges(of name: String) -> [Exchange] {
        executor.world.journal.read { $0.exchanges(in: name) }
    }

    /// A route that users are to be created by, and that nobody serves.
    private func registration(_ exchanges: [Exchange]) -> String? {
        let calls = exchanges.filter {
            if case .registration = $0.purpose { true } else { false }
        }
        guard let (call, answer) = Self.refusal(of: calls, RouteAnswer.unserved) else { return nil }
        return "\(call.request.method) \(call.request.target) answers \(answer), so no user can be "
            + "created; say under 'users: create' in assay.yaml how one comes to exist"
    }

    private func webhook(_ exchanges: [Exchange]) async -> String? {
        let purchases = exchanges.filter { $0.purpose == .sentinel }
        let place = "\(executor.webhookMethod) \(executor.sender.path)"
        if let (_, answer) = Self.refusal(of: purchases, RouteAnswer.unserved) {
            let found = await Examination.servedPath(executor, names[0] + "-t")
            return "\(place) answers \(answer); "
                + (found.map { "POST \($0) answers events: write" } ?? "name the route of events:")
                + " 'endpoints: {revenuecat-webhook: POST \(found ?? "/…")}' in assay.yaml"
        }
        if let (_, answer) = Self.refusal(of: purchases, RouteAnswer.refused) {
            let isGiven = executor.sender.authorization != nil
            return "\(place) answers \(answer) to a purchase "
                + (isGiven ? "with the profile's own Authorization value" : "without Authorization")
                + "; give the backend and the profile one 'revenuecat-authorization' (a started "
                + "backend gets it as REVENUECAT_WEBHOOK_AUTH)"
        }
        return nil
    }

    /// Fakes that took no call of the backend for what it presents.
    private func keys(_ exchanges: [Exchange]) -> [String] {
        let calls = Dictionary(grouping: exchanges.filter { $0.from == .backend }, by: \.to)
        return calls.sorted { $0.key.rawValue < $1.key.rawValue }.compactMap { party, calls in
            guard let (_, answer) = Self.refusal(of: calls, RouteAnswer.refused) else { return nil }
            return
                "the fake \(party) answers \(answer) to every call of the backend: its key is not "
                + "the profile's; give both the same under 'secrets' in assay.yaml"
        }
    }

    /// The first of these and its answer, when all of them were answered by one of these statuses.
    private static func refusal(
        of exchanges: [Exchange],
        _ statuses: Set<Int>
    ) -> (Exchange, answer: String)? {
        guard let first = exchanges.first, let response = first.response,
            exchanges.allSatisfy({ statuses.contains($0.response?.status ?? 0) })
        else { return nil }
        return (first, response.excerpt)
    }
}

/// What an answer says of the route rather than of the request.
enum RouteAnswer {
    /// Nobody serves it.
    static let unserved: Set<Int> = [404, 405, 501]
    /// Whoever asks is not known.
    static let refused: Set<Int> = [401, 403]
}
