internal import Conformance

/// Which failed case is looked at first, where others fail in the same words behind it.
///
/// One case contains another when all that happens in that one happens in it as well, in that order,
/// and both fail alike. What fails with less leads: the backend of a broken renewal fails wherever
/// somebody renews. That the rest is a consequence is likely and not certain, so every case keeps
/// its finding and its replay.
struct LeadingCases {
    /// What fails, and what happens before it does.
    private struct Tale {
        let caseID: String
        let fact: Fact
        let acts: [String]

        /// Nil without a delivery: a person's device has another order of things.
        init?(_ result: Redacted<CaseResult>) {
            let steps = result.contract.given + result.contract.steps
            guard result.verdict == .failed, let first = result.findings.first,
                steps.contains(where: { if case .deliver = $0 { true } else { false } })
            else { return nil }
            caseID = result.contract.caseID
            fact = Fact(code: first.code, expected: first.expected, actual: first.actual)
            acts = steps.flatMap(LeadingCases.acts)
        }

        func contains(_ other: Tale) -> Bool {
            var rest = other.acts[...]
            for act in acts where act == rest.first { rest.removeFirst() }
            return rest.isEmpty
        }
    }

    private struct Fact: Hashable {
        let code: FindingCode
        let expected: String
        let actual: String
    }

    private let leaders: [String: String]

    /// - Parameter results: Cases that are told one by one, in their order.
    init(_ results: [Redacted<CaseResult>]) {
        var leaders: [String: String] = [:]
        for alike in Dictionary(grouping: results.compactMap(Tale.init), by: \.fact).values {
            // Of those with equally many acts the one that stands first.
            let tales = alike.enumerated().sorted {
                ($0.element.acts.count, $0.offset) < ($1.element.acts.count, $1.offset)
            }.map(\.element)
            for (index, tale) in tales.enumerated() {
                leaders[tale.caseID] = tales[..<index].first { tale.contains($0) }?.caseID
            }
        }
        self.leaders = leaders
    }

    /// The case that leads this one; nil when it leads itself.
    subscript(_ caseID: String) -> String? { leaders[caseID] }

    /// The cases that lead others, with how many; the most first.
    var all: [(caseID: String, count: Int)] {
        Dictionary(grouping: leaders.values) { $0 }.map { ($0.key, $0.value.count) }
            .sorted { ($1.1, $0.0) < ($0.1, $1.0) }
    }

    /// What a step does; a delivery that is more than delivered is that and its whole plan.
    private static func acts(_ step: Step) -> [String] {
        guard case .deliver(let delivery) = step else { return ["\(step)"] }
        var plain = Delivery(name: delivery.name, subject: delivery.subject)
        plain.provider = delivery.provider
        plain.delay = delivery.delay
        let name = "\(delivery.provider) \(delivery.what)"
        return plain == delivery ? [name] : [name, "\(delivery)"]
    }
}
