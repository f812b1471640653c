internal import Judging

/// A finding of a case, with the number of equal findings of the same case.
struct RepeatedFinding {
    let finding: Finding
    private(set) var count = 1

    /// The number of equal findings, such as ` ×10`; empty for a single finding.
    var countText: String { count == 1 ? "" : " ×\(count)" }

    /// Whether another finding has the same text in a report, even if other exchanges show it.
    private func hasText(of other: Finding) -> Bool {
        finding.code == other.code && finding.expected == other.expected
            && finding.actual == other.actual && finding.remedy == other.remedy
            && finding.nearMiss == other.nearMiss && finding.location == other.location
    }

    /// Returns the findings in their order, with equal ones combined.
    static func list(_ findings: [Finding]) -> [RepeatedFinding] {
        var list: [RepeatedFinding] = []
        for finding in findings {
            if let position = list.firstIndex(where: { $0.hasText(of: finding) }) {
                list[position].count += 1
            } else {
                list.append(RepeatedFinding(finding: finding))
            }
        }
        return list
    }
}

extension CaseResult {
    /// The findings for a reader: equal ones are one entry with their number.
    var distinctFindings: [RepeatedFinding] { RepeatedFinding.list(findings) }
}
