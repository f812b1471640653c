internal import Contracts

/// Judges an app on a simulated phone: its commands to the native side, its calls to the backend,
/// and its final ID and screen.
///
/// Source: identity rules, part B. The invariants are in the files of this folder, by topic:
/// `IdentityInvariants`, `RegistrationInvariants`, `PaywallInvariants`, `BridgeInvariants`.
package struct ClientRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        guard let expected = evidence.expectation.app else { return [] }
        let judge = DeviceScenarioJudge(evidence, expected)
        guard judge.timeline.userActions.contains(where: \.isLaunch) else {
            return [
                Finding(
                    .notRun,
                    expected: "the app is launched",
                    actual: "the journal contains no launch",
                    location: expected.location
                )
            ]
        }
        if let skipReason = judge.missingElementFinding ?? judge.ineffectiveTapFinding
            ?? judge.missingCallbackFinding
        {
            return [skipReason]
        }
        return expected.requiredInvariants.flatMap { judge.findings(for: $0) }
            + expected.commands.compactMap { judge.finding(for: $0) }
            + expected.identities.compactMap { judge.finding(for: $0) }
            + expected.screens.compactMap { judge.finding(for: $0) }
            + judge.startupTimeFindings + judge.registrationCountFindings
    }
}
