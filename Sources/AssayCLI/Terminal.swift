internal import Conformance
internal import FakeServers
internal import Foundation
internal import Programs
internal import Replay
internal import Reports

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Standard output for results, standard error for progress.
///
/// Everything but documents and our own commands passes one law: declared secrets are masked, and
/// foreign text is escaped (`TerminalOutput`).
enum Terminal {
    /// Secrets that a profile declares, which nothing here prints.
    private struct Hidden {
        var declared = SecretDeclaration()
        var known = KnownSecrets()
    }

    private static let hidden = Locked(Hidden())

    /// The commands that keep the log of a CI service from obeying foreign lines; nil elsewhere.
    static let commandStop: CommandStop? = {
        var generator = SystemRandomNumberGenerator()
        return CommandStop(ProcessInfo.processInfo.environment, using: &generator)
    }()

    /// From now on, these secrets are masked in whatever is printed.
    static func hide(_ declared: SecretDeclaration) {
        hidden.withLock { hidden in
            hidden.declared.merge(declared)
            hidden.known = KnownSecrets(hidden.declared.values) { "‹secret:\($0)›" }
        }
    }

    static func output(_ text: String) {
        StandardOutput.write(safe(text, STDOUT_FILENO))
    }

    static func error(_ text: String) {
        // Nothing is left to report its failure on.
        _ = SystemWrite.all(Array(safe(text, STDERR_FILENO).utf8), to: STDERR_FILENO)
    }

    /// Prints a document that a program reads, such as JSON, which is escaped in its own way already.
    static func document(_ text: String) {
        StandardOutput.write(text)
    }

    /// Prints commands of ours that the log of a CI service obeys.
    static func commands(_ text: String) {
        StandardOutput.write(text)
    }

    /// Prints a message on stderr whose lines after the first are those of a backend.
    static func message(_ text: String) {
        let lines = text.redacted(hidden.withLock { $0.declared }).value.exactLines
        let rest = Array(lines.dropFirst())
        let shown = rest.isEmpty ? [] : commandStop?.enclosed(rest) ?? rest
        error((["assay: " + lines[0]] + shown).joined(separator: "\n") + "\n")
    }

    private static func safe(_ text: String, _ descriptor: Int32) -> String {
        let known = hidden.withLock { $0.known }
        return TerminalOutput(keepsCodes: isInteractive(descriptor), stop: commandStop)
            .text(known.replaced(in: text))
    }

    /// How this program was called, so that a printed command runs the same one.
    static var program: String { CommandLine.arguments.first ?? "assay" }

    /// Says on stderr that a backend is not ready yet, and what it does instead.
    static func tellWaiting(_ waiting: BackendUnderTest.Waiting) {
        let parts = [waiting.last, waiting.elsewhere ?? ""].filter { !$0.isEmpty }
        let reason = parts.isEmpty ? "" : ": " + parts.joined(separator: "; ")
        let seconds = waiting.time.milliseconds / 1000
        let text = "assay: waiting for the backend, \(seconds) s\(reason)"
        error(text.printable.wrapped(width(STDERR_FILENO)).joined(separator: "\n       ") + "\n")
    }

    /// Says what an intercepted backend was not let do.
    static func tellRefusal(_ refusal: Refusal) {
        let lines = "assay: \(refusal.text)".printable.wrapped(width(STDERR_FILENO))
        error(lines.joined(separator: "\n       ") + "\n")
    }

    /// The command that a person types after this one.
    static func next(_ words: [String]) -> String {
        ShellCommand([program] + words).description
    }

    /// Colour only where a person looks: a terminal, and neither NO_COLOR nor CI.
    static func style(for descriptor: Int32 = STDOUT_FILENO) -> TerminalStyle {
        TerminalStyle(isColoured: isInteractive(descriptor), width: width(descriptor))
    }

    /// How many characters a line may have: a terminal's columns but for the last two, else what is
    /// standard.
    static func width(_ descriptor: Int32) -> Int {
        var size = winsize()
        guard isatty(descriptor) == 1, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0,
            size.ws_col > 0
        else { return TerminalStyle.standardWidth }
        return TerminalStyle(isColoured: false, width: Int(size.ws_col) - 2).width
    }

    static func isInteractive(_ descriptor: Int32) -> Bool {
        let environment = ProcessInfo.processInfo.environment
        let isQuiet = ["NO_COLOR", "CI"].contains { !(environment[$0] ?? "").isEmpty }
        return isatty(descriptor) == 1 && !isQuiet && environment["TERM"] != "dumb"
    }

    /// `assay list | head` must end quietly and not by a signal.
    static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }
}
