/// Removes control sequences for terminals, such as colors, titles and links, from the output of
/// programs.
///
/// Source: ECMA-48, section 5.4. A control sequence is `ESC [`, parameters, and a final byte. `ESC
/// ]` begins a string for the terminal itself, which ends with BEL or `ESC \`. Every other sequence
/// is `ESC`, any number of characters from blank to `/`, and one more character.
package enum TerminalCodes {
    private static let escape: UnicodeScalar = "\u{1b}"

    /// Returns the string without its control sequences.
    ///
    /// A control sequence that is cut off at the end of the string is removed too.
    package static func removed(from text: String) -> String {
        guard text.unicodeScalars.contains(escape) else { return text }
        var result = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == escape else {
                result.append(scalar)
                continue
            }
            switch rest.first {
            case "[":
                rest.removeFirst()
                skip(&rest) { (0x40...0x7e).contains($0.value) }
            case "]":
                rest.removeFirst()
                skipText(&rest)
            // Other sequences have intermediate characters and a final one.
            default: skip(&rest) { !(0x20...0x2f).contains($0.value) }
            }
        }
        return String(result)
    }

    /// Skips the characters of a control sequence, including the character that ends it.
    ///
    /// The skipping stops at the end of the line in any case.
    ///
    /// - Returns: The character that ended the sequence; nil when the line ended first.
    @discardableResult
    private static func skip(
        _ rest: inout Substring.UnicodeScalarView,
        until isEnd: (UnicodeScalar) -> Bool
    ) -> UnicodeScalar? {
        while let next = rest.first, next != "\n" {
            rest.removeFirst()
            if isEnd(next) { return next }
        }
        return nil
    }

    private static func skipText(_ rest: inout Substring.UnicodeScalarView) {
        let end = skip(&rest) { $0 == "\u{7}" || $0 == escape }
        if end == escape, rest.first == "\\" { rest.removeFirst() }
    }
}
