/// The retry schedule of Purchasely's webhook deliveries.
extension RetrySchedule {
    /// Returns a schedule of at most 25 retries over about 20 days.
    ///
    /// The sender waits 10 s for a response.
    ///
    /// With `takes404`, status 404 counts as success. Source: Purchasely fact sheet, section 3.
    ///
    /// The waits are *inferred*: the fourth power of the attempt's number plus 15 s, without the
    /// random delay that Purchasely's job queue adds.
    package static func purchasely(takes404: Bool) -> RetrySchedule {
        RetrySchedule(
            delays: (0..<25).map { .seconds(Int64($0 * $0 * $0 * $0) + 15) },
            responseTimeout: .seconds(10),
            successStatuses: takes404 ? [200, 404] : [200]
        )
    }
}
