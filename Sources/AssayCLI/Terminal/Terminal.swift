internal import FakeServers
internal import Foundation
internal import Programs
internal import Redaction
internal import Replay
internal import Reports
internal import Values

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Standard output for results, and standard error for progress.
///
/// All text passes through `TerminalOutput` before it is printed: declared secrets are masked, and
/// text from other programs is escaped. Documents, and Assay's own commands for a CI service, are
/// exceptions.
enum Terminal {
    /// The secrets that profiles declare, which are masked in all output.
    private struct MaskedSecrets {
        var declared = SecretDeclaration()
        var knownSecrets = KnownSecrets()
    }

    private static let maskedSecrets = Locked(MaskedSecrets())

    /// The commands that keep a CI service from executing log lines of other programs; nil outside
    /// CI.
    static let stopCommandsPair: StopCommandsPair? = {
        var generator = SystemRandomNumberGenerator()
        return StopCommandsPair(ProcessInfo.processInfo.environment, using: &generator)
    }()

    /// Masks the declared secrets in all later output.
    static func maskSecrets(_ declared: SecretDeclaration) {
        maskedSecrets.withLock { maskedSecrets in
            maskedSecrets.declared.merge(declared)
            maskedSecrets.knownSecrets = KnownSecrets(maskedSecrets.declared.values) {
                "‹secret:\($0)›"
            }
        }
    }

    static func output(_ text: String) {
        StandardOutput.write(maskedAndEscaped(text, STDOUT_FILENO))
    }

    static func error(_ text: String) {
        // When standard error cannot be written, its failure cannot be reported anywhere.
        _ = SystemWrite.writeAll(
            Array(maskedAndEscaped(text, STDERR_FILENO).utf8),
            to: STDERR_FILENO
        )
    }

    /// Prints a document for a program, such as JSON, which has its own escapes.
    static func printDocument(_ text: String) {
        StandardOutput.write(text)
    }

    /// Prints Assay's commands for a CI service, which reads them from the log.
    static func printWorkflowCommands(_ text: String) {
        StandardOutput.write(text)
    }

    /// Prints a message on standard error.
    ///
    /// The lines after the first may come from a backend, so a CI service must not execute them as
    /// commands.
    static func message(_ text: String) {
        let lines = text.redacted(maskedSecrets.withLock { $0.declared }).value.exactLines
        let followingLines = Array(lines.dropFirst())
        let enclosedLines =
            followingLines.isEmpty
            ? [] : stopCommandsPair?.enclosed(followingLines) ?? followingLines
        error((["assay: " + lines[0]] + enclosedLines).joined(separator: "\n") + "\n")
    }

    private static func maskedAndEscaped(_ text: String, _ descriptor: Int32) -> String {
        let knownSecrets = maskedSecrets.withLock { $0.knownSecrets }
        return TerminalOutput(keepsANSICodes: isInteractive(descriptor), stop: stopCommandsPair)
            .text(knownSecrets.maskingSecrets(in: text))
    }

    /// The name by which this program was called, so that printed commands run the same program.
    static var program: String { CommandLine.arguments.first ?? "assay" }

    /// The slow starts of backends that have been reported.
    private static let slowStarts = Locked(SlowStarts())

    /// Reports on standard error that a backend is not ready yet, with the reason if it is a new
    /// one.
    static func reportWaiting(_ startupWait: BackendUnderTest.StartupWait) {
        let reason = [startupWait.last, startupWait.portMismatchMessage ?? ""]
            .filter { !$0.isEmpty }.joined(separator: "; ")
        let seconds = startupWait.time.milliseconds / 1000
        let line = slowStarts.withLock { $0.line(after: seconds, reason: reason) }
        guard let line else { return }
        let lines = "assay: \(line)".printable.wrapped(width(STDERR_FILENO))
        error(lines.joined(separator: "\n       ") + "\n")
    }

    /// Reports on standard error that a backend is being built.
    static func reportBuilding(_ command: String) {
        error("assay: building the backend with:  \(Redaction.forReports().command(command))\n")
    }

    /// Reports on standard error a call of an intercepted backend that the proxy has refused.
    static func reportRefusal(_ refusal: InterceptionRefusal) {
        let lines = "assay: \(refusal.text)".printable.wrapped(width(STDERR_FILENO))
        error(lines.joined(separator: "\n       ") + "\n")
    }

    /// Returns a command for the user to type next.
    static func next(_ commandWords: [String]) -> String {
        ShellCommand([program] + commandWords).description
    }

    /// Returns the text style for a descriptor: with colors on a terminal, unless NO_COLOR or CI is
    /// set.
    static func style(for descriptor: Int32 = STDOUT_FILENO) -> TerminalStyle {
        TerminalStyle(isColored: isInteractive(descriptor), width: width(descriptor))
    }

    /// Returns the largest length of a line in characters: the terminal's columns minus two, or a
    /// default without a terminal.
    static func width(_ descriptor: Int32) -> Int {
        var size = winsize()
        guard isatty(descriptor) == 1, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0,
            size.ws_col > 0
        else { return TerminalStyle.standardWidth }
        return TerminalStyle(isColored: false, width: Int(size.ws_col) - 2).width
    }

    static func isInteractive(_ descriptor: Int32) -> Bool {
        let environment = ProcessInfo.processInfo.environment
        let isQuiet = ["NO_COLOR", "CI"].contains { !(environment[$0] ?? "").isEmpty }
        return isatty(descriptor) == 1 && !isQuiet && environment["TERM"] != "dumb"
    }

    /// Ignores SIGPIPE, so that `assay list | head` ends quietly and not by a signal.
    static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }
}
