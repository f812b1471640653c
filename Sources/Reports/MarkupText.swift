/// Text inside of HTML or XML: whatever strangers wrote stays text.
enum MarkupText {
    /// - Parameters:
    ///   - text: Any text.
    ///   - own: What else a format has its own words for; nil leaves a code point as it is.
    /// - Returns: The text, which ends no element and no attribute, and which no viewer and no log
    ///   processor obeys.
    static func escaped(_ text: String, _ own: (Unicode.Scalar) -> String? = { _ in nil }) -> String
    {
        let scalars = Array(text.unicodeScalars)
        var scan = ForeignText.CommandScan()
        var output = String.UnicodeScalarView()
        // By code points: a quotation mark ends an attribute whatever mark joins it.
        for (index, scalar) in scalars.enumerated() {
            let begins = scan.begins(scalars, at: index)
            let word: String? =
                switch scalar {
                case "&": "&amp;"
                case "<": "&lt;"
                case ">": "&gt;"
                case "\"": "&quot;"
                case _ where begins: "&#\(scalar.value);"
                case "\n", "\t": own(scalar)
                default: own(scalar) ?? (scalar.isUnprintable ? scalar.visibleEscape : nil)
                }
            if let word {
                output.append(contentsOf: word.unicodeScalars)
            } else {
                output.append(scalar)
            }
        }
        return String(output)
    }
}
