package import DequeModule
internal import Values

/// The log of the simulated phones: commands, replies, callbacks, and HTTP calls of the pages
/// (Despia fact sheet, section 7.3).
///
/// The sequence numbers of the entries rise. The log is limited in count and in bytes.
package struct DespiaLog: Hashable, Codable, Sendable {
    /// The maximum number of entries.
    package static let countMax = 20_000
    /// The maximum size of the strings and values of the entries, in bytes.
    ///
    /// The oldest entries are removed first, which leaves a gap in the sequence numbers. The latest
    /// entry is never removed.
    package static let byteCountMax = 16 << 20

    package private(set) var entries: Deque<DespiaLogEntry> = []
    /// The size of the log in bytes.
    ///
    /// Nil when the entries must be counted again, because some were removed or the log was read
    /// from a file.
    private var byteCount: Int?
    @JSONSafeInteger private var nextSequence: Int64 = 1

    package init() {}

    /// Adds an entry, and removes the oldest entries beyond the limits.
    ///
    /// The body is the one of the page's request, which contains the time and the ID of the page.
    mutating func record(
        _ kind: DespiaLogEntry.Kind,
        _ device: String,
        _ now: Instant,
        _ body: JSONObject,
        text: String,
        command: BridgeCommand? = nil,
        value: JSONValue? = nil
    ) {
        entries.append(
            DespiaLogEntry(
                sequence: nextSequence,
                device: device,
                kind: kind,
                at: now,
                page: (body["page"] ?? body["tPage"])?.int64,
                load: body["load"]?.string,
                text: text,
                command: command,
                value: value
            )
        )
        nextSequence += 1
        var newByteCount = (byteCount ?? 0) + (entries.last?.storedByteCount ?? 0)
        if byteCount == nil { newByteCount = entries.reduce(0) { $0 + $1.storedByteCount } }
        while entries.count > Self.countMax
            || (newByteCount > Self.byteCountMax && entries.count > 1)
        {
            newByteCount -= entries.removeFirst().storedByteCount
        }
        byteCount = newByteCount
    }

    /// Returns the entries with a higher sequence number than this one, in order.
    func entries(afterSequence number: Int64) -> Deque<DespiaLogEntry>.SubSequence {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].sequence > number { high = middle } else { low = middle + 1 }
        }
        return entries[low...]
    }

    mutating func removeEntries(of device: String) {
        entries.removeAll { $0.device == device }
        byteCount = nil
    }
}
