package import Contracts
internal import Values

/// Judges that the requests of a case that should race were really in flight at the same time.
package struct ConcurrentRequestsRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        if evidence.expectation.concurrentRequestCountMin != nil,
            evidence.subject.servesOneRequestAtATime
        {
            return [
                Finding(
                    .requestsNotConcurrent,
                    expected: "the backend processes several requests at the same time",
                    actual: "the server processes one request at a time: while incomplete requests "
                        + "were open, it answered no other request",
                    location: evidence.plan.contract.location
                )
            ]
        }
        // The first run of a case shows that its requests overlap. With the offsets of further runs,
        // a request may end before the next one arrives.
        guard let concurrentRequestCountMin = evidence.expectation.concurrentRequestCountMin,
            evidence.subject.plan.concurrentTiming == nil,
            let overlappingRequestCount = overlappingRequestCount(in: evidence.subject),
            overlappingRequestCount < concurrentRequestCountMin
        else { return [] }
        return [
            Finding(
                .requestsNotConcurrent,
                expected:
                    "at least \(concurrentRequestCountMin) requests in flight at the same time",
                actual: "at most \(overlappingRequestCount) in flight at the same time"
            )
        ]
    }

    /// Returns the maximum number of requests that were in flight at the same time, among the run's
    /// requests that are planned as concurrent.
    ///
    /// The result is nil when the plan of the run has no concurrent requests.
    package static func overlappingRequestCount(in record: RunRecord) -> Int? {
        record.plan.concurrentRequests.map { time in
            concurrencyMax(
                time.deliveries.flatMap { record.attempts(of: $0) }
                    + time.calls.compactMap { record.exchange(ofCall: $0) }
            )
        }.max()
    }

    private static func concurrencyMax(_ attempts: [Exchange]) -> Int {
        var requestStartsAndEnds: [(time: Int64, countChange: Int)] = []
        for attempt in attempts {
            requestStartsAndEnds.append((attempt.invoked, 1))
            requestStartsAndEnds.append((attempt.completed ?? .max, -1))
        }
        // When a request ends at the time at which another starts, they do not overlap.
        requestStartsAndEnds.sort { ($0.time, $0.countChange) < ($1.time, $1.countChange) }
        var concurrentRequestCount = 0
        var concurrencyMax = 0
        for edge in requestStartsAndEnds {
            concurrentRequestCount += edge.countChange
            concurrencyMax = max(concurrencyMax, concurrentRequestCount)
        }
        return concurrencyMax
    }
}
