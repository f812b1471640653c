internal import Values

/// Selects the lines of a log that explain a failure: the first error with the innermost frames of
/// its stack trace, and the last lines.
///
/// Lines are kept whole. A line of more than 2,000 characters is shortened, with a note of the
/// number of missing characters.
enum LogExcerpt {
    /// The longest line that is shown whole, in characters.
    static let lineLengthMax = 2_000

    /// Returns an excerpt of a log.
    ///
    /// - Parameters:
    ///   - text: The log, or its beginning and its end with a line `…` between them.
    ///   - lineCountMax: The largest number of lines of the log in the excerpt.
    /// - Returns: The lines in their order. A line `…` replaces the lines that are left out between
    ///   the first error and the end.
    static func of(_ text: String, lineCountMax: Int) -> String {
        let lines = text.split(whereSeparator: \.isNewline)
            .filter { !$0.allSatisfy(\.isWhitespace) }
        let lastLines = lines.suffix(lineCountMax)
        guard lastLines.count < lines.count, lineCountMax > 1,
            let firstErrorIndex = lines.firstIndex(where: { LogLine.isError($0) }),
            firstErrorIndex < lastLines.startIndex
        else { return lastLines.map(shortened).joined(separator: "\n") }
        let frames = lines[(firstErrorIndex + 1)...].prefix(while: { LogLine.isFrame($0) })
            .prefix(min(frameCountMax, lineCountMax / 2))
        let start = lines[firstErrorIndex..<frames.endIndex]
        let endLines = lines[start.endIndex...].suffix(lineCountMax - start.count)
        let gapLines = start.endIndex < endLines.startIndex ? [gapMarker] : []
        return (start.map(shortened) + gapLines + endLines.map(shortened)).joined(separator: "\n")
    }

    /// The largest number of frames of a stack trace that are kept below the first error.
    private static let frameCountMax = 4

    /// The line that replaces lines that are left out of an excerpt.
    static let gapMarker = "…"

    /// Returns the last line that names an error, shortened to one line of a message; nil without
    /// such a line.
    static func lastErrorLine(in text: String) -> String? {
        let lines = Array(text.split(whereSeparator: \.isNewline).map(String.init).reversed())
        guard let index = LogLine.errorIndex(in: lines) else { return nil }
        return String(lines[index].drop(while: \.isWhitespace).prefix(messageLengthMax))
    }

    /// The longest line of a log inside a message, in characters.
    private static let messageLengthMax = 200

    private static func shortened(_ line: Substring) -> String {
        guard line.count > lineLengthMax else { return String(line) }
        return line.prefix(lineLengthMax) + "… (\(line.count - lineLengthMax) more characters)"
    }

    /// Returns whether a log reports that the port of a program was already in use.
    static func showsPortInUse(_ text: String) -> Bool {
        let text = text.lowercased()
        return [
            "eaddrinuse", "address already in use", "address in use", "port is already allocated",
            "only one usage of each socket address", "port is in use", "port is already in use",
            "was already in use",
        ].contains { text.contains($0) }
    }
}
