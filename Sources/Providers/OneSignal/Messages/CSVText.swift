/// The text of a CSV file (RFC 4180).
enum CSVText {
    static func encode(_ rows: [[String]]) -> String {
        rows.map { $0.map(cell).joined(separator: ",") + "\n" }.joined()
    }

    private static func cell(_ text: String) -> String {
        let isPlain = !text.contains { ",\"\n\r".contains($0) }
        return isPlain ? text : "\"" + text.replacing("\"", with: "\"\"") + "\""
    }
}
