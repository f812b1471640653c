package import Values

/// An entry in the log of a simulated phone: a command, a reply, a callback, or an HTTP call of the
/// page (Despia fact sheet, section 7.3).
package struct DespiaLogEntry: Hashable, Codable, Sendable {
    package enum Kind: String, Hashable, Codable, Sendable { case bridge, reply, callback, http }

    package let sequence: Int64
    package let device: String
    package let kind: Kind
    package let at: Instant
    /// The time on the page's own clock, in milliseconds, when the page's setter ran.
    ///
    /// Nil when the page did not report this time.
    package let page: Int64?
    /// The ID of the page load to which this log entry belongs.
    package let load: String?
    package let text: String
    package let command: BridgeCommand?
    package let value: JSONValue?
}

extension DespiaLogEntry {
    /// The memory that the strings and values of this log entry take, in bytes.
    var storedByteCount: Int {
        96 + device.utf8.count + text.utf8.count + (load?.utf8.count ?? 0)
            + (value?.storedByteCount ?? 0)
    }
}
