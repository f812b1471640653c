internal import FakeServers
internal import Programs

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Standard output, where results go.
///
/// It remembers the first write that failed, which `Main` turns into an exit code, so that no
/// command can forget it.
enum StandardOutput {
    /// The system's error number of the first failed write; 0 while all succeed.
    private static let failure = Locked<Int32>(0)

    /// Writes text; after a failure nothing more is written.
    static func write(_ text: String) {
        guard failure.withLock({ $0 }) == 0 else { return }
        let code = SystemWrite.all(Array(text.utf8), to: STDOUT_FILENO)
        guard code != 0 else { return }
        failure.withLock { if $0 == 0 { $0 = code } }
    }

    /// The reason why results did not arrive; nil when they did, or when their reader ended by itself.
    static var lostReason: String? {
        let code = failure.withLock { $0 }
        guard code != 0, code != EPIPE else { return nil }
        return "cannot write to standard output: \(String(cString: strerror(code)))"
    }

    /// Ends a command that runs until it is interrupted when its first lines did not arrive.
    ///
    /// - Throws: An empty failure; `Main` reports the reason.
    static func check() throws {
        if lostReason != nil { throw Failure(.outputFailed, "") }
    }
}

/// Files whose failure does not end the command: reports, found contracts, pictures.
///
/// Everything else is still written, and `Main` turns the failure into an exit code.
enum LostFiles {
    private static let isAnyLost = Locked(false)

    /// Whether a file of this run could not be written.
    static var exist: Bool { isAnyLost.withLock { $0 } }

    /// Writes a file, and on a failure reports it on standard error and remembers it.
    ///
    /// - Returns: Whether it is written.
    @discardableResult
    static func unless(_ write: () throws(OutputFile.WriteError) -> Void) -> Bool {
        do throws(OutputFile.WriteError) {
            try write()
            return true
        } catch {
            isAnyLost.withLock { $0 = true }
            Terminal.error("assay: \(error)\n")
            return false
        }
    }

    /// Begins another run of the same process.
    static func forget() { isAnyLost.withLock { $0 = false } }
}
