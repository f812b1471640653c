/// Judges an app on a simulated phone: its commands to the native side, its calls to the backend,
/// and its final ID and screen.
///
/// Source: identity rules, part B. The invariants are in the files of this folder, by topic:
/// `IdentityPromises`, `RegistrationPromises`, `PaywallPromises`, `BridgePromises`.
package struct ClientRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        guard let expected = evidence.expectation.app else { return [] }
        let view = ClientView(evidence, expected)
        guard view.timeline.gestures.contains(where: \.isLaunch) else {
            return [
                Finding(
                    .notRun,
                    expected: "the app is launched",
                    actual: "the journal contains no launch",
                    location: expected.location
                )
            ]
        }
        if let obstacle = view.untouched ?? view.deadTap ?? view.unheard { return [obstacle] }
        return expected.promises.flatMap { view.findings(for: $0) }
            + expected.commands.compactMap { view.finding(for: $0) }
            + expected.identities.compactMap { view.finding(for: $0) }
            + expected.screens.compactMap { view.finding(for: $0) }
            + view.startFindings + view.countFindings
    }
}
