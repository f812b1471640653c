#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// A signal handler for traps, such as a failed precondition, which are bugs in Assay.
///
/// The handler prints a message and exits with code 70 in every command, because a script could
/// misread a signal. Files are written line by line, so results from before the trap are kept.
enum CrashNotice {
    private static let crashSignals = [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT]

    /// Installs the handler, which calls only functions that are safe in a signal handler: it
    /// allocates no memory and takes no lock.
    static func install() {
        for number in crashSignals {
            var signalAction = sigaction()
            let handler: @convention(c) (Int32) -> Void = { _ in
                let text: StaticString = """
                    assay: a bug in Assay ended this run; files written so far are complete
                    assay: please report the command and, if possible, its input

                    """
                _ = write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
                _exit(70)
            }
            #if canImport(Glibc)
            signalAction.__sigaction_handler.sa_handler = handler
            #else
            signalAction.__sigaction_u.__sa_handler = handler
            #endif
            // Only a stack overflow would require a separate stack for the handler. None is
            // expected, because all code that reads input limits its recursion.
            signalAction.sa_flags = Int32(truncatingIfNeeded: SA_RESETHAND)
            sigaction(number, &signalAction, nil)
        }
    }
}
