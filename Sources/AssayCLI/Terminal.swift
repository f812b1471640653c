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
enum Terminal {
    static func output(_ text: String) {
        StandardOutput.write(text)
    }

    static func error(_ text: String) {
        // Nothing is left to report its failure on.
        _ = SystemWrite.all(Array(text.utf8), to: STDERR_FILENO)
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
