internal import Contracts
internal import FakeServers
internal import Judging
internal import Values

/// Finds a rate limit of the backend that refuses events at a rate at which a provider sends them.
///
/// A case that got a 429 is inconclusive, because Assay may send faster than a provider. The time of
/// all deliveries of the run shows whether it did.
struct ThrottledWebhook {
    /// The number of deliveries within `window` that a provider certainly sends.
    ///
    /// A provider sends the events of all customers without a rate limit. Clause S-03 already
    /// requires that 20 copies of one event may arrive at the same time.
    static let burstSize = 20
    /// One second, in microseconds.
    private static let window: Int64 = 1_000_000
    /// One minute, in microseconds: the time for which a rate limit may remember refused callers.
    private static let memory: Int64 = 60_000_000

    let executor: RunExecutor

    /// Returns the refused event before which the fewest others arrived, as one failed case; empty
    /// if no event was refused at the rate of a provider.
    func failures() -> [CaseResult] {
        let deliveries = executor.fakes.journal.read { $0.exchanges.filter(\.isWebhookDelivery) }
            .sorted { $0.invoked < $1.invoked }
        let refused = deliveries.indices.compactMap { index in
            burst(endingAt: index, in: deliveries)
        }
        guard let smallest = refused.min(by: { $0.size < $1.size }) else { return [] }
        let finding = Finding(
            .webhookThrottled,
            expected: "200 for each of \(Self.burstSize) events that arrive within one second",
            actual: "429 for an event, after \(smallest.size - 1) others within one second; "
                + "429 for \(refused.count) of \(deliveries.count) deliveries",
            evidence: [smallest.delivery.sequence]
        )
        var result = CaseResult(
            contract: RunInvariant.webhookTakesBursts.contract,
            verdict: .failed,
            findings: [finding],
            timeline: [smallest.delivery.shortened],
            base: executor.base
        )
        // All cases share the limit, so no case is listed for a rerun.
        result.replayedCaseIDs = []
        return [result]
    }

    /// Returns the burst that ends with a refused delivery; nil if the delivery was not refused, or
    /// if the limit may have had another reason.
    private func burst(
        endingAt index: Int,
        in deliveries: [Exchange]
    ) -> (delivery: Exchange, size: Int)? {
        let last = deliveries[index]
        guard last.response?.status == 429 else { return nil }
        // Deliveries that began before the refusal may have reached the backend before this one.
        let end = deliveries[index...].prefix { $0.invoked <= last.completed ?? last.invoked }
            .endIndex
        let earlier = deliveries[..<end].reversed().prefix {
            last.invoked - $0.invoked < Self.memory
        }
        let size = earlier.count { last.invoked - $0.invoked < Self.window }
        // A limit may count callers without a proof, whom some cases imitate.
        let hasUnauthenticatedCaller = earlier.contains { other in
            RouteStatuses.refused.contains(other.response?.status ?? 0)
        }
        return size <= Self.burstSize && !hasUnauthenticatedCaller ? (last, size) : nil
    }
}

extension Exchange {
    /// Whether the exchange delivers an event to the backend.
    fileprivate var isWebhookDelivery: Bool {
        guard to == .backend else { return false }
        return switch purpose {
        case .delivery, .sentinel: true
        default: false
        }
    }
}
