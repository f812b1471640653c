/// A value that must never appear in a terminal, a file or a report.
///
/// Printing a secret shows a fingerprint, so that equal secrets can be recognized. Code reads the
/// value itself only to send it over the network.
package struct Secret: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let value: String

    package init(_ value: String) {
        self.value = value
    }

    /// The secret value itself, which is used only for sending it over the network.
    package var exposed: String { value }

    package var isEmpty: Bool { value.isEmpty }

    package var description: String { "‹secret \(fingerprint)›" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }

    /// The fingerprint that is printed instead of the value: a 16-bit FNV-1a hash, from which the
    /// value cannot be recovered.
    var fingerprint: String {
        let hash = value.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        let text = String(hash & 0xffff, radix: 16)
        return String(repeating: "0", count: 4 - text.count) + text
    }
}
