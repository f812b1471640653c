internal import Contracts
internal import FakeServers
internal import Judging
internal import Providers
internal import Values

/// Sends an event of an unknown type and a test event, which a backend has to acknowledge.
///
/// A refusal of these events makes many cases fail. It does not stop the run, because the cases about
/// purchases can still be judged.
struct EventCheck {
    let executor: RunExecutor
    /// The namespace of the events.
    let name: String

    /// The type of the unknown event.
    static let unknownType = "FUTURE_TYPE"

    private var webhook: PurchaseWebhook { executor.purchaseWebhook }

    /// Returns the refused events, in the order of their deliveries.
    func refusals() async -> [EventRefusal] {
        let namespace = executor.runWithoutSteps(name).namespace
        // A push for the user of these events belongs to this namespace, and to no case.
        executor.fakes.open(name, ids: [namespace.id(of: "tester")], at: executor.base)
        let context = executor.eventContext(namespace)
        var unknownEvent = webhook.sender.testEvent(of: "tester", name: "unknown", in: context)
        unknownEvent.set(
            webhook.sender.webhookFormat.typePointer,
            to: .string(Self.unknownType)
        )
        let testEvent = webhook.sender.testEvent(of: "tester", name: "test", in: context)
        return [
            await refusal(unknownEvent, .unknownTypesAreAcknowledged),
            await refusal(testEvent, .testEventsAreAcknowledged),
        ].compactMap(\.self)
    }

    private func refusal(_ event: JSONValue, _ invariant: RunInvariant) async -> EventRefusal? {
        var exchange = Exchange(
            from: webhook.party,
            to: .backend,
            namespace: name,
            purpose: .delivery(name: EventRefusal.deliveryName, attempt: 1),
            at: executor.fakes.now,
            request: webhook.request(event.bytes, at: executor.backendNow)
        )
        exchange.sequence = executor.fakes.journal.begin(exchange)
        exchange.outcome = await executor.backend.client.send(
            exchange.request,
            within: .seconds(10)
        )
        executor.fakes.journal.complete(exchange.sequence, exchange.outcome)
        switch exchange.outcome {
        case .answered(let response) where response.status != 200: break
        case .failed: break
        case .answered, .pending, .answerLost, .requestCut: return nil
        }
        return EventRefusal(invariant: invariant, event: event, exchange: exchange)
    }
}

/// An event of the preflight that the backend did not acknowledge.
struct EventRefusal: Sendable {
    static let deliveryName = "event"

    let invariant: RunInvariant
    let event: JSONValue
    let exchange: Exchange

    private var eventText: String {
        invariant == .unknownTypesAreAcknowledged
            ? "an event of an unknown type" : "a test event of the dashboard"
    }

    /// The refusal in one line, for a run without a case of the violated clause.
    var warning: String {
        "\(exchange.request.method) \(exchange.request.target) "
            + (exchange.response.map { "returns \($0.bodyExcerpt)" } ?? "sends no response")
            + " to \(eventText) (clause \(invariant.contract.clause)); answer 200, or the sender "
            + "delivers it again and again"
    }

    /// Returns the refusal as a failed case of its clause.
    func failure(at base: Instant) -> CaseResult {
        var contract = invariant.contract
        contract.steps = [
            .deliver(
                Delivery(name: Self.deliveryName, subject: .body(event), provider: exchange.from)
            )
        ]
        let finding = Finding(
            exchange.response == nil ? .noResponse : .responseStatus,
            expected: "200 for \(eventText)",
            actual: exchange.response.map { "\($0.status)" } ?? "no response",
            evidence: [exchange.sequence]
        )
        var result = CaseResult(
            contract: contract,
            verdict: .failed,
            findings: [finding],
            timeline: [exchange.shortened],
            base: base
        )
        result.replayedCaseIDs = [contract.clause]
        return result
    }
}
