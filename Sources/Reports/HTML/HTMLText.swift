/// Texts as they stand in a page, with what differs in them marked.
enum HTMLText {
    static func escaped(_ text: String) -> String { MarkupText.escaped(text) }

    /// Two texts that are held against each other, with what differs marked in both; as they are where
    /// they have too little in common for that to help.
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

    /// Lines of which those are marked that were not among the lines of before; none where there was
    /// nothing before.
    static func changed(_ lines: [String], since old: [String]?) -> String {
        guard let old, old != lines else { return escaped(lines.joined(separator: "\n")) }
        let known = Set(old)
        return lines.map { line in
            known.contains(line) ? escaped(line) : "<mark>\(escaped(line))</mark>"
        }.joined(separator: "\n")
    }
}
