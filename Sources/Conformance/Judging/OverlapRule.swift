/// What was meant to race was really in flight at the same time.
package struct OverlapRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        if evidence.expectation.overlapMin != nil, evidence.subject.isSerialised {
            return [
                Finding(
                    .noOverlap,
                    expected: "requests that the backend works on at the same time",
                    actual: "serialised by the server: while they were held back on open "
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
                expected: "at least \(overlapMin) requests in flight at one moment",
                actual: "\(overlap)"
            )
        ]
    }

    /// The largest number of requests in flight at one moment that were released together; nil
    /// without any.
    package static func overlap(in record: RunRecord) -> Int? {
        record.plan.moments.map { moment in
            peak(
                moment.deliveries.flatMap { record.attempts(of: $0) }
                    + moment.calls.compactMap { record.answer(to: $0) }
            )
        }.max()
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
