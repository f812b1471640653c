internal import Contracts
internal import FakeServers
internal import Judging
internal import Providers
internal import Values

/// Finds reasons why no case could judge the backend, before the first case runs.
///
/// The evidence is one plain purchase for each of two users. The calibration before the first case
/// makes these purchases anyway.
struct Preflight {
    let executor: RunExecutor
    /// The namespaces of the two purchases.
    let namespaceNames: [String]
    /// The effects that the two purchases showed.
    let observability: RunRecord.Observability
    /// Whether a purchase without a visible effect stops the run.
    var needsVisiblePurchase = true

    /// Returns one line for each reason why no case could judge the backend, with its remedy.
    ///
    /// Empty if cases can run, and after the time limit or an interruption: the end of the run has
    /// then ended the requests of the check, so they prove nothing about the backend.
    func skipReasons() async -> [String] {
        let reasons = await problems()
        return Task.isCancelled ? [] : reasons
    }

    private func problems() async -> [String] {
        await completeCalibration()
        let exchanges = namespaceNames.flatMap(exchanges)
        // A missing session also makes the registration and the probes fail.
        if let sessionRefusal = await refusals.sessionRefusal() { return [sessionRefusal] }
        // A failed call of the backend may be the reason why the webhook fails.
        let callProblems =
            Self.unservedCalls(exchanges, executor.fakes.providers) + keyProblems(exchanges)
        let problems =
            callProblems + [registration(exchanges)].compactMap(\.self)
            + (callProblems.isEmpty ? [await webhookProblem(exchanges)].compactMap(\.self) : [])
            + CallerRefusals.probeProblems(exchanges)
        guard problems.isEmpty, needsVisiblePurchase else { return problems }
        return [
            await InvisiblePurchase(
                executor: executor,
                namespaceNames: namespaceNames,
                observability: observability
            ).problem()
        ].compactMap(\.self)
    }

    /// Returns the events that the backend refuses although each sender delivers them.
    ///
    /// Such a refusal does not stop the run. After the end of the run, the result is empty.
    func eventRefusals() async -> [EventRefusal] {
        let check = EventCheck(executor: executor, name: namespaceNames[0] + "-u")
        let refusals = await check.refusals()
        return Task.isCancelled ? [] : refusals
    }

    private var refusals: CallerRefusals {
        CallerRefusals(executor: executor, name: namespaceNames[0] + "-t")
    }

    /// Makes the second plain purchase if it was skipped because the first one had no visible
    /// effect.
    ///
    /// A single purchase is not enough evidence.
    private func completeCalibration() async {
        for name in namespaceNames where exchanges(of: name).isEmpty {
            _ = await Sentinel(run: executor).observePurchase(
                name,
                wait: .zero,
                Calibration.nothingObservable
            )
        }
    }

    private func exchanges(of name: String) -> [Exchange] {
        executor.fakes.journal.read { $0.exchanges(in: name) }
    }

    /// Returns a message if the route that creates users does not exist; nil if it exists.
    private func registration(_ exchanges: [Exchange]) -> String? {
        let calls = exchanges.filter {
            if case .registration = $0.purpose { true } else { false }
        }
        guard let (call, responseText) = Self.firstRefusedCall(of: calls, RouteStatuses.unserved)
        else {
            return nil
        }
        return
            "\(call.request.method) \(call.request.target) returns \(responseText), so no user can be "
            + "created; define under 'users: create' in assay.yaml how a user is created"
    }

    /// Returns a message if the webhook answers both purchases in a way that no case could judge;
    /// nil otherwise.
    private func webhookProblem(_ exchanges: [Exchange]) async -> String? {
        await WebhookCheck(
            executor: executor,
            name: namespaceNames[0] + "-t",
            purchases: exchanges.filter { $0.purpose == .sentinel }
        ).problem()
    }

    /// Returns a message for each fake none of whose routes the calls of the backend reach.
    ///
    /// - Parameters:
    ///   - exchanges: The exchanges of plain purchases.
    ///   - providers: The providers whose fakes run.
    /// - Returns: The messages, each with its remedy.
    static func unservedCalls(_ exchanges: [Exchange], _ providers: ProviderTable) -> [String] {
        let calls = Dictionary(grouping: exchanges.filter { $0.from == .backend }, by: \.to)
        return providers.sortedEntries.map(\.party).compactMap { party in
            let unserved = (calls[party] ?? []).map(UnservedCall.init)
            guard let first = unserved.first ?? nil, !unserved.contains(nil) else { return nil }
            return "\(first.problem). \(first.remedy)"
        }
    }

    /// Returns a message for each fake that rejected the API key in every call of the backend.
    private func keyProblems(_ exchanges: [Exchange]) -> [String] {
        let calls = Dictionary(grouping: exchanges.filter { $0.from == .backend }, by: \.to)
        return executor.fakes.providers.sortedEntries.map(\.party).compactMap { party in
            guard
                let (_, responseText) = Self.firstRefusedCall(
                    of: calls[party] ?? [],
                    RouteStatuses.refused
                )
            else {
                return nil
            }
            return
                "the fake \(party) returns \(responseText) for every call of the backend, because the "
                + "calls do not contain the API key of the profile; set the same key in the backend "
                + "and under 'secrets' in assay.yaml"
        }
    }

    /// Returns the first exchange and its response if every exchange got one of the given statuses;
    /// nil otherwise.
    static func firstRefusedCall(
        of exchanges: [Exchange],
        _ statuses: Set<Int>
    ) -> (Exchange, responseText: String)? {
        guard let first = exchanges.first, let response = first.response,
            exchanges.allSatisfy({ statuses.contains($0.response?.status ?? 0) })
        else { return nil }
        return (first, response.bodyExcerpt)
    }
}

/// HTTP statuses that show a problem with the route or the caller instead of the request.
enum RouteStatuses {
    /// Statuses of a route that does not exist.
    static let unserved: Set<Int> = [404, 405, 501]
    /// Statuses for a caller that is not authorized.
    static let refused: Set<Int> = [401, 403]
}
