internal import Values

/// The limit on the number of REST calls in one minute (RevenueCat fact sheet, sections 4.3 and
/// 4.4).
struct CallRateLimit: Hashable, Codable, Sendable {
    /// The times of the calls in the last minute.
    private var recentCalls: [Instant] = []

    /// The number of calls in the last minute that a response reports.
    ///
    /// It is 1 while the calls are not limited, because they are then not counted.
    var currentUsage: Int { recentCalls.isEmpty ? 1 : recentCalls.count }

    /// Counts a call; returns whether it is within the limit.
    mutating func admitCall(at now: Instant, max: Int) -> Bool {
        recentCalls.removeAll { now - $0 >= .seconds(60) }
        guard recentCalls.count < max else { return false }
        recentCalls.append(now)
        return true
    }
}
