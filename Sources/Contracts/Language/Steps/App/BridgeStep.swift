internal import Grammar
internal import Providers

extension StepForm {
    static let bridge = StepForm(
        "bridge",
        BridgePlan.grammar.flow,
        "The behavior of the native side of the bridge from now on.",
        embed: { .phone(.bridge($0)) },
        extract: { if case .phone(.bridge(let plan)) = $0 { plan } else { nil } }
    )
}
