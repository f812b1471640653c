internal import Contracts
internal import Judging
internal import Redaction
internal import Values

/// Finds the shortest of several cases that fail with the same finding, as the case to look at
/// first.
///
/// A longer case contains a shorter case when it has all operations of the shorter case in the same
/// order and the same finding. For example, a backend that mishandles renewals fails every case
/// with a renewal, and the shortest of them leads. The longer cases probably, but not certainly,
/// have the same cause, so every case keeps its finding and its replay command.
struct LeadingCases {
    /// A failed case, with its finding and its operations.
    private struct FailedCase {
        let caseID: String
        let failureKey: FailureKey
        let operations: [String]

        /// Creates the entry for a failed case.
        ///
        /// Returns nil for a case that did not fail or that delivers no webhook. A case without a
        /// webhook is a phone contract, whose steps are ordered differently.
        init?(_ result: Redacted<CaseResult>) {
            let steps = result.contract.given + result.contract.steps
            guard result.outcome == .failed, let first = result.findings.first,
                steps.contains(where: { if case .deliver = $0 { true } else { false } })
            else { return nil }
            caseID = result.contract.caseID
            failureKey = FailureKey(first)
            operations = LeadingCases.operations(steps)
        }

        func contains(_ other: FailedCase) -> Bool {
            var rest = other.operations[...]
            for operation in operations where operation == rest.first { rest.removeFirst() }
            return rest.isEmpty
        }
    }

    /// What must be equal in the findings of two cases with the same cause: the kind of finding and
    /// the violated expectation.
    ///
    /// The actual value may differ, because a longer case has more that can go wrong after the
    /// first mistake. Only the status of a response is compared.
    private struct FailureKey: Hashable {
        let code: FindingCode
        let expected: String
        let status: String?

        init(_ finding: Finding) {
            code = finding.code
            expected = String(finding.expected.map { $0.isNumber ? "#" : $0 })
            status =
                finding.code == .responseStatus
                ? finding.actual.split { !$0.isNumber }.first { $0.count == 3 }.map(String.init)
                : nil
        }
    }

    private let leadingCaseIDs: [String: String]

    /// Finds the leading (shorter) case of each failed case.
    ///
    /// - Parameter results: The results of the cases that are reported individually, in the order
    ///   of the suite.
    init(_ results: [Redacted<CaseResult>]) {
        var leadingCaseIDs: [String: String] = [:]
        for casesWithSameFailure in Dictionary(
            grouping: results.compactMap(FailedCase.init),
            by: \.failureKey
        )
        .values {
            // Among cases with the same number of operations, the first case of the suite leads.
            let failedCases = casesWithSameFailure.enumerated().sorted {
                ($0.element.operations.count, $0.offset) < ($1.element.operations.count, $1.offset)
            }.map(\.element)
            for (index, failedCase) in failedCases.enumerated() {
                leadingCaseIDs[failedCase.caseID] =
                    failedCases[..<index].first { failedCase.contains($0) }?.caseID
            }
        }
        self.leadingCaseIDs = leadingCaseIDs
    }

    /// The ID of the shorter case that leads the case with the given ID; nil when no shorter case
    /// leads it.
    subscript(_ caseID: String) -> String? { leadingCaseIDs[caseID] }

    /// The cases that lead other cases, with the number of these other cases.
    ///
    /// The highest number comes first.
    var all: [(caseID: String, count: Int)] {
        Dictionary(grouping: leadingCaseIDs.values) { $0 }.map { ($0.key, $0.value.count) }
            .sorted { ($1.1, $0.0) < ($0.1, $1.0) }
    }

    /// Returns the operations of a case, independent of the names that it gives to users and
    /// deliveries.
    ///
    /// A delivery with faults counts as two operations: the plain delivery, and its faults. An
    /// event about a user whom no earlier step created is another operation than an event about a
    /// known user.
    private static func operations(_ steps: [Step]) -> [String] {
        var knownUsers: Set<String> = []
        var types: [String: String] = [:]
        var operations: [String] = []
        for step in steps {
            guard case .deliver(let delivery) = step else {
                if case .register(let user) = step {
                    knownUsers.insert(user)
                    operations.append("register")
                } else {
                    operations.append("\(step)")
                }
                continue
            }
            let type =
                if case .repeats(let name) = delivery.subject {
                    "redelivery of \(types[name] ?? name)"
                } else {
                    delivery.eventDescription
                }
            types[delivery.name] = type
            let isKnown = knownUsers.isSuperset(of: delivery.users)
            operations.append("\(delivery.provider) \(type)\(isKnown ? "" : " of unknown user")")
            var faults = delivery
            (faults.name, faults.subject) = ("", .body(.null))
            var delayOnly = Delivery(name: "", subject: .body(.null))
            (delayOnly.provider, delayOnly.delay) = (delivery.provider, delivery.delay)
            if faults != delayOnly { operations.append("\(faults)") }
        }
        return operations
    }
}
