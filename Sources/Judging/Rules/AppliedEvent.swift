internal import Contracts
internal import Providers
internal import Values

/// An event that the backend applied although it answered every delivery of the user's events with
/// an error.
///
/// The sender takes any status but 200 for a failure, and delivers the event again (RevenueCat fact
/// sheet, sections 1.3 and 1.4). The error then reports a failure that did not happen.
struct AppliedEvent {
    /// The statuses of errors; a redirect is not followed.
    private static let errorStatuses = 300..<600

    private let senderTitle: String
    /// The visible result of the event, such as "ada has access".
    private let trace: String

    /// Creates the evidence that an event was applied; nil without evidence.
    ///
    /// Access that an accepted event of the same user may have given proves nothing.
    init?(_ delivery: Delivery, in evidence: CaseEvidence) {
        let record = evidence.subject
        let accepted = record.plan.deliveries.filter { other in
            record.attempts(of: other.name).contains { attempt in
                guard let status = attempt.response?.status else { return true }
                return !Self.errorStatuses.contains(status)
            }
        }
        let users = Set(delivery.users).subtracting(accepted.flatMap(\.users))
        let trace = users.sorted().lazy.compactMap { Self.trace(of: $0, in: evidence) }.first
        guard let trace else { return nil }
        self.trace = trace
        senderTitle = ProviderTable.all[delivery.provider]?.title ?? "the sender"
    }

    /// Returns the finding with the result of the event; nil if it is not about an error status.
    func finding(replacing finding: Finding, for attempt: Exchange) -> Finding? {
        guard finding.code == .responseStatus, let status = attempt.response?.status,
            Self.errorStatuses.contains(status)
        else { return nil }
        return Finding(
            .appliedButRefused,
            expected: finding.expected,
            actual:
                "\(status) although the event was applied (\(trace)); \(senderTitle) sends it again",
            location: finding.location,
            evidence: finding.evidence
        )
    }

    /// Returns the result that an event left for a user; nil without a visible result.
    private static func trace(of user: String, in evidence: CaseEvidence) -> String? {
        let record = evidence.subject
        if let (probe, access) = evidence.profile.probe(reading: "access"),
            case .document(let state)? = record.state(of: user, probe: probe.name),
            let found = state[access.pointer],
            StateRule.value(found, access.meaning, field: "access", at: record.lastProbeTime)
                == true
        {
            return "\(user) has access"
        }
        let id = ExactText(record.namespace.id(of: user))
        let isNotified = record.effects.contains { $0.effect.reaches([id]) }
        return isNotified ? "\(user) got a message" : nil
    }
}
