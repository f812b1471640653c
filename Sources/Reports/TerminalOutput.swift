internal import Values

/// The last filter before text reaches a terminal or a log.
///
/// It removes terminal codes and log processor commands that come from foreign text.
///
/// The renderers of reports already escape foreign text. This filter also covers all other output,
/// such as messages that contain the name of a file.
package struct TerminalOutput: Sendable {
    /// Whether the codes that Assay itself uses for colors and the progress line are kept.
    private let keepsANSICodes: Bool
    /// The pair of commands that Assay prints around foreign lines; nil outside of GitHub Actions.
    private let stop: StopCommandsPair?

    package init(keepsANSICodes: Bool, stop: StopCommandsPair? = nil) {
        self.keepsANSICodes = keepsANSICodes
        self.stop = stop
    }

    /// The terminal codes that `TerminalStyle` and progress lines use.
    private static let allowedCodes = ["0m", "1m", "2m", "31m", "32m", "33m"].map { "\u{1b}[" + $0 }
    private static let clearLineCode = "\r\u{1b}[K"

    /// Returns the filtered text.
    package func text(_ text: String) -> String {
        guard text.utf8.contains(where: { !(0x20..<0x7f).contains($0) || $0 == 0x23 || $0 == 0x3a })
        else { return text }
        return text.parts(between: "\n").map { line in
            stop?.isMarker(line) == true ? line : escaped(line)
        }.joined(separator: "\n")
    }

    private func escaped(_ line: String) -> String {
        let scalars = Array(line.unicodeScalars)
        var scan = ForeignText.LogCommandScan()
        var output = ""
        var index = 0
        while index < scalars.count {
            if let code = code(scalars, at: index) {
                output += code
                index += code.unicodeScalars.count
                if code == Self.clearLineCode { scan.startLine() }
                continue
            }
            let scalar = scalars[index]
            let startsLogCommand = scan.startsLogCommand(scalars, at: index)
            if startsLogCommand || scalar.isUnprintable && scalar != "\t" {
                output += scalar.visibleEscape
            } else {
                output.unicodeScalars.append(scalar)
            }
            index += 1
        }
        return output
    }

    private func code(_ scalars: [Unicode.Scalar], at index: Int) -> String? {
        guard keepsANSICodes, scalars[index] == "\u{1b}" || scalars[index] == "\r" else {
            return nil
        }
        return (Self.allowedCodes + [Self.clearLineCode]).first {
            scalars[index...].starts(with: $0.unicodeScalars)
        }
    }
}

/// The pair of commands between which GitHub Actions ignores workflow commands in a log.
///
/// Escapes already make foreign lines harmless. The pair additionally protects against commands
/// that Assay does not know.
package struct StopCommandsPair: Hashable, Sendable {
    private let token: String

    /// Creates a pair of commands with a random token; nil outside of GitHub Actions.
    ///
    /// - Parameters:
    ///   - environment: The environment variables of this process.
    ///   - generator: The source of the random token, which the author of foreign text cannot
    ///     predict.
    package init?(
        _ environment: [String: String],
        using generator: inout some RandomNumberGenerator
    ) {
        guard environment["GITHUB_ACTIONS"] == "true" else { return nil }
        let numbers = (0..<2).map { _ in UInt64.random(in: .min ... .max, using: &generator) }
        token = "assay-" + numbers.map { String($0, radix: 16) }.joined(separator: "-")
    }

    private var stopCommand: String { "::stop-commands::\(token)" }
    private var resumeCommand: String { "::\(token)::" }

    /// Returns whether a line is one of the two commands of the pair.
    func isMarker(_ line: String) -> Bool { line == stopCommand || line == resumeCommand }

    /// Returns the lines between the two commands of the pair.
    ///
    /// The token is removed from the lines so that none of them can end the pair.
    package func enclosed(_ lines: [String]) -> [String] {
        [stopCommand] + lines.map { $0.replacing(token, with: "assay") } + [resumeCommand]
    }
}
