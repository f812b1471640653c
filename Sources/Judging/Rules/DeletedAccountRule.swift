internal import Contracts
internal import Providers
internal import Values

/// Judges that no probe response contains personal data of a deleted account: its email address or
/// the install IDs of its phones.
///
/// With `like: before`, the account is deleted before the tested steps. A user who does not exist
/// after the deletion must then not exist after these steps either.
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
            return returnedUser(user, in: evidence)
        }
    }

    /// Returns a finding if a user did not exist after the deletion, and exists after the tested
    /// steps.
    private static func returnedUser(_ user: String, in evidence: CaseEvidence) -> Finding? {
        func existence(in record: RunRecord) -> UserExistence {
            UserExistence(of: user, in: record, evidence, countsRefusedLookups: true)
        }
        guard evidence.expectation.relation == .before, !evidence.baselines.isEmpty,
            evidence.baselines.allSatisfy({ existence(in: $0) == .missing }),
            existence(in: evidence.subject) == .found
        else { return nil }
        return Finding(
            .personalDataKept,
            expected: "user \(user) does not exist, as after the deletion",
            actual: "the probe finds the user again",
            location: evidence.expectation.deletedUsersLocation
        )
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
