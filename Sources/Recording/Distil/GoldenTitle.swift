internal import Conformance

extension Contract {
    /// What a golden contract is called: who does how much in it.
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
            + (isOne ? " ends as it was recorded" : " end as they were recorded")
        return text.prefix(1).uppercased() + text.dropFirst()
    }
}
