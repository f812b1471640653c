/// Copies that were meant to race were really in flight at the same time.
package struct OverlapRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        if evidence.expectation.overlapMin != nil, evidence.subject.isSerialised {
            return [
                Finding(
                    .noOverlap,
                    expected: "copies that the backend works on at the same time",
                    actual: "serialised by the server: while the copies were held back on open "
                        + "connections, it answered nobody else",
                    location: evidence.plan.contract.location
                )
            ]
        }
        guard let overlapMin = evidence.expectation.overlapMin,
            let overlap = overlap(in: evidence.subject), overlap < overlapMin
        else { return [] }
        return [
            Finding(
                .noOverlap,
                expected: "at least \(overlapMin) copies in flight at one moment",
                actual: "\(overlap)"
            )
        ]
    }

    /// The largest number of a delivery's copies in flight at one moment; nil without such a
    /// delivery.
    package static func overlap(in record: RunRecord) -> Int? {
        record.plan.deliveries.filter(\.isTogether)
            .map { peak(record.attempts(of: $0.name)) }
            .max()
    }

    private static func peak(_ attempts: [Exchange]) -> Int {
        var edges: [(moment: Int64, change: Int)] = []
        for attempt in attempts {
            edges.append((attempt.invoked, 1))
            edges.append((attempt.completed ?? .max, -1))
        }
        // At one moment, what ends is counted before what begins.
        edges.sort { ($0.moment, $0.change) < ($1.moment, $1.change) }
        var current = 0
        var peak = 0
        for edge in edges {
            current += edge.change
            peak = max(peak, current)
        }
        return peak
    }
}
