internal import Programs
internal import Values

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Standard output, to which commands print their results.
///
/// The first failed write is remembered, and `Main` turns it into an exit code. Commands do not
/// have to check for it.
enum StandardOutput {
    /// The system's error number of the first failed write; 0 while all writes succeed.
    private static let failureCode = Locked<Int32>(0)

    /// Writes text to standard output.
    ///
    /// After a failed write, nothing more is written.
    static func write(_ text: String) {
        guard failureCode.withLock({ $0 }) == 0 else { return }
        let code = SystemWrite.writeAll(Array(text.utf8), to: STDOUT_FILENO)
        guard code != 0 else { return }
        failureCode.withLock { if $0 == 0 { $0 = code } }
    }

    /// The reason why output was lost; nil when nothing was lost or the reader closed the pipe.
    static var lostOutputReason: String? {
        let code = failureCode.withLock { $0 }
        guard code != 0, code != EPIPE else { return nil }
        return "cannot write to standard output: \(String(cString: strerror(code)))"
    }

    /// Checks that the first lines of output were written, for a command that runs until Ctrl-C.
    ///
    /// - Throws: An empty failure when the lines were lost; `Main` reports the reason.
    static func check() throws {
        if lostOutputReason != nil { throw CommandFailure(.outputFailed, "") }
    }
}

/// Writes files that do not end the command when they cannot be written: reports, contracts of
/// failures, screenshots.
///
/// The other files are still written, and `Main` turns the failure into an exit code.
enum FileWriteFailures {
    private static let hasAnyFailure = Locked(false)

    /// Whether a file of this run could not be written.
    static var hasAny: Bool { hasAnyFailure.withLock { $0 } }

    /// Writes a file.
    ///
    /// When that fails, prints the error on standard error and remembers the failure.
    ///
    /// - Returns: Whether the file was written.
    @discardableResult
    static func catching(_ write: () throws(OutputFile.WriteError) -> Void) -> Bool {
        do throws(OutputFile.WriteError) {
            try write()
            return true
        } catch {
            hasAnyFailure.withLock { $0 = true }
            Terminal.error("assay: \(error)\n")
            return false
        }
    }

    /// Forgets the files that could not be written, before another run in the same process.
    static func reset() { hasAnyFailure.withLock { $0 = false } }
}
