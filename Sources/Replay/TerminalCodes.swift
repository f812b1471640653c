/// What programs write for terminals between the words of their log: colours, titles, links.
///
/// ECMA-48, section 5.4: `ESC [`, parameters, a final byte. `ESC ]` begins a text for the terminal
/// itself, which BEL or `ESC \` ends. Every other escape has perhaps
/// some of blank to `/`, and one character more.
package enum TerminalCodes {
    private static let escape: UnicodeScalar = "\u{1b}"

    /// The text as it would be read, without them.
    ///
    /// One that is cut off at the end is removed as well.
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
            // Characters in between, and one that ends it.
            default: skip(&rest) { !(0x20...0x2f).contains($0.value) }
            }
        }
        return String(result)
    }

    /// Up to the first that ends it; a line never goes on behind a break.
    ///
    /// - Returns: What ended it; nil when nothing did.
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
