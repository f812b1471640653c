package import Contracts
internal import Providers
package import Values

/// Judges whether the faults that a case planned took effect.
///
/// A case proves nothing when, for example, the backend never called the provider whose response
/// should fail.
package struct PlannedFaultRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        missedCallFindings(in: evidence) + ineffectiveDatabaseFailures(in: evidence)
    }

    /// Reports a successful response of the backend that was sent while its database was made to
    /// fail.
    ///
    /// After such a response, the event was stored elsewhere, or the failure did not affect the
    /// backend. Nothing is reported for a backend that processes events after its response, because
    /// its success is correct.
    private static func ineffectiveDatabaseFailures(in evidence: CaseEvidence) -> [Finding] {
        guard evidence.observability.appliesEventsLater != true else { return [] }
        let (plan, record) = (evidence.plan.subject, evidence.subject)
        let deliveries = plan.deliveries.filter { $0.databaseFailureCount != nil }.map { delivery in
            (
                "during the first attempt of '\(delivery.name)'",
                record.attempts(of: delivery.name).first?.response?.status, 200...200
            )
        }
        let calls = plan.calls.filter { $0.hasDatabaseFailure == true }.map { call in
            (
                "during call '\(call.name)'", record.exchange(ofCall: call.name)?.response?.status,
                200...299
            )
        }
        return (deliveries + calls).compactMap { time, status, success in
            guard let status, success.contains(status) else { return nil }
            return Finding(
                .faultNotApplied,
                expected: "the database fails \(time)",
                actual: "the backend responded with \(status), as if nothing had failed",
                remedy: "Make 'fault: break' in the profile break the storage of this route.",
                location: evidence.plan.contract.location
            )
        }
    }

    private static func missedCallFindings(in evidence: CaseEvidence) -> [Finding] {
        guard let missedProviderCall = missedCall(in: evidence) else { return [] }
        return [
            Finding(
                .faultNotApplied,
                expected:
                    "the backend makes call \(missedProviderCall.callNumber) to \(missedProviderCall.provider), for which a "
                    + "fault is planned",
                actual: "calls of the backend to \(missedProviderCall.provider): "
                    + "\(missedProviderCall.count(in: evidence.subject))",
                location: evidence.plan.contract.location
            )
        ]
    }

    /// Returns the first provider call that a planned fault should affect and that the backend did
    /// not make.
    ///
    /// Nil when the backend made all such calls.
    package static func missedCall(in evidence: CaseEvidence) -> PlannedFaultWithoutCall? {
        for case .provider(let plan) in evidence.plan.subject.steps {
            guard let first = plan.responses.firstIndex(where: { $0 != .asUsual }) else { continue }
            let missedProviderCall = PlannedFaultWithoutCall(
                provider: plan.provider,
                callNumber: first + 1,
                includesReads: plan.includesReads
            )
            if missedProviderCall.isMissed(in: evidence.subject) { return missedProviderCall }
        }
        return nil
    }
}

/// A call of the backend to a provider, for which the contract plans a fault; the backend may not
/// have made the call.
package struct PlannedFaultWithoutCall: Hashable, Sendable {
    package let provider: Exchange.Party
    /// The position of the call among the backend's calls to that provider, counted from 1.
    package let callNumber: Int
    /// Whether reads (GET and HEAD requests) count as calls.
    let includesReads: Bool

    /// Returns the number of calls in a run that the backend made to the provider.
    func count(in record: RunRecord) -> Int {
        record.exchanges.count {
            $0.from == .backend && $0.to == provider
                && (includesReads || !["GET", "HEAD"].contains($0.request.method))
        }
    }

    /// Whether the run ended before the backend made the call.
    package func isMissed(in record: RunRecord) -> Bool { count(in: record) < callNumber }
}
