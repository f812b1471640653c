internal import Contracts
internal import Providers
internal import Values

/// Judges that no probe response contains personal data of a deleted account: its email address or
/// the install IDs of its phones.
package struct DeletedAccountRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        let expectation = evidence.expectation
        let record = evidence.subject
        return expectation.deletedUserNames.compactMap { user in
            let personalValues =
                [("the email address", record.namespace.emailAddress(of: user))]
                + phones(of: user, in: record).map {
                    ("the install ID", record.namespace.installID(of: $0))
                }
            let probeExchanges = record.exchanges.filter {
                guard $0.completed != nil, case .probe(_, user) = $0.purpose else { return false }
                return true
            }
            guard !probeExchanges.isEmpty else {
                return Finding(
                    .unobservable,
                    expected: "a probe response that shows the remaining data of \(user)",
                    actual: "no probe was sent",
                    location: expectation.deletedUsersLocation
                )
            }
            // Only the last response of each probe is judged.
            var lastProbeExchanges: [Exchange.Purpose: Exchange] = [:]
            for probeExchange in probeExchanges {
                lastProbeExchanges[probeExchange.purpose] = probeExchange
            }
            for probeExchange in lastProbeExchanges.values.sorted(by: { $0.sequence < $1.sequence })
            {
                let body = probeExchange.response?.body ?? []
                guard let keptValue = personalValues.first(where: { body.containsText($0.1) })
                else {
                    continue
                }
                return Finding(
                    .personalDataKept,
                    expected: "no personal data of \(user) remains after the deletion",
                    actual:
                        "the probe \(probeExchange.request.target) still returns \(keptValue.0)",
                    location: expectation.deletedUsersLocation,
                    evidence: [probeExchange.sequence]
                )
            }
            return nil
        }
    }

    /// Returns the phone names from which the run's `Namespace` derives the install IDs of the
    /// user's phones.
    ///
    /// These are the names of the phones on which an app ran. An app without a phone uses the
    /// user's own name.
    private static func phones(of user: String, in record: RunRecord) -> [String] {
        let phonesWithAppSteps = record.plan.phoneSteps.compactMap { step -> String? in
            switch step {
            case .app(let action): action.phone
            case .phone(let change): change.phone
            case .bridge, .backend, .store: nil
            }
        }
        return ["phone", user] + Set(phonesWithAppSteps).subtracting(["phone", user]).sorted()
    }
}
