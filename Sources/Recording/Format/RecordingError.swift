/// The reason why a recording or an imported file cannot be read: the line, the problem, and how to
/// fix it.
package struct RecordingError: Error, Hashable, Sendable, CustomStringConvertible {
    package let line: Int
    package let problem: String
    package let remedy: String

    package init(line: Int, problem: String, remedy: String) {
        self.line = line
        self.problem = problem
        self.remedy = remedy
    }

    package var description: String { "line \(line): error: \(problem)\n\(remedy)" }
}

extension String {
    static let restoreRemedy = "Restore the file from version control, or record the session again."
}
