internal import Values

/// The data of a OneSignal organization about its apps, without their users: names, keys, segments,
/// templates and outcomes (OneSignal's API description).
package struct OneSignalConsole: Hashable, Codable, Sendable {
    /// The creation time of every app that was not created over the API: 2020-01-01.
    private static let defaultCreationTime = Instant(milliseconds: 1_577_836_800_000)

    /// The records of the organization's apps, by app ID.
    ///
    /// An app has no record until the first change of its record.
    private(set) var records: [String: AppRecord] = [:]

    /// The record of an app; a default record when the app has none yet.
    subscript(appID: String) -> AppRecord {
        get {
            records[appID]
                ?? AppRecord(
                    name: "Assay",
                    appID: appID,
                    created: Self.defaultCreationTime,
                    isMade: false
                )
        }
        set { records[appID] = newValue }
    }

    /// Returns the ID of the app to which an API key belongs; nil when the key was not created over
    /// the API.
    func ownerAppID(of key: String) -> String? {
        guard !records.isEmpty else { return nil }
        let digest = Token.digest(key)
        return records.first { $0.value.tokens.contains { $0.digest == digest } }?.key
    }

    /// Returns the filters of a segment.
    ///
    /// An empty list means all users; nil means that the segment is unknown and contains no user.
    ///
    /// While no segments of an app were created over the API, every name is taken for a segment of
    /// all users.
    func filters(ofSegment name: String, in appID: String) -> [JSONValue]? {
        guard let record = records[appID], record.makesSegments == true else { return [] }
        return record.segments.first { $0.name == name }?.filters
    }
}
