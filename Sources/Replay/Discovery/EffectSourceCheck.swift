internal import Contracts
internal import Judging
internal import Values

/// The messages that an effect source of the profile listed after a plain purchase.
struct EffectSourceCheck {
    let source: Profile.EffectSource
    /// The last response about the buyer; nil if the source was not read.
    let state: ObservedState?

    init(_ source: Profile.EffectSource, in exchanges: [Exchange]) {
        self.source = source
        state =
            exchanges.last {
                if case .probe(source.probe.name, _) = $0.purpose { true } else { false }
            }.map(ObservedState.init)
    }

    /// Whether the source lists a message, the sentence that says so, and the remedy.
    var result: (isGood: Bool, text: String, hint: String?) {
        guard let state else { return (false, "it was not read", nil) }
        let listed = ListedEffects(state, of: source)
        if let reason = listed.unreadableReason {
            return (false, reason, "Correct 'effects: \(source.name)' in assay.yaml.")
        }
        let count = listed.effects(recipient: "").count
        return count == 0
            ? (
                false, "a purchase leads to no message",
                "Check 'list' under 'effects: \(source.name)', or remove the source."
            )
            : (true, "messages after a purchase: \(count)", nil)
    }
}
