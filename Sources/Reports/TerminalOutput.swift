internal import Conformance

/// The last step before text reaches a terminal or a log: nothing in it is a command of a foreign text.
///
/// Renderers escape what they print. This law holds for the rest as well, such as messages with a
/// name of a file in them.
package struct TerminalOutput: Sendable {
    /// Whether our own codes of color and of the progress line are kept.
    private let keepsCodes: Bool
    /// The command that surrounds foreign lines; it is ours.
    private let stop: CommandStop?

    package init(keepsCodes: Bool, stop: CommandStop? = nil) {
        self.keepsCodes = keepsCodes
        self.stop = stop
    }

    /// Codes that `TerminalStyle` and progress lines write.
    private static let codes = ["0m", "1m", "2m", "31m", "32m", "33m"].map { "\u{1b}[" + $0 }
    private static let lineCode = "\r\u{1b}[K"

    /// The text as it is printed.
    package func text(_ text: String) -> String {
        guard text.utf8.contains(where: { !(0x20..<0x7f).contains($0) || $0 == 0x23 || $0 == 0x3a })
        else { return text }
        return text.parts(between: "\n").map { line in
            stop?.owns(line) == true ? line : escaped(line)
        }.joined(separator: "\n")
    }

    private func escaped(_ line: String) -> String {
        let scalars = Array(line.unicodeScalars)
        var scan = ForeignText.CommandScan()
        var output = ""
        var index = 0
        while index < scalars.count {
            if let code = code(scalars, at: index) {
                output += code
                index += code.unicodeScalars.count
                if code == Self.lineCode { scan.startLine() }
                continue
            }
            let scalar = scalars[index]
            let begins = scan.begins(scalars, at: index)
            if begins || scalar.isUnprintable && scalar != "\t" {
                output += scalar.visibleEscape
            } else {
                output.unicodeScalars.append(scalar)
            }
            index += 1
        }
        return output
    }

    private func code(_ scalars: [Unicode.Scalar], at index: Int) -> String? {
        guard keepsCodes, scalars[index] == "\u{1b}" || scalars[index] == "\r" else { return nil }
        return (Self.codes + [Self.lineCode]).first {
            scalars[index...].starts(with: $0.unicodeScalars)
        }
    }
}

/// Commands by which the log of GitHub Actions obeys nothing between them.
///
/// Escapes make foreign lines harmless already. This holds for commands that are not known here.
package struct CommandStop: Hashable, Sendable {
    private let token: String

    /// - Parameters:
    ///   - environment: The variables of this process; nil is returned outside of GitHub Actions.
    ///   - generator: Draws the token, which a foreign text cannot know.
    package init?(
        _ environment: [String: String],
        using generator: inout some RandomNumberGenerator
    ) {
        guard environment["GITHUB_ACTIONS"] == "true" else { return nil }
        let numbers = (0..<2).map { _ in UInt64.random(in: .min ... .max, using: &generator) }
        token = "assay-" + numbers.map { String($0, radix: 16) }.joined(separator: "-")
    }

    private var start: String { "::stop-commands::\(token)" }
    private var end: String { "::\(token)::" }

    /// Whether a line is one of the two commands.
    func owns(_ line: String) -> Bool { line == start || line == end }

    /// The lines between the two commands, and no line of them ends the stop.
    package func enclosed(_ lines: [String]) -> [String] {
        [start] + lines.map { $0.replacing(token, with: "assay") } + [end]
    }
}
