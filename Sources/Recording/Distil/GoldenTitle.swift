internal import Conformance

extension Contract {
    /// The title of a golden contract, such as "A request and 2 events of ada have the recorded
    /// outcome".
    var goldenTitle: String {
        let calls = steps.count { if case .request = $0 { true } else { false } }
        let events = steps.count { if case .deliver = $0 { true } else { false } }
        let parts = [
            calls == 0 ? nil : calls == 1 ? "a request" : "\(calls) requests",
            events == 0 ? nil : events == 1 ? "an event" : "\(events) events",
        ].compactMap { $0 }.joined(separator: " and ")
        let user = steps.lazy.flatMap(\.traits.users).first
        let isOne = calls + events == 1
        let text =
            parts + (user.map { " of \($0)" } ?? "")
            + (isOne ? " has the recorded outcome" : " have the recorded outcome")
        return text.prefix(1).uppercased() + text.dropFirst()
    }
}
