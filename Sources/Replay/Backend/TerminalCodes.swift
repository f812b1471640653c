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
    package static func textWithoutCodes(from text: String) -> String {
        guard text.unicodeScalars.contains(escape) else { return text }
        var result = String.UnicodeScalarView()
        var remainingScalars = text.unicodeScalars[...]
        while let scalar = remainingScalars.popFirst() {
            guard scalar == escape else {
                result.append(scalar)
                continue
            }
            switch remainingScalars.first {
            case "[":
                remainingScalars.removeFirst()
                skip(&remainingScalars) { (0x40...0x7e).contains($0.value) }
            case "]":
                remainingScalars.removeFirst()
                skipText(&remainingScalars)
            // Every other sequence has any number of intermediate characters (blank to `/`), and
            // then one final character.
            default: skip(&remainingScalars) { !(0x20...0x2f).contains($0.value) }
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
        _ remainingScalars: inout Substring.UnicodeScalarView,
        until isEnd: (UnicodeScalar) -> Bool
    ) -> UnicodeScalar? {
        while let next = remainingScalars.first, next != "\n" {
            remainingScalars.removeFirst()
            if isEnd(next) { return next }
        }
        return nil
    }

    private static func skipText(_ remainingScalars: inout Substring.UnicodeScalarView) {
        let terminator = skip(&remainingScalars) { $0 == "\u{7}" || $0 == escape }
        if terminator == escape, remainingScalars.first == "\\" { remainingScalars.removeFirst() }
    }
}
