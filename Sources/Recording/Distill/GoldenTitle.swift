internal import Contracts

extension Contract {
    /// The title of a golden contract, such as "A request and 2 events of ada have the recorded
    /// outcome".
    var goldenTitle: String {
        let requestCount = steps.count { if case .request = $0 { true } else { false } }
        let deliveryCount = steps.count { if case .deliver = $0 { true } else { false } }
        let titleParts = [
            requestCount == 0 ? nil : requestCount == 1 ? "a request" : "\(requestCount) requests",
            deliveryCount == 0 ? nil : deliveryCount == 1 ? "an event" : "\(deliveryCount) events",
        ].compactMap { $0 }.joined(separator: " and ")
        let user = steps.lazy.flatMap(\.traits.users).first
        let isSingleStep = requestCount + deliveryCount == 1
        let text =
            titleParts + (user.map { " of \($0)" } ?? "")
            + (isSingleStep ? " has the recorded outcome" : " have the recorded outcome")
        return text.prefix(1).uppercased() + text.dropFirst()
    }
}
