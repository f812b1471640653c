/// Finds the lines of a program's log that report an error.
package enum LogLine {
    /// Lowercase words that runtimes and frameworks print with an error.
    private static let errorWords = [
        "error", "exception", "panic", "fatal", "traceback", "uncaught", "eaddrinuse",
        "segmentation fault", "out of memory", "assertion failed", "already in use",
        "cannot ", "could not ", "failed to ",
    ]

    /// Returns whether a line reports an error.
    package static func isError(_ line: some StringProtocol) -> Bool {
        let text = line.lowercased()
        return errorWords.contains { text.contains($0) }
    }

    /// Returns the index of the line that names the error.
    ///
    /// A line such as `KeyError: 'user'` names it. The first line with a word such as `failed to`
    /// comes second, and the head of a stack trace last.
    ///
    /// - Returns: The index; nil when no line reports an error.
    package static func errorIndex(in lines: [String]) -> Int? {
        lines.firstIndex(where: isException)
            ?? lines.firstIndex { isError($0) && !$0.lowercased().contains("traceback") }
            ?? lines.firstIndex(where: isError)
    }

    /// Returns whether a line is a frame of a stack trace whose innermost frame comes first.
    ///
    /// Java, Node.js and .NET print such frames, such as `    at Webhook.parse(Webhook.java:26)`.
    package static func isFrame(_ line: some StringProtocol) -> Bool {
        line.first?.isWhitespace == true && line.drop(while: \.isWhitespace).hasPrefix("at ")
    }

    /// Returns whether a line begins with the name of an exception, a colon and a message.
    private static func isException(_ line: String) -> Bool {
        guard let colon = line.firstIndex(of: ":") else { return false }
        let name = line[..<colon].split(separator: " ").last ?? ""
        let rest = line[line.index(after: colon)...]
        return ["Error", "Exception", "panic", "fatal"].contains { name.hasSuffix($0) }
            && rest.contains { !$0.isWhitespace }
    }
}
