#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// The file descriptors that this process may have open.
package enum Descriptors {
    /// More than any run needs; a larger limit makes old programs slow that close every number.
    private static let wanted: rlim_t = 65_536

    /// Opens the standard streams that the caller has closed.
    ///
    /// No file and no connection gets their numbers then, and with them the printed text. Writing to a
    /// closed standard output still fails.
    package static func openStandardStreams() {
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
        where fcntl(number, F_GETFD) < 0 {
            // The lowest free number is this one.
            _ = open("/dev/null", number == STDERR_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Raises the soft limit to the hard one, as far as a run needs it.
    package static func raiseLimit() {
        guard var limits = limits(), limits.rlim_cur < min(limits.rlim_max, wanted) else { return }
        limits.rlim_cur = min(limits.rlim_max, wanted)
        // Where the system refuses, the old limit stays and is used.
        setLimits(&limits)
    }

    /// The soft limit; nil where the system does not report it.
    package static var limit: Int? {
        limits().map { Int(min($0.rlim_cur, wanted)) }
    }

    /// The cases that may run at once with a limit.
    ///
    /// A process has about 40 descriptors open before the first case. A case takes 3 sockets in
    /// Assay, or in the backend that inherits the limit, and a burst several times as many.
    ///
    /// - Parameters:
    ///   - wanted: The number that was asked for.
    ///   - limit: The soft limit.
    /// - Returns: At least one.
    package static func caseCountMax(_ wanted: Int, limit: Int) -> Int {
        min(wanted, max(1, (limit - 56) / 12))
    }

    /// The backends that may run at once with a limit: each one has fakes and connections of its
    /// own in this process.
    ///
    /// - Parameters:
    ///   - wanted: The number that was asked for.
    ///   - limit: The soft limit.
    /// - Returns: At least one.
    package static func backendCountMax(_ wanted: Int, limit: Int) -> Int {
        min(wanted, max(1, (limit - 128) / 48))
    }

    private static func limits() -> rlimit? {
        var limits = rlimit()
        #if canImport(Glibc)
        let result = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        #else
        let result = getrlimit(RLIMIT_NOFILE, &limits)
        #endif
        return result == 0 ? limits : nil
    }

    private static func setLimits(_ limits: inout rlimit) {
        #if canImport(Glibc)
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        #else
        _ = setrlimit(RLIMIT_NOFILE, &limits)
        #endif
    }
}
