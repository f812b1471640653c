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
        // `access of ada is true`: who has what nobody paid for, and who lacks it, are two causes.
        case .stateValue:
            let words = finding.expected.split(separator: " ").map(String.init)
            let value = words.last.flatMap { ["true", "false"].contains($0) ? $0 : nil }
            what = [words.first, value].compactMap(\.self).joined(separator: " ")
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
        for part in essence where rest.first.map(part.explains) ?? false { rest.removeFirst() }
        guard rest.isEmpty else { return false }
        let kinds = Set(mishaps.map(\.disturbance.kind))
        guard other.mishaps.allSatisfy({ kinds.contains($0.disturbance.kind) }) else {
            return false
        }
        let hasStranger = { (life: Life) in life.people.contains { $0.arrival == .unknown } }
        return hasStranger(self) || !hasStranger(other)
    }

    /// A name for what happens that is the same wherever it was found, and another for each cause.
    ///
    /// - Parameter cause: Why it fails.
    /// - Returns: The slug, and six digits of what happens and of the cause.
    package func storyID(_ cause: LifeCause) -> String {
        let kinds = Set(mishaps.map(\.disturbance.kind)).sorted()
        let hasStranger = people.contains { $0.arrival == .unknown }
        var lines: [String] = [cause.words, hasStranger ? "a stranger" : ""]
        for part in essence { lines.append(part.text) }
        lines += kinds.map(\.rawValue)
        let text = lines.joined(separator: "\n")
        return "\(slug)-\(Story.digits(of: text))"
    }

    /// What happens, without who and when; of stores and the like, what is not the usual.
    private var essence: [Essence] {
        steps.map(\.act).filter { $0.kind != .wait }.map(Essence.init)
    }

    private struct Essence: Hashable {
        let kind: Act.Kind
        let isOfPlans: Bool
        let isKept: Bool
        let isSandbox: Bool
        let isDeferred: Bool
        let isOfSeveral: Bool
        let hasSpan: Bool
        var store: String?
        var period: String?
        var reason: String?
        var knownBy: EventSpec.KnownBy?
        let type: String?

        init(_ act: Act) {
            kind = act.kind
            isOfPlans = act.isOfPlans
            isKept = LifeGenerator.keptProducts.contains(act.product ?? "")
            isSandbox = act.environment == "SANDBOX"
            isDeferred = act.isDeferred
            isOfSeveral = act.also != nil
            hasSpan = act.span != nil
            store = act.isOfPlans || act.store == "APP_STORE" ? nil : act.store
            period = act.period == "NORMAL" ? nil : act.period
            reason = act.reason
            knownBy = act.knownBy
            type = act.type
        }

        /// Whether this is the other one, or the other one at a particular place.
        ///
        /// A small life has what is not the usual only where it does not fail without.
        func explains(_ small: Essence) -> Bool {
            var plain = self
            if small.store == nil { plain.store = nil }
            if small.period == nil { plain.period = nil }
            if small.reason == nil { plain.reason = nil }
            if small.knownBy == nil { plain.knownBy = nil }
            return plain == small
        }

        var text: String {
            var words = [kind.rawValue]
            if isOfPlans { words.append("plan") }
            if isKept { words.append("kept") }
            if isSandbox { words.append("sandbox") }
            if isDeferred { words.append("deferred") }
            if isOfSeveral { words.append("several") }
            if hasSpan { words.append("span") }
            for text in [store, period, reason, knownBy?.rawValue, type] {
                if let text { words.append(text) }
            }
            return words.joined(separator: " ")
        }
    }
}
