/// The retry schedule of a provider's webhook deliveries: the waits between the attempts, and the
/// statuses that count as success.
package struct RetrySchedule: Hashable, Sendable {
    /// The wait before each retry of a delivery, measured from the end of the previous attempt.
    package let delays: [Duration]
    /// The time that the sender waits for the complete response to an attempt.
    package let responseTimeout: Duration
    /// The HTTP statuses that count as success and end the delivery.
    package let successStatuses: Set<Int>

    package init(delays: [Duration], responseTimeout: Duration, successStatuses: Set<Int>) {
        self.delays = delays
        self.responseTimeout = responseTimeout
        self.successStatuses = successStatuses
    }

    /// The schedule without retries, for a provider that sends no events.
    package static let never = RetrySchedule(
        delays: [],
        responseTimeout: .zero,
        successStatuses: []
    )

    package var attemptCountMax: Int { delays.count + 1 }

    /// Returns the wait before an attempt.
    ///
    /// Attempts are counted from 1; nil means that no more attempt follows.
    package func delay(beforeAttempt attemptNumber: Int) -> Duration? {
        if attemptNumber == 1 { return .zero }
        return delays.indices.contains(attemptNumber - 2) ? delays[attemptNumber - 2] : nil
    }

    package func isSuccess(_ status: Int) -> Bool { successStatuses.contains(status) }
}
