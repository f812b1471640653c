/// The retry schedules of RevenueCat's webhook deliveries.
extension RetrySchedule {
    /// The schedule after any status except 200, or no response within 60 s.
    ///
    /// Five retries follow after 5, 10, 20, 40 and 80 minutes; then the delivery stops permanently.
    ///
    /// Source: RevenueCat fact sheet, sections 1.3 and 1.4 (RevenueCat docs, "Webhooks").
    package static let revenueCat = RetrySchedule(
        delays: [5, 10, 20, 40, 80].map { .seconds($0 * 60) },
        responseTimeout: .seconds(60),
        successStatuses: [200]
    )

    /// The schedule of the dashboard's test event, for which no retries were observed (RevenueCat
    /// fact sheet, section 1.4).
    package static let revenueCatTestEvent = RetrySchedule(
        delays: [],
        responseTimeout: .seconds(60),
        successStatuses: [200]
    )

    /// Returns the retry schedule for an event of this type.
    ///
    /// Both the fake's sender and the runner of contracts use it.
    package static func revenueCat(eventType: String?) -> RetrySchedule {
        eventType == RevenueCatEventType.Documented.test.rawValue
            ? .revenueCatTestEvent : .revenueCat
    }
}
