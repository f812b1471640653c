internal import Values

/// A command that a user can paste into a POSIX shell.
///
/// Words that contain special characters of the shell are quoted.
package struct ShellCommand: Hashable, Sendable, CustomStringConvertible {
    /// The path of the program, as the user typed it, and the arguments.
    package let words: [String]

    package init(_ words: [String]) {
        self.words = words
    }

    /// Returns the command with additional arguments at the end.
    package func adding(_ words: [String]) -> ShellCommand {
        ShellCommand(self.words + words)
    }

    package var description: String { words.map(Self.quoted).joined(separator: " ") }

    /// Returns a word quoted for the shell if necessary.
    ///
    /// Within single quotes, only the single quote is special.
    package static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case 48...57, 65...90, 97...122: true
            default: Array("_-./:,=@%+".utf8).contains(byte)
            }
        }
        guard !isPlain || word.isEmpty else { return word }
        let parts = word.parts(between: "'")
        return "'" + parts.joined(separator: "'\\''") + "'"
    }
}
