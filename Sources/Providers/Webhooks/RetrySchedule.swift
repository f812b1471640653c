/// The retry ladder of a provider: when it delivers a webhook again, and what it takes for success.
package struct RetrySchedule: Hashable, Sendable {
    /// Wait before each retry, measured from the end of the previous attempt.
    package let delays: [Duration]
    /// How long the sender waits for a finished answer.
    package let answerMax: Duration
    /// The statuses that end the delivery.
    package let successes: Set<Int>

    /// Of a provider that sends no events: nothing is taken, and nothing is tried again.
    package static let never = RetrySchedule(delays: [], answerMax: .zero, successes: [])

    package var attemptCountMax: Int { delays.count + 1 }

    /// The wait before the attempt of that number, counted from 1; nil when there is none.
    package func delay(beforeAttempt number: Int) -> Duration? {
        if number == 1 { return .zero }
        return delays.indices.contains(number - 2) ? delays[number - 2] : nil
    }

    package func isSuccess(_ status: Int) -> Bool { successes.contains(status) }
}
