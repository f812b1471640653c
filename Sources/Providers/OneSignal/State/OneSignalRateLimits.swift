internal import Values

/// The times of recent calls, with which the fake OneSignal enforces its rate limits.
///
/// Each limit counts only the calls within the last second.
struct OneSignalRateLimits: Hashable, Codable, Sendable {
    /// The times of recent calls, by the rate limit for which they count.
    private var recent: SharedTable<String, [Instant]> = [:]

    /// Counts a call against the rate limit that `callKey` names.
    ///
    /// Throws the rate limit error when `callCountMax` calls were already counted against this
    /// limit within the last second. If `callCountMax` is nil, the number of calls is not limited.
    mutating func countCall(
        _ callKey: String,
        max callCountMax: Int?,
        at now: Instant
    ) throws(OneSignalError) {
        guard let callCountMax else { return }
        let recentCallTimes = (recent[callKey] ?? []).filter { now - $0 < .seconds(1) }
        guard recentCallTimes.count < callCountMax else {
            recent[callKey] = recentCallTimes
            throw .rateLimitExceeded
        }
        recent[callKey] = recentCallTimes + [now]
    }
}
