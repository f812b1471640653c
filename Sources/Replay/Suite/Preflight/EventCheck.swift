internal import Contracts
internal import FakeServers
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

    /// Returns the refusals, each with the status, the kind of event and the remedy.
    func refusals() async -> [String] {
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
            await refusal(
                unknownEvent,
                "an event of an unknown type; answer 200 to types that the backend does not know "
                    + "(clause S-08), or every new type is sent again and again"
            ),
            await refusal(
                testEvent,
                "a test event of the dashboard; answer 200 right after the check of the sender "
                    + "(clause S-18)"
            ),
        ].compactMap(\.self)
    }

    private func refusal(_ event: JSONValue, _ text: String) async -> String? {
        let outcome = await executor.backend.client.send(
            webhook.request(event.bytes, at: executor.backendNow),
            within: .seconds(10)
        )
        switch outcome {
        case .answered(let response):
            return response.status == 200 ? nil : "\(response.shortDescription) to \(text)"
        case .failed(_, let reason): return "no response (\(reason)) to \(text)"
        case .pending, .answerLost, .requestCut: return nil
        }
    }
}
