internal import Values

/// The result of a tool call: the output of the command, and the meaning of its exit code.
struct ToolOutput: Hashable, Sendable {
    /// The largest length of a result in characters, about 8,000 tokens.
    static let lengthMax = 32_000

    let text: String
    /// Whether the command did no work, for example because an option is wrong.
    ///
    /// A failed case is a result and not an error.
    let isError: Bool

    /// Creates the result of a call that started no command.
    init(error: String) {
        (text, isError) = (error, true)
    }

    /// Creates the result of a finished command.
    ///
    /// - Parameters:
    ///   - output: The standard output of the command.
    ///   - messages: The lines of its standard error, without progress lines.
    ///   - status: Its exit code; nil when a signal ended it.
    init(output: String, messages: [String], status: Int32?) {
        let exitStatus = status.flatMap(ExitStatus.init(rawValue:))
        let end =
            switch (exitStatus, status) {
            case (let exitStatus?, _): "exit code \(exitStatus.rawValue): \(exitStatus.meaning)"
            case (nil, let status?): "exit code \(status)"
            case (nil, nil): "the command was ended by a signal"
            }
        let parts = [output, messages.joined(separator: "\n")].map(\.trimmingEmptyLines) + [end]
        text = Self.shortened(parts.filter { !$0.isEmpty }.joined(separator: "\n\n"))
        isError = ![.success, .failures, .undecided].contains(exitStatus)
    }

    /// Returns the start and the end of an output that is too long, with the number of the lines
    /// between them.
    static func shortened(_ text: String) -> String {
        guard text.count > lengthMax else { return text }
        let head = text.prefix(lengthMax * 3 / 4)
        let tail = text.suffix(lengthMax / 4 - 200)
        let shownHead = head.lastIndex(of: "\n").map { head[..<$0] } ?? head
        let shownTail = tail.firstIndex(of: "\n").map { tail[$0...].dropFirst() } ?? tail
        let rest = text[shownHead.endIndex..<shownTail.startIndex]
        let lineCount = max(1, rest.count { $0 == "\n" } - 1)
        return shownHead + "\n… \(lineCount) lines left out; ask for less, such as one key …\n"
            + shownTail
    }
}

extension String {
    /// The text without line breaks at its start and its end.
    fileprivate var trimmingEmptyLines: String {
        var text = self[...]
        while text.first?.isNewline == true { text.removeFirst() }
        while text.last?.isNewline == true { text.removeLast() }
        return String(text)
    }
}
