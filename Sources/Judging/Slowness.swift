package import Values

/// Detects a backend whose responses are all slow, which makes the whole run long but fails no
/// case.
///
/// Source: clause S-06.
package enum Slowness {
    /// The response time of a plain purchase above which the report contains a note.
    private static let noticeableResponseDelay: Duration = .seconds(1)

    /// Returns a note about the response times of plain purchases; nil when at least half of the
    /// responses were fast.
    package static func note(_ exchanges: [Exchange]) -> String? {
        let responseTimes = exchanges.filter { $0.purpose == .sentinel }
            .compactMap { exchange in exchange.completed.map { $0 - exchange.invoked } }.sorted()
        guard !responseTimes.isEmpty else { return nil }
        let medianResponseTime: Duration = .microseconds(responseTimes[responseTimes.count / 2])
        guard medianResponseTime > noticeableResponseDelay else { return nil }
        let seconds = Double(medianResponseTime.milliseconds / 100) / 10
        return
            "the response to a plain purchase takes \(seconds) s: every case waits for it, and "
            + "the sender disconnects after 60 s and retries (S-06); store the event, respond, "
            + "and do the remaining work later"
    }
}
