internal import Contracts
internal import Foundation
internal import Judging
internal import Programs
internal import Values

/// The file of `--save` while the run is in progress: a header, and a line for each case that has
/// finished.
///
/// If the run is killed, the file keeps the finished cases. At the end of the run, `RunConclusion`
/// replaces the file with the complete run. A device or a pipe receives only the complete run.
final class SavedRunFile: Sendable {
    private struct State {
        var file: FileHandle?
        var writeTask: Task<Void, Never>?
        var hasFailed = false
    }

    let path: String
    private let writer: SavedRunWriter
    private let results: AsyncStream<CaseResult>
    private let resultContinuation: AsyncStream<CaseResult>.Continuation
    private let state = Locked(State())

    /// Prepares the file for a new run, and removes the file of an earlier run.
    ///
    /// - Parameters:
    ///   - path: The file, which `ReportFiles.writablePath` has found to be writable.
    ///   - profile: The profile of the run, which declares its secrets.
    /// - Throws: An error when the profile cannot be encoded, which does not happen in practice.
    init(_ path: String, profile: Profile) throws {
        self.path = path
        writer = try SavedRunWriter(profile: profile)
        (results, resultContinuation) = AsyncStream.makeStream()
        OutputFile(path).removeExisting()
    }

    /// Writes the header to the file, and starts a task that writes each added result.
    ///
    /// - Parameters:
    ///   - report: The report of the run without its cases.
    ///   - planned: The IDs of all cases; nil when the run generates its cases while it runs.
    func begin(_ report: RunReport, planned: [String]?) {
        guard !FileManager.default.fileExists(atPath: path) else { return }
        tryWriting { state in
            let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard file >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            state.file = FileHandle(fileDescriptor: file, closeOnDealloc: true)
            try state.file?.write(line: writer.head(running: report, planned: planned))
        }
        state.withLock { state in
            state.writeTask = Task(priority: .utility) { [self] in
                for await result in results { write(result) }
            }
        }
    }

    /// Adds the result of a case, which a background task writes to the file.
    func add(_ result: CaseResult) { resultContinuation.yield(result) }

    /// Waits until every result is written, and closes the file.
    func end() async {
        resultContinuation.finish()
        await state.withLock { $0.writeTask }?.value
        state.withLock { $0.file = nil }
    }

    private func write(_ result: CaseResult) {
        guard !state.withLock({ $0.hasFailed }) else { return }
        let line = Result { try writer.line(result) }
        tryWriting { state in try state.file?.write(line: line.get()) }
    }

    /// Performs a write to the file, and prints an error for the first write that fails.
    ///
    /// After a failed write, nothing is written until the complete run at the end.
    private func tryWriting(_ write: (inout State) throws -> Void) {
        let failure: (any Error)? = state.withLock { state in
            guard !state.hasFailed else { return nil }
            do {
                try write(&state)
                return nil
            } catch {
                state.hasFailed = true
                return error
            }
        }
        guard let failure else { return }
        Terminal.error(
            "assay: cannot write '\(path)' during the run: \(failure.plainReason)\n"
        )
    }
}

extension FileHandle {
    fileprivate func write(line: String) throws {
        try write(contentsOf: Data((line + "\n").utf8))
    }
}
