#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// The limits of this process on open file descriptors.
package enum FileDescriptors {
    /// The largest limit on open descriptors that this process requests, which is more than any run
    /// needs.
    ///
    /// A larger limit slows down old programs that close every possible descriptor.
    private static let requestedCount: rlim_t = 65_536

    /// Opens `/dev/null` for each standard stream that the parent process has closed.
    ///
    /// Otherwise a file or a connection could get the number of a standard stream and receive the
    /// printed text. Writing to a closed standard output still fails.
    package static func openStandardStreams() {
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
        where fcntl(number, F_GETFD) < 0 {
            // `open` returns the lowest free descriptor number, which is the number of this
            // standard stream.
            _ = open("/dev/null", number == STDERR_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Raises the soft limit on open descriptors to the hard limit, but not beyond the number that
    /// a run needs.
    package static func raiseLimit() {
        guard var openFileLimits = openFileLimits(),
            openFileLimits.rlim_cur < min(openFileLimits.rlim_max, requestedCount)
        else {
            return
        }
        openFileLimits.rlim_cur = min(openFileLimits.rlim_max, requestedCount)
        // If the system refuses, the old limit stays in use.
        setLimits(&openFileLimits)
    }

    /// The soft limit on open descriptors; nil when the system does not report it.
    package static var limit: Int? {
        openFileLimits().map { Int(min($0.rlim_cur, requestedCount)) }
    }

    /// Returns the number of cases that may run at once within a limit on open descriptors.
    ///
    /// A process has about 40 descriptors open before the first case. A case uses 3 sockets in
    /// Assay or in the backend, which inherits the limit. A case with a burst of requests uses
    /// several times as many.
    ///
    /// - Parameters:
    ///   - requestedCount: The requested number of cases to run at once.
    ///   - limit: The soft limit on open descriptors.
    /// - Returns: The number of cases that may run at once, at least 1.
    package static func caseCountMax(_ requestedCount: Int, limit: Int) -> Int {
        min(requestedCount, max(1, (limit - 56) / 12))
    }

    /// Returns the number of backends that may run at once within a limit on open descriptors.
    ///
    /// For each backend, this process has separate fakes and connections.
    ///
    /// - Parameters:
    ///   - requestedCount: The requested number of backends to run at once.
    ///   - limit: The soft limit on open descriptors.
    /// - Returns: The number of backends that may run at once, at least 1.
    package static func backendCountMax(_ requestedCount: Int, limit: Int) -> Int {
        min(requestedCount, max(1, (limit - 128) / 48))
    }

    private static func openFileLimits() -> rlimit? {
        var openFileLimits = rlimit()
        #if canImport(Glibc)
        let result = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &openFileLimits)
        #else
        let result = getrlimit(RLIMIT_NOFILE, &openFileLimits)
        #endif
        return result == 0 ? openFileLimits : nil
    }

    private static func setLimits(_ openFileLimits: inout rlimit) {
        #if canImport(Glibc)
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &openFileLimits)
        #else
        _ = setrlimit(RLIMIT_NOFILE, &openFileLimits)
        #endif
    }
}
