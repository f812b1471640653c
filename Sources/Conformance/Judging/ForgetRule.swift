/// Of a deleted account no probe shows anything that names its person or one of their phones.
///
/// Source: clause catalogue, A-11.
package struct ForgetRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        let expectation = evidence.expectation
        let record = evidence.subject
        return expectation.forgotten.compactMap { user in
            let personal =
                [("the address", record.namespace.accountID(of: user))]
                + phones(of: user, in: record).map {
                    ("the phone", record.namespace.installID(of: $0))
                }
            let looks = record.exchanges.filter {
                guard $0.completed != nil, case .probe(_, user) = $0.purpose else { return false }
                return true
            }
            guard !looks.isEmpty else {
                return Finding(
                    .unobservable,
                    expected: "a look at what is left of \(user)",
                    actual: "no probe was asked",
                    location: expectation.forgottenLocation
                )
            }
            // Only the last look of each probe counts.
            var last: [Exchange.Purpose: Exchange] = [:]
            for look in looks { last[look.purpose] = look }
            for look in last.values.sorted(by: { $0.sequence < $1.sequence }) {
                let body = look.response?.body ?? []
                guard let kept = personal.first(where: { body.holds($0.1) }) else { continue }
                return Finding(
                    .personalDataKept,
                    expected: "nothing personal is left of \(user)",
                    actual: "\(look.request.target) still shows \(kept.0)",
                    location: expectation.forgottenLocation,
                    evidence: [look.sequence]
                )
            }
            return nil
        }
    }

    /// Under which names the person's phones have their install ids: those that an app ran on, and
    /// the user itself where the app announces it without a phone.
    private static func phones(of user: String, in record: RunRecord) -> [String] {
        let named = record.plan.phoneSteps.compactMap { step -> String? in
            switch step {
            case .app(let action): action.phone
            case .phone(let change): change.phone
            case .bridge, .backend, .store: nil
            }
        }
        return ["phone", user] + Set(named).subtracting(["phone", user]).sorted()
    }
}
