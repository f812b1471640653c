package import Conformance

/// What makes two failures look like one: the kind of finding, and of what.
package struct LifeCause: Hashable, Sendable {
    package let code: FindingCode
    /// The mapped field or the kind of effect that it is about; empty where there is none.
    package let what: String

    /// - Parameter finding: The first of a failed life.
    package init(_ finding: Finding) {
        code = finding.code
        switch finding.code {
        // `access of ada is true`.
        case .stateValue: what = finding.expected.split(separator: " ").first.map(String.init) ?? ""
        default: what = ""
        }
    }

    /// - Parameters:
    ///   - finding: The first of a failed life.
    ///   - what: What it is about.
    package init(_ finding: Finding, about what: String) {
        (code, self.what) = (finding.code, what)
    }

    /// What a report says of it in a few words.
    package var words: String {
        what.isEmpty ? code.rawValue : "\(code.rawValue) \(what)"
    }
}

extension Life {
    /// Whether all that happens in the other one happens here as well, in that order, so that one
    /// cause may explain both.
    package func contains(_ other: Life) -> Bool {
        var rest = other.essence[...]
        for part in essence where part == rest.first { rest.removeFirst() }
        guard rest.isEmpty else { return false }
        let kinds = Set(mishaps.map(\.disturbance.kind))
        guard other.mishaps.allSatisfy({ kinds.contains($0.disturbance.kind) }) else {
            return false
        }
        let hasStranger = { (life: Life) in life.people.contains { $0.arrival == .unknown } }
        return hasStranger(self) || !hasStranger(other)
    }

    /// What happens, without who, when and at which store.
    private var essence: [Essence] {
        steps.map(\.act).filter { $0.kind != .wait }.map { act in
            Essence(
                kind: act.kind,
                isOfPlans: act.isOfPlans,
                isKept: LifeGenerator.keptProducts.contains(act.product ?? ""),
                isSandbox: act.environment == "SANDBOX",
                isDeferred: act.isDeferred,
                knownBy: act.knownBy,
                type: act.type
            )
        }
    }

    private struct Essence: Hashable {
        let kind: Act.Kind
        let isOfPlans: Bool
        let isKept: Bool
        let isSandbox: Bool
        let isDeferred: Bool
        let knownBy: EventSpec.KnownBy?
        let type: String?
    }
}
