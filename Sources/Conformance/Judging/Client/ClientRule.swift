/// The app keeps its promises on the phone: what crossed the bridge, what it told its backend, whose
/// id it ends with and what it shows.
///
/// Source: identity rules, part B. The promises stand in the files beside this one, by what they
/// are about: `IdentityPromises`, `RegistrationPromises`, `PaywallPromises`, `BridgePromises`.
package struct ClientRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        guard let expected = evidence.expectation.app else { return [] }
        let view = ClientView(evidence, expected)
        guard view.timeline.gestures.contains(where: \.isLaunch) else {
            return [
                Finding(
                    .notRun,
                    expected: "the app is launched",
                    actual: "no launch stands in the journal",
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
