/// A value that must never reach a terminal, a file or a report.
///
/// It prints as a fingerprint, so two equal secrets can be told to be equal; the value itself is
/// handed out only where it goes on the wire.
package struct Secret: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let value: String

    package init(_ value: String) {
        self.value = value
    }

    /// The value, for the wire and for nothing else.
    package var exposed: String { value }

    package var isEmpty: Bool { value.isEmpty }

    package var description: String { "‹secret \(fingerprint)›" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }

    /// Sixteen bits of FNV-1a: enough to compare by eye, too little to find the value.
    var fingerprint: String {
        let hash = value.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        let text = String(hash & 0xffff, radix: 16)
        return String(repeating: "0", count: 4 - text.count) + text
    }
}
