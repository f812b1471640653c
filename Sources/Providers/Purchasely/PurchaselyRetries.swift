/// Purchasely's retry ladder.
extension RetrySchedule {
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
}
