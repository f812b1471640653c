/// Escapes text for HTML or XML, so that text from elsewhere cannot add markup.
enum MarkupText {
    /// Returns text escaped for use in an element or an attribute.
    ///
    /// - Parameters:
    ///   - text: The text to escape.
    ///   - customEscape: A function that returns the replacement of a scalar in this format; nil to leave
    ///     the scalar unchanged.
    /// - Returns: Text that cannot end an element or attribute, and that no viewer or log processor
    ///   interprets as a command.
    static func escaped(_ text: String, _ customEscape: (Unicode.Scalar) -> String? = { _ in nil })
        -> String
    {
        let scalars = Array(text.unicodeScalars)
        var scan = ForeignText.LogCommandScan()
        var output = String.UnicodeScalarView()
        // The loop goes by scalars, because a quotation mark ends an attribute even when a
        // combining mark follows the quotation mark.
        for (index, scalar) in scalars.enumerated() {
            let startsLogCommand = scan.startsLogCommand(scalars, at: index)
            let word: String? =
                switch scalar {
                case "&": "&amp;"
                case "<": "&lt;"
                case ">": "&gt;"
                case "\"": "&quot;"
                case _ where startsLogCommand: "&#\(scalar.value);"
                case "\n", "\t": customEscape(scalar)
                default: customEscape(scalar) ?? (scalar.isUnprintable ? scalar.visibleEscape : nil)
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
