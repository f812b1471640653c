internal import Values

/// The devices that a message reaches, and the recipients that it does not reach.
struct ReachedDevices {
    var count: Int64 = 0
    var failed: Int64 = 0
    /// The member `errors` of the response.
    ///
    /// It lists the recipients that are not reached, by the name of the error, and for aliases
    /// also by label.
    var invalidIDs = JSONObject()
    /// The number of devices that the message reaches, by the name of the platform in
    /// `platform_delivery_stats`.
    var platforms: [String: Int64] = [:]
    /// Whether the message gets an ID although an alias is unknown.
    ///
    /// The real service did so twice when all aliases were unknown (observed; OneSignal fact
    /// sheet, section 4).
    var hasIDForUnknownUser = false

    /// Counts the devices with these platform names.
    ///
    /// If there are fewer than the minimum, counts one iOS device instead.
    mutating func addDevices(_ names: [String], atLeast minimum: Int64) {
        var counts: [String: Int64] = [:]
        for name in names { counts[name, default: 0] += 1 }
        addDevices(counts, atLeast: minimum)
    }

    mutating func addDevices(_ counts: [String: Int64], atLeast minimum: Int64) {
        let totalCount = counts.values.reduce(0, +)
        let counts = totalCount < minimum ? ["ios": 1] : counts
        count += totalCount < minimum ? 1 : totalCount
        platforms.merge(counts, uniquingKeysWith: +)
    }
}
