internal import Values

/// The progress notifications of one tool call.
///
/// Their values increase, as the protocol requires.
struct ToolProgress {
    private let token: JSONValue
    private var lastProgress: Int64 = 0

    init(token: JSONValue) {
        self.token = token
    }

    /// Returns the notification for a line that a command printed on standard error; nil when the
    /// line is not newer progress.
    mutating func notification(for line: String) -> JSONValue? {
        guard let progress = ProgressLine(parsing: line), progress.finishedCount > lastProgress
        else { return nil }
        lastProgress = progress.finishedCount
        return MCPSession.notification(
            "notifications/progress",
            [
                "progressToken": token, "progress": .integer(progress.finishedCount),
                "total": .integer(progress.totalCount), "message": .string(progress.text),
            ]
        )
    }
}
