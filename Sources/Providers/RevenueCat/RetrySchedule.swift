/// When RevenueCat delivers a webhook again: after any answer but 200, or none within 60 s.
///
/// Five retries, after 5, 10, 20, 40 and 80 minutes; then delivery stops for good.
/// Source: RevenueCat fact sheet, sections 1.3 and 1.4 (RevenueCat docs, "Webhooks").
package struct RetrySchedule: Hashable, Sendable {
    /// Wait before each retry, measured from the end of the previous attempt.
    package let delays: [Duration]
    /// How long the sender waits for a finished answer.
    package let answerMax: Duration

    package static let revenueCat = RetrySchedule(
        delays: [5, 10, 20, 40, 80].map { .seconds($0 * 60) },
        answerMax: .seconds(60)
    )

    package var attemptCountMax: Int { delays.count + 1 }

    /// The wait before the attempt of that number, counted from 1; nil when there is none.
    package func delay(beforeAttempt number: Int) -> Duration? {
        switch number {
        case 1: .zero
        case 2...attemptCountMax: delays[number - 2]
        default: nil
        }
    }

    /// RevenueCat takes 200 for success and nothing else.
    package func isSuccess(_ status: Int) -> Bool { status == 200 }
}
