internal import Conformance

/// A command that a person can paste into the shell it was printed in.
///
/// Words are quoted where a POSIX shell would read more into them than stands there.
package struct ShellCommand: Hashable, Sendable, CustomStringConvertible {
    /// The program, as it was called, and its arguments.
    package let words: [String]

    package init(_ words: [String]) {
        self.words = words
    }

    /// The command with further arguments.
    package func adding(_ words: [String]) -> ShellCommand {
        ShellCommand(self.words + words)
    }

    package var description: String { words.map(Self.quoted).joined(separator: " ") }

    /// The word as the shell has to be given it; single quotes keep all but themselves.
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
