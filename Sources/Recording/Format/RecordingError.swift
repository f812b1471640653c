/// A recording that cannot be read: where, why, and what to do.
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
    static let restore = "Restore the file from version control, or record the session again."
}
