/// Escapes strings for an HTML page and marks their differences.
enum HTMLText {
    static func escaped(_ text: String) -> String { MarkupText.escaped(text) }

    /// Returns two strings escaped for HTML, with their differing parts marked.
    ///
    /// Strings that have too little in common have no marks.
    static func compared(_ left: String, _ right: String) -> (left: String, right: String) {
        let plain = (escaped(left), escaped(right))
        let (first, second) = (Array(left), Array(right))
        let length = max(first.count, second.count)
        guard left != right, length <= 2000 else { return plain }
        let head = zip(first, second).prefix { $0 == $1 }.count
        let tail = zip(first.dropFirst(head).reversed(), second.dropFirst(head).reversed())
            .prefix { $0 == $1 }.count
        guard (head + tail) * 3 >= length else { return plain }
        func marked(_ text: [Character]) -> String {
            let middle = text[head..<(text.count - tail)]
            guard !middle.isEmpty else { return escaped(String(text)) }
            return escaped(String(text[..<head])) + "<mark>" + escaped(String(middle)) + "</mark>"
                + escaped(String(text[(text.count - tail)...]))
        }
        return (marked(first), marked(second))
    }

    /// Returns lines escaped for HTML.
    ///
    /// A line that the old lines do not contain is marked; without old lines, no line is marked.
    static func changed(_ lines: [String], since old: [String]?) -> String {
        guard let old, old != lines else { return escaped(lines.joined(separator: "\n")) }
        let known = Set(old)
        return lines.map { line in
            known.contains(line) ? escaped(line) : "<mark>\(escaped(line))</mark>"
        }.joined(separator: "\n")
    }
}
