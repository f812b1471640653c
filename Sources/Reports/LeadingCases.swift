internal import Contracts
internal import Judging
internal import Redaction

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
            guard result.verdict == .failed, let first = result.findings.first,
                steps.contains(where: { if case .deliver = $0 { true } else { false } })
            else { return nil }
            caseID = result.contract.caseID
            failureKey = FailureKey(
                code: first.code,
                expected: first.expected,
                actual: first.actual
            )
            operations = steps.flatMap(LeadingCases.operations)
        }

        func contains(_ other: FailedCase) -> Bool {
            var rest = other.operations[...]
            for operation in operations where operation == rest.first { rest.removeFirst() }
            return rest.isEmpty
        }
    }

    private struct FailureKey: Hashable {
        let code: FindingCode
        let expected: String
        let actual: String
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

    /// Returns the operations of a step.
    ///
    /// A delivery with faults counts as two operations: the plain delivery, and the delivery with
    /// its faults.
    private static func operations(_ step: Step) -> [String] {
        guard case .deliver(let delivery) = step else { return ["\(step)"] }
        var deliveryWithoutFaults = Delivery(name: delivery.name, subject: delivery.subject)
        deliveryWithoutFaults.provider = delivery.provider
        deliveryWithoutFaults.delay = delivery.delay
        let name = "\(delivery.provider) \(delivery.eventDescription)"
        return deliveryWithoutFaults == delivery ? [name] : [name, "\(delivery)"]
    }
}
