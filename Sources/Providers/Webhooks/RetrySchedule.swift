/// The retry ladder of a provider: when it delivers a webhook again, and what it takes for success.
package struct RetrySchedule: Hashable, Sendable {
    /// Wait before each retry, measured from the end of the previous attempt.
    package let delays: [Duration]
    /// How long the sender waits for a finished answer.
    package let answerMax: Duration
    /// The statuses that end the delivery.
    package let successes: Set<Int>

    /// After any answer but 200, or none within 60 s: five retries, after 5, 10, 20, 40 and 80
    /// minutes; then delivery stops for good.
    ///
    /// Source: RevenueCat fact sheet, sections 1.3 and 1.4 (RevenueCat docs, "Webhooks").
    package static let revenueCat = RetrySchedule(
        delays: [5, 10, 20, 40, 80].map { .seconds($0 * 60) },
        answerMax: .seconds(60),
        successes: [200]
    )

    /// The dashboard's test event, which was seen not to be retried (section 1.4).
    package static let test = RetrySchedule(
        delays: [],
        answerMax: .seconds(60),
        successes: [200]
    )

    /// At most 25 retries over about 20 days, 10 s for an answer.
    ///
    /// Source: Purchasely fact sheet, section 3. The spacing is *inferred*: the fourth power of the
    /// attempt plus 15 s, without the chance that the queue behind it adds.
    package static func purchasely(takes404: Bool) -> RetrySchedule {
        RetrySchedule(
            delays: (0..<25).map { .seconds(Int64($0 * $0 * $0 * $0) + 15) },
            answerMax: .seconds(10),
            successes: takes404 ? [200, 404] : [200]
        )
    }

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
