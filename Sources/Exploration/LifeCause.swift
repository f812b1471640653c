package import Conformance

/// The signature of a failed history: the finding code and the subject of the finding.
///
/// Failed histories with the same signature count as one failure.
package struct LifeCause: Hashable, Sendable {
    package let code: FindingCode
    /// The state field or the kind of effect, such as a push, that the finding concerns; empty when
    /// there is none.
    package let what: String

    /// Creates the failure signature of a finding, and derives the subject from the finding.
    ///
    /// - Parameter finding: The first finding of a failed history.
    package init(_ finding: Finding) {
        code = finding.code
        switch finding.code {
        // In `access of ada is true`: access without payment and missing access are two signatures.
        case .stateValue:
            let words = finding.expected.split(separator: " ").map(String.init)
            let value = words.last.flatMap { ["true", "false"].contains($0) ? $0 : nil }
            what = [words.first, value].compactMap(\.self).joined(separator: " ")
        default: what = ""
        }
    }

    /// Creates the failure signature of a finding with a given subject.
    ///
    /// - Parameters:
    ///   - finding: The first finding of a failed history.
    ///   - what: The subject of the finding, such as the name of a state field.
    package init(_ finding: Finding, about what: String) {
        (code, self.what) = (finding.code, what)
    }

    /// The signature as reports print it: the finding code, followed by the subject if there is
    /// one.
    package var words: String {
        what.isEmpty ? code.rawValue : "\(code.rawValue) \(what)"
    }
}

extension Life {
    /// Returns whether this history and the other history may fail for the same reason.
    ///
    /// The result is true when this history has all operations of the other history, in the same
    /// order, and all kinds of its faults.
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

    /// Returns the ID of a failed history, which depends only on the operations, the faults and the
    /// failure signature.
    ///
    /// - Parameter cause: The failure signature.
    /// - Returns: The slug of the history, and six hexadecimal digits that depend on the
    ///   operations, the faults and the signature.
    package func storyID(_ cause: LifeCause) -> String {
        let kinds = Set(mishaps.map(\.disturbance.kind)).sorted()
        let hasStranger = people.contains { $0.arrival == .unknown }
        var lines: [String] = [cause.words, hasStranger ? "a stranger" : ""]
        for part in essence { lines.append(part.text) }
        lines += kinds.map(\.rawValue)
        let text = lines.joined(separator: "\n")
        return "\(slug)-\(Story.digits(of: text))"
    }

    /// The operations of the history without users, times and default values such as the App Store.
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

        /// Returns whether this operation equals the smaller history's operation, apart from
        /// unusual details such as a store or a period type.
        ///
        /// A history that was shrunk keeps an unusual detail only if the history does not fail
        /// without that detail.
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
