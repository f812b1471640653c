/// Text inside of HTML or XML: whatever strangers wrote stays text.
enum MarkupText {
    /// - Parameters:
    ///   - text: Any text.
    ///   - own: What else a format has its own words for; nil leaves a code point as it is.
    /// - Returns: The text, which ends no element and no attribute.
    static func escaped(_ text: String, _ own: (Unicode.Scalar) -> String? = { _ in nil }) -> String
    {
        var output = ""
        // By code points: a quotation mark ends an attribute whatever mark joins it.
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            default:
                if let word = own(scalar) {
                    output += word
                } else {
                    output.unicodeScalars.append(scalar)
                }
            }
        }
        return output
    }
}
