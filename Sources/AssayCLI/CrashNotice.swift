#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// A trap is a bug of ours: it ends the program with exit 70 and a message, in every command, and
/// not with a signal that a script takes for anything.
///
/// Files are written a line at a time, so what was earned before stays.
enum CrashNotice {
    private static let signals = [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT]

    /// Only what may be called in a signal handler: nothing is allocated, no lock is taken.
    static func install() {
        for number in signals {
            var action = sigaction()
            let handler: @convention(c) (Int32) -> Void = { _ in
                let text: StaticString = """
                    assay: a bug in Assay ended this run; what was written so far is whole
                    assay: please report the command and, if you can, its input

                    """
                _ = write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
                _exit(70)
            }
            #if canImport(Glibc)
            action.__sigaction_handler.sa_handler = handler
            #else
            action.__sigaction_u.__sa_handler = handler
            #endif
            // A stack of its own is not needed: depth is bounded wherever input is read.
            action.sa_flags = Int32(truncatingIfNeeded: SA_RESETHAND)
            sigaction(number, &action, nil)
        }
    }
}
