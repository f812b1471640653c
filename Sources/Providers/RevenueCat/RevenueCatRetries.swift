/// RevenueCat's retry schedules.
extension RetrySchedule {
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

    /// The schedule of an event of that type, for the fake's sender and for the runner.
    package static func revenueCat(eventType: String?) -> RetrySchedule {
        eventType == "TEST" ? .test : .revenueCat
    }
}
